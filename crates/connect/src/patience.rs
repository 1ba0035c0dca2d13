//! Statements that need locks in a database that others use. A statement that waits for a lock makes all later ones
//! wait behind it, so each wait is short (`lock_timeout`), the statement is tried again after growing pauses, and it is
//! given up after a limit. Meanwhile another connection notes who holds the lock. No setting stays behind in the session:
//! it is `SET LOCAL` in a transaction, and RESET after a statement that cannot run in one.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::ConnectError;
use crate::lock_wait::{
    LockHolder, LockNotGranted, LockWait, LockWaitLimit, Patience, TOLD_AFTER, TellLockWait,
};
use crate::session::{IDLE_LIMIT, Session, StatementLimit, set_to};
use crate::stopwatch::Stopwatch;
use crate::target::Target;

/// Pause after the first try; each later pause is twice as long, up to the longest one.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Wait of a statement for a lock after the statements before it have used up the time: on a busy table no lock is free at
/// once.
const REST_MIN: Duration = Duration::from_millis(50);
/// Interval in which a pause looks for an interruption, and in which blocked statements are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Longest interval of looks at a statement that works for long, and the number of looks in the time that it has worked.
const LOOK_MAX: Duration = Duration::from_secs(2);
const LOOKS_IN_TIME: u32 = 10;
/// Limit for the connection that looks who holds a lock: the statement's result waits for its end.
const LOOK_LIMIT: Duration = Duration::from_secs(2);
/// The same behind a pooler, where a look may wait until the transaction that it looks at gives its connection back. If the
/// look ended just when it gets that connection, the pooler would close it, and the application's settings would be lost.
const POOLED_LOOK_LIMIT: Duration = Duration::from_secs(10);
/// Added to the limit of a statement's answer, so that the server's `lock_timeout` comes first.
const ANSWER: Duration = Duration::from_secs(10);
/// Time that an autovacuum needs to end after the server's request.
const END_OF_AUTOVACUUM: Duration = Duration::from_millis(500);
/// Tries to reset a setting: a cancel request for the statement before may hit the first one.
const RESETS: usize = 3;

impl Patience {
    /// That of the session's target, and at most what statements before a run may wait.
    pub fn for_session(session: &Session) -> Self {
        let Self { lock_timeout, limit } = session.patience();
        let limit = session.lock_wait_limit().map_or(limit, |lock_limit| lock_limit.min(limit));
        Self { lock_timeout: lock_timeout.min(limit), limit }
    }

    /// What is left of it for later statements that share the limit with those that have waited; never nothing.
    #[must_use]
    pub fn after(self, waits: &LockWaits) -> Self {
        let limit = self.limit.saturating_sub(waits.total).max(REST_MIN);
        Self { lock_timeout: self.lock_timeout.min(limit), limit }
    }
}

/// What waiting for locks has taken so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockWaits {
    /// Tries of statements and transactions, including the successful ones.
    pub tries: u64,
    /// Longest wait for a lock that was seen.
    pub longest: Duration,
    /// All waits that were seen, with the pauses between tries.
    pub total: Duration,
}

/// Why statements failed, and what remains of them.
#[derive(Debug)]
pub struct StatementFailure {
    /// The error.
    pub error: Box<ConnectError>,
    /// What remains.
    pub remains: Remains,
}

impl StatementFailure {
    fn new(error: ConnectError, remains: Remains) -> Self {
        Self { error: Box::new(error), remains }
    }
}

/// The failure of a try that may be repeated.
pub trait LockFailure {
    /// Whether a lock was not granted in time.
    fn is_lock_timeout(&self) -> bool;
    /// Whether nothing of the try remains.
    fn is_undone(&self) -> bool;
    /// The same failure with another cause.
    #[must_use]
    fn with_cause(self, cause: ConnectError) -> Self;
}

impl LockFailure for StatementFailure {
    fn is_lock_timeout(&self) -> bool {
        self.error.is_lock_timeout()
    }

    fn is_undone(&self) -> bool {
        // What a transaction has committed in part must not be repeated.
        matches!(self.remains, Remains::Nothing | Remains::PartAfter(0))
    }

    fn with_cause(self, cause: ConnectError) -> Self {
        Self::new(cause, self.remains)
    }
}

/// One try of statements that need locks.
#[derive(Debug)]
pub struct LockTry {
    lock_timeout: Duration,
    /// When its transaction began.
    begun: Cell<Option<Stopwatch>>,
    /// The server's process whose waits are noted; 0 before it is known and after the statements.
    pid: Arc<AtomicU32>,
    /// What the session has outside of tries.
    usual: UsualLimits,
}

