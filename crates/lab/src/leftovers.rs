//! Removes databases that killed experiments and comparisons left on running servers, before new ones are created.
//! Those of an experiment contain its execution's mark in the store; those of a comparison have no session any more.
//! Any role with CREATEDB can create databases with our prefixes, so a database is dropped only if its complete name
//! is one that pgmeter creates and our own role owns it. Functions are called with their schema, so that other users'
//! functions cannot run with our privileges.

use connect::Stopwatch;
use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use connect::quote::{identifier, literal};
use connect::{Environment, Overrides, Row, Session, Target};
use experiment::Plan;
use results::Execution;
use run::{RunError, StorePlaces};

use crate::event::Listener;

/// Prefix of all databases of an execution.
pub(super) fn prefix(mark: &str) -> String {
    format!("{EXPERIMENTS}{mark}_")
}

/// Prefix of all databases of a comparison. Several comparisons may use one server at the same time.
pub(super) fn prefix_of_comparison(mark: u64) -> String {
    format!("{COMPARISONS}{mark:016x}_")
}

/// The database of the trials.
pub(super) fn trial_database(prefix: &str) -> String {
    format!("{prefix}{TRIAL}")
}

/// The database with the original data set, by its index in the plan.
pub(super) fn data_database(prefix: &str, data: usize) -> String {
    format!("{prefix}{DATA}{data}")
}

const TRIAL: &str = "trial";
const DATA: &str = "data_";
const EXPERIMENTS: &str = "pgmeter_lab_";
const COMPARISONS: &str = "pgmeter_compare_";
/// Number of hexadecimal digits in a comparison's mark.
const MARK_LENGTH: usize = 16;

/// Whether the complete name is a database that [`trial_database`] or [`data_database`] creates for this prefix.
fn is_generated(name: &str, prefix: &str) -> bool {
    let Some(rest) = name.strip_prefix(prefix) else { return false };
    let number = rest.strip_prefix(DATA).and_then(|digits| digits.parse::<usize>().ok());
    rest == TRIAL || number.is_some_and(|number| data_database(prefix, number) == name)
}

/// The prefix of a comparison's database name.
fn comparison_of(name: &str) -> Option<&str> {
    let prefix = name.get(..COMPARISONS.len() + MARK_LENGTH + 1)?;
    let mark = prefix.strip_prefix(COMPARISONS)?.strip_suffix('_')?;
    let is_mark = mark.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_mark.then_some(prefix)
}

/// A row of [`DATABASES`].
struct Database {
    name: String,
    owner: String,
    is_own: bool,
    is_marked: bool,
}

/// `pgme`: the connection limit of our databases, which no other has. So a database that a user made under the name of one
/// of ours is known, also if pgmeter was killed right after it created its own: a database has its limit from the beginning.
const CONNECTION_LIMIT: u32 = 0x7067_6d65;
/// The limit of a database whose removal was interrupted; it can only be dropped.
const INVALID: &str = "-2";

/// SQL that creates one of our databases.
pub(super) fn create_statement(name: &str, how: &str) -> String {
    format!("CREATE DATABASE {}{how} CONNECTION LIMIT {CONNECTION_LIMIT}", identifier(name))
}

/// Databases, their owners, whether the owner is the current role, and their connection limits; a condition follows.
const DATABASES: &str = "SELECT d.datname, o.rolname, o.rolname = current_user, \
    d.datconnlimit FROM pg_catalog.pg_database d \
    JOIN pg_catalog.pg_roles o ON o.oid = d.datdba";

/// Filters by prefix; the null server returns other rows.
fn databases(session: &mut Session, prefix: &str, condition: &str) -> Result<Vec<Database>, RunError> {
    let text = |row: &Row, column| row.get(column).unwrap_or_default().to_owned();
    let is_marked = |limit: &str| limit == INVALID || limit.parse() == Ok(CONNECTION_LIMIT);
    let database = |row: &Row| Database {
        name: text(row, 0),
        owner: text(row, 1),
        is_own: row.get(2) == Some("t"),
        is_marked: row.get(3).is_some_and(is_marked),
    };
    let rows = session.query_catalogs(&format!("{DATABASES} {condition}"))?;
    Ok(rows.iter().map(database).filter(|database| database.name.starts_with(prefix)).collect())
}

/// Warns about a database that has our prefix but was not created by pgmeter. It is never dropped.
fn warn_of_foreign(database: &Database, listener: Listener<'_>) {
    let Database { name, owner, is_own, is_marked } = database;
    if *is_own && !is_marked {
        listener.warn(format_args!("{}", unmarked(name)));
        return;
    }
    listener.warn(format_args!(
        "pgmeter did not create the database \"{name}\" of role \"{owner}\", although its name has pgmeter's \
         prefix: it is left unchanged"
    ));
}

fn unmarked(name: &str) -> String {
    format!(
        "the database \"{name}\" has a name of pgmeter's, but not the connection limit with which pgmeter makes its databases, \
         so it may be somebody else's and is not dropped; if nobody needs it: {};",
        drop_statement(name)
    )
}

