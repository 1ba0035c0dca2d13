//! Execution of a change and of its undo: in one transaction, or one statement by itself where the server requires that.
//! After a lost connection the server is asked whether the transaction was committed.

use std::thread;
use std::time::Duration;

use connect::{ConnectError, LockingStatements, Remains, Session, StatementFailure, Target};
use results::MadeObject;

use super::{ACTIVE_SQL_TRANSACTION, has_state, identity};

/// Looks at a transaction whose server process has not noticed the end of its connection yet.
const LOOKS: u32 = 50;
const LOOKS_APART: Duration = Duration::from_millis(100);

/// What is known of the transaction in which statements were executed.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Its ID.
    transaction: Option<String>,
    /// What it made or altered; `None` if that is not known.
    pub(super) made: Option<Vec<MadeObject>>,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Committed,
    RolledBack,
    Unknown,
}

impl Trace {
    /// Reads that of the session's transaction.
    fn read(&mut self, session: &mut Session) -> Result<(), ConnectError> {
        let rows = session.query("SELECT pg_catalog.txid_current()")?;
        self.transaction = rows.first().and_then(|row| row.get(0)).map(str::to_owned);
        self.made = identity::of_transaction(session);
        Ok(())
    }

    /// Asks the server, on a new session, how the transaction ended after its COMMIT was sent.
    pub(super) fn ending(&self, target: &Target) -> Ending {
        let Some(transaction) = &self.transaction else { return Ending::Unknown };
        for _ in 0..LOOKS {
            match ending(target, transaction) {
                Ok(Some(ending)) => return ending,
                Ok(None) | Err(_) => thread::sleep(LOOKS_APART),
            }
        }
        Ending::Unknown
    }
}

/// `None` as long as it is in progress.
fn ending(target: &Target, transaction: &str) -> Result<Option<Ending>, ConnectError> {
    let mut session = Session::connect(target)?;
    if session.server_version_num() < 100_000 {
        return Ok(Some(Ending::Unknown));
    }
    let rows = session.query_catalogs(&format!("SELECT txid_status({transaction})"))?;
    Ok(match rows.first().and_then(|row| row.get(0)) {
        Some("committed") => Some(Ending::Committed),
        Some("aborted") => Some(Ending::RolledBack),
        Some(_) => None,
        None => Some(Ending::Unknown),
    })
}

/// Executes statements in one transaction. A single statement that cannot run in one is executed by itself.
pub(super) fn execute(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    statements: &[String],
    continues: &dyn Fn() -> bool,
    trace: &mut Trace,
) -> Result<(), StatementFailure> {
    let tried = locking.repeat(session, |session, this| {
        *trace = Trace::default();
        this.execute_in_transaction(session, statements, continues, &mut |session| trace.read(session))
    });
    let Err(failure) = tried else { return Ok(()) };
    match statements {
        [sql] if is_of_transaction(&failure) => alone(locking, session, sql, trace),
        _ => Err(failure),
    }
}

/// Whether a statement cannot run in a transaction, and nothing of the others remains.
fn is_of_transaction(failure: &StatementFailure) -> bool {
    failure.remains == Remains::Nothing && has_state(&failure.error, &[ACTIVE_SQL_TRANSACTION])
}

/// As [`execute`], for an undo: several statements are executed one by one if one of them cannot run in a transaction.
pub(super) fn execute_undo(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    statements: &[String],
    continues: &dyn Fn() -> bool,
    trace: &mut Trace,
) -> Result<(), StatementFailure> {
    let Err(failure) = execute(locking, session, statements, continues, trace) else { return Ok(()) };
    if !is_of_transaction(&failure) || statements.len() < 2 {
        return Err(failure);
    }
    for (done, sql) in statements.iter().enumerate() {
        let executed =
            if continues() { alone(locking, session, sql, trace) } else { Err(nothing(interrupted())) };
        if let Err(StatementFailure { error, remains }) = executed {
            let remains = if remains == Remains::Unknown { remains } else { Remains::PartAfter(done) };
            return Err(StatementFailure { error, remains });
        }
    }
    Ok(())
}

/// A statement that failed here made nothing, unless the connection was lost.
fn alone(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    sql: &str,
    trace: &mut Trace,
) -> Result<(), StatementFailure> {
    let before = identity::next_transaction(session);
    *trace = Trace::default();
    if let Err(error) = locking.execute_alone(session, sql) {
        let remains = if session.is_lost() { Remains::Unknown } else { Remains::Nothing };
        return Err(StatementFailure { error: Box::new(error), remains });
    }
    trace.made = before.and_then(|before| identity::since(session, &before));
    Ok(())
}

fn nothing(error: ConnectError) -> StatementFailure {
    StatementFailure { error: Box::new(error), remains: Remains::Nothing }
}

fn interrupted() -> ConnectError {
    ConnectError::WrongStatement("interrupted")
}
