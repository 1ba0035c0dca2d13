//! Time limits of statements. A silent server and a lock held by another session end the session; a long-running
//! statement does not. Another thread can close the session at any time.

use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{Shutdown, shutdown};

use super::lock_holders::first_words;
use super::stream::ReadPatience;
use super::{CancelRequest, Session, cancel_all};
use crate::error::{Cause, ConnectError};
use crate::lock_wait::{LockWait, LockWaitLimit, TOLD_AFTER, TellLockWait, in_words};
use crate::stopwatch::Stopwatch;
use crate::target::Target;

/// Time limit of a statement in a control session. A statement that exceeds it is cancelled, and the session is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementLimit {
    /// No limit.
    None,
    /// Maximum time without data from the server.
    Silence(Duration),
    /// Maximum time of the whole statement; in a COPY, maximum time without progress.
    Within(Duration),
    /// For statements that may take hours: no limit while the server accepts another connection and the statement does
    /// not wait for a lock. Either may take at most this time.
    WhileServerAnswers(Duration),
}

/// Maximum time between two checks of a working server, and minimum number of checks within the limit.
const LOOK_MAX: Duration = Duration::from_secs(10);
const LOOKS_IN_LIMIT: u32 = 4;
/// Limit of a look early in a statement: others may use all connections of a pooler.
const LOOK_EARLY: Duration = Duration::from_secs(2);
/// Shortest time between two looks, and how often it doubles.
const LOOK_MIN: Duration = Duration::from_millis(100);
const LOOK_DOUBLINGS: u32 = 3;
/// Limit for a cancel request, so that an unresponsive server does not delay the caller.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);
/// What changes the limit of a session, and why most statements reach it.
const LIMIT_SETTING: &str = "PGMETER_CONTROL_TIMEOUT";
const SILENT: &str = "the server did not answer";
/// State of the running statement.
#[derive(Debug)]
pub(super) struct Waiting {
    limit: StatementLimit,
    /// Longest wait for a lock, if it is shorter than the limit.
    lock_limit: Option<LockWaitLimit>,
    /// Tells the user whom a statement waits for.
    tell: Option<TellLockWait>,
    patience: ReadPatience,
    /// Looks at the server during the statement so far.
    looks: u32,
    is_told: bool,
    /// Time of the last message from the server, or of the last look that showed it at work.
    heard: Stopwatch,
    /// Time since which the statement has been waiting for a lock.
    locked_since: Option<Stopwatch>,
    /// First words of the statement.
    statement: String,
    /// The statement exceeded its limit.
    is_given_up: bool,
}

impl StatementLimit {
    /// Initial state for sessions of this target.
    pub(super) fn of(target: &Target) -> Self {
        target.control_timeout.map_or(Self::None, Self::Within)
    }

    fn look(limit: Duration) -> Duration {
        (limit / LOOKS_IN_LIMIT).min(LOOK_MAX)
    }
}

impl Waiting {
    pub(super) fn new(limit: StatementLimit) -> Self {
        Self {
            limit,
            lock_limit: None,
            tell: None,
            patience: ReadPatience::Endless,
            looks: 0,
            is_told: false,
            heard: Stopwatch::start(),
            locked_since: None,
            statement: String::new(),
            is_given_up: false,
        }
    }

    /// Sets the limit of later statements; returns the previous one.
    pub(super) fn set_limit(&mut self, limit: StatementLimit) -> StatementLimit {
        mem::replace(&mut self.limit, limit)
    }

    /// Called at the start of a statement.
    pub(super) fn begin(&mut self, sql: &str) {
        self.patience = match self.limit {
            StatementLimit::None => ReadPatience::Endless,
            StatementLimit::Silence(limit) => ReadPatience::Silence(limit),
            StatementLimit::Within(limit) => ReadPatience::of(Some(limit)),
            StatementLimit::WhileServerAnswers(limit) => ReadPatience::Silence(StatementLimit::look(limit)),
        };
        self.heard = Stopwatch::start();
        self.locked_since = None;
        (self.looks, self.is_told) = (0, false);
        self.statement = first_words(sql);
    }

    /// Limit of the next wait for the server. Where the user is told of locks, it ends earlier for a look.
    pub(super) fn next_wait(&self) -> ReadPatience {
        match self.tell {
            Some(_) => self.patience.at_most(self.next_look()),
            None => self.patience,
        }
    }

