//! One simulated user: a state machine over bytes and time that holds no socket and reads no clock.
//!
//! The worker hands it what happened (connected, bytes, a timer) and `now`; it appends what must be
//! sent to [`Turn::out`] and says what it waits for next ([`Step`]).

use std::time::Duration;

use connect::CancelKey;
use script::{CommandKind, EvaluationError, Random, Scope, Set, Sql, Variables};
use stats::{CommandTable, Ending, Failure, Sample, Timestamp};
use wire::{
    Decoder, Message, Progress, ServerError, SessionFacts, SqlState, Startup, StartupError,
    TransactionStatus, frontend,
};

use crate::load::Load;
use crate::plan::{Plan, Protocol};
use crate::witness::Witness;

/// Why a client cannot go on when answers and commands no longer correspond.
const UNASKED: &str = "the server answered a question that nobody asked";

/// What a client is handed each time it may act.
pub(crate) struct Turn<'a> {
    pub(crate) load: &'a Load<'a>,
    /// What it wants to send; empty when it is handed over.
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) now: Timestamp,
    #[allow(dead_code)]
    /// Told at once of what is worth a message.
    pub(crate) witness: &'a mut dyn Witness,
    #[allow(dead_code)]
    /// Where the statistics of single commands go.
    pub(crate) commands: &'a mut CommandTable,
    #[allow(dead_code)]
    /// No transaction may be tried again later than this; `None`: the limit is a number of transactions.
    pub(crate) end: Option<Timestamp>,
}

/// What a client waits for, or has come to.
#[derive(Debug)]
pub(crate) enum Step {
    /// The server's next bytes.
    Reply,
    /// A moment, because of `\sleep`.
    Sleep(Timestamp),
    #[allow(dead_code)]
    /// The end of a command of the shell, which the worker runs; then comes [`Client::shell_done`].
    Shell { command: Vec<u8>, capture: bool },
    /// The transaction is over; the client is free.
    Ended(Ending),
    /// The client cannot go on. The sentence says where and why.
    Aborted(String),
}

/// Where a client stands.
#[derive(Debug)]
enum Phase {
    Disconnected,
    StartingUp(Box<Startup>),
    /// Connected, between transactions.
    Free,
    Sleeping,
    /// The current command's reply is on its way.
    Waiting,
    /// A `ROLLBACK` after a failure is on its way.
    RollingBack(Failure),
    Aborted,
}

/// What the server has said since the last command was sent.
#[derive(Debug)]
struct Reply {
    ready: u32,
    status: TransactionStatus,
    error: Option<Box<ServerError>>,
    /// An error that came after the answer was complete: why the server is about to close the connection.
    farewell: Option<Box<ServerError>>,
    parsed: bool,
    copy: bool,
}

/// See the module.
pub(crate) struct Client {
    /// Over all workers, from 0; the variable `:client_id`.
    number: usize,
    phase: Phase,
    decoder: Decoder,
    reply: Reply,
    variables: Variables,
    random: Random,
    /// Statements that this connection has parsed (prepared protocol).
    prepared: Box<[bool]>,
    /// The statement whose Parse is on its way.
    parsing: Option<usize>,
    script: usize,
    command: usize,
    in_transaction: bool,
    scheduled: Timestamp,
    started: Timestamp,
    /// What is needed to cancel a running command from another connection.
    cancel_key: Option<CancelKey>,
}

impl Client {
    pub(crate) fn new(number: usize, variables: Variables, random: Random, load: &Load<'_>) -> Self {
        Self {
            number,
            phase: Phase::Disconnected,
            decoder: Decoder::new(),
            reply: Reply {
                ready: 0,
                status: TransactionStatus::Idle,
                error: None,
                farewell: None,
                parsed: false,
                copy: false,
            },
            variables,
            random,
            prepared: vec![false; load.statements.len()].into_boxed_slice(),
            parsing: None,
            script: 0,
            command: 0,
            in_transaction: false,
            scheduled: Timestamp::ZERO,
            started: Timestamp::ZERO,
            cancel_key: None,
        }
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// True between the start of a transaction and its end.
    pub(crate) fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// The sample of the transaction that ends now.
    pub(crate) fn sample(&self, ending: Ending, now: Timestamp) -> Sample {
        let Self { script, scheduled, started, .. } = *self;
        Sample { script, scheduled, started, finished: now, tries: 1, business: 1, ending }
    }

    /// The transaction has been recorded.
    pub(crate) fn forget_transaction(&mut self) {
        self.in_transaction = false;
    }

    /// True when the server is working on a command of this client.
    pub(crate) fn awaits_reply(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::RollingBack(_))
    }

