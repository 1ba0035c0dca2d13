//! How long a session waits for the answer to a statement, and what it does when that takes too long: a silent server
//! and a lock that is held elsewhere end the session, a server that is at work does not. Another thread can close the
//! session at any time.

use std::mem;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};

use super::stream::Patience;
use super::{CATALOGS_ALONE, CancelRequest, Session, cancel_all};
use crate::error::{Cause, ConnectError};
use crate::target::Target;

/// How long a statement of a control session may take. Whatever exceeds its limit is cancelled, and the session is
/// closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementLimit {
    /// For ever.
    None,
    /// Each silence of the server may be this long.
    Silence(Duration),
    /// The answer is there within this time; of a COPY, each silence may be this long.
    Within(Duration),
    /// For statements that may work for hours: as long as the server answers another connection, and the statement does
    /// not wait for a lock; either may take no longer than this.
    WhileServerAnswers(Duration),
}

/// Between two looks at a server that is at work, at most, and the part of the limit that it is at most.
const LOOK_MAX: Duration = Duration::from_secs(10);
const LOOKS_IN_LIMIT: u32 = 4;
/// A server that does not take the request to cancel keeps nobody longer.
const CANCEL_LIMIT: Duration = Duration::from_secs(2);
/// Of a statement in messages: what follows may be long, and secret.
const WORDS_SHOWN: usize = 3;

/// What is known of the statement that runs.
#[derive(Debug)]
pub(super) struct Waiting {
    limit: StatementLimit,
    pub(super) patience: Patience,
    /// When the server was last heard of.
    heard: Instant,
    /// Since when the statement has been seen to wait for a lock.
    locked_since: Option<Instant>,
    /// The first words of the statement.
    statement: String,
    /// It exceeded its limit.
    is_given_up: bool,
}

impl StatementLimit {
    /// What sessions to this target begin with.
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

    /// Later statements have this limit; what was before is returned.
    pub(super) fn set_limit(&mut self, limit: StatementLimit) -> StatementLimit {
        mem::replace(&mut self.limit, limit)
    }

    /// A statement begins.
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
            self.statement.extend([blank, word]);
        }
    }

    /// The statement is a COPY: what counts is that it goes on.
    pub(super) fn is_copy(&mut self) {
        if let StatementLimit::Within(limit) = self.limit {
            self.patience = Patience::Silence(limit);
        }
    }

    /// The server has said something.
    pub(super) fn is_heard(&mut self) {
        if let StatementLimit::WhileServerAnswers(_) = self.limit {
            self.heard = Instant::now();
        }
    }
}

/// What another connection has found out.
enum Look {
    Silent,
    AtWork,
    /// It waits for a lock of these processes.
    Locked(String),
}

impl Session {
    /// How long later statements may take. Returns the limit until now.
    pub fn set_statement_limit(&mut self, limit: StatementLimit) -> StatementLimit {
        self.waiting.set_limit(limit)
    }

    /// Does something that may take the server hours: it goes on as long as the server answers and no lock blocks it. A
    /// session without a limit keeps none.
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

    /// Whether it is over because a statement exceeded its limit, or because another thread has closed it.
    pub fn is_given_up(&self) -> bool {
        self.waiting.is_given_up || self.closed_because().is_some()
    }

    /// Closes the session from another thread, also while it waits for the server; `None` if the system refuses it.
    pub fn closer(&self) -> Option<Closer> {
        let socket = self.stream.as_fd().try_clone_to_owned().ok()?;
        Some(Closer { socket: Arc::new(socket), reason: Arc::clone(&self.closed_because) })
    }

    /// The server has been silent for as long as the session waits at a time. Nothing is lost yet if it is at work.
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

    /// Asks on a connection of its own what the backend waits for.
    fn ask_elsewhere(&self, limit: Duration) -> Look {
        let target = Target {
            connect_timeout: Some(limit),
            control_timeout: Some(limit),
            ..self.target.single(&self.address)
        };
        let mut session = match Session::connect(&target) {
            Ok(session) => session,
            // A refusal is an answer.
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

    /// The statement is cancelled, as far as the server listens, and the session is over.
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

    /// Why another thread has closed it, if one has.
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
    /// Closes it; whoever waits for the server then learns `reason`.
    pub fn close(&self, reason: &str) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        // Fails where it is closed already.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}