/// Connection strings of the running servers on which a plan has databases of its own.
fn running_servers(plan: &Plan) -> BTreeSet<&str> {
    let servers = plan.servers.iter().filter(|server| !server.in_place);
    servers.filter_map(|server| server.origin.dsn()).collect()
}

/// Removes the databases of executions whose process has ended, and of earlier experiments with the same name.
pub(super) fn remove(
    plan: &Plan,
    experiment: i64,
    places: &StorePlaces,
    listener: Listener<'_>,
) -> Result<(), RunError> {
    for execution in places.open()?.broken_executions(experiment)? {
        end(plan, &execution, places, listener)?;
    }
    for dsn in running_servers(plan) {
        // A server that cannot be reached fails the trials with its reason.
        let _ = warn_of_killed(dsn, listener);
    }
    Ok(())
}

/// Removes all databases of an execution. If a server is unreachable, the next start tries again; until then the
/// execution has not ended.
pub(super) fn end(
    plan: &Plan,
    execution: &Execution,
    places: &StorePlaces,
    listener: Listener<'_>,
) -> Result<(), RunError> {
    let mut is_clean = true;
    for dsn in running_servers(plan) {
        if let Err(failure) = removing(|| remove_from(dsn, &prefix(&execution.mark), listener)) {
            is_clean = false;
            listener.warn(format_args!(
                "databases {}… may have stayed, and are removed by the next pgmeter lab run or resume: {failure}",
                prefix(&execution.mark)
            ));
        }
    }
    if is_clean {
        places.open()?.end_execution(execution.execution)?;
    }
    Ok(())
}

/// Databases of comparisons without sessions. One session with their application name, or in any of them, is enough
/// to keep all databases of a comparison: the marking session may have been closed because it was idle. Autovacuum
/// does not count; it has no user or, before version 10, is recognized by its query. The application names of other
/// users' sessions are hidden (manual, pg_stat_activity), but databases of other users are never dropped.
const ABANDONED: &str = "WHERE pg_catalog.left(d.datname::pg_catalog.text, 16) = 'pgmeter_compare_' \
    AND pg_catalog.left(d.datname::pg_catalog.text, 33) NOT IN \
    (SELECT application_name FROM pg_catalog.pg_stat_activity WHERE application_name IS NOT NULL) \
    AND pg_catalog.left(d.datname::pg_catalog.text, 33) NOT IN \
    (SELECT pg_catalog.left(datname::pg_catalog.text, 33) FROM pg_catalog.pg_stat_activity \
    WHERE datname IS NOT NULL AND usesysid IS NOT NULL AND (query LIKE 'autovacuum: %') IS NOT TRUE)";

/// Removes the databases of killed comparisons from a server, with a warning for each that cannot be dropped.
pub(super) fn remove_abandoned(dsn: &str, listener: Listener<'_>) -> Result<(), RunError> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    let mut session = Session::connect(&target)?;
    for database in databases(&mut session, COMPARISONS, ABANDONED)? {
        let name = &database.name;
        let Some(prefix) = comparison_of(name) else { continue };
        if !database.is_own || !database.is_marked || !is_generated(name, prefix) {
            warn_of_foreign(&database, listener);
            continue;
        }
        // Sessions are not terminated: those of a killed process end by themselves, and a new one belongs to
        // somebody.
        match session.execute(&drop_statement(name)) {
            Ok(_) => listener.say(format_args!("removed {name}, left behind by a killed comparison")),
            Err(error) => {
                listener.warn(format_args!("cannot remove {name}, left behind by a comparison: {error}"))
            }
        }
    }
    warn_of_experiments(&mut session, listener)
}

/// Databases of executions of experiments without sessions, found as [`ABANDONED`] finds those of comparisons.
const ABANDONED_BY_EXPERIMENTS: &str = "CROSS JOIN LATERAL (SELECT pg_catalog.substring(d.datname::pg_catalog.text, \
    '^pgmeter_lab_[0-9]+_[0-9a-f]{8}_') AS prefix) AS execution WHERE execution.prefix IS NOT NULL \
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity AS a WHERE a.application_name = execution.prefix \
    OR pg_catalog.strpos(a.datname::pg_catalog.text, execution.prefix) = 1 AND a.usesysid IS NOT NULL \
    AND (a.query LIKE 'autovacuum: %') IS NOT TRUE)";

/// Names the databases of killed experiments on a server. The next execution of the same experiment removes them.
fn warn_of_killed(dsn: &str, listener: Listener<'_>) -> Result<(), RunError> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    warn_of_experiments(&mut Session::connect(&target)?, listener)
}

fn warn_of_experiments(session: &mut Session, listener: Listener<'_>) -> Result<(), RunError> {
    for Database { name, is_own, is_marked, .. } in databases(session, EXPERIMENTS, ABANDONED_BY_EXPERIMENTS)?
    {
        if is_own && is_marked {
            listener.warn(format_args!(
                "the database \"{name}\" was left by an experiment that was killed; the next pgmeter lab run or resume of \
                 that experiment removes it, or: {};",
                drop_statement(&name)
            ));
        }
    }
    Ok(())
}