    /// Limit of a look: the statement's answer waits for its end, so a look that only tells the user is short.
    fn look_limit(&self, limit: Duration) -> Duration {
        let is_early = self.tell.is_some() && self.heard.passed() < limit / 2;
        if is_early { LOOK_EARLY.min(StatementLimit::look(limit)) } else { StatementLimit::look(limit) }
    }

    /// Time until the next look: each look is twice as late as the one before.
    fn next_look(&self) -> Duration {
        let apart = TOLD_AFTER.saturating_mul(1 << self.looks.min(LOOK_DOUBLINGS)).min(LOOK_MAX);
        let until_limit = self.lock_limit.map(|LockWaitLimit { limit, .. }| match self.locked_since {
            Some(since) => since.left_of(limit),
            None => limit,
        });
        until_limit.map_or(apart, |left| left.min(apart)).max(LOOK_MIN)
    }

    /// Tells the user once whom the statement waits for.
    fn tell(&mut self, wait: &LockWait) {
        if let Some(tell) = self.tell.filter(|_| !mem::replace(&mut self.is_told, true)) {
            tell(wait);
        }
    }

    /// The statement is a COPY, whose limit applies to each wait.
    pub(super) fn is_copy(&mut self) {
        if let StatementLimit::Within(limit) = self.limit {
            self.patience = ReadPatience::Silence(limit);
        }
    }

    /// The server has sent data.
    pub(super) fn is_heard(&mut self) {
        if self.tell.is_some() || matches!(self.limit, StatementLimit::WhileServerAnswers(_)) {
            self.heard = Stopwatch::start();
        }
    }
}

/// Result of a check over another connection.
enum Look {
    Silent,
    AtWork,
    Locked(LockWait),
}

impl Session {
    /// Sets the limit of later statements; returns the previous one.
    pub fn set_statement_limit(&mut self, limit: StatementLimit) -> StatementLimit {
        self.waiting.set_limit(limit)
    }

