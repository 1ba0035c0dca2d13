//! One simulated user: a state machine over bytes and time that holds no socket and reads no clock.
//!
//! The worker hands it what happened (connected, bytes, a timer) and `now`; it appends what must be
//! sent to [`Turn::out`] and says what it waits for next ([`Step`]). What commands do is in `commands`,
//! what goes on the wire in `sending`, what follows an error in `recovery`.

use connect::CancelKey;
use script::{Random, Sql, Variables};
use stats::{CommandTable, Ending, Failure, Sample, Timestamp};
use wire::{ServerError, StartupError, TransactionStatus};

use crate::abort::{AbortCause, AbortedClient, CommandPosition, capture_name};
use crate::load::Load;
use crate::plan::HostPlan;
use crate::tracer::{ClientEvent, ClientStep, Tracer};

use capturing::ReplyContext;
use link::Link;

mod capturing;
mod commands;
mod link;
mod recovery;
mod sending;

/// What a client is handed each time it may act.
pub(crate) struct Turn<'a> {
    pub(crate) load: &'a Load<'a>,
    /// What it wants to send; empty when it is handed over.
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) now: Timestamp,
    /// Told at once of what is worth a message.
    pub(crate) tracer: &'a mut dyn Tracer,
    /// The tracer wants to see each step.
    pub(crate) steps_wanted: bool,
    /// Where the statistics of single commands go.
    pub(crate) commands: &'a mut CommandTable,
    /// No transaction may be tried again later than this; `None`: the limit is a number of transactions.
    pub(crate) end: Option<Timestamp>,
}

impl Turn<'_> {
    /// Shows the tracer a step, if it wants to see steps.
    fn show(&mut self, client: usize, what: ClientStep<'_>) {
        if self.steps_wanted {
            self.tracer.on_event(&ClientEvent::Stepped { client, what });
        }
    }
}

/// What a client waits for, or has come to.
#[derive(Debug)]
pub(crate) enum Step {
    /// The server's next bytes.
    Reply,
    /// A moment, because of `\sleep`.
    Sleep(Timestamp),
    /// Nothing, but so much was computed that the clock must be read again; then comes [`Client::wake`].
    Computed,
    /// The end of a command of the shell, which the worker runs; then comes [`Client::shell_done`].
    Shell { command: Vec<u8>, capture: bool },
    /// The transaction is over; the client is free.
    Ended(Ending),
    /// The client cannot go on.
    Aborted(Box<AbortedClient>),
}

/// Where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between transactions.
    Free,
    Sleeping,
    /// An array has been made.
    Computed,
    /// A command of the shell is running.
    Shell,
    /// The current command's reply is on its way.
    Waiting,
    /// The answers to the Parse messages that go ahead of a pipeline are on their way.
    Preparing,
    /// A `ROLLBACK` after a failure is on its way.
    RollingBack(Failure),
    Aborted,
}

/// See the module.
pub(crate) struct Client {
    /// Over all workers, from 0; the variable `:client_id`.
    pub(crate) number: usize,
    phase: Phase,
    /// One connection for each target that the scripts use.
    links: Box<[Link]>,
    /// The one that the current transaction uses: to which [`Turn::out`] goes, except while it is being set up or
    /// terminated.
    pub(crate) link: usize,
    /// Between `\startpipeline` and `\endpipeline`.
    pipeline: bool,
    /// The commands whose text was sent in the pipeline, in order: an error does not say whose it is.
    piped: Vec<usize>,
    variables: Variables,
    /// What scripts draw from; a transaction may be given a stream of its own.
    pub(crate) random: Random,
    /// As it was when the transaction began: a retry draws the same again.
    random_at_start: Random,
    /// Draws places to connect to, and nothing else: the scripts' draws are the same wherever they run.
    host_draws: Random,
    script: usize,
    command: usize,
    /// When the current command was begun.
    command_begun: Timestamp,
    /// True from the start of a transaction until it has been recorded.
    pub(crate) in_transaction: bool,
    scheduled: Timestamp,
    started: Timestamp,
    tries: u32,
    /// Transactions that this one stands for.
    business: u64,
}

impl Client {
    pub(crate) fn new(
        number: usize,
        variables: Variables,
        random: Random,
        host_draws: Random,
        load: &Load<'_>,
    ) -> Self {
        Self {
            number,
            phase: Phase::Free,
            links: load.links.iter().map(|_| Link::new(load.statements.len())).collect(),
            link: 0,
            pipeline: false,
            piped: Vec::new(),
            variables,
            random_at_start: random.clone(),
            random,
            host_draws,
            script: 0,
            command: 0,
            command_begun: Timestamp::ZERO,
            in_transaction: false,
            scheduled: Timestamp::ZERO,
            started: Timestamp::ZERO,
            tries: 1,
            business: 1,
        }
    }

