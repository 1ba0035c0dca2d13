//! Settings of a cell that its connections set for themselves, in their start-up packet. So cells that differ only in such
//! settings share a server, and a running server's configuration stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use config::nearest;
use connect::{Session, Target};
use run::RunError;

use crate::configuration::{Configuration, Origin};
use crate::matrix::Cell;
use crate::settings::{self, SettingScope};

/// Settings by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// Moves settings from the servers to the sessions: all of a running server, and otherwise those that differ between the
/// cells and that each session can set. Behind a pooler all stay with the servers.
pub(crate) fn separate(cells: &mut [Cell]) {
    // A pooler does not pass on the settings of a connection's start.
    if cells.iter().any(|cell| cell.configuration.pooler.mode.is_some()) {
        return;
    }
    let all = |cells: &[Cell]| -> Vec<Settings> {
        cells.iter().map(|cell| cell.configuration.server.settings.clone()).collect()
    };
    let of_cells = all(cells);
    let names: BTreeSet<&String> = of_cells.iter().flat_map(Settings::keys).collect();
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
        (Some(SettingScope::Server | SettingScope::Restart), Origin::Running(_)) => Some(of_the_server(name)),
        _ => None,
    }
}

fn of_the_server(name: &str) -> String {
    format!(
        "a session cannot set {name}, and pgmeter does not change the configuration of a running server: change it there \
         yourself, or leave out the dsn (and in_place), so that pgmeter starts servers with the setting"
    )
}

/// Which of these settings sessions of the connected role cannot set on this server, and why.
pub(crate) fn refused_by_server<'a>(
    session: &mut Session,
    names: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<String>, RunError> {
    let names: BTreeSet<&String> = names.into_iter().collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // Since PostgreSQL 15, other roles can have the right to set a parameter (manual, GRANT).
    let may = if session.server_version_num() >= 150_000 {
        "pg_catalog.has_parameter_privilege(name, 'SET')"
    } else {
        "(SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)"
    };
    let rows = session.query_catalogs(&format!(
        "SELECT lower(name), context, CASE WHEN context LIKE 'superuser%' THEN {may} ELSE true END, current_user \
         FROM pg_catalog.pg_settings"
    ))?;
    let text = |row: &connect::Row, at| row.get(at).unwrap_or_default().to_owned();
    let known: BTreeMap<String, (String, bool, String)> = rows
        .iter()
        .map(|row| (text(row, 0), (text(row, 1), row.get(2) == Some("t"), text(row, 3))))
        .collect();
    let refusal = |name: &&String| {
        let why = match known.get(&name.to_ascii_lowercase()) {
            // Settings of extensions are unknown until the extension is loaded.
            None if name.contains('.') => return None,
            None => {
                let all: Vec<&str> = known.keys().map(String::as_str).collect();
                let near = nearest(&name.to_ascii_lowercase(), &all);
                let near = near.map_or(String::new(), |near| format!("; did you mean \"{near}\"?"));
                format!("this server has no setting \"{name}\"{near}")
            }
            Some((context, may, role)) => match (context.as_str(), may) {
                ("user" | "superuser" | "backend" | "superuser-backend", true) => return None,
                ("superuser" | "superuser-backend", false) => format!(
                    "the role {role} may not set {name}: connect as a superuser or, since PostgreSQL 15, GRANT SET ON \
                     PARAMETER {name} TO {role}"
                ),
                _ => of_the_server(name),
            },
        };
        Some(why)
    };
    Ok(names.iter().filter_map(refusal).collect())
}

/// A target whose connections begin with these settings.
pub(crate) fn with_settings(target: Target, settings: &Settings) -> Target {
    if settings.is_empty() {
        return target;
    }
    let mut options: Vec<String> = target.options.clone().into_iter().collect();
    options
        .extend(settings.iter().map(|(name, value)| format!("-c {}", escaped(&format!("{name}={value}")))));
    Target { options: Some(options.join(" ")), ..target }
}

/// A word for `options` in the startup packet: whitespace and backslashes are escaped with a backslash (manual,
/// message formats, StartupMessage).
fn escaped(text: &str) -> String {
    let mut word = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | ' ' | '\t'..='\r') {
            word.push('\\');
        }
        word.push(character);
    }
    word
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
        let names = |settings: &Settings| settings.keys().cloned().collect();
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

    #[test]
    fn a_value_with_white_space_is_one_word_of_the_options() {
        assert_eq!(escaped("a=b c\t-c\nd\u{b}\u{c}\r\\é"), "a=b\\ c\\\t-c\\\nd\\\u{b}\\\u{c}\\\r\\\\é");
    }
}
