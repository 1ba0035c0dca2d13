//! The form of the store: its tables and views, made once, and brought from older forms to today's.
//! A store says by `application_id` that it is ours, and by `user_version` which form it has.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::failed;
use crate::ResultsError;
use crate::error::shown;

/// The form that this version makes, and the newest it knows.
const STORE_FORM: i64 = form_after(&STEPS);

/// `pgme`, so that no other program's database is taken for a store.
const APPLICATION_ID: i64 = 0x7067_6d65;
/// `pgmr`, of pgmeters from before the first release, whose forms were counted apart.
const UNRELEASED_APPLICATION_ID: i64 = 0x7067_6d72;

const TABLES: &str = include_str!("tables.sql");
const VIEWS: &str = include_str!("views.sql");

/// What brings a store of form n, from 1, to form n + 1. A new store has all tables at once; its views, and those of a
/// store that was brought up, are made anew.
const STEPS: [&str; 0] = [];

const fn form_after(steps: &[&str]) -> i64 {
    1 + steps.len() as i64
}

/// How often the change to write-ahead logging is tried: of several processes that make a store at once, one comes
/// first, and SQLite does not wait in this one statement.
const ATTEMPTS_MAX: u32 = 100;

/// Makes the tables, or brings them to today's form; says how writing is to be done.
pub(super) fn prepare(path: &Path, connection: &mut Connection) -> Result<(), ResultsError> {
    check(path, connection)?;
    write_ahead(connection).map_err(failed(path))?;
    if form(connection).map_err(failed(path))? == STORE_FORM {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed(path))?;
    // Another process may have done it meanwhile.
    check(path, &transaction)?;
    raise(&transaction, &STEPS).and_then(|()| transaction.commit()).map_err(failed(path))
}

/// The same for whoever only reads: a store of today's form is left as it is.
pub(super) fn bring_up(path: &Path, connection: &mut Connection) -> Result<(), ResultsError> {
    check(path, connection)?;
    if form(connection).map_err(failed(path))? == STORE_FORM { Ok(()) } else { prepare(path, connection) }
}

/// Whether this is a store that this version can read. An empty database will become one.
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

fn form(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the tables, or takes the steps that are missing; the form is then as many steps above 1.
fn raise(transaction: &Transaction<'_>, steps: &[&str]) -> rusqlite::Result<()> {
    match usize::try_from(form(transaction)?).unwrap_or(0).checked_sub(1) {
        None => transaction.execute_batch(TABLES)?,
        Some(taken) => steps.iter().skip(taken).try_for_each(|step| transaction.execute_batch(step))?,
    }
    let mut views = transaction.prepare("SELECT name FROM sqlite_master WHERE type = 'view'")?;
    let names = views.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    for name in names {
        transaction.execute_batch(&format!("DROP VIEW \"{}\"", name.replace('"', "\"\"")))?;
    }
    transaction.execute_batch(VIEWS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", form_after(steps))
}

/// Commits are on the disk when they are done (`synchronous`), and readers hold up no writer. A file system that cannot
/// do write-ahead logging stays with SQLite's other journal, which is as safe.
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
    fn a_store_of_an_earlier_form_takes_the_steps_that_are_missing() {
        let steps = ["ALTER TABLE runs ADD COLUMN first TEXT", "ALTER TABLE runs ADD COLUMN second TEXT"];
        let mut connection = Connection::open_in_memory().unwrap();
        for taken in 0..=steps.len() {
            let transaction = connection.transaction().unwrap();
            raise(&transaction, &steps[..taken]).unwrap();
            // A view that the step before made is made anew.
            transaction
                .query_row("SELECT count(*) FROM run_summary", [], |row| row.get::<_, i64>(0))
                .unwrap();
            transaction.commit().unwrap();
            assert_eq!(form(&connection).unwrap(), 1 + i64::try_from(taken).unwrap());
        }
        connection.query_row("SELECT count(first) + count(second) FROM runs", [], |_| Ok(())).unwrap();
    }
}