    /// The sample of the transaction that ends now.
    #[inline]
    pub(crate) fn sample(&self, ending: Ending, now: Timestamp) -> Sample {
        let Self { script, scheduled, started, tries, business, .. } = *self;
        Sample { script, scheduled, started, finished: now, tries, business, ending }
    }

    /// What is needed to cancel the command that is running, if there is one.
    pub(crate) fn running(&self) -> Option<&CancelKey> {
        let link = &self.links[self.link];
        (link.reply.owed > 0 && self.phase != Phase::Aborted).then(|| link.cancel_key())?
    }

    /// Which of its target's places that command runs at.
    pub(crate) fn host_index(&self) -> usize {
        self.links[self.link].host
    }

    /// The transport of a link is connected: the start-up begins. What an earlier session on this
    /// link has left is forgotten. `binding` is what SCRAM is bound to, if the transport has something of the kind.
    pub(crate) fn send_startup(&mut self, link: usize, binding: Option<&[u8]>, turn: &mut Turn<'_>) {
        turn.tracer.on_event(&ClientEvent::Connects { client: self.number });
        let startup = &self.host(link, turn.load).startup;
        self.links[link].send_startup(startup, binding, turn.out);
    }

    /// Chooses where the next connection of a link goes: among several places each time anew.
    pub(crate) fn choose_host<'p>(&mut self, link: usize, load: &Load<'p>) -> &'p HostPlan {
        let hosts = &load.plan.targets[load.links[link]].hosts;
        if hosts.len() > 1 {
            let drawn = self.host_draws.range(hosts.len() as u64 - 1);
            self.links[link].host = usize::try_from(drawn).unwrap_or(0);
        }
        self.host(link, load)
    }

    /// Where the connection of a link goes.
    pub(crate) fn host<'p>(&self, link: usize, load: &Load<'p>) -> &'p HostPlan {
        &load.plan.targets[load.links[link]].hosts[self.links[link].host]
    }

    /// Bytes have arrived while the client is connecting. True when this link is ready.
    pub(crate) fn receive_startup(
        &mut self,
        link: usize,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, StartupError> {
        self.links[link].receive_startup(bytes, out)
    }

    /// The server's last error, which says why it closed the connection.
    pub(crate) fn take_error(&mut self, link: usize) -> Option<Box<ServerError>> {
        self.links[link].take_error()
    }

    /// Begins a transaction of `script` that was scheduled for `scheduled`.
    #[inline]
    pub(crate) fn begin(&mut self, script: usize, scheduled: Timestamp, turn: &mut Turn<'_>) -> Step {
        self.set_out(script, scheduled, turn);
        self.random_at_start = self.random.clone();
        if turn.steps_wanted {
            turn.show(
                self.number,
                ClientStep::Begins { script: turn.load.plan.scripts[script].program.name() },
            );
        }
        self.start_over(turn)
    }

    /// The client is in a transaction from now on.
    #[inline]
    fn set_out(&mut self, script: usize, scheduled: Timestamp, turn: &Turn<'_>) {
        self.script = script;
        self.link = turn.load.script_links[script];
        self.in_transaction = true;
        self.scheduled = scheduled;
        self.started = turn.now;
        self.tries = 1;
    }

    /// A `\sleep` is over, or the clock has been read again.
    pub(crate) fn wake(&mut self, turn: &mut Turn<'_>) -> Step {
        self.complete(turn);
        self.proceed(turn)
    }

    /// Bytes have arrived; `None`: more must come before anything can be done.
    pub(crate) fn receive(&mut self, link: usize, bytes: &[u8], turn: &mut Turn<'_>) -> Option<Step> {
        self.show_receiving(turn);
        let mut context = ReplyContext {
            client: self.number,
            tracer: &mut *turn.tracer,
            variables: &mut self.variables,
            symbols: &turn.load.symbols,
            capture: sql_at(self.script, self.command, turn.load).and_then(Sql::capture),
        };
        let from = &mut self.links[link];
        if let Err(error) = from.receive(bytes, &mut context) {
            return Some(self.abort(AbortCause::Protocol(error), turn.load));
        }
        if from.reply.copy {
            return Some(self.abort(AbortCause::Copy, turn.load));
        }
        if from.reply.ready > from.reply.owed {
            // It would be taken for the answer to the next command.
            return Some(self.abort(AbortCause::Unasked, turn.load));
        }
        let awaited = link == self.link && from.reply.ready == from.reply.owed && self.awaits_reply();
        awaited.then(|| self.conclude(turn))
    }

    /// A connection is gone. `cause` is the transport's error, if it had one.
    pub(crate) fn lose_connection(
        &mut self,
        link: usize,
        cause: Option<&std::io::Error>,
        load: &Load<'_>,
    ) -> Step {
        let last_word = self.take_error(link);
        let error = cause.map(|error| error.to_string().into());
        self.abort(AbortCause::ConnectionLost { last_word, error }, load)
    }

    /// Says good-bye on a link.
    pub(crate) fn terminate(&mut self, link: usize, out: &mut Vec<u8>) {
        self.links[link].terminate(out);
    }

    /// Waits for the answer to what it has sent.
    fn await_reply(&mut self, phase: Phase, turn: &mut Turn<'_>) -> Step {
        self.phase = phase;
        self.show_receiving(turn);
        Step::Reply
    }

    /// pgbench looks for answers to what it parses ahead of a pipeline in another way, which it does not tell.
    fn show_receiving(&self, turn: &mut Turn<'_>) {
        if turn.steps_wanted && matches!(self.phase, Phase::Waiting | Phase::RollingBack(_)) {
            turn.show(self.number, ClientStep::Receives);
        }
    }

    /// True while the client can do nothing before the server has answered.
    fn awaits_reply(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Preparing | Phase::RollingBack(_))
    }

    /// All that was asked for has come: judges it and goes on.
    fn conclude(&mut self, turn: &mut Turn<'_>) -> Step {
        if self.pipeline {
            for left in (1..=self.links[self.link].reply.owed).rev() {
                turn.show(self.number, ClientStep::Synchronized { left });
            }
        }
        let error = self.links[self.link].settle();
        match (self.phase, error) {
            (Phase::Waiting, None) => {
                self.pipeline = false;
                if let Err(cause) = self.finish_capture(turn.load) {
                    return self.abort(cause, turn.load);
                }
                self.complete(turn);
                self.proceed(turn)
            }
            (Phase::Waiting, Some(error)) => {
                let pipeline = std::mem::take(&mut self.pipeline);
                self.links[self.link].captured();
                self.judge(error, pipeline, turn)
            }
            (Phase::Preparing, error) => self.prepared(error, turn),
            (Phase::RollingBack(failure), None) => self.decide(failure, turn),
            (_, Some(error)) => self.abort(AbortCause::Rollback(error), turn.load),
            (_, None) => self.abort(AbortCause::Unasked, turn.load),
        }
    }

    /// The results of the current command go into variables, if it asks for that.
    fn finish_capture(&mut self, load: &Load<'_>) -> Result<(), AbortCause> {
        let Some(capturing) = self.links[self.link].captured() else { return Ok(()) };
        match sql_at(self.script, self.command, load).and_then(Sql::capture) {
            Some(capture) => capturing.finish(capture, &mut self.variables, &load.symbols),
            None => Ok(()),
        }
    }

    fn free(&mut self, ending: Ending) -> Step {
        self.phase = Phase::Free;
        Step::Ended(ending)
    }

    /// What the server says of the transaction.
    fn status(&self) -> TransactionStatus {
        self.links[self.link].reply.status
    }

    /// The client cannot go on.
    fn abort(&mut self, cause: AbortCause, load: &Load<'_>) -> Step {
        let place = self.place(&cause, load);
        let cause = match (cause, &place) {
            (AbortCause::Evaluation(error), Some(place)) => AbortCause::Evaluation(error.named(&place.name)),
            (cause, _) => cause,
        };
        self.phase = Phase::Aborted;
        for link in &mut self.links {
            link.give_up();
        }
        Step::Aborted(Box::new(AbortedClient { client: self.number, place, cause }))
    }

    /// The command that is to blame.
    fn place(&self, cause: &AbortCause, load: &Load<'_>) -> Option<CommandPosition> {
        if !cause.is_of_a_command() && !self.awaits_reply() {
            return None;
        }
        let program = &load.plan.scripts[self.script].program;
        let name = match cause {
            AbortCause::CaptureInPipeline(kind) => capture_name(*kind).into(),
            _ => program.commands().get(self.command)?.name.clone(),
        };
        let query = if &*name == "SQL" { self.links[self.link].query_index(cause) } else { 0 };
        let script_name = program.name().into();
        let rolling_back = matches!(self.phase, Phase::RollingBack(_));
        Some(CommandPosition {
            script: self.script,
            script_name,
            command: self.command,
            name,
            query,
            rolling_back,
        })
    }
}

/// An SQL command of the run; `None` if this one is none.
fn sql_at<'l>(script: usize, command: usize, load: &'l Load<'_>) -> Option<&'l Sql> {
    match &load.plan.scripts[script].program.commands().get(command)?.kind {
        script::CommandKind::Sql(sql) => Some(sql),
        _ => None,
    }
}
