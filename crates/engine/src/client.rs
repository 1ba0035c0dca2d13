//! One simulated user: a state machine over bytes and time that holds no socket and reads no clock.
//!
//! The worker hands it what happened (connected, bytes, a timer) and `now`; it appends what must be
//! sent to [`Turn::out`] and says what it waits for next ([`Step`]).

use std::time::Duration;

use connect::CancelKey;
use script::{CommandKind, EvaluationError, Random, Scope, Set, Sql, Variables};
use stats::{CommandTable, Ending, Failure, Sample, Timestamp};
use wire::{ServerError, SqlState, StartupError, TransactionStatus, frontend};

use crate::abort::{AbortCause, AbortedClient, Place};
use crate::load::Load;
use crate::plan::Protocol;
use crate::witness::Witness;

use link::Link;

mod link;

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
    /// The client cannot go on.
    Aborted(Box<AbortedClient>),
}

/// Where a client stands.
#[derive(Debug)]
enum Phase {
    /// Between transactions.
    Free,
    Sleeping,
    /// The current command's reply is on its way.
    Waiting,
    /// A `ROLLBACK` after a failure is on its way.
    RollingBack(Failure),
    Aborted,
}

/// See the module.
pub(crate) struct Client {
    /// Over all workers, from 0; the variable `:client_id`.
    number: usize,
    phase: Phase,
    /// One connection for each target of the plan.
    links: Box<[Link]>,
    /// The one that the current transaction uses.
    link: usize,
    variables: Variables,
    random: Random,
    script: usize,
    command: usize,
    in_transaction: bool,
    scheduled: Timestamp,
    started: Timestamp,
}