/// Drops one of our databases if it exists, even if our own sessions are still connected.
///
/// # Errors
/// It belongs to another role, or other users are connected.
pub(super) fn drop_database(session: &mut Session, name: &str) -> Result<(), RunError> {
    session.patiently(|session| drop_patiently(session, name))
}

fn drop_patiently(session: &mut Session, name: &str) -> Result<(), RunError> {
    match databases(session, name, &format!("WHERE d.datname = {}", literal(name)))?.first() {
        None => return Ok(()),
        Some(Database { owner, is_own: false, .. }) => {
            return Err(RunError::Usage(format!(
                "the database \"{name}\" belongs to the role \"{owner}\", so it is not dropped: drop or rename it, \
                 and try again"
            )));
        }
        Some(Database { is_marked: false, .. }) => return Err(RunError::Usage(unmarked(name))),
        Some(_) => {}
    }
    session.query_catalogs(&format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE datname = {} \
         AND usename = current_user AND pid <> pg_catalog.pg_backend_pid()",
        literal(name)
    ))?;
    session.execute(&drop_statement(name))?;
    Ok(())
}

fn drop_statement(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS {}", identifier(name))
}

/// Time limit on an unresponsive server; remaining databases are found again later.
const REMOVAL_LIMIT: Duration = Duration::from_secs(5);
/// Interval of attempts while a server recovers from a crash.
const LOOKS_APART: Duration = Duration::from_millis(50);

/// Control timeout for removing databases, shorter than for creating them.
pub(super) fn for_removal(target: &Target) -> Target {
    let limit = |limit: Option<Duration>| Some(limit.map_or(REMOVAL_LIMIT, |limit| limit.min(REMOVAL_LIMIT)));
    Target {
        connect_timeout: limit(target.connect_timeout.or(target.control_timeout)),
        control_timeout: limit(target.control_timeout),
        ..target.clone()
    }
}

/// Removes databases, and retries while the server recovers from a crash.
pub(super) fn removing(mut remove: impl FnMut() -> Result<(), RunError>) -> Result<(), RunError> {
    let stopwatch = Stopwatch::start();
    loop {
        match remove() {
            Err(RunError::Connect(error))
                if error.is_of_a_restart() && stopwatch.passed() < REMOVAL_LIMIT =>
            {
                thread::sleep(LOOKS_APART);
            }
            other => return other,
        }
    }
}

/// How long to wait for the backends of a killed process.
const PATIENCE_LOOKS: u32 = 200;

/// Drops all our databases with this prefix; returns the first error after trying all.
fn remove_from(dsn: &str, prefix: &str, listener: Listener<'_>) -> Result<(), RunError> {
    let target = connect::resolve(Some(dsn), &Overrides::default(), &Environment::of_process())?;
    let mut session = Session::connect(&for_removal(&target))?;
    // The killed process's last CREATE DATABASE may still be running: a backend does not notice immediately that its
    // client is gone.
    let theirs = format!(
        "FROM pg_catalog.pg_stat_activity WHERE application_name = {} AND usename = current_user \
         AND pid <> pg_catalog.pg_backend_pid()",
        literal(prefix)
    );
    session.query_catalogs(&format!("SELECT pg_catalog.pg_terminate_backend(pid) {theirs}"))?;
    for _ in 0..PATIENCE_LOOKS {
        if session.query_catalogs(&format!("SELECT 1 {theirs}"))?.is_empty() {
            break;
        }
        session.execute("SELECT pg_catalog.pg_sleep(0.05)")?;
    }
    let begins =
        format!("WHERE pg_catalog.left(d.datname::pg_catalog.text, {}) = {}", prefix.len(), literal(prefix));
    let mut result = Ok(());
    for database in databases(&mut session, prefix, &begins)? {
        if database.is_own && database.is_marked && is_generated(&database.name, prefix) {
            let dropped = drop_database(&mut session, &database.name);
            result = result.and(dropped);
        } else {
            warn_of_foreign(&database, listener);
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_that_pgmeter_can_make_are_its_own() {
        let prefix = prefix("7_0123abcd");
        for own in [trial_database(&prefix), data_database(&prefix, 0), data_database(&prefix, 12)] {
            assert!(is_generated(&own, &prefix), "{own}");
        }
        for rest in ["", "trial2", "trial';--", "data_", "data_1x", "data_01", "data_+1", "data_-1", "Trial"]
        {
            assert!(!is_generated(&format!("{prefix}{rest}"), &prefix), "{rest}");
        }
        assert!(!is_generated("trial", &prefix));
    }

    #[test]
    fn a_comparison_is_known_by_its_whole_mark() {
        let prefix = prefix_of_comparison(0xab);
        assert_eq!(comparison_of(&trial_database(&prefix)), Some(prefix.as_str()));
        assert_eq!(prefix.len(), 33, "as the statement cuts it");
        for other in ["pgmeter_compare_notes", "pgmeter_compare_00000000000000AB_trial", "pgmeter_compare_é"]
        {
            assert_eq!(comparison_of(other), None);
        }
    }
}
