//! Settings that differ between the cells of a screening and that only the server itself can set. One embedded server
//! gets those of each trial in turn: by `ALTER SYSTEM` and a reload, and by a restart for settings that it reads only
//! at its start.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

use connect::Session;
use connect::quote::{identifier, literal};
use run::{Control, RunError};

use crate::configuration::{Configuration, Restore};
use crate::matrix::Cell;
use crate::settings;
use crate::stopwatch::Stopwatch;

/// Settings by name.
pub(crate) type Settings = BTreeMap<String, String>;

/// How long to wait until the server has read its configuration, and the polling interval.
const RELOAD_MAX: Duration = Duration::from_secs(30);
const LOOKS_APART: Duration = Duration::from_millis(10);

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

/// Has the server read the settings `wanted` instead of `applied`; returns whether it must be restarted for them.
pub(crate) fn apply(
    session: &mut Session,
    applied: &Settings,
    wanted: &Settings,
    control: &Control,
) -> Result<bool, RunError> {
    if applied == wanted {
        return Ok(false);
    }
    for name in applied.keys().filter(|name| !wanted.contains_key(*name)) {
        session.execute(&format!("ALTER SYSTEM RESET {}", identifier(name)))?;
    }
    for (name, value) in wanted.iter().filter(|(name, value)| applied.get(*name) != Some(value)) {
        session.execute(&format!("ALTER SYSTEM SET {} = {}", identifier(name), literal(value)))?;
    }
    const LOADED: &str = "SELECT pg_catalog.pg_conf_load_time()::text";
    let loaded = |session: &mut Session| -> Result<Option<String>, RunError> {
        let rows = session.query_catalogs(LOADED)?;
        Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
    };
    let before = loaded(session)?;
    session.execute("SELECT pg_catalog.pg_reload_conf()")?;
    let stopwatch = Stopwatch::start();
    // The postmaster reads its configuration before it tells its children to do so.
    while loaded(session)? == before {
        control.check()?;
        if stopwatch.passed() > RELOAD_MAX {
            return Err(RunError::Unfinished(
                "the server did not reload its configuration within 30 s; see its log".to_owned(),
            ));
        }
        thread::sleep(LOOKS_APART);
    }
    let pending = session.query_catalogs("SELECT name FROM pg_catalog.pg_settings WHERE pending_restart")?;
    Ok(!pending.is_empty())
}
