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
const ALTERED_MEANWHILE: &str = "another session altered what the change made while the undo waited for its locks, so the \
                                 undo was rolled back";

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
    execute_after(locking, session, statements, continues, trace, &mut || Ok(()))
}

/// As [`execute`], with a last look before the COMMIT; its error undoes the transaction.
fn execute_after(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    statements: &[String],
    continues: &dyn Fn() -> bool,
    trace: &mut Trace,
    look: &mut dyn FnMut() -> Result<(), ConnectError>,
) -> Result<(), StatementFailure> {
    let tried = locking.repeat(session, |session, this| {
        *trace = Trace::default();
        let mut look = |session: &mut Session| trace.read(session).and_then(|()| look());
        this.execute_in_transaction(session, statements, continues, &mut look)
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
/// What the change made must still be there when the undo has its locks. Another session looks: until the COMMIT it sees
/// the state before the undo, which nobody else can alter any more.
pub(super) fn execute_undo(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    statements: &[String],
    made: &[MadeObject],
    continues: &dyn Fn() -> bool,
    trace: &mut Trace,
) -> Result<(), StatementFailure> {
    // Behind a pooler, the other session could wait for the connection of this one.
    let mut other = (!session.is_pooled()).then(|| Session::connect(&session.target_here()).ok()).flatten();
    let mut look = || {
        let Some(other) = &mut other else { return Ok(()) };
        let is_there = identity::differences(other, made)?.sentences.is_empty();
        if is_there { Ok(()) } else { Err(ConnectError::WrongStatement(ALTERED_MEANWHILE)) }
    };
    let executed = execute_after(locking, session, statements, continues, trace, &mut look);
    let Err(failure) = executed else { return Ok(()) };
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

#[cfg(test)]
mod tests {
    use connect::{LockWaits, Patience};
    use testkit::cluster::Cluster;

    use super::*;

    #[test]
    fn an_undo_that_gets_its_lock_after_the_object_was_replaced_is_rolled_back() {
        let dsn = Cluster::shared("18").database("replaced");
        let (mut session, mut user) = (Cluster::session(&dsn), Cluster::session(&dsn));
        let (mut waits, continues) = (LockWaits::default(), || true);
        let mut locking = LockingStatements::new(Patience::default(), &continues, &mut waits);
        let mut trace = Trace::default();
        session.execute("CREATE TABLE x (id int)").unwrap();
        let change = ["ALTER TABLE x ADD COLUMN z int".to_owned()];
        execute(&mut locking, &mut session, &change, &continues, &mut trace).unwrap();
        let made = trace.made.take().unwrap();
        let undo = ["ALTER TABLE x DROP COLUMN z".to_owned()];
        user.execute("BEGIN; ALTER TABLE x DROP COLUMN z; ALTER TABLE x ADD COLUMN z text").unwrap();
        let replacing = thread::spawn(move || {
            let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'x'::regclass";
            while user.query(waits).unwrap().is_empty() {
                testkit::condition::pause();
            }
            user.execute("COMMIT").unwrap();
        });
        let failure =
            execute_undo(&mut locking, &mut session, &undo, &made, &continues, &mut trace).unwrap_err();
        replacing.join().unwrap();
        assert!(failure.error.to_string().contains("another session altered"), "{}", failure.error);
        assert_eq!(failure.remains, Remains::Nothing);
        session.execute("SELECT z FROM x").unwrap();
        assert_eq!(identity::differences(&mut session, &made).unwrap().sentences.len(), 1);
    }
}
