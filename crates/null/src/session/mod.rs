//! A server session without a socket and a clock: processes the client's bytes and appends replies, one step at a time.
//! It parses only the first words of statements that start and end transactions. The null server runs it over sockets,
//! the test kit's fake server in virtual time.

mod config;
mod copy;
mod fault;
pub mod reply;
mod request;
mod result_set;
mod statement;

use std::collections::VecDeque;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

pub use config::{Rows, SessionConfig};
pub use fault::{Fault, FaultEffect, FaultTrigger};
pub use request::{Parameters, Request, StartUpParameters};

use wire::frontend::PARAMETERS_MAX;

use copy::CopyIn;
use statement::{Kind, Prepared};

/// Result of [`Session::next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// All input is processed; nothing was appended.
    Idle,
    /// Appended a message without the cost of a statement, as during start-up.
    Told,
    /// Appended the complete answer to a statement, or to a sequence that ended with Sync.
    Answered,
    /// The connection must be closed after the output has been sent.
    Closed,
    /// The connection must be reset.
    Reset,
}

/// One client's session.
#[derive(Debug)]
pub struct Session {
    process_id: u32,
    phase: Phase,
    /// The received part of an incomplete message.
    unfinished: Vec<u8>,
    /// The incomplete answer; a server sends nothing before Sync or Flush.
    answer: Vec<u8>,
    transaction: Transaction,
    /// After an error, messages are skipped until Sync.
    skipping: bool,
    statements: Vec<(Box<[u8]>, Arc<Prepared>)>,
    portals: Vec<(Box<[u8]>, Arc<Prepared>)>,
    /// Parsed texts: a benchmark sends few, again and again.
    recent: VecDeque<Arc<Prepared>>,
    faults: Vec<(FaultTrigger, FaultEffect)>,
    executed: u64,
    parsed: u64,
    /// Number of CopyData messages.
    copy_messages: u64,
    copying: Option<CopyIn>,
    /// A fault that is applied to the complete answer.
    ending: Option<FaultEffect>,
}

/// A session keeps so many parsed texts, more than a transaction of the built-in scripts has.
const RECENT_MAX: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    StartUp,
    Password,
    Ready,
    /// Reads, but sends nothing any more.
    Silent,
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transaction {
    Idle,
    Open,
    Failed,
}

impl Session {
    /// A session before its first byte. `process_id` is sent in BackendKeyData; `faults` are injected.
    pub fn new(process_id: u32, faults: Vec<(FaultTrigger, FaultEffect)>) -> Self {
        Self {
            process_id,
            phase: Phase::StartUp,
            unfinished: Vec::new(),
            answer: Vec::new(),
            transaction: Transaction::Idle,
            skipping: false,
            statements: Vec::new(),
            recent: VecDeque::new(),
            portals: Vec::new(),
            faults,
            executed: 0,
            parsed: 0,
            copy_messages: 0,
            copying: None,
            ending: None,
        }
    }

