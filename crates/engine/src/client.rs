//! A client: a state machine over bytes and time without socket or clock.
//!
//! The worker passes events (connected, bytes, a timer) and `now`; the client appends bytes to send to [`Turn::out`]
//! and returns what it waits for ([`Step`]). `commands` executes script commands, `sending` encodes SQL, `copying`
//! transfers the rows of COPY, `recovery` handles errors.

use connect::{CancelKey, SessionAttributes};
use script::{Random, SentAs, Slot, Sql, Value, Variables};
use stats::{CommandTable, Ending, Failure, Sample, Timestamp, Traffic};
use wire::{ServerError, TransactionStatus};

use crate::abort::{AbortCause, AbortedClient, CommandPosition, capture_name};
use crate::error::ConnectReason;
use crate::errors::ErrorTable;
use crate::load::Load;
use crate::plan::HostPlan;
use crate::tracer::{ClientEvent, ClientStep, Tracer};

use capturing::ReplyContext;
use link::Link;
pub(crate) use link::READ_ONLY;
pub(crate) use losing::{Loss, Sent};
use tokens::TokenState;

mod capturing;
mod commands;
mod copying;
mod link;
mod losing;
mod recovery;
mod sending;
mod tokens;

/// What the worker passes to a client that may act.
pub(crate) struct Turn<'a> {
    pub(crate) load: &'a Load<'a>,
    /// Bytes to send; empty at the start.
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) now: Timestamp,
    /// Set to true: [`Turn::out`] has a commit, and must be sent after [`Tracer::flush`].
    pub(crate) holds: &'a mut bool,
    /// Receives events immediately.
    pub(crate) tracer: &'a mut dyn Tracer,
    /// Whether the tracer wants each step.
    pub(crate) steps_wanted: bool,
    /// Statistics of single commands.
    pub(crate) commands: &'a mut CommandTable,
    pub(crate) errors: &'a mut ErrorTable,
    /// The transaction is not measured.
    pub(crate) warmup: bool,
    /// No transaction is retried after this time; `None`: the limit is a number of transactions.
    pub(crate) end: Option<Timestamp>,
}

impl Turn<'_> {
    /// Passes a step to the tracer, if it wants steps.
    fn show(&mut self, client: usize, what: ClientStep<'_>) {
        if self.steps_wanted {
            self.tracer.on_event(&ClientEvent::Stepped { client, what });
        }
    }
}

/// The next event of a client.
#[derive(Debug)]
pub(crate) enum Step {
    /// Bytes from the server.
    Reply,
    /// A time, for `\sleep`.
    Sleep(Timestamp),
    /// The other clients' turns, and the sending of the bytes so far; then [`Client::wake`].
    Yield,
    /// A new reading of the clock after long computations; then [`Client::wake`].
    Computed,
    /// The end of a shell command, which the worker runs; then [`Client::shell_done`].
    Shell { command: Vec<u8>, capture: bool },
    /// The transaction has ended; the client is free.
    Ended(Ending),
    /// A connection is lost; the client connects again.
    Lost(Box<Loss>),
    /// The client is aborted.
    Aborted(Box<AbortedClient>),
}

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Between transactions.
    Free,
    Sleeping,
    /// Within a loop that lets the other clients act; its next repetition is due.
    Looping,
    /// An array or a string was computed, so the clock must be read again.
    Computed,
    /// A shell command is running.
    Shell,
    /// Waiting for the reply to the current command.
    Waiting,
    /// Sending the rows of the current command, a COPY.
    Copying,
    /// Waiting for the replies to the Parse messages before a pipeline.
    Preparing,
    /// Waiting for the reply to a `ROLLBACK` after a failure.
    RollingBack(Failure),
    Aborted,
}

/// A client.
pub(crate) struct Client {
    /// Number over all workers, from 0; the variable `:client_id`.
    pub(crate) number: usize,
    phase: Phase,
    /// One connection for each target that the scripts use.
    links: Box<[Link]>,
    /// The connection of the current transaction, to which [`Turn::out`] is sent, except during start-up and
    /// termination.
    pub(crate) link: usize,
    /// Between `\startpipeline` and `\endpipeline`.
    pipeline: bool,
    /// The commands of the pipeline whose text was sent, in order, because an error does not identify its command.
    piped: Vec<usize>,
    variables: Variables,
    /// The scripts' random stream; a transaction may get its own.
    pub(crate) random: Random,
    /// The random stream at the start of the transaction: a retry draws the same numbers.
    random_at_start: Random,
    /// Random stream for selecting hosts only, so that the scripts' random numbers do not depend on the number of
    /// hosts.
    host_draws: Random,
    /// Random stream for the pauses before it connects again.
    pub(crate) pause_draws: Random,
    /// The server has acknowledged its transaction with a reservation.
    pub(crate) reserved: bool,
    script: usize,
    command: usize,
    /// For each `\repeat` around the current command, the number of repetitions that remain after this one.
    repetitions: Vec<u64>,
    /// Number of completed repetitions of this transaction, and of the current pipeline.
    repeated: u32,
    repeated_in_pipeline: u32,
    /// Start of the current command.
    command_begun: Timestamp,
    /// True from the start of a transaction until it is recorded.
    pub(crate) in_transaction: bool,
    scheduled: Timestamp,
    started: Timestamp,
    tries: u32,
    /// Number of executions that this transaction represents.
    business: u64,
    /// What the transaction has exchanged with the server.
    traffic: Traffic,
    /// Its last error leaves open whether the server has committed.
    in_doubt: bool,
    /// The kind of its last error in [`Turn::errors`].
    error_kind: usize,
    tokens: TokenState,
}

