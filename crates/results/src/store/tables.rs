//! The form of the store: its tables and views, made once, and brought from older forms to today's.
//! A store says by `application_id` that it is ours, and by `user_version` which form it has.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::failed;
use crate::ResultsError;

/// The form that this version makes, and the newest it knows.
pub(crate) const STORE_FORM: i64 = 6;

/// `pgmr`, so that no other program's database is taken for a store.
const APPLICATION_ID: i64 = 0x7067_6d72;

const TABLES: &str = include_str!("tables.sql");
const VIEWS: &str = include_str!("views.sql");

/// What brings a store of form n, from 1, to form n + 1; a new store begins at 1 too. Views are made anew after any
/// step, so that one that changes views alone is empty.
const STEPS: [&str; 5] = [
    "ALTER TABLE runs ADD COLUMN notes TEXT CHECK (notes IS NULL OR json_valid(notes))",
    "",
    "CREATE TABLE steps (trial INTEGER PRIMARY KEY REFERENCES trials (trial), \
     record TEXT NOT NULL CHECK (json_valid(record)))",
    "CREATE TABLE sittings (sitting INTEGER PRIMARY KEY AUTOINCREMENT, \
     experiment INTEGER NOT NULL REFERENCES experiments (experiment), mark TEXT NOT NULL UNIQUE, \
     started_at TEXT NOT NULL, ended_at TEXT, hostname TEXT NOT NULL, boot_id TEXT, pid_namespace TEXT, \
     pid INTEGER, pid_started_ticks INTEGER)",
    "CREATE TABLE comparisons (
        comparison INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('complete', 'interrupted')),
        decision TEXT NOT NULL,
        started_at TEXT NOT NULL,
        ended_at TEXT NOT NULL,
        files TEXT NOT NULL CHECK (json_valid(files)),
        record TEXT NOT NULL CHECK (json_valid(record))
    )",
];

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
    raise(&transaction).and_then(|()| transaction.commit()).map_err(failed(path))
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
    if application != APPLICATION_ID {
        return Err(ResultsError::ForeignDatabase { path: path.to_owned() });
    }
    if form > STORE_FORM {
        return Err(ResultsError::NewerStore { path: path.to_owned(), found: form, supported: STORE_FORM });
    }
    Ok(())
}

fn form(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn raise(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let found = form(transaction)?;
    if found == STORE_FORM {
        return Ok(());
    }
    if found == 0 {
        transaction.execute_batch(TABLES)?;
    }
    let done = usize::try_from(found - 1).unwrap_or(0);
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    let mut views = transaction.prepare("SELECT name FROM sqlite_master WHERE type = 'view'")?;
    let names = views.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    for name in names {
        transaction.execute_batch(&format!("DROP VIEW \"{}\"", name.replace('"', "\"\"")))?;
    }
    transaction.execute_batch(VIEWS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", STORE_FORM)
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