/// The limits of a session, and who is told whom it waits for.
#[derive(Clone, Copy, Debug)]
struct UsualLimits {
    statement: StatementLimit,
    lock_wait: Option<LockWaitLimit>,
    tell: Option<TellLockWait>,
}

impl LockTry {
    /// Limits the waits for locks of the session's current transaction, and begins to note who blocks it.
    ///
    /// # Errors
    /// The server refuses the setting, or the connection is lost.
    pub fn limit_transaction(&self, session: &mut Session) -> Result<(), ConnectError> {
        self.begun.set(Some(Stopwatch::start()));
        session.execute(&format!("SET LOCAL {}; {IDLE_LIMIT}", set_to(self.lock_timeout)))?;
        self.note_pid(session)
    }

    /// Limits the waits of all statements of the session's transaction, each by itself. For transactions of any length, so
    /// nobody looks who holds a lock.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn limit_each_statement(&self, session: &mut Session) -> Result<(), ConnectError> {
        session.execute(&format!("SET LOCAL {}", set_to(self.lock_timeout))).map(drop)
    }

    /// From here on, the statements of the transaction wait as those of the session do: long ones for which nobody waits, such
    /// as COPY.
    ///
    /// # Errors
    /// Errors of the server.
    pub fn end_limit(&self, session: &mut Session) -> Result<(), ConnectError> {
        self.pid.store(0, Ordering::Relaxed);
        self.usual.set(session);
        session.execute("SET LOCAL lock_timeout = 0").map(drop)
    }

    /// Limits the waits of the next statement to the rest of the time, because others wait for the locks that the
    /// transaction has.
    ///
    /// # Errors
    /// As for [`LockTry::limit_transaction`].
    pub fn limit_statement(&self, session: &mut Session) -> Result<(), ConnectError> {
        let passed = self.begun.get().map_or(Duration::ZERO, |begun| begun.passed());
        let rest = self.lock_timeout.saturating_sub(passed).max(REST_MIN.min(self.lock_timeout));
        session.execute(&format!("SET LOCAL {}", set_to(rest))).map(drop)
    }

    /// Executes statements in one transaction. `look` is called before its COMMIT; its error undoes the transaction.
    ///
    /// # Errors
    /// A statement failed or was interrupted. Without a COMMIT the server rolls back, also after a lost connection; but a
    /// statement that ended the transaction has committed those before it.
    pub fn execute_in_transaction(
        &self,
        session: &mut Session,
        statements: &[String],
        continues: &dyn Fn() -> bool,
        look: &mut dyn FnMut(&mut Session) -> Result<(), ConnectError>,
    ) -> Result<(), StatementFailure> {
        if !continues() {
            return Err(StatementFailure::new(interrupted(), Remains::Nothing));
        }
        session.begin().map_err(|error| StatementFailure::new(error, Remains::Nothing))?;
        let done = self.execute_each(session, statements, continues).and_then(|()| look(session));
        if let Err(error) = done {
            // Of a lost connection, this is the state before the failed statement.
            let is_open = session.is_in_transaction();
            if is_open && !session.is_lost() {
                // If it fails, the connection is lost, and the server rolls back.
                let _ = session.rollback();
            }
            let remains = if is_open { Remains::Nothing } else { Remains::Unknown };
            return Err(StatementFailure::new(error, remains));
        }
        session.commit().map_err(|error| {
            // The server rolls back if it reports an error, such as a violated deferred constraint.
            let is_undone = error.server_error().is_some() && !session.is_lost();
            StatementFailure::new(error, if is_undone { Remains::Nothing } else { Remains::Unknown })
        })
    }

    /// The statements of a transaction, which have one limit for their waits in common.
    fn execute_each(
        &self,
        session: &mut Session,
        statements: &[String],
        continues: &dyn Fn() -> bool,
    ) -> Result<(), ConnectError> {
        self.limit_transaction(session)?;
        for (at, sql) in statements.iter().enumerate() {
            if !continues() {
                return Err(interrupted());
            }
            if at > 0 {
                self.limit_statement(session)?;
            }
            session.execute(sql)?;
        }
        Ok(())
    }

    fn note_pid(&self, session: &mut Session) -> Result<(), ConnectError> {
        // Behind a pooler, the key of the session is not that of the server's process.
        let rows = session.query("SELECT pg_catalog.pg_backend_pid()")?;
        let found = rows.first().and_then(|row| row.get(0)?.parse().ok());
        self.pid.store(found.unwrap_or(0), Ordering::Relaxed);
        Ok(())
    }
}