impl Client {
    /// A client before its first transaction.
    pub(crate) fn new(number: usize, load: &Load<'_>) -> Self {
        let [random, host_draws, pause_draws] = load.draws_of_client(number);
        Self {
            number,
            phase: Phase::Free,
            links: load
                .links
                .iter()
                .map(|_| Link::new(load.statements.len() + 1, load.plan.parse_results))
                .collect(),
            link: 0,
            pipeline: false,
            piped: Vec::new(),
            variables: load.variables(number),
            random_at_start: random.clone(),
            random,
            host_draws,
            pause_draws,
            reserved: false,
            script: 0,
            command: 0,
            repetitions: Vec::new(),
            repeated: 0,
            repeated_in_pipeline: 0,
            command_begun: Timestamp::ZERO,
            in_transaction: false,
            scheduled: Timestamp::ZERO,
            started: Timestamp::ZERO,
            tries: 1,
            business: 1,
            traffic: Traffic::default(),
            in_doubt: false,
            error_kind: 0,
            tokens: TokenState::default(),
        }
    }

    /// The sample of the transaction that ends now.
    #[inline]
    pub(crate) fn sample(&self, ending: Ending, now: Timestamp) -> Sample {
        let Self { script, scheduled, started, tries, business, traffic, .. } = *self;
        Sample { script, scheduled, started, finished: now, tries, business, ending, traffic }
    }

    /// The key to cancel the running command, if there is one.
    pub(crate) fn running(&self) -> Option<&CancelKey> {
        let link = &self.links[self.link];
        (link.reply.owed > 0 && self.phase != Phase::Aborted).then(|| link.cancel_key())?
    }

    /// Index of the host where that command runs.
    pub(crate) fn host_index(&self) -> usize {
        self.links[self.link].host
    }

    /// The transport of a link is connected: starts the protocol, and forgets an earlier session of this link.
    /// `binding` is the channel binding for SCRAM, if the transport has one.
    pub(crate) fn send_startup(
        &mut self,
        link: usize,
        binding: Option<&[u8]>,
        turn: &mut Turn<'_>,
    ) -> Result<(), ConnectReason> {
        turn.tracer.on_event(&ClientEvent::Connects { client: self.number });
        let startup = &self.host(link, turn.load).startup;
        self.links[link].send_startup(startup, binding, turn.out)
    }

