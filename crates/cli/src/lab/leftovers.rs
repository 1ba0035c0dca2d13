//! What a lab or a comparison that was killed left behind on servers that are not ours: databases. Those of a lab are
//! known by the mark that the store gave to its sitting and to nobody else; those of a comparison, which no store knows
//! before its end, by the sessions that are called like them, or in them, as long as it lives. Called before anything is
//! done with them anew. Servers of ours go by themselves.

use std::collections::BTreeSet;

use ::lab::{Origin, Plan};
use connect::quote::{identifier, literal};
use connect::{Environment, Overrides, Session};
use results::{Sitting, Store};

use crate::failure::Failure;
use crate::storing::StoreArguments;
use crate::terminal::Terminal;

/// What all databases of a sitting's making are called, up to what is in them.
pub(super) fn prefix(mark: &str) -> String {
    format!("pgmeter_lab_{mark}_")
}

/// Removes what sittings of this experiment left whose process is gone, and those of earlier ones of its name.
pub(super) fn remove(
    plan: &Plan,
    experiment: i64,
    places: &StoreArguments,
    terminal: &Terminal,
) -> Result<(), Failure> {
    for sitting in Store::create(&places.store())?.broken_sittings(experiment)? {
        end(plan, &sitting, places, terminal)?;
    }
    Ok(())
}

/// Nothing of a sitting is to stay. A server that cannot be reached now is tried again when the next one begins: until
/// then the sitting has not ended.
pub(super) fn end(
    plan: &Plan,
    sitting: &Sitting,
    places: &StoreArguments,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let of_others = plan.servers.iter().filter_map(|server| match &server.origin {
        Origin::Running(dsn) => Some(dsn.as_str()),
        Origin::Version(_) | Origin::Programs(_) => None,
    });
    let servers: BTreeSet<&str> = of_others.collect();
    let mut is_clean = true;
    for dsn in servers {
        if let Err(failure) = remove_from(dsn, &prefix(&sitting.mark)) {
            is_clean = false;
            terminal.warn(format_args!(
                "databases {}… may have stayed, and are removed by the next pgmeter lab run or resume: {failure}",
                prefix(&sitting.mark)
            ));
        }
    }
    if is_clean {
        Store::create(&places.store())?.end_sitting(sitting.sitting)?;
    }
    Ok(())
}

/// What all databases of a comparison are called, up to what is in them. Several may be at work on one server.
pub(super) fn prefix_of_comparison(mark: u64) -> String {
    format!("pgmeter_compare_{mark:016x}_")
}

/// Databases of comparisons that no session belongs to any more, and that whoever asks may drop. One that is called like
/// them is enough for all databases of a comparison to stay, and so is one in any of them: the other may have been cut
/// for saying nothing. Autovacuum does not count: it has no user or, before version 10, says what it is. Of another
/// user's sessions nobody is told what they are called (manual, pg_stat_activity), nor may anybody drop that user's
/// databases.
const ABANDONED: &str = "SELECT datname FROM pg_database \
    WHERE datname ~ '^pgmeter_compare_[0-9a-f]{16}_' AND pg_has_role(datdba, 'USAGE') \
    AND left(datname, 33) NOT IN (SELECT application_name FROM pg_stat_activity WHERE application_name IS NOT NULL) \
    AND left(datname, 33) NOT IN (SELECT left(datname, 33) FROM pg_stat_activity WHERE datname IS NOT NULL \
    AND usesysid IS NOT NULL AND (query LIKE 'autovacuum: %') IS NOT TRUE)";

/// Removes what comparisons left on a server that were killed. One that cannot be dropped is told, and stays.
pub(super) fn remove_abandoned(dsn: &str, terminal: &Terminal) -> Result<(), Failure> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    let mut session = Session::connect(&target)?;
    for row in session.query(ABANDONED)? {
        let Some(name) = row.get(0) else { continue };
        // Nobody is thrown out: sessions of a killed process go by themselves, and who has come since is alive.
        match session.execute(&format!("DROP DATABASE IF EXISTS {}", identifier(name))) {
            Ok(_) => terminal.say(format_args!("removed {name}, which a comparison left that was killed")),
            Err(error) => terminal.warn(format_args!("{name}, left by a comparison, stays: {error}")),
        }
    }
    Ok(())
}

/// Drops a database that is ours, although sessions of ours may still be in it; of others' it stays. Its name is of
/// letters, digits and underscores.
pub(super) fn drop_database(session: &mut Session, name: &str) -> Result<(), Failure> {
    session.execute(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {} AND usename = current_user",
        literal(name)
    ))?;
    session.execute(&format!("DROP DATABASE IF EXISTS {}", identifier(name)))?;
    Ok(())
}

/// How long backends of the killed process are waited for.
const PATIENCE_LOOKS: u32 = 200;

fn remove_from(dsn: &str, prefix: &str) -> Result<(), Failure> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    let mut session = Session::connect(&target)?;
    // Its last CREATE DATABASE may still be going on: a backend does not notice at once that nobody waits for it.
    let theirs = format!("FROM pg_stat_activity WHERE application_name = {}", literal(prefix));
    session.execute(&format!("SELECT pg_terminate_backend(pid) {theirs}"))?;
    for _ in 0..PATIENCE_LOOKS {
        if session.query(&format!("SELECT 1 {theirs}"))?.is_empty() {
            break;
        }
        session.execute("SELECT pg_sleep(0.05)")?;
    }
    let ours = format!("left(datname, {}) = {}", prefix.len(), literal(prefix));
    let left = session.query(&format!("SELECT datname FROM pg_database WHERE {ours}"))?;
    for row in left {
        let Some(name) = row.get(0) else { continue };
        drop_database(&mut session, name)?;
    }
    Ok(())
}
