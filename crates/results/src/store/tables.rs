//! Schema of the store: creates tables and views, and upgrades older formats. `application_id` identifies a store,
//! `user_version` its format.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::failed;
use crate::ResultsError;
use crate::error::shown;

/// The format that this version writes, and the newest that it reads.
const STORE_FORM: i64 = form_after(&STEPS);

/// `pgme`; protects other programs' databases.
const APPLICATION_ID: i64 = 0x7067_6d65;
/// `pgmr`, of versions before the first release, with separate format numbers.
const UNRELEASED_APPLICATION_ID: i64 = 0x7067_6d72;

const TABLES: &str = include_str!("tables.sql");
const SCHEMA_CHANGES: &str = include_str!("schema_changes.sql");
const WHAT_CHANGES_MADE: &str = "ALTER TABLE schema_changes ADD COLUMN system TEXT; \
     ALTER TABLE schema_changes ADD COLUMN made TEXT CHECK (made IS NULL OR json_valid(made))";
const VIEWS: &str = include_str!("views.sql");

/// Upgrades of a store from format n, from 1, to n + 1. A new store is created with all tables; views are recreated
/// after an upgrade. The steps are: query sets; only views, for transactions with an unknown ending; signs of life;
/// changes of schemas; only views, for response times of all transactions; what changes of schemas have made; only views,
/// for the scripts of comparisons; designs of experiments.
const STEPS: [&str; 8] = [
    include_str!("query_sets.sql"),
    "",
    "ALTER TABLE runs ADD COLUMN alive_at TEXT",
    SCHEMA_CHANGES,
    "",
    WHAT_CHANGES_MADE,
    "",
    "ALTER TABLE experiments ADD COLUMN design TEXT CHECK (design IS NULL OR json_valid(design))",
];

/// The first format in which runs have signs of life.
const FORM_WITH_SIGNS_OF_LIFE: i64 = 4;
/// The first format with changes of schemas.
const FORM_WITH_SCHEMA_CHANGES: i64 = 5;
/// The first format that names what these changes have made.
const FORM_WITH_WHAT_CHANGES_MADE: i64 = 7;
/// The first format in which experiments have their designs.
const FORM_WITH_DESIGNS: i64 = 9;

const fn form_after(steps: &[&str]) -> i64 {
    1 + steps.len() as i64
}

/// Attempts to switch to WAL mode: if several processes create a store at once, one succeeds, and SQLite does not wait
/// in this statement.
const ATTEMPTS_MAX: u32 = 100;

/// Creates or upgrades the tables, and sets the journal mode.
pub(super) fn prepare(path: &Path, connection: &mut Connection) -> Result<(), ResultsError> {
    check(path, connection)?;
    write_ahead(connection).map_err(failed(path))?;
    if form(connection).map_err(failed(path))? == STORE_FORM {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed(path))?;
    // Another process may have upgraded it meanwhile.
    check(path, &transaction)?;
    raise(&transaction, &STEPS).and_then(|()| transaction.commit()).map_err(failed(path))
}

/// Upgrades the tables for a reader; a store of the current format is not modified.
pub(super) fn bring_up(path: &Path, connection: &mut Connection) -> Result<(), ResultsError> {
    check(path, connection)?;
    if form(connection).map_err(failed(path))? == STORE_FORM { Ok(()) } else { prepare(path, connection) }
}

/// Whether this is a store that this version can read. An empty database is accepted, because it becomes one.
pub(super) fn check(path: &Path, connection: &Connection) -> Result<(), ResultsError> {
    let facts = || -> rusqlite::Result<_> {
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let is_empty =
            connection.query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| row.get(0))?;
        Ok((number("application_id")?, number("user_version")?, is_empty))
    };
    let (application, form, is_empty): (_, _, bool) = facts().map_err(failed(path))?;
    if is_empty && form == 0 {
        return Ok(());
    }
    let path = shown(path);
    Err(ResultsError::Refused(match application {
        UNRELEASED_APPLICATION_ID => format!(
            "the store {path} is of a pgmeter from before the first release, whose stores are not read any more: move it \
             away, or name another place with --store"
        ),
        APPLICATION_ID if form <= STORE_FORM => return Ok(()),
        APPLICATION_ID => format!(
            "the store {path} has form {form}, and this pgmeter knows forms up to {STORE_FORM}; use the pgmeter that made \
             it, or a newer one, or name another place with --store"
        ),
        _ => format!("{path} is not a store of pgmeter's: name another place with --store"),
    }))
}

