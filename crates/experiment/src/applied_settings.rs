//! Settings that differ between the cells of a screening and that only the server itself can set. `lab::alter_system`
//! sets those of each trial on one embedded server; some of them need a restart.

use std::collections::{BTreeMap, BTreeSet};

use crate::configuration::{Cell, Configuration, Restore};
use crate::settings;

/// Settings by name.
pub type Settings = BTreeMap<String, String>;

/// Moves settings of embedded servers that differ between the cells to those that are applied before each trial, so that
/// the cells share a server. The error is a sentence.
pub(crate) fn separate(cells: &mut [Cell]) -> Result<(), String> {
    if cells.iter().any(|cell| cell.configuration.data.restore == Restore::Files) {
        return Err("a screening changes the server's settings, which restore = \"files\" would undo: use \"template\""
            .to_owned());
    }
    let of_cells: Vec<Settings> =
        cells.iter().map(|cell| cell.configuration.server.settings.clone()).collect();
    let names: BTreeSet<&String> = of_cells.iter().flat_map(Settings::keys).collect();
    let differs = |name: &&String| of_cells.iter().any(|it| it.get(*name) != of_cells[0].get(*name));
    let moved: BTreeSet<&String> = names.into_iter().filter(differs).collect();
    for Cell { configuration: Configuration { server, applied, .. }, .. } in cells {
        if server.origin.dsn().is_none() {
            let (of_trial, of_server) =
                std::mem::take(&mut server.settings).into_iter().partition(|(name, _)| moved.contains(name));
            (*applied, server.settings) = (of_trial, of_server);
        }
    }
    Ok(())
}

/// The settings of a cell that a server takes only at its start.
pub(crate) fn taken_at_start(configuration: &Configuration) -> Settings {
    let applied = configuration.applied.iter().filter(|(name, _)| settings::needs_restart(name));
    applied.map(|(name, value)| (name.clone(), value.clone())).collect()
}
