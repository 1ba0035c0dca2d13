//! Schema of the store: creates tables and views. `application_id` identifies a store, `user_version` its format.
//! docs/decisions/0042-store-forms.md says why earlier formats are not upgraded.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

use super::failed;
use crate::ResultsError;
use crate::error::shown;

/// The format of stores: the only one that this version writes and reads.
const STORE_FORM: i64 = 11;

/// `pgme`; protects other programs' databases.
const APPLICATION_ID: i64 = 0x7067_6d65;
/// `pgmr`, of versions before the first release, with separate format numbers.
const UNRELEASED_APPLICATION_ID: i64 = 0x7067_6d72;

const TABLES: &str = include_str!("tables.sql");
const VIEWS: &str = include_str!("views.sql");

/// Attempts to switch to WAL mode: if several processes create a store at once, one succeeds, and SQLite does not wait
/// in this statement.
const ATTEMPTS_MAX: u32 = 100;

/// Creates the tables of an empty database, and sets the journal mode.
pub(super) fn prepare(path: &Path, connection: &mut Connection) -> Result<(), ResultsError> {
    let has_tables = check(path, connection)?;
    write_ahead(connection).map_err(failed(path))?;
    if has_tables {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed(path))?;
    // Another process may have created them meanwhile.
    if check(path, &transaction)? {
        return Ok(());
    }
    create(&transaction).and_then(|()| transaction.commit()).map_err(failed(path))
}

/// Checks that this is a store that this version can read, and returns whether it has its tables. An empty database is
/// accepted, because it becomes a store.
pub(super) fn check(path: &Path, connection: &Connection) -> Result<bool, ResultsError> {
    let facts = || -> rusqlite::Result<_> {
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let is_empty =
            connection.query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| row.get(0))?;
        Ok((number("application_id")?, number("user_version")?, is_empty))
    };
    let (application, form, is_empty): (_, _, bool) = facts().map_err(failed(path))?;
    if is_empty && form == 0 {
        return Ok(false);
    }
    let path = shown(path);
    Err(ResultsError::Refused(match application {
        APPLICATION_ID if form == STORE_FORM => return Ok(true),
        APPLICATION_ID if form > STORE_FORM => format!(
            "the store {path} has form {form}, and this pgmeter knows form {STORE_FORM}; use the pgmeter that made it, or \
             a newer one, or name another place with --store"
        ),
        APPLICATION_ID | UNRELEASED_APPLICATION_ID => format!(
            "the store {path} was made by a pgmeter from before the first release, and this pgmeter cannot read it: move \
             it away, and `pgmeter runs import` makes a new one from the records beside it, or name another place with \
             --store"
        ),
        _ => format!("{path} is not a store of pgmeter's: name another place with --store"),
    }))
}

fn create(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(TABLES)?;
    transaction.execute_batch(VIEWS)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", STORE_FORM)
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