impl Client {
    pub(crate) fn new(number: usize, variables: Variables, random: Random, load: &Load<'_>) -> Self {
        Self {
            number,
            phase: Phase::Free,
            links: load.links.iter().map(|_| Link::new(load.statements.len())).collect(),
            link: 0,
            variables,
            random,
            script: 0,
            command: 0,
            in_transaction: false,
            scheduled: Timestamp::ZERO,
            started: Timestamp::ZERO,
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

    /// What is needed to cancel the command that is running, if there is one.
    pub(crate) fn running(&self) -> Option<&CancelKey> {
        self.awaits_reply().then(|| self.links[self.link].cancel_key())?
    }

    /// The link to which [`Turn::out`] goes, except while it is being set up or terminated.
    pub(crate) fn link(&self) -> usize {
        self.link
    }

    /// The transport of a link is connected: introduces the client to the server.
    pub(crate) fn greet(&mut self, link: usize, turn: &mut Turn<'_>) {
        let target = &turn.load.plan.targets[turn.load.links[link]];
        self.links[link].greet(&target.startup, turn.out);
    }

    /// Bytes have arrived while the client is connecting. True when this link is ready.
    pub(crate) fn start_up(
        &mut self,
        link: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, StartupError> {
        self.links[link].start_up(bytes, out)
    }

    /// The server's last error, which says why it closed the connection.
    pub(crate) fn take_error(&mut self, link: usize) -> Option<Box<ServerError>> {
        self.links[link].take_error()
    }

    /// Begins a transaction of `script` that was scheduled for `scheduled`.
    pub(crate) fn begin(&mut self, script: usize, scheduled: Timestamp, turn: &mut Turn<'_>) -> Step {
        self.script = script;
        self.link = turn.load.script_links[script];
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
    pub(crate) fn receive(&mut self, link: usize, bytes: &[u8], turn: &mut Turn<'_>) -> Option<Step> {
        let from = &mut self.links[link];
        if let Err(error) = from.receive(bytes) {
            return Some(self.abort(AbortCause::Protocol(error), turn.load));
        }
        if from.reply.copy {
            return Some(self.abort(AbortCause::Copy, turn.load));
        }
        if from.reply.ready == 0 {
            return None;
        }
        Some(if link == self.link { self.conclude(turn) } else { self.abort(AbortCause::Unasked, turn.load) })
    }

    /// A connection is gone. `cause` is the transport's error, if it had one.
    pub(crate) fn lose_connection(
        &mut self,
        link: usize,
        cause: Option<&std::io::Error>,
        load: &Load<'_>,
    ) -> Step {
        let last_word = self.take_error(link);
        self.abort(
            AbortCause::ConnectionLost { last_word, error: cause.map(|error| error.to_string().into()) },
            load,
        )
    }

    /// Says good-bye.
    pub(crate) fn terminate(&mut self, link: usize, out: &mut Vec<u8>) {
        self.links[link].terminate(out);
    }

    /// The reply is complete: judges it and goes on.
    fn conclude(&mut self, turn: &mut Turn<'_>) -> Step {
        let link = &mut self.links[self.link];
        link.reply.ready -= 1;
        let error = link.reply.error.take();
        if let Some(number) = link.parsing.take() {
            // Its Parse may have failed together with a transaction after which the client goes on.
            link.prepared[number] = link.reply.parsed;
        }
        if link.reply.ready > 0 {
            // One too many: it would be taken for the answer to the next command.
            return self.abort(AbortCause::Unasked, turn.load);
        }
        match (&self.phase, error) {
            (Phase::Waiting, None) => {
                self.command += 1;
                self.proceed(turn)
            }
            (Phase::Waiting, Some(error)) => match failure(&error) {
                Some(failure) => self.fail(failure, turn),
                None => self.abort(AbortCause::Sql(error), turn.load),
            },
            (Phase::RollingBack(failure), None) => {
                let failure = *failure;
                self.free(Ending::Failed(failure))
            }
            (Phase::RollingBack(_), Some(error)) => self.abort(AbortCause::Rollback(error), turn.load),
            _ => self.abort(AbortCause::Unasked, turn.load),
        }
    }

    /// The transaction has failed in a way that allows the client to go on.
    fn fail(&mut self, failure: Failure, turn: &mut Turn<'_>) -> Step {
        if self.status() == TransactionStatus::Idle {
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
                        return self.abort(AbortCause::Evaluation(error), load);
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
                    Err(error) => return self.abort(AbortCause::Evaluation(error), load),
                },
                other => return self.abort(AbortCause::NotSupportedYet(other.name()), load),
            }
        }
        if self.status() == TransactionStatus::Idle {
            self.free(Ending::Succeeded)
        } else {
            self.abort(AbortCause::UnfinishedTransaction, load)
        }
    }

    /// What the server says of the transaction.
    fn status(&self) -> TransactionStatus {
        self.links[self.link].reply.status
    }

    fn set(&mut self, set: &Set, load: &Load<'_>) -> Result<(), EvaluationError> {
        let mut scope = Scope::new(&mut self.variables, &mut self.random, &load.symbols);
        let value = set.expression.evaluate(&mut scope)?;
        self.variables.set(set.slot, value);
        Ok(())
    }
}

/// What goes on the wire, and what ends a client.
impl Client {
    fn send(&mut self, sql: &Sql, turn: &mut Turn<'_>) {
        let out = &mut *turn.out;
        let link = &mut self.links[self.link];
        link.reply.completed = 0;
        if turn.load.plan.protocol == Protocol::Simple {
            frontend::query_with(out, |out| sql.write_simple(&self.variables, out));
            return;
        }
        let mut name: &[u8] = b"";
        let mut parsed = false;
        if turn.load.plan.protocol == Protocol::Prepared {
            let number = turn.load.statements.number(self.script, self.command);
            name = turn.load.statements.name(number).as_bytes();
            parsed = link.prepared[number];
            if !parsed {
                link.parsing = Some(number);
                link.reply.parsed = false;
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

    /// The client cannot go on.
    fn abort(&mut self, cause: AbortCause, load: &Load<'_>) -> Step {
        let place = self.place(&cause, load);
        self.phase = Phase::Aborted;
        self.links[self.link].give_up();
        Step::Aborted(Box::new(AbortedClient { client: self.number, place, cause }))
    }

    /// The command that is to blame.
    fn place(&self, cause: &AbortCause, load: &Load<'_>) -> Option<Place> {
        let evaluating = matches!(cause, AbortCause::Evaluation(_));
        if !evaluating && !self.awaits_reply() {
            return None;
        }
        let program = &load.plan.scripts[self.script].program;
        Some(Place {
            script: self.script,
            script_name: program.name().into(),
            command: self.command,
            name: program.commands().get(self.command)?.kind.name(),
            query: self.links[self.link].reply.completed,
        })
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