    /// Processes the client's bytes up to the next [`Step`] and removes them from `bytes`; appends replies to `out`,
    /// and calls `on_request` for each message. Call it until it returns [`Step::Idle`], when all bytes are consumed,
    /// or the connection is closed. Any split of the bytes gives the same replies.
    pub fn next(
        &mut self,
        bytes: &mut &[u8],
        config: &SessionConfig,
        out: &mut Vec<u8>,
        on_request: &mut dyn FnMut(&Request<'_>),
    ) -> Step {
        let mut step = Step::Idle;
        if !self.unfinished.is_empty() {
            if !self.finish_message(bytes) {
                return Step::Idle;
            }
            // Moved out, since messages borrow from it.
            let message = std::mem::take(&mut self.unfinished);
            (step, _) = self.advance(&message, config, on_request);
        }
        if step == Step::Idle {
            let read;
            (step, read) = self.advance(bytes, config, on_request);
            *bytes = &bytes[read..];
        }
        match step {
            Step::Idle => {
                self.unfinished.extend_from_slice(bytes);
                *bytes = &[];
            }
            Step::Closed | Step::Reset => self.phase = Phase::Over,
            Step::Told | Step::Answered => {}
        }
        if step != Step::Idle {
            out.append(&mut self.answer);
        }
        step
    }

    /// Moves the rest of the incomplete message from `bytes` to it; true if it is complete.
    fn finish_message(&mut self, bytes: &mut &[u8]) -> bool {
        loop {
            let missing = request::missing(&self.unfinished, self.phase == Phase::StartUp);
            if missing == 0 || bytes.is_empty() {
                return missing == 0;
            }
            let (piece, rest) = bytes.split_at(missing.min(bytes.len()));
            self.unfinished.extend_from_slice(piece);
            *bytes = rest;
        }
    }

    /// Processes the messages of `input` up to the next step; also returns their length in bytes.
    fn advance(
        &mut self,
        input: &[u8],
        config: &SessionConfig,
        on_request: &mut dyn FnMut(&Request<'_>),
    ) -> (Step, usize) {
        let mut read = 0;
        let step = loop {
            if self.phase == Phase::Over {
                break Step::Idle;
            }
            let request = match request::frame(&input[read..], self.phase == Phase::StartUp) {
                Ok(Some((request, length))) => {
                    read += length;
                    request
                }
                Ok(None) => break Step::Idle,
                Err(_) if self.phase == Phase::Silent => break Step::Idle,
                Err(reason) => break self.violation(reason),
            };
            on_request(&self.resolve(request));
            if self.phase == Phase::Silent {
                continue;
            }
            if let Break(step) = self.message(request, config) {
                break step;
            }
        };
        (step, read)
    }

    /// Applies a fault between two messages of the client.
    pub fn inject(&mut self, effect: &FaultEffect, out: &mut Vec<u8>) -> Step {
        if self.phase == Phase::Over {
            return Step::Idle;
        }
        let unsent = std::mem::take(&mut self.answer);
        let step = match self.apply(effect) {
            Break(step) => step,
            Continue(()) => Step::Told,
        };
        if matches!(step, Step::Closed | Step::Reset) {
            self.phase = Phase::Over;
        }
        out.append(&mut self.answer);
        self.answer = unsent;
        step
    }

    fn message(&mut self, request: Request<'_>, config: &SessionConfig) -> ControlFlow<Step> {
        if self.copying.is_some() {
            return self.message_of_copy(request);
        }
        match request {
            Request::Terminate | Request::Cancel { .. } => Break(Step::Closed),
            Request::Encryption => {
                self.answer.push(b'N');
                Break(Step::Told)
            }
            Request::StartUp(_) => self.start_up(config),
            Request::Password(password) if self.phase == Phase::Password => self.check(password, config),
            _ if self.phase != Phase::Ready => Break(self.violation("a message before authentication")),
            Request::Password(_) => Break(self.violation("a password without a request")),
            Request::Query(sql) => self.query(sql, config),
            // The rest of a COPY that has failed.
            Request::CopyData(_) | Request::CopyDone | Request::CopyFail(_) => Continue(()),
            Request::Sync => self.sync(),
            // PostgreSQL sends an error at once.
            Request::Flush => Break(Step::Told),
            _ if self.skipping => Continue(()),
            Request::Parse { name, sql } => self.parse(name, sql),
            Request::Bind { portal, statement, parameters } => self.bind(portal, statement, parameters),
            Request::Describe { portal, name } => self.describe(portal, name, config),
            Request::Execute { portal, .. } => self.execute(portal, config),
            Request::Close { portal, name } => self.close(portal, name),
        }
    }

    /// Adds the text of the statement to an Execute.
    fn resolve<'a>(&'a self, request: Request<'a>) -> Request<'a> {
        match request {
            Request::Execute { portal, .. } => {
                let sql = find(&self.portals, portal).map_or(&b""[..], |prepared| &prepared.text);
                Request::Execute { portal, sql }
            }
            other => other,
        }
    }

    fn start_up(&mut self, config: &SessionConfig) -> ControlFlow<Step> {
        if let Some(effect) = self.take_fault(&FaultTrigger::StartUp) {
            self.apply(&effect)?;
        }
        if config.password.is_some() {
            reply::authentication(&mut self.answer, reply::CLEARTEXT_PASSWORD);
            self.phase = Phase::Password;
        } else {
            self.welcome();
        }
        Break(Step::Told)
    }

    fn check(&mut self, password: &[u8], config: &SessionConfig) -> ControlFlow<Step> {
        if config.password.as_deref().is_some_and(|expected| expected.as_bytes() == password) {
            self.welcome();
            return Break(Step::Told);
        }
        reply::error(&mut self.answer, "FATAL", "28P01", "password authentication failed");
        Break(Step::Closed)
    }

    fn welcome(&mut self) {
        reply::authentication(&mut self.answer, reply::AUTHENTICATION_OK);
        for (name, value) in config::PARAMETERS {
            reply::parameter_status(&mut self.answer, name, value);
        }
        reply::backend_key_data(&mut self.answer, self.process_id, !self.process_id);
        reply::ready_for_query(&mut self.answer, b'I');
        self.phase = Phase::Ready;
    }

    fn query(&mut self, sql: &[u8], config: &SessionConfig) -> ControlFlow<Step> {
        self.skipping = false;
        if self.has_failed_by_fault()? {
            return self.ready();
        }
        let mut any = false;
        for text in statement::split(sql) {
            let prepared = Prepared::of(text);
            if prepared.kind == Kind::Empty {
                continue;
            }
            any = true;
            if prepared.kind == Kind::CopyIn {
                return self.begin_copy(&prepared, true);
            }
            if prepared.kind == Kind::Select && self.transaction != Transaction::Failed {
                self.answer.extend_from_slice(&prepared.result(config).row_description);
            }
            if !self.run(&prepared, config) {
                break;
            }
        }
        if !any {
            self.answer.extend_from_slice(reply::EMPTY_QUERY_RESPONSE);
        }
        self.ready()
    }

    fn parse(&mut self, name: &[u8], sql: &[u8]) -> ControlFlow<Step> {
        let number = self.parsed;
        self.parsed += 1;
        if let Some(effect) = self.take_fault(&FaultTrigger::Parse(number)) {
            self.apply(&effect)?;
        }
        if self.skipping {
            return Continue(());
        }
        if !name.is_empty() && find(&self.statements, name).is_some() {
            let name = String::from_utf8_lossy(name);
            return self.error("42P05", &format!("prepared statement \"{name}\" already exists"));
        }
        let prepared = self.prepared(sql);
        if prepared.parameters > PARAMETERS_MAX {
            let count = prepared.parameters;
            return self.error(
                "54000",
                &format!("${count} is too high: a statement has at most {PARAMETERS_MAX} parameters"),
            );
        }
        put(&mut self.statements, name, prepared);
        self.answer.extend_from_slice(reply::PARSE_COMPLETE);
        Continue(())
    }

    fn prepared(&mut self, sql: &[u8]) -> Arc<Prepared> {
        let sql = sql.trim_ascii_start();
        if let Some(known) = self.recent.iter().find(|known| *known.text == *sql) {
            return Arc::clone(known);
        }
        let prepared = Arc::new(Prepared::of(sql));
        self.recent.truncate(RECENT_MAX - 1);
        self.recent.push_front(Arc::clone(&prepared));
        prepared
    }

    fn bind(&mut self, portal: &[u8], name: &[u8], parameters: Parameters<'_>) -> ControlFlow<Step> {
        let Some(prepared) = find(&self.statements, name).cloned() else {
            let name = String::from_utf8_lossy(name);
            return self.error("26000", &format!("prepared statement \"{name}\" does not exist"));
        };
        let supplied = parameters.len();
        if supplied != prepared.parameters {
            let (name, required) = (String::from_utf8_lossy(name), prepared.parameters);
            let message = format!(
                "bind message supplies {supplied} parameters, but prepared statement \"{name}\" requires {required}"
            );
            return self.error("08P01", &message);
        }
        put(&mut self.portals, portal, prepared);
        self.answer.extend_from_slice(reply::BIND_COMPLETE);
        Continue(())
    }

    fn describe(&mut self, portal: bool, name: &[u8], config: &SessionConfig) -> ControlFlow<Step> {
        let among = if portal { &self.portals } else { &self.statements };
        let Some(prepared) = find(among, name).cloned() else {
            let (kind, name) = (if portal { "portal" } else { "statement" }, String::from_utf8_lossy(name));
            return self.error("26000", &format!("{kind} \"{name}\" does not exist"));
        };
        if !portal {
            reply::parameter_description(&mut self.answer, prepared.parameters);
        }
        if prepared.kind == Kind::Select {
            self.answer.extend_from_slice(&prepared.result(config).row_description);
        } else {
            self.answer.extend_from_slice(reply::NO_DATA);
        }
        Continue(())
    }

    fn execute(&mut self, portal: &[u8], config: &SessionConfig) -> ControlFlow<Step> {
        if self.has_failed_by_fault()? {
            return Continue(());
        }
        let Some(prepared) = find(&self.portals, portal).cloned() else {
            let name = String::from_utf8_lossy(portal);
            return self.error("34000", &format!("portal \"{name}\" does not exist"));
        };
        if prepared.kind == Kind::Empty {
            self.answer.extend_from_slice(reply::EMPTY_QUERY_RESPONSE);
        } else if prepared.kind == Kind::CopyIn {
            return self.begin_copy(&prepared, false);
        } else {
            self.skipping = !self.run(&prepared, config);
        }
        Continue(())
    }

    fn close(&mut self, portal: bool, name: &[u8]) -> ControlFlow<Step> {
        let among = if portal { &mut self.portals } else { &mut self.statements };
        among.retain(|(known, _)| **known != *name);
        self.answer.extend_from_slice(reply::CLOSE_COMPLETE);
        Continue(())
    }

    fn sync(&mut self) -> ControlFlow<Step> {
        self.skipping = false;
        if self.transaction == Transaction::Idle {
            self.portals.clear();
        }
        self.ready()
    }

    /// Runs a non-empty statement; false if it failed.
    fn run(&mut self, prepared: &Prepared, config: &SessionConfig) -> bool {
        let failed = self.transaction == Transaction::Failed;
        if failed && !matches!(prepared.kind, Kind::Commit | Kind::Rollback) {
            self.refuse_in_failed_transaction();
            return false;
        }
        match prepared.kind {
            Kind::Catalogs => {
                let message = "the null server has no catalogs";
                let _ = self.error("42P01", message);
                return false;
            }
            Kind::CopyOut => {
                self.copy_out(config);
                return true;
            }
            Kind::Begin => self.transaction = Transaction::Open,
            Kind::Commit | Kind::Rollback => self.transaction = Transaction::Idle,
            _ => {}
        }
        let out = &mut self.answer;
        match prepared.kind {
            Kind::Empty | Kind::Catalogs | Kind::CopyIn | Kind::CopyOut => {}
            Kind::Begin => reply::command_complete(out, b"BEGIN"),
            Kind::Commit if !failed => reply::command_complete(out, b"COMMIT"),
            Kind::Commit | Kind::Rollback => reply::command_complete(out, b"ROLLBACK"),
            Kind::Select => out.extend_from_slice(&prepared.result(config).rows_and_tag),
            Kind::Write(tag) => reply::command_complete(out, tag.as_bytes()),
            Kind::Other => {
                let tag = statement::first_word(&prepared.text).to_ascii_uppercase();
                reply::command_complete(out, &tag);
            }
        }
        true
    }

    fn refuse_in_failed_transaction(&mut self) {
        let message = "current transaction is aborted, commands ignored until end of transaction block";
        reply::error(&mut self.answer, "ERROR", "25P02", message);
    }

    /// Ends an answer with ReadyForQuery.
    fn ready(&mut self) -> ControlFlow<Step> {
        let status = match self.transaction {
            Transaction::Idle => b'I',
            Transaction::Open => b'T',
            Transaction::Failed => b'E',
        };
        reply::ready_for_query(&mut self.answer, status);
        match self.ending.take() {
            None => return Break(Step::Answered),
            Some(FaultEffect::LastAnswer { sqlstate, message }) => {
                reply::error(&mut self.answer, "FATAL", &sqlstate, &message);
            }
            Some(FaultEffect::Truncate(keep)) => self.answer.truncate(keep),
            Some(other) => unreachable!("{other:?} does not wait for the answer"),
        }
        Break(Step::Closed)
    }

    /// An error that fails the transaction and, in the extended protocol, skips messages until Sync.
    fn error(&mut self, sqlstate: &str, message: &str) -> ControlFlow<Step> {
        reply::error(&mut self.answer, "ERROR", sqlstate, message);
        if self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
        self.skipping = true;
        Continue(())
    }

    /// The client violates the protocol.
    fn violation(&mut self, reason: &str) -> Step {
        reply::error(&mut self.answer, "FATAL", "08P01", reason);
        Step::Closed
    }

    /// Applies the fault of the statement, if there is one; true if the statement fails.
    fn has_failed_by_fault(&mut self) -> ControlFlow<Step, bool> {
        let number = self.executed;
        self.executed += 1;
        let Some(effect) = self.take_fault(&FaultTrigger::Statement(number)) else { return Continue(false) };
        self.apply(&effect)?;
        Continue(self.skipping)
    }

    fn take_fault(&mut self, trigger: &FaultTrigger) -> Option<FaultEffect> {
        if self.faults.is_empty() {
            return None;
        }
        let found = self.faults.iter().position(|(at, _)| at == trigger)?;
        Some(self.faults.swap_remove(found).1)
    }

    fn apply(&mut self, effect: &FaultEffect) -> ControlFlow<Step> {
        match effect {
            FaultEffect::Error { sqlstate, message } => return self.error(sqlstate, message),
            FaultEffect::Fatal { sqlstate, message } => {
                reply::error(&mut self.answer, "FATAL", sqlstate, message);
                return Break(Step::Closed);
            }
            FaultEffect::Close | FaultEffect::Reset => {
                self.answer.clear();
                let reset = *effect == FaultEffect::Reset;
                return Break(if reset { Step::Reset } else { Step::Closed });
            }
            FaultEffect::Truncate(_) | FaultEffect::LastAnswer { .. } => {
                self.ending = Some(effect.clone());
                return Continue(());
            }
            FaultEffect::Say(messages) => {
                self.answer.extend_from_slice(messages);
                return Continue(());
            }
            FaultEffect::Rubbish(bytes) => {
                self.answer.clear();
                self.answer.extend_from_slice(bytes);
            }
            FaultEffect::CopyIn => self.answer.extend_from_slice(reply::COPY_IN_RESPONSE),
            FaultEffect::AskFor(method) => reply::authentication(&mut self.answer, *method),
            FaultEffect::Silence => self.answer.clear(),
        }
        self.phase = Phase::Silent;
        Break(Step::Answered)
    }
}

/// A statement or portal by name; usually the last one.
fn find<'a>(among: &'a [(Box<[u8]>, Arc<Prepared>)], name: &[u8]) -> Option<&'a Arc<Prepared>> {
    among.iter().rev().find(|(known, _)| **known == *name).map(|(_, prepared)| prepared)
}

/// Adds a statement or portal, or replaces the one of that name.
fn put(among: &mut Vec<(Box<[u8]>, Arc<Prepared>)>, name: &[u8], prepared: Arc<Prepared>) {
    match among.iter_mut().find(|(known, _)| **known == *name) {
        Some(place) => place.1 = prepared,
        None => among.push((name.into(), prepared)),
    }
}