impl UsualLimits {
    fn set(self, session: &mut Session) {
        session.set_statement_limit(self.statement);
        session.limit_lock_waits(self.lock_wait);
        session.tell_lock_waits(self.tell);
    }
}

/// What remains of statements of which one failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remains {
    /// Nothing.
    Nothing,
    /// This number of statements, and possibly a part of the next one.
    PartAfter(usize),
    /// The connection was lost, or the transaction had ended already.
    Unknown,
}

/// Whether a session that holds a lock is one of pgmeter's own.
pub type IsOwn<'a> = &'a dyn Fn(&LockHolder) -> bool;

/// Runs statements that need locks.
pub struct LockingStatements<'a> {
    patience: Patience,
    /// Whether to begin another statement or try.
    continues: &'a dyn Fn() -> bool,
    waits: &'a mut LockWaits,
    is_own: IsOwn<'a>,
}

impl fmt::Debug for LockingStatements<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LockingStatements").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl<'a> LockingStatements<'a> {
    /// `continues` is asked before each statement and each try.
    pub fn new(patience: Patience, continues: &'a dyn Fn() -> bool, waits: &'a mut LockWaits) -> Self {
        Self { patience, continues, waits, is_own: &|_| false }
    }

    /// Waits for these sessions do not count: pgmeter's own work beside this one ends by itself.
    #[must_use]
    pub fn beside(self, is_own: IsOwn<'a>) -> Self {
        Self { is_own, ..self }
    }

    /// Executes statements in one transaction, and repeats it until it has all locks.
    ///
    /// # Errors
    /// A statement failed, was interrupted, or did not get its lock within the limit.
    pub fn execute_in_transaction(
        &mut self,
        session: &mut Session,
        statements: &[String],
    ) -> Result<(), StatementFailure> {
        let continues = self.continues;
        self.repeat(session, |session, this| {
            this.execute_in_transaction(session, statements, continues, &mut |_| Ok(()))
        })
    }

    /// Executes a statement that need not or cannot run in a transaction, and repeats it until it has its lock.
    ///
    /// # Errors
    /// It failed, was interrupted, or did not get its lock within the limit.
    pub fn execute_alone(&mut self, session: &mut Session, sql: &str) -> Result<(), ConnectError> {
        self.repeat(session, |session, this| alone(session, sql, this)).map_err(|failure| *failure.error)
    }

    /// Executes a statement whose wait makes no reader and no writer wait, such as CREATE INDEX CONCURRENTLY, which waits
    /// for old transactions and would have to begin anew: one try that may wait as long as the limit.
    ///
    /// # Errors
    /// It failed, was interrupted, or did not get its lock within the limit.
    pub fn execute_beside_others(&mut self, session: &mut Session, sql: &str) -> Result<(), ConnectError> {
        let limit = self.patience.limit;
        let telling = Telling::of(session);
        let begun = Stopwatch::start();
        let (done, mut seen) = watched(session, limit, telling, |session, this| alone(session, sql, this));
        let is_lock_timeout =
            done.as_ref().is_err_and(|failure| failure.is_lock_timeout() || seen.is_cancelled);
        if is_lock_timeout {
            seen.waited = begun.passed();
        }
        self.note(&seen);
        match done {
            Err(_) if is_lock_timeout => Err(not_granted(1, &seen)),
            done => done.map_err(|failure| *failure.error),
        }
    }

    fn note(&mut self, seen: &Seen) {
        self.waits.tries += 1;
        self.waits.longest = self.waits.longest.max(seen.waited);
        self.waits.total += seen.waited;
    }

    /// Tries until no lock is missing, or the limit is reached. A try must leave nothing behind if it fails.
    ///
    /// # Errors
    /// The failure of the last try, or that no lock was granted within the limit.
    pub fn repeat<T, E: LockFailure>(
        &mut self,
        session: &mut Session,
        mut attempt: impl FnMut(&mut Session, &LockTry) -> Result<T, E>,
    ) -> Result<T, E> {
        let begun = Stopwatch::start();
        let (mut tries, mut pause, mut worst) = (0, PAUSE_MIN, Seen::default());
        let (mut telling, mut lock_timeout) = (Telling::of(session), self.patience.lock_timeout);
        let mut for_own = Duration::ZERO;
        loop {
            let tried = Stopwatch::start();
            telling.passed = begun.passed();
            let (done, mut seen) = watched(session, lock_timeout, telling, &mut attempt);
            telling.tell = telling.tell.filter(|_| !seen.is_told);
            let is_lock_timeout =
                done.as_ref().is_err_and(|failure| failure.is_lock_timeout() || seen.is_cancelled);
            if is_lock_timeout {
                seen.waited = tried.passed();
            }
            self.note(&seen);
            tries += 1;
            let failure = match done {
                Err(failure) if is_lock_timeout && failure.is_undone() && !session.is_lost() => failure,
                done => return done,
            };
            // With the newest holders that are known: a look may be too late.
            worst = worst.and_then(seen);
            if !worst.holders.is_empty() && worst.holders.iter().all(self.is_own) {
                for_own += tried.passed() + pause;
            }
            lock_timeout = self.patience.lock_timeout.max(time_for_autovacuum(session, &worst.holders));
            if begun.passed().saturating_sub(for_own) + pause >= self.patience.limit {
                return Err(failure.with_cause(not_granted(tries, &worst)));
            }
            self.waits.total += pause;
            if !self.pause(pause) {
                return Err(failure.with_cause(interrupted()));
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Whether to go on after the pause.
    fn pause(&self, pause: Duration) -> bool {
        let begun = Stopwatch::start();
        while begun.passed() < pause {
            if !(self.continues)() {
                return false;
            }
            thread::sleep(LOOK.min(pause));
        }
        (self.continues)()
    }
}

/// Its limit for locks would have to be set for the pooler's connection, which others get afterwards.
const ALONE_BEHIND_POOLER: &str = "a statement outside of a transaction cannot be limited in its wait for locks behind a \
                                   connection pooler: connect to the server itself";

/// How long a statement must wait so that the server ends the autovacuum that holds the lock; zero if none does. The server does
/// so after `deadlock_timeout`, and a shorter `lock_timeout` would wait for the end of the autovacuum.
fn time_for_autovacuum(session: &mut Session, holders: &[LockHolder]) -> Duration {
    if !holders.iter().any(LockHolder::is_autovacuum) {
        return Duration::ZERO;
    }
    let sql = "SELECT setting FROM pg_settings WHERE name = 'deadlock_timeout'";
    let rows = session.query_catalogs(sql).unwrap_or_default();
    let found = rows.first().and_then(|row| row.get(0)?.parse().ok());
    found.map_or(Duration::ZERO, |timeout_ms| Duration::from_millis(timeout_ms) + END_OF_AUTOVACUUM)
}

fn interrupted() -> ConnectError {
    ConnectError::WrongStatement("interrupted")
}

fn not_granted(tries: u64, seen: &Seen) -> ConnectError {
    let (longest, holders) = (seen.waited, seen.holders.clone());
    ConnectError::LockNotGranted(Box::new(LockNotGranted { tries, longest, holders }))
}

fn alone(session: &mut Session, sql: &str, this: &LockTry) -> Result<(), StatementFailure> {
    if session.is_pooled() {
        return Err(StatementFailure::new(
            ConnectError::WrongStatement(ALONE_BEHIND_POOLER),
            Remains::Nothing,
        ));
    }
    let done = session
        .execute(&format!("SET {}", set_to(this.lock_timeout)))
        .and_then(|_| this.note_pid(session))
        .and_then(|()| session.execute(sql));
    this.pid.store(0, Ordering::Relaxed);
    for _ in 0..RESETS {
        if session.is_lost() || session.execute("RESET lock_timeout").is_ok() {
            break;
        }
    }
    done.map(drop).map_err(|error| StatementFailure::new(error, Remains::PartAfter(0)))
}

/// What another connection saw of a statement that waits for a lock.
#[derive(Debug, Default)]
struct Seen {
    waited: Duration,
    holders: Vec<LockHolder>,
    /// Whether the user was told.
    is_told: bool,
    /// Whether the statement was cancelled because all its waits together took too long.
    is_cancelled: bool,
}

impl Seen {
    /// Both, with the newest holders.
    fn and_then(self, next: Self) -> Self {
        let holders = if next.holders.is_empty() { self.holders } else { next.holders };
        let (is_told, is_cancelled) = (self.is_told || next.is_told, self.is_cancelled || next.is_cancelled);
        Self { waited: self.waited.max(next.waited), holders, is_told, is_cancelled }
    }
}

/// Whether and when the user is told whom a statement waits for.
#[derive(Clone, Copy, Debug)]
struct Telling {
    /// `None`: not, or not again.
    tell: Option<TellLockWait>,
    /// Time of the tries before.
    passed: Duration,
}

impl Telling {
    fn of(session: &Session) -> Self {
        Self { tell: session.tells_lock_waits(), passed: Duration::ZERO }
    }

    /// Tells of a wait that was seen this long after the begin of the try, if it is time to; returns whether it did.
    fn tell(&mut self, wait: &LockWait, passed: Duration) -> bool {
        let tell = self.tell.filter(|_| self.passed + passed >= TOLD_AFTER);
        if let Some(tell) = tell {
            tell(wait);
            self.tell = None;
        }
        tell.is_some()
    }
}

/// Runs `work`, which notes the process of its statement, while another connection looks who blocks that, and cancels a
/// statement that waits for several locks for longer than the limit of one: it may have the first one already.
fn watched<T>(
    session: &mut Session,
    lock_timeout: Duration,
    telling: Telling,
    work: impl FnOnce(&mut Session, &LockTry) -> T,
) -> (T, Seen) {
    let look_limit = if session.is_pooled() { POOLED_LOOK_LIMIT } else { LOOK_LIMIT };
    let target = Target {
        connect_timeout: Some(look_limit),
        control_timeout: Some(look_limit),
        ..session.target_here()
    };
    // The server ends the wait, and the watcher tells the user.
    let statement = session.limit_for_locks(lock_timeout + ANSWER);
    let (tell, lock_wait) = (session.tell_lock_waits(None), session.limit_lock_waits(None));
    let usual = UsualLimits { statement, lock_wait, tell };
    let this = LockTry { lock_timeout, begun: Cell::new(None), pid: Arc::default(), usual };
    let (done, is_done) = mpsc::channel::<()>();
    let looks = (lock_timeout / 4).clamp(Duration::from_millis(5), LOOK);
    let watched = Arc::clone(&this.pid);
    let watcher = thread::Builder::new().name("locks".to_owned());
    let watcher =
        watcher.spawn(move || watch(&target, &watched, &is_done, looks, lock_timeout, telling)).ok();
    let result = work(session, &this);
    usual.set(session);
    drop(done);
    let seen = watcher.and_then(|watcher| watcher.join().ok()).unwrap_or_default();
    (result, seen)
}

/// Looks who blocks a process until the other end of the channel is dropped, and cancels its statement when its waits
/// together reach the limit, which the server has for each of them. Connects only if there is something to see:
/// most statements get their locks at once.
fn watch(
    target: &Target,
    pid: &AtomicU32,
    is_done: &Receiver<()>,
    looks: Duration,
    limit: Duration,
    mut telling: Telling,
) -> Seen {
    let (mut seen, mut session, mut since) = (Seen::default(), None, None);
    let mut waited = Duration::ZERO;
    let (start, mut pause) = (Stopwatch::start(), looks);
    while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(pause) {
        // A statement that works for hours is rarely looked at.
        pause = (start.passed() / LOOKS_IN_TIME).clamp(looks, LOOK_MAX.max(looks));
        let process = pid.load(Ordering::Relaxed);
        if process == 0 {
            continue;
        }
        if session.is_none() {
            session = Session::connect(target).ok();
        }
        let Some(found) = session.as_mut().and_then(|session| LockWait::of(session, process).ok()) else {
            continue;
        };
        let Some(wait) = found else {
            since = None;
            continue;
        };
        waited += pause;
        if waited > limit + pause
            && let Some(session) = &mut session
        {
            seen.is_cancelled |=
                session.query_catalogs(&cancel_if_it_waits(process)).is_ok_and(|it| !it.is_empty());
        }
        // It may have waited since the look before.
        let (begun, before) = *since.get_or_insert_with(|| (Stopwatch::start(), pause));
        let is_told = telling.tell(&wait, start.passed()) || seen.is_told;
        let waited = seen.waited.max(begun.passed() + before);
        seen = Seen { waited, holders: wait.holders, is_told, is_cancelled: seen.is_cancelled };
    }
    seen
}

fn cancel_if_it_waits(process: u32) -> String {
    format!(
        "SELECT pg_cancel_backend(pid) FROM (SELECT {process} AS pid) AS waiting WHERE cardinality(pg_blocking_pids(pid)) > 0"
    )
}

impl Session {
    /// Sets a limit of later statements that allows waiting this long for a lock; returns the previous one.
    fn limit_for_locks(&mut self, limit: Duration) -> StatementLimit {
        let limit = match self.patient_limit() {
            StatementLimit::WhileServerAnswers(usual) => StatementLimit::WhileServerAnswers(usual.max(limit)),
            other => other,
        };
        self.set_statement_limit(limit)
    }
}
