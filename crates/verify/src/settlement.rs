//! Asks the server what became of the commits of a journal: waits until it is out of recovery, closes the table of the tokens,
//! reads it once, and judges. Blocking; called after a run, and by `pgmeter verify`.

use std::thread;
use std::time::Duration;

use connect::{
    Column, ConnectError, LockWaits, LockingStatements, OwnSettings, Patience, RowSink, Session, Stopwatch,
};
use results::Verification;

use crate::classification::classify;
use crate::error::VerifyError;
use crate::journal::{Description, Journal, TokenKey};
use crate::token_table::TokenTable;

/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(200);
/// Class of SQLSTATE for a refused role or password.
const REFUSED_ROLE: &str = "28";

/// What a missing table means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingTable {
    /// The server has lost it: the run has just ended, and nobody else removes it.
    IsLost,
    /// Somebody may have removed it, or this is another database.
    IsAnError,
}

/// Executes work on a session.
pub type Guard<'a> = dyn Fn(&mut Session, &mut dyn FnMut(&mut Session)) + 'a;

/// How to reach the server.
pub struct Server<'a> {
    /// Connects; called again until the server is ready.
    pub connect: &'a mut dyn FnMut() -> Result<Session, ConnectError>,
    /// Executes work on a session so that a signal ends it.
    pub guard: &'a Guard<'a>,
    /// Whether the user asked to stop.
    pub is_stopped: &'a dyn Fn() -> bool,
    /// Maximum time to wait for the server, and for transactions that still run.
    pub limit: Duration,
}

/// Judges the commits of a journal. The answer is final: no transaction that still runs can change it.
///
/// # Errors
/// The journal is damaged, the server is not ready in time, or the table is missing.
pub fn settle(
    journal: &Journal,
    server: Server<'_>,
    missing: MissingTable,
) -> Result<Verification, VerifyError> {
    let attempts = journal.read()?;
    let Description { table, scripts, .. } = journal.description();
    let tokens = server.read(table)?;
    if tokens.is_none() && missing == MissingTable::IsAnError {
        return Err(VerifyError::NoTable { table: table.name().to_owned() });
    }
    let table_missing = tokens.is_none();
    let verification = classify(table.name(), scripts, attempts, tokens.unwrap_or_default());
    Ok(Verification { table_missing, ..verification })
}

/// Removes the tables of tokens in a database; returns their names. `wanted` selects them by name; all others stay.
///
/// # Errors
/// A statement fails.
pub fn clean(session: &mut Session, wanted: &dyn Fn(&str) -> bool) -> Result<Vec<String>, VerifyError> {
    let (mut removed, mut waits) = (Vec::new(), LockWaits::default());
    let mut locking = LockingStatements::new(Patience::for_session(session), &|| true, &mut waits);
    for row in session.query_catalogs(&TokenTable::all())? {
        let (Some(schema), Some(name)) = (row.get(0), row.get(1)) else { continue };
        if wanted(name) {
            let drop = TokenTable::existing(schema, name).drop();
            locking.execute_in_transaction(session, &[drop]).map_err(|failure| *failure.error)?;
            removed.push(name.to_owned());
        }
    }
    Ok(removed)
}

/// An attempt that may succeed later, and the reason.
enum Failed {
    ForNow(String),
    ForGood(VerifyError),
}

impl Server<'_> {
    /// The tokens, once the server is ready; `None` if the table is not there.
    fn read(self, table: &TokenTable) -> Result<Option<Vec<TokenKey>>, VerifyError> {
        let stopwatch = Stopwatch::start();
        loop {
            let left = stopwatch.left_of(self.limit);
            let mut attempt = Err(Failed::ForNow("it was not asked".to_owned()));
            match (self.connect)() {
                Ok(mut session) => {
                    (self.guard)(&mut session, &mut |session| attempt = read_tokens(session, table, left));
                }
                Err(error) => attempt = Err(of_connecting(error)),
            }
            let failed = match attempt {
                Ok(tokens) => return Ok(tokens),
                Err(failed) => failed,
            };
            let name = || table.name().to_owned();
            // First, because an interruption cancels the statement.
            if (self.is_stopped)() {
                return Err(VerifyError::Interrupted { table: name() });
            }
            let reason = match failed {
                Failed::ForGood(error) => return Err(error),
                Failed::ForNow(reason) => reason,
            };
            let left = stopwatch.left_of(self.limit);
            if left.is_zero() {
                let seconds = self.limit.as_secs();
                return Err(VerifyError::NotReady { seconds, reason, table: name() });
            }
            thread::sleep(RETRY.min(left));
        }
    }
}