    /// Runs work that may take hours on the server: without a limit while the server answers and no lock blocks the
    /// statement. A session without a limit stays without one.
    pub fn patiently<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.set_statement_limit(self.patient_limit());
        let result = work(self);
        self.set_statement_limit(before);
        result
    }

    /// Sets who is told whom a statement waits for, if it has waited for 2 s; returns the previous one.
    pub fn tell_lock_waits(&mut self, tell: Option<TellLockWait>) -> Option<TellLockWait> {
        mem::replace(&mut self.waiting.tell, tell)
    }

    /// Who is told.
    pub fn tells_lock_waits(&self) -> Option<TellLockWait> {
        self.waiting.tell
    }

    /// Limits the waits of statements for locks, if the user is told of them; returns the previous limit.
    pub fn limit_lock_waits(&mut self, limit: Option<LockWaitLimit>) -> Option<LockWaitLimit> {
        mem::replace(&mut self.waiting.lock_limit, limit)
    }

    pub(crate) fn lock_wait_limit(&self) -> Option<Duration> {
        self.waiting.lock_limit.map(|limit| limit.limit)
    }

    /// The limit of [`Session::patiently`].
    pub fn patient_limit(&self) -> StatementLimit {
        self.target.control_timeout.map_or(StatementLimit::None, StatementLimit::WhileServerAnswers)
    }

    /// How long statements wait for locks that others want too.
    pub(crate) fn patience(&self) -> crate::lock_wait::Patience {
        self.target.patience
    }

    /// Whether the session ended because a statement exceeded its limit or another thread closed it.
    pub fn is_given_up(&self) -> bool {
        self.waiting.is_given_up || self.closed_because().is_some()
    }

    /// A handle with which another thread closes the session, also during a wait; `None` if the system cannot duplicate
    /// the socket.
    pub fn closer(&self) -> Option<Closer> {
        let socket = self.stream.as_fd().try_clone_to_owned().ok()?;
        Some(Closer { socket: Arc::new(socket), reason: Arc::clone(&self.closed_because) })
    }

    /// The server has sent nothing for the maximum wait. The session continues if the server is working.
    pub(super) fn look_after(&mut self, cause: Cause) -> Result<(), ConnectError> {
        match (self.waiting.limit, cause) {
            (StatementLimit::WhileServerAnswers(limit), Cause::TimedOut(_)) => self.look_at_server(limit),
            (StatementLimit::Within(limit), Cause::TimedOut(_)) => self.look_before_limit(limit),
            (_, cause) => Err(self.end(cause)),
        }
    }

    fn look_at_server(&mut self, limit: Duration) -> Result<(), ConnectError> {
        let look = self.ask_elsewhere(self.waiting.look_limit(limit));
        if let Look::Silent = look {
            let is_too_long = self.waiting.heard.passed() >= limit;
            return if is_too_long { Err(self.give_up(limit, SILENT, LIMIT_SETTING)) } else { Ok(()) };
        }
        self.judge(look, limit)
    }

    /// A statement that must end within the limit, whether it waits for a lock or not.
    fn look_before_limit(&mut self, limit: Duration) -> Result<(), ConnectError> {
        if self.waiting.tell.is_some() {
            let look = self.ask_elsewhere(self.waiting.look_limit(limit));
            let is_over = self.waiting.patience.is_over();
            if let (Look::Locked(wait), true) = (&look, is_over) {
                let why = not_granted(wait);
                return Err(self.give_up(limit, &why, LIMIT_SETTING));
            }
            self.judge(look, limit)?;
            if !is_over {
                return Ok(());
            }
        }
        Err(self.give_up(limit, SILENT, LIMIT_SETTING))
    }

    /// Gives up a statement that has waited too long for a lock.
    fn judge(&mut self, look: Look, limit: Duration) -> Result<(), ConnectError> {
        let before = self.waiting.heard;
        self.waiting.looks += 1;
        let wait = match look {
            Look::Silent => return Ok(()),
            Look::AtWork => None,
            Look::Locked(wait) => Some(wait),
        };
        self.waiting.heard = Stopwatch::start();
        let Some(wait) = wait else {
            self.waiting.locked_since = None;
            return Ok(());
        };
        let since = *self.waiting.locked_since.get_or_insert(before);
        let usual = LockWaitLimit { limit, setting: LIMIT_SETTING };
        let shorter = self.waiting.lock_limit.filter(|lock_limit| lock_limit.limit < limit);
        let LockWaitLimit { limit, setting } = shorter.unwrap_or(usual);
        if since.passed() < limit {
            self.waiting.tell(&wait);
            return Ok(());
        }
        let why = not_granted(&wait);
        Err(self.give_up(limit, &why, setting))
    }

    /// Queries the wait state of the backend over another connection.
    fn ask_elsewhere(&self, limit: Duration) -> Look {
        let target = Target {
            connect_timeout: Some(limit),
            control_timeout: Some(limit),
            ..self.target.single(&self.address)
        };
        let mut session = match Session::connect(&target) {
            Ok(session) => session,
            // A refusal shows that the server responds.
            Err(error) if error.server_error().is_some() => return Look::AtWork,
            Err(_) => return Look::Silent,
        };
        match LockWait::of(&mut session, self.key.process_id) {
            Ok(Some(wait)) => Look::Locked(wait),
            Err(ConnectError::Lost(_)) => Look::Silent,
            Ok(None) | Err(_) => Look::AtWork,
        }
    }

    /// Cancels the statement if possible, and ends the session.
    fn give_up(&mut self, limit: Duration, why: &str, setting: &str) -> ConnectError {
        let request = CancelRequest { address: &self.address, transport: &self.transport, key: &self.key };
        cancel_all(&[request], CANCEL_LIMIT);
        let sentence = format!(
            "the connection to {} was closed: {why} within {} s (statement: {} …); to change the limit, set \
             {setting}",
            self.address,
            limit.as_secs_f64(),
            self.waiting.statement
        );
        self.waiting.is_given_up = true;
        self.ended = Some(sentence.clone());
        ConnectError::Lost(sentence)
    }

    /// Reason given by another thread that closed the session.
    pub(super) fn closed_because(&self) -> Option<String> {
        self.closed_because.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn not_granted(wait: &LockWait) -> String {
    format!("the statement did not get a lock that is held by {}", in_words(&wait.holders))
}

/// Closes a session from another thread.
#[derive(Clone, Debug)]
pub struct Closer {
    socket: Arc<OwnedFd>,
    reason: Arc<Mutex<Option<String>>>,
}

impl Closer {
    /// Closes the session; a waiting caller gets an error with `reason`.
    pub fn close(&self, reason: &str) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        // Fails if the socket is already closed.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}