/// The expression for the last sign of life of a run. A store that is only read may have an older format, without it.
pub(super) fn alive_at(connection: &Connection) -> rusqlite::Result<&'static str> {
    Ok(if form(connection)? >= FORM_WITH_SIGNS_OF_LIFE { "runs.alive_at" } else { "NULL" })
}

/// Whether the store has the table of changes of schemas.
pub(super) fn has_schema_changes(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(form(connection)? >= FORM_WITH_SCHEMA_CHANGES)
}

/// The expressions for the server of a change and for what it made. A store that is only read may have an older format.
pub(super) fn what_changes_made(connection: &Connection) -> rusqlite::Result<&'static str> {
    Ok(if form(connection)? >= FORM_WITH_WHAT_CHANGES_MADE { "system, made" } else { "NULL, NULL" })
}

/// The expression for the design of an experiment. A store that is only read may have an older format, without it.
pub(super) fn design(connection: &Connection) -> rusqlite::Result<&'static str> {
    Ok(if form(connection)? >= FORM_WITH_DESIGNS { "design" } else { "NULL" })
}

fn form(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Creates the tables, or runs the missing upgrades, and updates the format number.
fn raise(transaction: &Transaction<'_>, steps: &[&str]) -> rusqlite::Result<()> {
    match usize::try_from(form(transaction)?).unwrap_or(0).checked_sub(1) {
        None => [TABLES, SCHEMA_CHANGES, WHAT_CHANGES_MADE]
            .iter()
            .try_for_each(|sql| transaction.execute_batch(sql))?,
        Some(taken) => steps.iter().skip(taken).try_for_each(|step| transaction.execute_batch(step))?,
    }
    let mut views = transaction.prepare("SELECT name FROM sqlite_master WHERE type = 'view'")?;
    let names = views.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    for name in names {
        transaction.execute_batch(&format!("DROP VIEW {}", sql::identifier(&name)))?;
    }
    transaction.execute_batch(VIEWS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", form_after(steps))
}

/// Enables WAL mode, in which readers do not block writers; commits are durable (`synchronous`). On a file system
/// without support for WAL mode, SQLite keeps its rollback journal, which is equally durable.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    let mut attempt = 0;
    loop {
        attempt += 1;
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error)
                if attempt < ATTEMPTS_MAX && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
            {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_an_earlier_form_has_no_signs_of_life() {
        let connection = Connection::open_in_memory().unwrap();
        for (form, expected) in [(3, "NULL"), (4, "runs.alive_at"), (STORE_FORM, "runs.alive_at")] {
            connection.pragma_update(None, "user_version", form).unwrap();
            assert_eq!(alive_at(&connection).unwrap(), expected);
            assert_eq!(design(&connection).unwrap(), if form == STORE_FORM { "design" } else { "NULL" });
        }
    }

    #[test]
    fn a_store_of_an_earlier_form_takes_the_steps_that_are_missing() {
        let steps = ["ALTER TABLE runs ADD COLUMN first TEXT", "ALTER TABLE runs ADD COLUMN second TEXT"];
        let mut connection = Connection::open_in_memory().unwrap();
        for taken in 0..=steps.len() {
            let transaction = connection.transaction().unwrap();
            raise(&transaction, &steps[..taken]).unwrap();
            // The view of the previous upgrade is recreated.
            transaction
                .query_row("SELECT count(*) FROM run_summary", [], |row| row.get::<_, i64>(0))
                .unwrap();
            transaction.commit().unwrap();
            assert_eq!(form(&connection).unwrap(), 1 + i64::try_from(taken).unwrap());
        }
        connection.query_row("SELECT count(first) + count(second) FROM runs", [], |_| Ok(())).unwrap();
    }
}