/// Whether the server refuses the role, or its password.
pub fn is_refused_role(error: &ConnectError) -> bool {
    error.sqlstate().is_some_and(|state| state.class() == REFUSED_ROLE)
}

/// A server that refuses the role or the password will do so later too; one that is down or starting will not.
fn of_connecting(error: ConnectError) -> Failed {
    match is_refused_role(&error) || error.is_password_needed() {
        true => Failed::ForGood(error.into()),
        false => Failed::ForNow(error.to_string()),
    }
}

fn read_tokens(
    session: &mut Session,
    table: &TokenTable,
    left: Duration,
) -> Result<Option<Vec<TokenKey>>, Failed> {
    let first = |session: &mut Session, sql: &str| {
        let rows = session.query_catalogs(sql).map_err(of_statement)?;
        Ok(rows.first().and_then(|row| row.get(0)).map(str::to_owned))
    };
    // Before the end of recovery, commits that were acknowledged may still be missing.
    if first(session, "SELECT pg_is_in_recovery()")?.as_deref() != Some("f") {
        return Err(Failed::ForNow("it is in recovery".to_owned()));
    }
    match first(session, &table.find())?.as_deref() {
        None => return Ok(None),
        Some("t") => {}
        Some(_) => close(session, table, left)?,
    }
    let mut tokens = Tokens::default();
    let read = session.patiently(|session| {
        session.in_own_transaction(OwnSettings::Limits, |session| {
            session.stream_rows(&table.read(), &mut tokens)
        })
    });
    read.map_err(of_statement)?;
    Ok(Some(tokens.keys))
}

/// Closes the table. Transactions that have written a token and still run are waited for. The commit does not wait for
/// standbys, which a failure may have taken away: no limit ends such a wait.
fn close(session: &mut Session, table: &TokenTable, left: Duration) -> Result<(), Failed> {
    let limit_ms = left.as_millis().clamp(1, i32::MAX.unsigned_abs().into());
    let sql = format!(
        "SET LOCAL lock_timeout = {limit_ms}; SET LOCAL synchronous_commit = local; {}",
        table.close()
    );
    let closed = session.patiently(|session| {
        session.in_own_transaction(OwnSettings::Limits, |session| session.execute(&sql))
    });
    match closed {
        Ok(_) => Ok(()),
        Err(error) if error.is_lock_timeout() => {
            Err(Failed::ForNow("transactions of the run still run on it".to_owned()))
        }
        Err(error) => Err(of_statement(error)),
    }
}

/// A lost connection may be the next crash.
fn of_statement(error: ConnectError) -> Failed {
    match error.is_of_a_restart() {
        true => Failed::ForNow(error.to_string()),
        false => Failed::ForGood(error.into()),
    }
}

/// Receives the rows of the table.
#[derive(Default)]
struct Tokens {
    keys: Vec<TokenKey>,
}

impl RowSink for Tokens {
    fn columns(&mut self, _: Vec<Column>) {}

    fn row(&mut self, values: &[Option<&[u8]>]) {
        // A row that is no token was not written by pgmeter: its numbers match no commit.
        let number = |at: usize| {
            let digits = values.get(at).copied().flatten().and_then(|bytes| std::str::from_utf8(bytes).ok());
            digits.and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(u64::MAX)
        };
        let small = |at: usize| u32::try_from(number(at)).unwrap_or(u32::MAX);
        let key = TokenKey { client: small(0), sequence: number(1), part: small(2), tries: small(3) };
        self.keys.push(key);
    }
}
