//! A blocking connection for control statements: detection, loading, checks, cancelling. Runs one statement at a time
//! with the simple query protocol; results are text. Uses `wire`, like the engine.

mod cancel;
mod copy;
mod entrance;
mod in_force;
mod limits;
mod lock_holders;
mod own;
mod raw;
mod repeated;
mod results;
mod rows;
mod state;
mod stream;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wire::frontend::MessageError;
use wire::{CancelKey, Decoder, Message, ServerError, TransactionStatus, frontend};

use crate::address::Address;
use crate::error::{Cause, ConnectError, in_words};
use crate::target::Target;
use crate::transport::Transport;
use limits::Waiting;
use results::{ANSWER_LENGTH_MAX, Answer, Asides, Broken, ROW_COUNT_MAX};
use stream::Stream;

pub use cancel::{CANCELS_AT_ONCE, CancelRequest, cancel, cancel_all};
pub use copy::CopyIn;
pub use in_force::SessionSetting;
pub use limits::{Closer, StatementLimit};
pub(crate) use own::{IDLE_LIMIT, set_to};
pub use own::{OwnSettings, value_formats};
pub use raw::RawConnection;
pub use results::{ResultSet, Row};
pub use rows::{Column, RowSink};

/// Bytes per read.
const INPUT_LENGTH: usize = 32 * 1024;
/// The encoding of all sessions: pgmeter sends and reads UTF-8.
const ENCODING: (&str, &str) = ("client_encoding", "UTF8");
/// The server's limit for a message.
const SQL_LENGTH_MAX: usize = 1024 * 1024 * 1024 - 64;
/// Prefix of queries of system catalogs. Until the transaction of this message ends, only functions, operators and
/// types of `pg_catalog` are found. Otherwise the owner of a database could replace the server's functions with code
/// that runs with our privileges (CVE-2018-1058). The setting is transaction-local, so a pooler gets the connection
/// back unchanged. The role's `statement_timeout` does not end the query; the session has a limit of its own. Numbers have
/// all their digits, whatever `extra_float_digits` of the role is.
const CATALOGS_ALONE: &str = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), \
                              pg_catalog.set_config('statement_timeout', '0', true), \
                              pg_catalog.set_config('extra_float_digits', '3', true); ";
/// Compiling a query of catalogs takes several times as long as executing it. Outside of a transaction block, the setting ends
/// with the message; within one, [`JIT_AGAIN`] restores it for the statements of the user. Where it is off, both do nothing.
const WITHOUT_JIT: &str = "SELECT set_config('pgmeter.jit', 'on', true), set_config('jit', 'off', true) \
                           WHERE current_setting('jit', true) = 'on'; ";
const JIT_AGAIN: &str = "; SELECT set_config('jit', 'on', true), set_config('pgmeter.jit', '', true) \
                         WHERE current_setting('pgmeter.jit', true) = 'on'";
/// The first version with JIT compilation.
const JIT_FROM: u32 = 110_000;
/// The name of a prepared statement that is tried.
const PREPARED_STATEMENT: &str = "pgmeter_prepared_statement";
const SQL_TOO_LONG: &str = "the statement exceeds the server's limit of 1 GiB";
/// A longer row is not stored: it exceeds the limit of an answer.
#[expect(clippy::cast_possible_truncation, reason = "64 MiB")]
const ROW_LENGTH_MAX: u32 = ANSWER_LENGTH_MAX as u32;

/// A session for control statements.
pub struct Session {
    stream: Stream,
    address: Address,
    transport: Transport,
    decoder: Decoder,
    input: Box<[u8]>,
    out: Vec<u8>,
    asides: Asides,
    key: CancelKey,
    /// The target, for further connections to the server.
    target: Box<Target>,
    waiting: Waiting,
    /// Reason given by another thread that closed the session.
    closed_because: Arc<Mutex<Option<String>>>,
    /// Why the session cannot be used any more.
    ended: Option<String>,
    /// Whether it goes through a pooler, once this was asked.
    is_pooled: Option<bool>,
    /// The state to restore after the current transaction.
    state: Option<state::SessionState>,
    /// Queries of catalogs that come again.
    repeated: repeated::RepeatedQueries,
}

