//! What a lab that was killed left behind on servers that are not ours: databases, known by the mark that the store gave
//! to its sitting and to nobody else. Called before anything is done with them anew. Servers of ours go by themselves.

use std::collections::BTreeSet;

use ::lab::{Origin, Plan};
use connect::{Environment, Overrides, Session};
use results::Store;

use crate::failure::Failure;
use crate::storing::StoreArguments;
use crate::terminal::Terminal;

/// What all databases of a sitting's making are called, up to what is in them.
pub(super) fn prefix(mark: &str) -> String {
    format!("pgmeter_lab_{mark}_")
}

/// Removes what sittings of this experiment left whose process is gone. A server that cannot be reached now is tried
/// again next time.
pub(super) fn remove(
    plan: &Plan,
    experiment: i64,
    places: &StoreArguments,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut store = Store::create(&places.store())?;
    for sitting in store.broken_sittings(experiment)? {
        let servers: BTreeSet<&str> = plan
            .servers
            .iter()
            .filter_map(|server| match &server.origin {
                Origin::Running(dsn) => Some(dsn.as_str()),
                Origin::Version(_) | Origin::Programs(_) => None,
            })
            .collect();
        let mut is_clean = true;
        for dsn in servers {
            if let Err(failure) = remove_from(dsn, &prefix(&sitting.mark)) {
                is_clean = false;
                terminal.warn(format_args!("databases of a lab that was killed may have stayed: {failure}"));
            }
        }
        if is_clean {
            store.end_sitting(sitting.sitting)?;
        }
    }
    Ok(())
}

/// How long backends of the killed process are waited for.
const PATIENCE_LOOKS: u32 = 200;

fn remove_from(dsn: &str, prefix: &str) -> Result<(), Failure> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    let mut session = Session::connect(&target)?;
    // Its last CREATE DATABASE may still be going on: a backend does not notice at once that nobody waits for it.
    let theirs = format!("FROM pg_stat_activity WHERE application_name = '{prefix}'");
    session.execute(&format!("SELECT pg_terminate_backend(pid) {theirs}"))?;
    for _ in 0..PATIENCE_LOOKS {
        if session.query(&format!("SELECT 1 {theirs}"))?.is_empty() {
            break;
        }
        session.execute("SELECT pg_sleep(0.05)")?;
    }
    // A mark is of digits, letters and underscores, and so are the names.
    let ours = format!("left(datname, {}) = '{prefix}'", prefix.len());
    let left = session.query(&format!("SELECT datname FROM pg_database WHERE {ours}"))?;
    for row in left {
        let Some(name) = row.get(0) else { continue };
        session.execute(&format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        ))?;
        session.execute(&format!("DROP DATABASE IF EXISTS \"{name}\""))?;
    }
    Ok(())
}
