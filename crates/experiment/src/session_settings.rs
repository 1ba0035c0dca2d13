//! Settings of a cell that its connections set for themselves, in their start-up packet. So cells that differ only in such
//! settings share a server, and a running server's configuration stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use crate::configuration::{Cell, Configuration, Origin};
use crate::settings::{self, SettingScope};

/// Settings by name.
pub type SessionSettings = BTreeMap<String, String>;

/// Moves settings from the servers to the sessions: all of a running server, and otherwise those that differ between the
/// cells and that each session can set. Behind a pooler all stay with the servers.
pub(crate) fn separate(cells: &mut [Cell]) {
    // A pooler does not pass on the settings of a connection's start.
    if cells.iter().any(|cell| cell.configuration.pooler.mode.is_some()) {
        return;
    }
    let all = |cells: &[Cell]| -> Vec<SessionSettings> {
        cells.iter().map(|cell| cell.configuration.server.settings.clone()).collect()
    };
    let of_cells = all(cells);
    let names: BTreeSet<&String> = of_cells.iter().flat_map(SessionSettings::keys).collect();
    let differs = |name: &String| of_cells.iter().any(|settings| settings.get(name) != of_cells[0].get(name));
    let moved: BTreeSet<&String> = names
        .into_iter()
        .filter(|name| settings::scope(name) == Some(SettingScope::Session) && differs(name))
        .collect();
    for Cell { configuration: Configuration { server, session, .. }, .. } in cells {
        let is_running = server.origin.dsn().is_some();
        server.settings.retain(|name, value| {
            let moves = is_running || moved.contains(name);
            if moves {
                session.insert(name.clone(), value.clone());
            }
            !moves
        });
    }
}

/// Why a setting of this name cannot be used on a server of this origin, as far as it is known without the server.
pub(crate) fn refused(name: &str, origin: &Origin) -> Option<String> {
    // Names with a dot are those of extensions.
    let is_of_postgresql = !name.contains('.');
    match (settings::scope(name), origin) {
        (None, Origin::Version(_)) if is_of_postgresql => Some(settings::unknown(name)),
        (Some(SettingScope::Preset), _) => {
            Some(format!("\"{name}\" cannot be set: the server only reports it"))
        }
        (Some(SettingScope::Server | SettingScope::Restart), Origin::Running(_)) => {
            Some(not_for_sessions(name))
        }
        _ => None,
    }
}

/// Why a session cannot set this setting of a running server.
pub fn not_for_sessions(name: &str) -> String {
    format!(
        "a session cannot set {name}, and pgmeter does not change the configuration of a running server: change it there \
         yourself, or leave out the dsn (and in_place), so that pgmeter starts servers with the setting"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(origin: Origin, settings: &[(&str, &str)]) -> Cell {
        let mut configuration = Configuration::default();
        configuration.server.origin = origin;
        configuration.server.settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Cell { levels: Vec::new(), configuration }
    }

    fn separated(mut cells: Vec<Cell>) -> Vec<(Vec<String>, Vec<String>)> {
        let names = |settings: &SessionSettings| settings.keys().cloned().collect();
        separate(&mut cells);
        let parts = |it: &Cell| (names(&it.configuration.server.settings), names(&it.configuration.session));
        cells.iter().map(parts).collect()
    }

    #[test]
    fn settings_that_differ_and_that_sessions_can_set_are_moved_to_the_sessions() {
        let version = || Origin::Version("18".to_owned());
        let with = |work_mem, shared_buffers| {
            cell(version(), &[("work_mem", work_mem), ("shared_buffers", shared_buffers), ("jit", "off")])
        };
        let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let on_servers = words(&["jit", "shared_buffers"]);
        let expected = (on_servers, words(&["work_mem"]));
        assert_eq!(separated(vec![with("1MB", "1GB"), with("2MB", "2GB")]), [expected.clone(), expected]);
        let tables = [cell(version(), &[("default_toast_compression", "lz4")]), cell(version(), &[])];
        assert_eq!(separated(tables.into())[0].0, ["default_toast_compression"], "it matters for loading");
        let running = || Origin::Running(String::new());
        let same = vec![cell(running(), &[("jit", "off")]), cell(running(), &[("jit", "off")])];
        assert_eq!(separated(same)[0], (Vec::new(), words(&["jit"])));
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_refused_before_anything_starts() {
        let (version, running) = (Origin::Version("18".to_owned()), Origin::Running(String::new()));
        assert!(refused("wrk_mem", &version).is_some_and(|why| why.ends_with("did you mean \"work_mem\"?")));
        assert!(refused("block_size", &version).is_some_and(|why| why.contains("only reports it")));
        assert!(
            refused("shared_buffers", &running).is_some_and(|why| why.starts_with("a session cannot set "))
        );
        for (name, origin) in [("shared_buffers", &version), ("work_mem", &running), ("a.b", &version)] {
            assert_eq!(refused(name, origin), None);
        }
    }
}