    /// Selects the host of a link's next connection, at random if there are several.
    pub(crate) fn choose_host<'p>(&mut self, link: usize, load: &Load<'p>) -> &'p HostPlan {
        let target = load.links[link];
        let all = load.plan.targets[target].hosts.len();
        let suitable = load.reconnect_target(target).map_or(all, |target| target.suitable.clamp(1, all));
        if suitable > 1 {
            let drawn = self.host_draws.range(suitable as u64 - 1);
            self.links[link].host = usize::try_from(drawn).unwrap_or(0);
        }
        self.host(link, load)
    }

    /// Selects the host of a link's next connection, and the required state of its server.
    pub(crate) fn set_host<'p>(
        &mut self,
        link: usize,
        (host, session): (usize, SessionAttributes),
        load: &Load<'p>,
    ) -> &'p HostPlan {
        (self.links[link].host, self.links[link].wanted) = (host, session);
        self.host(link, load)
    }

    /// The host of a link's connection.
    pub(crate) fn host<'p>(&self, link: usize, load: &Load<'p>) -> &'p HostPlan {
        &load.plan.targets[load.links[link]].hosts[self.links[link].host]
    }

    /// Processes bytes while connecting. True when this link is ready.
    pub(crate) fn receive_startup(
        &mut self,
        link: usize,
        bytes: &[u8],
        load: &Load<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectReason> {
        self.links[link].receive_startup(bytes, load.session_settings(link), out)
    }

    /// The server's last error, which explains why it closed the connection.
    pub(crate) fn take_error(&mut self, link: usize) -> Option<Box<ServerError>> {
        self.links[link].take_error()
    }

    /// Sets the time of the next transaction, in nanoseconds since measuring began. It is that of its schedule, so neither
    /// a retry nor a slow server changes it.
    #[inline]
    pub(crate) fn set_transaction_time(&mut self, slot: Slot, scheduled: Timestamp, measure: Timestamp) {
        let elapsed_ns = scheduled.as_nanos().wrapping_sub(measure.as_nanos()).cast_signed();
        self.variables.set(slot, Value::Int(elapsed_ns));
    }

    /// Starts a transaction of `script` that was scheduled for `scheduled`.
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

    /// Marks the client as being in a transaction.
    #[inline]
    fn set_out(&mut self, script: usize, scheduled: Timestamp, turn: &Turn<'_>) {
        self.script = script;
        self.link = turn.load.script_links[script];
        self.in_transaction = true;
        self.scheduled = scheduled;
        self.started = turn.now;
        self.tries = 1;
        self.traffic = Traffic::default();
        self.begin_tokens();
    }

    /// So many bytes of the transaction are sent.
    #[inline]
    pub(crate) fn count_sent(&mut self, bytes: usize) {
        self.traffic.sent_bytes += bytes as u64;
    }

    /// A `\sleep` has ended, the clock was read again, or the client continues after [`Step::Yield`].
    pub(crate) fn wake(&mut self, turn: &mut Turn<'_>) -> Step {
        match self.phase {
            Phase::Copying => return self.send_piece(turn),
            Phase::Looping => {}
            _ => self.complete(turn),
        }
        self.proceed(turn)
    }

    /// Whether it continues with [`Client::wake`] after [`Step::Yield`]. A reply may have changed that.
    pub(crate) fn has_yielded(&self) -> bool {
        matches!(self.phase, Phase::Looping | Phase::Copying)
    }

    /// Processes received bytes; `None`: more are needed.
    pub(crate) fn receive(&mut self, link: usize, bytes: &[u8], turn: &mut Turn<'_>) -> Option<Step> {
        self.show_receiving(turn);
        self.traffic.received_bytes += bytes.len() as u64;
        let mut context = ReplyContext {
            client: self.number,
            reserved: &mut self.tokens.reserved,
            tracer: &mut *turn.tracer,
            variables: &mut self.variables,
            symbols: &turn.load.symbols,
            capture: sql_at(self.script, self.command, turn.load).and_then(Sql::capture),
        };
        let from = &mut self.links[link];
        if let Err(error) = from.receive(bytes, &mut context) {
            return Some(self.abort(AbortCause::Protocol(error), turn.load));
        }
        if from.reply.copying.is_some()
            && let Some(step) = self.attend_copy(link, turn)
        {
            return Some(step);
        }
        let from = &self.links[link];
        if from.reply.ready > from.reply.owed {
            // It would be mistaken for the reply to the next command.
            return Some(self.abort(AbortCause::Unasked, turn.load));
        }
        let awaited = link == self.link && from.reply.ready == from.reply.owed && self.awaits_reply();
        awaited.then(|| self.conclude(turn))
    }

    /// Sends Terminate on a link.
    pub(crate) fn terminate(&mut self, link: usize, out: &mut Vec<u8>) {
        self.cut_copy_off(link, out);
        self.links[link].terminate(out);
    }

    /// Waits for the reply to the sent messages.
    fn await_reply(&mut self, phase: Phase, turn: &mut Turn<'_>) -> Step {
        self.phase = phase;
        self.traffic.round_trips += 1;
        self.show_receiving(turn);
        Step::Reply
    }

    /// pgbench does not report its own waiting for replies to statements parsed before a pipeline.
    fn show_receiving(&self, turn: &mut Turn<'_>) {
        if turn.steps_wanted && matches!(self.phase, Phase::Waiting | Phase::RollingBack(_)) {
            turn.show(self.number, ClientStep::Receives);
        }
    }

    /// True while the client can only wait for the server.
    fn awaits_reply(&self) -> bool {
        matches!(self.phase, Phase::Waiting | Phase::Copying | Phase::Preparing | Phase::RollingBack(_))
    }

    /// All replies have arrived: evaluates them and continues.
    fn conclude(&mut self, turn: &mut Turn<'_>) -> Step {
        if self.pipeline {
            for left in (1..=self.links[self.link].reply.owed).rev() {
                turn.show(self.number, ClientStep::Synchronized { left });
            }
        }
        let is_reserved = std::mem::take(&mut self.tokens.reserved);
        self.reserved |= is_reserved;
        let error = self.links[self.link].settle();
        let error = self.in_place(error);
        if self.phase == Phase::Waiting {
            self.end_commit(error.as_deref(), is_reserved, turn);
        }
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

    /// Stores the results of the current command in variables, if it captures them.
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

    /// The transaction status reported by the server.
    fn status(&self) -> TransactionStatus {
        self.links[self.link].reply.status
    }

    /// Aborts the client.
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

    /// The command that caused an error.
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

/// The SQL command at this index; `None` for other commands.
fn sql_at<'l>(script: usize, command: usize, load: &'l Load<'_>) -> Option<&'l Sql> {
    match &load.plan.scripts[script].program.commands().get(command)?.kind {
        script::CommandKind::Sql(sql) => Some(sql),
        _ => None,
    }
}

/// The byte of a command's text where the server found an error.
fn error_offset(
    load: &Load<'_>,
    (script, command): (usize, usize),
    error: &ServerError,
    sent: SentAs<'_>,
) -> Option<usize> {
    let sql = sql_at(script, command, load)?;
    sql.offset_of(error.position?, sent)
}