impl Session {
    /// Tries the target's addresses in order, with the limit `connect_timeout` for each and TLS as set by `sslmode`,
    /// until a server meets `target_session_attrs`.
    pub fn connect(target: &Target) -> Result<Session, ConnectError> {
        entrance::connect(target)
    }

    /// All addresses whose server answers and meets `target_session_attrs`, in the given order, each with its
    /// transport. For distributing connections over servers. Never empty.
    pub fn survey(target: &Target) -> Result<Vec<(Address, Transport)>, ConnectError> {
        entrance::survey(target)
    }

    /// The server's address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The database, the role and the server, in words: `database app as role owner, db.example:5432`.
    pub fn place(&self) -> String {
        let Target { database, user, .. } = &*self.target;
        format!("database {database} as role {user}, {}", self.address)
    }

    /// The target, with this session's server alone.
    pub fn target_here(&self) -> Target {
        self.target.single(&self.address)
    }

    /// How the connection was made; other connections to the address can use the same transport.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// A setting that the server reports, such as `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.asides.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The server's version in libpq's format: 180000 for 18.0, 90624 for 9.6.24; 0 if it is not reported.
    pub fn server_version_num(&self) -> u32 {
        self.parameter("server_version").map_or(0, version_number)
    }

    /// Runs one or more statements and discards rows; returns the row count of the last command tag (0 if none).
    pub fn execute(&mut self, sql: &str) -> Result<u64, ConnectError> {
        self.run(sql, false).map(|answer| answer.rows)
    }

    /// Whether a pooler gives names of its own to prepared statements, so that each client finds those that it has prepared.
    /// Nothing of the statement that is tried remains.
    pub fn has_prepared_statements_renamed(&mut self) -> Result<bool, ConnectError> {
        let prepare = |out: &mut Vec<u8>, sql: &[u8]| {
            frontend::parse(out, PREPARED_STATEMENT.as_bytes(), sql)?;
            frontend::sync(out);
            Ok(())
        };
        // In a transaction, all messages reach the same connection of the pooler.
        self.execute("BEGIN")?;
        let answer = self.ask_by("SELECT 1", false, prepare)?;
        self.complete(answer)?;
        let found = self.query_catalogs(&format!(
            "SELECT FROM pg_prepared_statements WHERE name = '{PREPARED_STATEMENT}'"
        ))?;
        if !found.is_empty() {
            self.execute(&format!("DEALLOCATE {PREPARED_STATEMENT}"))?;
        }
        self.execute("COMMIT")?;
        Ok(found.is_empty())
    }

    /// Parses one statement without executing it. The server resolves its names, and in a transaction keeps the locks of
    /// its tables. Several statements are an error.
    pub fn analyze(&mut self, sql: &str) -> Result<(), ConnectError> {
        let analyze = |out: &mut Vec<u8>, sql: &[u8]| {
            frontend::parse(out, b"", sql)?;
            frontend::sync(out);
            Ok(())
        };
        let answer = self.ask_by(sql, false, analyze)?;
        self.complete(answer).map(drop)
    }

