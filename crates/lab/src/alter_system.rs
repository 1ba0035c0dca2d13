//! Sets settings of an embedded server before a trial, by `ALTER SYSTEM` and a reload. The caller restarts the server for
//! settings that it reads only at its start.

use connect::{Session, Stopwatch};
use std::thread;
use std::time::Duration;

use connect::quote::{identifier, literal};
use experiment::Settings;
use run::{Control, RunError};

/// How long to wait until the server has read its configuration, and the polling interval.
const RELOAD_MAX: Duration = Duration::from_secs(30);
const LOOKS_APART: Duration = Duration::from_millis(10);

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
