//! Time limits of statements. A silent server and a lock held by another session end the session; a long-running
//! statement does not. Another thread can close the session at any time.

use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};

use super::stream::Patience;
use super::{CATALOGS_ALONE, CancelRequest, Session, cancel_all};
use crate::error::{Cause, ConnectError};
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
/// Limit for a cancel request, so that an unresponsive server does not delay the caller.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);
/// Words of a statement shown in messages: the rest may be long, and secret.
const WORDS_SHOWN: usize = 3;
/// Characters shown of each of these words: one may be a literal of any length.
const WORD_SHOWN: usize = 30;

/// State of the running statement.
#[derive(Debug)]
pub(super) struct Waiting {
    limit: StatementLimit,
    pub(super) patience: Patience,
    /// Time of the last message from the server.
    heard: Instant,
    /// Time since which the statement has been waiting for a lock.
    locked_since: Option<Instant>,
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
        let (heard, patience) = (Instant::now(), Patience::Endless);
        Self { limit, patience, heard, locked_since: None, statement: String::new(), is_given_up: false }
    }

    /// Sets the limit of later statements; returns the previous one.
    pub(super) fn set_limit(&mut self, limit: StatementLimit) -> StatementLimit {
        mem::replace(&mut self.limit, limit)
    }

    /// Called at the start of a statement.
    pub(super) fn begin(&mut self, sql: &str) {
        self.patience = match self.limit {
            StatementLimit::None => Patience::Endless,
            StatementLimit::Silence(limit) => Patience::Silence(limit),
            StatementLimit::Within(limit) => Patience::of(Some(limit)),
            StatementLimit::WhileServerAnswers(limit) => Patience::Silence(StatementLimit::look(limit)),
        };
        self.heard = Instant::now();
        self.locked_since = None;
        self.statement.clear();
        let sql = sql.strip_prefix(CATALOGS_ALONE).unwrap_or(sql);
        for word in sql.split_whitespace().take(WORDS_SHOWN) {
            let blank = if self.statement.is_empty() { "" } else { " " };
            self.statement.push_str(blank);
            self.statement.extend(word.chars().take(WORD_SHOWN));
        }
    }

    /// The statement is a COPY, whose limit applies to each wait.
    pub(super) fn is_copy(&mut self) {
        if let StatementLimit::Within(limit) = self.limit {
            self.patience = Patience::Silence(limit);
        }
    }

    /// The server has sent data.
    pub(super) fn is_heard(&mut self) {
        if let StatementLimit::WhileServerAnswers(_) = self.limit {
            self.heard = Instant::now();
        }
    }
}

/// Result of a check over another connection.
enum Look {
    Silent,
    AtWork,
    /// Waits for a lock held by these processes.
    Locked(String),
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

    /// The limit of [`Session::patiently`].
    pub fn patient_limit(&self) -> StatementLimit {
        self.target.control_timeout.map_or(StatementLimit::None, StatementLimit::WhileServerAnswers)
    }

    /// How long statements wait for locks that others want too.
    pub(crate) fn patience(&self) -> crate::patience::Patience {
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
            (StatementLimit::Within(_), Cause::TimedOut(limit)) => {
                Err(self.give_up(limit, "the server did not answer"))
            }
            (_, cause) => Err(self.end(cause)),
        }
    }

    fn look_at_server(&mut self, limit: Duration) -> Result<(), ConnectError> {
        let look = self.ask_elsewhere(StatementLimit::look(limit));
        let now = Instant::now();
        if let Look::Silent = look {
            let is_too_long = now.duration_since(self.waiting.heard) >= limit;
            return if is_too_long { Err(self.give_up(limit, "the server did not answer")) } else { Ok(()) };
        }
        self.waiting.heard = now;
        let Look::Locked(by) = look else {
            self.waiting.locked_since = None;
            return Ok(());
        };
        let since = *self.waiting.locked_since.get_or_insert(now);
        if now.duration_since(since) < limit {
            return Ok(());
        }
        Err(self.give_up(limit, &format!("process {by} holds the lock that the statement waited for")))
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
        let sql = format!(
            "SELECT pg_catalog.array_to_string(pg_catalog.pg_blocking_pids(pid), ', ') \
             FROM pg_catalog.pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'",
            self.key.process_id
        );
        match session.query_catalogs(&sql) {
            Ok(rows) => match rows.first() {
                Some(row) => Look::Locked(row.get(0).unwrap_or_default().to_owned()),
                None => Look::AtWork,
            },
            Err(ConnectError::Lost(_)) => Look::Silent,
            Err(_) => Look::AtWork,
        }
    }

    /// Cancels the statement if possible, and ends the session.
    fn give_up(&mut self, limit: Duration, why: &str) -> ConnectError {
        let request = CancelRequest { address: &self.address, transport: &self.transport, key: &self.key };
        cancel_all(&[request], CANCEL_LIMIT);
        let sentence = format!(
            "the connection to {} was closed: {why} within {} s (statement: {} …); to change the limit, set \
             PGMETER_CONTROL_TIMEOUT",
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
