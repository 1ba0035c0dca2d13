//! A blocking connection for everything that is not the load: detecting, creating, checking, cancelling.
//! One statement at a time, by the simple protocol, results as text. Speaks through `wire`, like the engine.

mod cancel;
mod copy;
mod entrance;
mod limits;
mod results;
mod stream;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use wire::{CancelKey, Decoder, ServerError, frontend};

use crate::address::Address;
use crate::error::{Cause, ConnectError, in_words};
use crate::target::Target;
use crate::transport::Transport;
use limits::Waiting;
use results::{ANSWER_LENGTH_MAX, Answer, Asides, Broken, ROW_COUNT_MAX};
use stream::Stream;

pub use cancel::{CANCELS_AT_ONCE, CancelRequest, cancel, cancel_all};
pub use copy::CopyIn;
pub use limits::{Closer, StatementLimit};
pub use results::{ResultSet, Row};

/// Bytes read at a time.
const INPUT_LENGTH: usize = 32 * 1024;
/// The server takes no longer message.
const SQL_LENGTH_MAX: usize = 1024 * 1024 * 1024 - 64;
/// What a question about catalogs begins with: until the transaction of this one message ends, no function, operator or
/// type of another schema is found. Else the owner of a database could put code of his own in the place of the server's,
/// which then ran with our rights (CVE-2018-1058). A pooler gets the connection back as it was.
const CATALOGS_ALONE: &str = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true); ";
const SQL_TOO_LONG: &str = "the statement exceeds the server's limit of 1 GiB";
/// A longer row is not kept: it would not fit into an answer.
#[expect(clippy::cast_possible_truncation, reason = "64 MiB")]
const ROW_LENGTH_MAX: u32 = ANSWER_LENGTH_MAX as u32;

/// A session under control of one caller.
pub struct Session {
    stream: Stream,
    address: Address,
    transport: Transport,
    decoder: Decoder,
    input: Box<[u8]>,
    out: Vec<u8>,
    asides: Asides,
    key: CancelKey,
    /// Where it was to go, for a look at the server from elsewhere.
    target: Box<Target>,
    waiting: Waiting,
    /// Why another thread has closed it.
    closed_because: Arc<Mutex<Option<String>>>,
    /// Why the session is of no more use.
    ended: Option<String>,
}

impl Session {
    /// Tries the target's addresses in order, with the limit `connect_timeout` for each, through TLS or not as
    /// `sslmode` says, until a server is what `target_session_attrs` asks for.
    pub fn connect(target: &Target) -> Result<Session, ConnectError> {
        entrance::connect(target)
    }

    /// All addresses of the target whose server answers and is what `target_session_attrs` asks for, in the order in
    /// which they were named, each with how it is reached: for whoever spreads connections over them. Never empty.
    pub fn survey(target: &Target) -> Result<Vec<(Address, Transport)>, ConnectError> {
        entrance::survey(target)
    }

    /// Where the session went.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How the connection was made: others to the same address can be made in the same way.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    /// A setting that the server reports, such as `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.asides.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The server's version as libpq counts: 180000 for 18.0, 90624 for 9.6.24; 0 if the server did not say.
    pub fn server_version_num(&self) -> u32 {
        self.parameter("server_version").map_or(0, version_number)
    }

    /// Runs one or several statements, rows thrown away; returns the rows that the last one counts (0 if none).
    pub fn execute(&mut self, sql: &str) -> Result<u64, ConnectError> {
        self.run(sql, false).map(|answer| answer.rows)
    }