    /// What is needed to cancel a running command from another connection.
    pub(crate) fn cancel_key(&self) -> Option<&CancelKey> {
        self.cancel_key.as_ref()
    }

    /// The link of the transaction that is under way, or was the last.
    pub(crate) fn link(&self) -> usize {
        0
    }

    /// The transport of a link is connected: introduces the client to the server. What an earlier session on this
    /// link has left is forgotten.
    pub(crate) fn greet(&mut self, link: usize, turn: &mut Turn<'_>) {
        let target = &turn.load.plan.targets[turn.load.links[link]];
        self.phase = Phase::StartingUp(Box::new(Startup::new(&target.startup, turn.out)));
    }

    /// Bytes have arrived during start-up. True when the client is in and free.
    pub(crate) fn start_up(
        &mut self,
        _link: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, StartupError> {
        let Phase::StartingUp(startup) = &mut self.phase else {
            // It is in already, while others are still coming; what is said now may be half a message.
            let reply = &mut self.reply;
            self.decoder.decode(bytes, &mut |message| reply.take(&message))?;
            return Ok(false);
        };
        let Some(facts) = start_up(startup, &mut self.decoder, bytes, out)? else { return Ok(false) };
        let SessionFacts { process_id, secret_key, parameters: _ } = facts;
        self.cancel_key = Some(CancelKey { process_id, secret_key });
        self.phase = Phase::Free;
        Ok(true)
    }

    /// The server's last error, which says why it closed the connection.
    pub(crate) fn take_error(&mut self, _link: usize) -> Option<Box<ServerError>> {
        self.reply.error.take().or_else(|| self.reply.farewell.take())
    }

    /// Begins a transaction of `script` that was scheduled for `scheduled`.
    pub(crate) fn begin(&mut self, script: usize, scheduled: Timestamp, turn: &mut Turn<'_>) -> Step {
        self.script = script;
        self.command = 0;
        self.in_transaction = true;
        self.scheduled = scheduled;
        self.started = turn.now;
        self.proceed(turn)
    }

    /// A `\sleep` is over.
    pub(crate) fn wake(&mut self, turn: &mut Turn<'_>) -> Step {
        self.command += 1;
        self.proceed(turn)
    }

    /// Bytes have arrived; `None`: more must come before anything can be done.
    pub(crate) fn receive(&mut self, _link: usize, bytes: &[u8], turn: &mut Turn<'_>) -> Option<Step> {
        let reply = &mut self.reply;
        if let Err(error) = self.decoder.decode(bytes, &mut |message| reply.take(&message)) {
            let reason = format!("the server sent something that is not PostgreSQL's protocol: {error}");
            return Some(self.abort(&reason, turn.load));
        }
        if self.reply.copy {
            return Some(self.abort("COPY is not supported in a script", turn.load));
        }
        (self.reply.ready > 0).then(|| self.conclude(turn))
    }

    /// The connection is gone. `cause` is the transport's error, if it had one.
    pub(crate) fn lose_connection(
        &mut self,
        link: usize,
        cause: Option<&std::io::Error>,
        load: &Load<'_>,
    ) -> Step {
        let reason = match (self.take_error(link), cause) {
            (Some(error), _) => format!("the server closed the connection: {error}"),
            (None, Some(cause)) => format!("the connection to the server was lost: {cause}"),
            (None, None) => "the server closed the connection unexpectedly; its log says why".to_owned(),
        };
        self.abort(&reason, load)
    }

    /// Says good-bye on a link.
    pub(crate) fn terminate(&mut self, _link: usize, out: &mut Vec<u8>) {
        if !matches!(self.phase, Phase::Disconnected | Phase::StartingUp(_) | Phase::Aborted) {
            frontend::terminate(out);
        }
        self.phase = Phase::Disconnected;
    }

    /// The reply is complete: judges it and goes on.
    fn conclude(&mut self, turn: &mut Turn<'_>) -> Step {
        self.reply.ready -= 1;
        let error = self.reply.error.take();
        if let Some(number) = self.parsing.take() {
            // Its Parse may have failed together with a transaction after which the client goes on.
            self.prepared[number] = self.reply.parsed;
        }
        if self.reply.ready > 0 {
            // One too many: it would be taken for the answer to the next command.
            return self.abort(UNASKED, turn.load);
        }
        match (&self.phase, error) {
            (Phase::Waiting, None) => {
                self.command += 1;
                self.proceed(turn)
            }
            (Phase::Waiting, Some(error)) => match failure(&error) {
                Some(failure) => self.fail(failure, turn),
                None => self.abort(&error.to_string(), turn.load),
            },
            (Phase::RollingBack(failure), None) => {
                let failure = *failure;
                self.free(Ending::Failed(failure))
            }
            (Phase::RollingBack(_), Some(error)) => {
                self.abort(&format!("ROLLBACK failed: {error}"), turn.load)
            }
            _ => self.abort(UNASKED, turn.load),
        }
    }

    /// The transaction has failed in a way that allows the client to go on.
    fn fail(&mut self, failure: Failure, turn: &mut Turn<'_>) -> Step {
        if self.reply.status == TransactionStatus::Idle {
            return self.free(Ending::Failed(failure));
        }
        frontend::query(turn.out, b"ROLLBACK");
        self.phase = Phase::RollingBack(failure);
        Step::Reply
    }

    fn free(&mut self, ending: Ending) -> Step {
        self.phase = Phase::Free;
        Step::Ended(ending)
    }

    /// Runs commands until one has to wait or the script is over.
    fn proceed(&mut self, turn: &mut Turn<'_>) -> Step {
        let load = turn.load;
        let commands = load.plan.scripts[self.script].program.commands();
        while let Some(command) = commands.get(self.command) {
            match &command.kind {
                CommandKind::Sql(sql) => {
                    self.send(sql, turn);
                    self.phase = Phase::Waiting;
                    return Step::Reply;
                }
                CommandKind::Set(set) => {
                    if let Err(error) = self.set(set, load) {
                        return self.abort_meta("set", &error, load);
                    }
                    self.command += 1;
                }
                CommandKind::Sleep(sleep) => match sleep.duration(&self.variables, &load.symbols) {
                    // A timer that is due at once would be set and fired for ever at the same `now`.
                    Ok(Duration::ZERO) => self.command += 1,
                    Ok(duration) => {
                        self.phase = Phase::Sleeping;
                        return Step::Sleep(turn.now + duration);
                    }
                    Err(error) => return self.abort_meta("sleep", &error, load),
                },
                CommandKind::SetArray(_)
                | CommandKind::If(_)
                | CommandKind::Elif(_)
                | CommandKind::Else(_)
                | CommandKind::EndIf
                | CommandKind::SetShell(_)
                | CommandKind::Shell(_)
                | CommandKind::StartPipeline
                | CommandKind::SyncPipeline
                | CommandKind::EndPipeline
                | CommandKind::Batch(_) => {
                    let reason = format!("\\{} is not supported yet", command.kind.name());
                    return self.abort(&reason, load);
                }
            }
        }
        if self.reply.status == TransactionStatus::Idle {
            self.free(Ending::Succeeded)
        } else {
            self.abort("end of script reached without completing the last transaction", load)
        }
    }

    fn set(&mut self, set: &Set, load: &Load<'_>) -> Result<(), EvaluationError> {
        let mut scope = Scope::new(&mut self.variables, &mut self.random, &load.symbols);
        let value = set.expression.evaluate(&mut scope)?;
        self.variables.set(set.slot, value);
        Ok(())
    }
}

/// What goes on the wire, and the sentences that end a client.
impl Client {
    fn send(&mut self, sql: &Sql, turn: &mut Turn<'_>) {
        let out = &mut *turn.out;
        if turn.load.plan.protocol == Protocol::Simple {
            frontend::query_with(out, |out| sql.write_simple(&self.variables, out));
            return;
        }
        let mut name: &[u8] = b"";
        let mut parsed = false;
        if turn.load.plan.protocol == Protocol::Prepared {
            let number = turn.load.statements.number(self.script, self.command);
            name = turn.load.statements.name(number).as_bytes();
            parsed = self.prepared[number];
            if !parsed {
                self.parsing = Some(number);
                self.reply.parsed = false;
            }
        }
        if !parsed {
            frontend::parse(out, name, sql.numbered_text());
        }
        let mut bind = frontend::bind(out, b"", name);
        for slot in sql.parameters() {
            bind.parameter_with(|out| self.variables.write_text(*slot, out));
        }
        bind.finish();
        frontend::describe_portal(out, b"");
        frontend::execute(out, b"");
        frontend::sync(out);
    }