    /// Runs one or more statements; returns the last result set.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, ConnectError> {
        self.query_sets(sql).map(last_rows)
    }

    /// Runs a query of system catalogs and returns its rows. Names resolve to `pg_catalog` only, independent of the
    /// `search_path` of the database or role: other relations need a schema or an OID. Within an open transaction this
    /// also holds for later statements.
    pub fn query_catalogs(&mut self, sql: &str) -> Result<Vec<Row>, ConnectError> {
        if self.server_version_num() < JIT_FROM {
            return self.query(&format!("{CATALOGS_ALONE}{sql}"));
        }
        if !self.is_in_transaction() {
            return self.query(&format!("{CATALOGS_ALONE}{WITHOUT_JIT}{sql}"));
        }
        let mut sets = self.query_sets(&format!("{CATALOGS_ALONE}{WITHOUT_JIT}{sql}{JIT_AGAIN}"))?;
        sets.pop();
        Ok(last_rows(sets))
    }

    /// Runs one or more statements; returns all result sets.
    pub fn query_sets(&mut self, sql: &str) -> Result<Vec<ResultSet>, ConnectError> {
        self.run(sql, true).map(|answer| answer.sets)
    }

    /// Starts a `COPY … FROM STDIN`.
    pub fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, ConnectError> {
        let mut answer = self.ask(sql, false)?;
        while !answer.wants_copy_data {
            if answer.is_complete {
                let not_copy = ConnectError::WrongStatement("the statement is not a COPY … FROM STDIN");
                return Err(answer.error.map_or(not_copy, ConnectError::Server));
            }
            self.listen(&mut answer)?;
        }
        self.waiting.is_copy();
        Ok(CopyIn::new(self, answer))
    }

    /// Notices and warnings since the last call, oldest first; at most the first hundred.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        self.asides.take_notices()
    }

    /// The key with which [`cancel`] cancels this session's statement.
    pub fn cancel_key(&self) -> CancelKey {
        self.key.clone()
    }

    /// Whether a transaction block was open after the last statement, possibly a failed one.
    pub fn is_in_transaction(&self) -> bool {
        !matches!(self.asides.transaction_status, None | Some(TransactionStatus::Idle))
    }

    /// Whether the connection was lost.
    pub fn is_lost(&self) -> bool {
        self.ended.is_some()
    }

    /// Maximum time without data from the server during a statement; afterwards the session cannot be used any more.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) -> Result<(), ConnectError> {
        self.set_statement_limit(limit.map_or(StatementLimit::None, StatementLimit::Silence));
        Ok(())
    }

    /// Sends a query and reads the complete answer.
    fn run(&mut self, sql: &str, keeps_rows: bool) -> Result<Answer, ConnectError> {
        let answer = self.ask(sql, keeps_rows)?;
        self.complete(answer)
    }

    /// Reads the rest of an answer.
    fn complete(&mut self, mut answer: Answer) -> Result<Answer, ConnectError> {
        while !answer.is_complete {
            if answer.wants_copy_data {
                answer.wants_copy_data = false;
                frontend::copy_fail(
                    &mut self.out,
                    b"COPY FROM STDIN is not supported here: there are no data \
                                                     for it",
                );
                self.send(&mut answer)?;
            } else {
                self.listen(&mut answer)?;
            }
        }
        match answer.error.take() {
            Some(error) => Err(ConnectError::Server(error)),
            None => Ok(answer),
        }
    }

    /// Sends a query.
    fn ask(&mut self, sql: &str, keeps_rows: bool) -> Result<Answer, ConnectError> {
        self.ask_by(sql, keeps_rows, frontend::query)
    }

    /// Sends a statement with the messages that `encode` makes of it.
    fn ask_by(
        &mut self,
        sql: &str,
        keeps_rows: bool,
        encode: impl Fn(&mut Vec<u8>, &[u8]) -> Result<(), MessageError>,
    ) -> Result<Answer, ConnectError> {
        if let Some(reason) = &self.ended {
            return Err(ConnectError::Lost(reason.clone()));
        }
        if sql.contains('\0') {
            return Err(ConnectError::WrongStatement("a statement must not contain a zero byte"));
        }
        if sql.len() > SQL_LENGTH_MAX {
            return Err(ConnectError::WrongStatement(SQL_TOO_LONG));
        }
        match keeps_rows {
            true => self.decoder.keep_rows_up_to(ROW_LENGTH_MAX),
            false => self.decoder.keep_rows(false),
        }
        self.out.clear();
        encode(&mut self.out, sql.as_bytes()).map_err(|_| ConnectError::WrongStatement(SQL_TOO_LONG))?;
        let mut answer = Answer::new(keeps_rows);
        self.waiting.begin(sql);
        self.send(&mut answer)?;
        Ok(answer)
    }

    /// Sends the buffer and reads at the same time. Otherwise client and server could wait for each other, for example
    /// while the server sends notices during a COPY.
    fn send(&mut self, answer: &mut Answer) -> Result<(), ConnectError> {
        let mut sent = 0;
        while sent < self.out.len() {
            match self.stream.write_some(&self.out[sent..]) {
                Ok(0) => match self.stream.wait_for_either(self.waiting.next_wait()) {
                    Ok(true) => self.listen(answer)?,
                    Ok(false) => self.waiting.is_heard(),
                    Err(cause) => self.look_after(cause).map_err(|lost| answer.explain(lost))?,
                },
                Ok(length) => sent += length,
                Err(cause) => {
                    // A server that closed the connection may have sent an error before.
                    while self.stream.is_readable().unwrap_or(false) {
                        self.listen(answer)?;
                    }
                    let lost = self.end(cause);
                    return Err(answer.explain(lost));
                }
            }
        }
        self.out.clear();
        Ok(())
    }

    /// Waits for messages of the server; returns without any while the server is working on a long statement.
    fn listen(&mut self, answer: &mut Answer) -> Result<(), ConnectError> {
        self.listen_beside(answer, &mut |_| {})
    }

    /// As [`Session::listen`]; each message is shown to `see` first.
    fn listen_beside(
        &mut self,
        answer: &mut Answer,
        see: &mut dyn FnMut(&Message<'_>),
    ) -> Result<(), ConnectError> {
        let length = match self.stream.read(&mut self.input, self.waiting.next_wait()) {
            Ok(0) => return Err(answer.explain(self.end(Cause::Closed))),
            Ok(length) => length,
            Err(cause) => return self.look_after(cause).map_err(|lost| answer.explain(lost)),
        };
        self.waiting.is_heard();
        let asides = &mut self.asides;
        let decoded = self.decoder.decode(&self.input[..length], &mut |message| {
            see(&message);
            answer.take(&message, asides);
        });
        match (decoded, answer.broken.take()) {
            (Err(error), _) | (Ok(()), Some(Broken::Protocol(error))) => {
                Err(answer.explain(self.end(Cause::Protocol(error))))
            }
            (Ok(()), Some(Broken::Unexpected(name))) => {
                Err(self
                    .end_with(format!("the server sent {name}, which is not a valid response to a query")))
            }
            // The rest of the answer may be unlimited.
            (Ok(()), Some(Broken::TooLarge)) => Err(self.end_with(format!(
                "the result of a query exceeds the limit of {ROW_COUNT_MAX} rows or {} MiB",
                ANSWER_LENGTH_MAX >> 20
            ))),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Ends the session.
    fn end(&mut self, cause: Cause) -> ConnectError {
        if let Some(reason) = self.closed_because() {
            return self.end_with(reason);
        }
        let reason = match cause {
            Cause::Closed => "the server closed it; see the server's log".to_owned(),
            Cause::TimedOut(limit) => format!("the server has not responded for {} s", limit.as_secs_f64()),
            Cause::Io(error) => in_words(&error),
            Cause::Tls(error) => error.to_string(),
            Cause::Startup(error) => error.to_string(),
            Cause::Protocol(error) => error.to_string(),
        };
        self.end_with(reason)
    }

    fn end_with(&mut self, reason: String) -> ConnectError {
        let sentence = format!("the connection to {} was lost: {reason}", self.address);
        self.ended = Some(sentence.clone());
        ConnectError::Lost(sentence)
    }
}

/// The rows of the last statement that returns some.
fn last_rows(sets: Vec<ResultSet>) -> Vec<Row> {
    let last = sets.into_iter().rev().find(|set| set.returns_rows);
    last.map(|set| set.rows).unwrap_or_default()
}

impl Drop for Session {
    /// Sends Terminate, so that the server does not log a lost connection.
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.out.clear();
            frontend::terminate(&mut self.out);
            self.stream.say_goodbye(&self.out);
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("address", &self.address).field("key", &self.key).finish()
    }
}

/// `18.1 (Debian 18.1-1)` is 180001, `9.6.24` is 90624, `19devel` is 190000.
fn version_number(text: &str) -> u32 {
    let numbers = text.split(|character: char| !(character.is_ascii_digit() || character == '.')).next();
    let mut numbers = numbers.unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0).min(9999));
    let mut next = || numbers.next().unwrap_or(0);
    match next() {
        // Three numbers up to 9.6, two since 10.
        major @ 0..10 => major * 10_000 + next() * 100 + next(),
        major => major * 10_000 + next(),
    }
}

#[cfg(test)]
mod tests;