    /// Runs one or several statements; returns the rows of the last that returns rows.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, ConnectError> {
        let sets = self.query_sets(sql)?;
        let last = sets.into_iter().rev().find(|set| set.returns_rows);
        Ok(last.map(|set| set.rows).unwrap_or_default())
    }

    /// Runs a question about catalogs; returns its rows. It finds what the server itself has and nothing else, whatever
    /// `search_path` the database or the role has: relations of users have to be named with their schema, or by number.
    /// In an open transaction that holds for what follows, too.
    pub fn query_catalogs(&mut self, sql: &str) -> Result<Vec<Row>, ConnectError> {
        self.query(&format!("{CATALOGS_ALONE}{sql}"))
    }

    /// Runs several statements; returns one result set for each.
    pub fn query_sets(&mut self, sql: &str) -> Result<Vec<ResultSet>, ConnectError> {
        self.run(sql, true).map(|answer| answer.sets)
    }

    /// Begins a `COPY … FROM STDIN`.
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

    /// The notices and warnings since the last call, oldest first; no more than the first hundred.
    pub fn take_notices(&mut self) -> Vec<ServerError> {
        self.asides.take_notices()
    }

    /// What [`cancel`] needs to stop this session's statement from elsewhere.
    pub fn cancel_key(&self) -> CancelKey {
        self.key.clone()
    }

    /// Whether the session was lost, and is of no more use.
    pub fn is_lost(&self) -> bool {
        self.ended.is_some()
    }

    /// The longest silence of the server while an answer is awaited; afterwards the session is of no more use.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) -> Result<(), ConnectError> {
        self.set_statement_limit(limit.map_or(StatementLimit::None, StatementLimit::Silence));
        Ok(())
    }

    /// Sends a query and hears the whole answer.
    fn run(&mut self, sql: &str, keeps_rows: bool) -> Result<Answer, ConnectError> {
        let mut answer = self.ask(sql, keeps_rows)?;
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
        frontend::query(&mut self.out, sql.as_bytes())
            .map_err(|_| ConnectError::WrongStatement(SQL_TOO_LONG))?;
        let mut answer = Answer::new(keeps_rows);
        self.waiting.begin(sql);
        self.send(&mut answer)?;
        Ok(answer)
    }

    /// Sends what is in the buffer. Listens meanwhile, so that a server that must speak before it can listen
    /// (notices during a COPY) does not wait for us while we wait for it.
    fn send(&mut self, answer: &mut Answer) -> Result<(), ConnectError> {
        let mut sent = 0;
        while sent < self.out.len() {
            match self.stream.write_some(&self.out[sent..]) {
                Ok(0) => match self.stream.wait_for_either(self.waiting.patience) {
                    Ok(true) => self.listen(answer)?,
                    Ok(false) => self.waiting.is_heard(),
                    Err(cause) => self.look_after(cause).map_err(|lost| answer.explain(lost))?,
                },
                Ok(length) => sent += length,
                Err(cause) => {
                    // A server that has closed may have said why before.
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

    /// Waits for the server's next words; returns without any where the server is still at work after a while.
    fn listen(&mut self, answer: &mut Answer) -> Result<(), ConnectError> {
        let length = match self.stream.read(&mut self.input, self.waiting.patience) {
            Ok(0) => return Err(answer.explain(self.end(Cause::Closed))),
            Ok(length) => length,
            Err(cause) => return self.look_after(cause).map_err(|lost| answer.explain(lost)),
        };
        self.waiting.is_heard();
        let asides = &mut self.asides;
        let decoded =
            self.decoder.decode(&self.input[..length], &mut |message| answer.take(&message, asides));
        match (decoded, answer.broken.take()) {
            (Err(error), _) | (Ok(()), Some(Broken::Protocol(error))) => {
                Err(answer.explain(self.end(Cause::Protocol(error))))
            }
            (Ok(()), Some(Broken::Unexpected(name))) => {
                Err(self
                    .end_with(format!("the server sent {name}, which is not a valid response to a query")))
            }
            // The rest may have no end.
            (Ok(()), Some(Broken::TooLarge)) => Err(self.end_with(format!(
                "the result of a query exceeds the limit of {ROW_COUNT_MAX} rows or {} MiB",
                ANSWER_LENGTH_MAX >> 20
            ))),
            (Ok(()), None) => Ok(()),
        }
    }

    /// The session is over.
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

impl Drop for Session {
    /// Says goodbye, so that the server's log does not call it a lost connection.
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