    /// An error in an SQL command, or a lost connection.
    fn abort(&mut self, reason: &str, load: &Load<'_>) -> Step {
        let place = match self.place(load.plan) {
            Some((command, name)) => format!(" in command {command} (SQL) of script {name}"),
            None => String::new(),
        };
        self.phase = Phase::Aborted;
        Step::Aborted(format!("client {} aborted{place}: {reason}", self.number))
    }

    /// An error in a meta command.
    fn abort_meta(&mut self, name: &str, error: &EvaluationError, load: &Load<'_>) -> Step {
        let (number, command, script) =
            (self.number, self.command, load.plan.scripts[self.script].program.name());
        self.phase = Phase::Aborted;
        Step::Aborted(format!(
            "client {number} aborted in command {command} ({name}) of script {script}: {error}"
        ))
    }

    /// The SQL command that is under way, by index and script.
    fn place<'p>(&self, plan: &'p Plan) -> Option<(usize, &'p str)> {
        let program = &plan.scripts[self.script].program;
        (self.awaits_reply() && self.command < program.commands().len())
            .then(|| (self.command, program.name()))
    }
}

impl Reply {
    /// Keeps of a message what decides how to go on; rows and notices mean nothing here.
    fn take(&mut self, message: &Message<'_>) {
        match message {
            Message::ReadyForQuery(status) => {
                self.ready += 1;
                self.status = *status;
            }
            Message::ParseComplete => self.parsed = true,
            Message::ErrorResponse(fields) => {
                // The first error is the cause; an aborted pipeline may repeat itself.
                let place = if self.ready == 0 { &mut self.error } else { &mut self.farewell };
                place.get_or_insert_with(|| Box::new(ServerError::from(*fields)));
            }
            Message::CopyInResponse(_) | Message::CopyOutResponse(_) | Message::CopyBothResponse(_) => {
                self.copy = true;
            }
            _ => {}
        }
    }
}

/// Which errors fail only the transaction (reference, section 15).
fn failure(error: &ServerError) -> Option<Failure> {
    match error.sqlstate {
        SqlState::SERIALIZATION_FAILURE => Some(Failure::Serialization),
        SqlState::DEADLOCK_DETECTED => Some(Failure::Deadlock),
        _ => None,
    }
}

/// Feeds start-up with what has arrived; the facts once the server is ready.
fn start_up(
    startup: &mut Startup,
    decoder: &mut Decoder,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<Option<SessionFacts>, StartupError> {
    let mut result = Ok(None);
    let decoded = decoder.decode(bytes, &mut |message| {
        if !matches!(result, Ok(None)) {
            return;
        }
        result = match startup.message(&message, out) {
            Ok(Progress::NeedMore) => Ok(None),
            Ok(Progress::Ready(facts)) => Ok(Some(facts)),
            Err(error) => Err(error),
        };
    });
    decoded.map_err(StartupError::Protocol)?;
    result
}
