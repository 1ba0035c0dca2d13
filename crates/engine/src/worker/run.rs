//! The main loop of one worker over events, timers and free clients, from the first transaction to the outcome. It
//! owns the other parts, carries out their decisions, and records the results. Modules: `connections` those that are
//! made during the run, `receiving` what the server sends, `population` what clients do beside transactions, `pausing`
//! pauses of the load, `ending` the end of clients and of the run.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use sockets::Timers;
use stats::{Ending, Sample, Timestamp, Traffic};

use super::commits::WaitingCommits;
use super::health::Health;
use super::pacing::{Next, Pacing};
use super::reconnecting::ReconnectingClients;
use super::sessions::Sessions;
use super::slot::{ClientSlot, ScheduledTransaction};
use super::{STOP_CHECK, Worker, WorkerOutcome};
use crate::abort::{AbortCause, AbortedClient};
use crate::arrivals::Arrival;
use crate::client::Step;
use crate::driver::{Driver, Event, IsOver};
use crate::error::EngineError;
use crate::measurement::{IntervalSink, Measurement};
use crate::outcome::{Exceeded, Reconnects};
use crate::plan::{Compatibility, Plan};
use crate::stopping::{Stop, StopConditions};
use crate::timeline::Timeline;
use crate::tracer::Tracer;

use pausing::Pausing;
use population::PopulationCourse;

mod connections;
mod ending;
mod pausing;
mod population;
mod receiving;
mod resting;

/// Limits for one round of transactions of clients that never wait, in time and number, so that other clients are not
/// delayed. Polling the sockets takes a fiftieth of the time limit; the number is for clocks with a coarse
/// resolution.
const ROUND: Duration = Duration::from_micros(20);
const ROUND_TRANSACTIONS: usize = 512;

/// Number of arrivals that a client skips before other clients and the stop flag are checked.
const SKIPS: usize = 256;

/// A worker's run.
pub(super) struct Run<'r, 'p, D> {
    plan: &'p Plan,
    number: usize,
    sessions: Sessions<'p, D>,
    pacing: Pacing<'p>,
    stopping: StopConditions<'r>,
    measurement: Measurement<'r>,
    health: Health,
    timers: Timers<usize>,
    /// Free clients whose last transaction never had to wait.
    ready: VecDeque<usize>,
    /// Clients that continue after the others have acted.
    yielded: VecDeque<usize>,
    commits: WaitingCommits,
    pausing: Pausing,
    /// Number of clients that are not done.
    active: usize,
    /// Time when the last client was done.
    finished: Timestamp,
    aborted: Vec<AbortedClient>,
    reconnects: Reconnects,
    /// What clients do beside transactions; `None`: nothing.
    population: Option<Box<PopulationCourse>>,
    /// Clients that have lost connections; `None`: they are aborted.
    reconnecting: Option<Box<ReconnectingClients<'p>>>,
    /// Time of the next check for replies that are overdue.
    response_check: Timestamp,
    /// The latest reading of the clock; no later action may be recorded before it.
    latest: Timestamp,
}

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    pub(super) fn new(
        worker: Worker<'p, D>,
        timeline: Timeline,
        tracer: Box<dyn Tracer + 'p>,
        stop: &'r Stop<'r>,
        sink: &'r mut dyn IntervalSink,
    ) -> Self {
        let Worker { number, chooser, mut sessions } = worker;
        let load = sessions.load;
        sessions.context.begin(timeline, tracer);
        Self {
            plan: load.plan,
            number,
            pacing: Pacing::new(load, number, chooser, timeline.start),
            stopping: StopConditions::new(load.plan, stop, timeline),
            measurement: Measurement::new(load.plan, timeline, sink),
            health: Health::new(),
            timers: Timers::default(),
            ready: VecDeque::new(),
            yielded: VecDeque::new(),
            commits: WaitingCommits::default(),
            pausing: Pausing::default(),
            active: sessions.slots.len(),
            finished: timeline.start,
            aborted: Vec::new(),
            reconnects: Reconnects::default(),
            population: PopulationCourse::new(&mut sessions, timeline),
            reconnecting: ReconnectingClients::new(load, sessions.slots.len(), timeline.start),
            response_check: timeline.start,
            latest: Timestamp::ZERO,
            sessions,
        }
    }

    /// Runs the load to its end.
    pub(super) fn finish(mut self) -> Result<WorkerOutcome, EngineError> {
        if self.plan.warmup.is_zero() {
            self.begin_window(self.stopping.timeline.start);
        }
        let exceeded = self.attend()?;
        // A stop request after the last transaction has no effect.
        let interrupted = self.active > 0;
        if interrupted && self.stopping.stop.is_asked() {
            // The other ranks must learn of it.
            self.stopping.stop.ask();
        }
        let cut_off = exceeded.map_or(0, |_| self.active);
        // The time of waiting for transactions that are then cancelled is not measured.
        let end = self.stopping.timeline.end.filter(|_| cut_off > 0);
        let over = end.filter(|end| self.sessions.driver.now() >= *end);
        let measured_until = over.map(|end| end.max(self.finished));
        let finished = self.account(interrupted);
        let Self {
            number,
            mut sessions,
            measurement,
            health,
            aborted,
            reconnects,
            population,
            reconnecting,
            ..
        } = self;
        let (commands, errors) = sessions.context.end(finished);
        Ok(WorkerOutcome {
            finished: measured_until.unwrap_or(finished),
            warmup_transactions: measurement.warmup_transactions,
            aborted,
            interrupted,
            cut_off,
            exceeded,
            health: health.finish(number, sessions.slots.len(), over.is_some(), &mut sessions.driver),
            reconnects,
            renewals: population.map(|population| population.renewals),
            outages: reconnecting.map(|reconnecting| reconnecting.log),
            commands,
            errors,
            to_cancel: sessions.terminate_all(interrupted),
            event_loop: sessions.driver.event_loop(),
        })
    }

    /// Serves the clients until all are done, the run is stopped, or they have exceeded their time.
    fn attend(&mut self) -> Result<Option<Exceeded>, EngineError> {
        let mut now = self.sessions.driver.now().max(self.stopping.timeline.start);
        self.check_pause(now);
        for slot in 0..self.sessions.slots.len() {
            self.sessions.slots[slot].active = true;
            self.release(slot, now);
        }
        while self.active > 0 && !self.stopping.stop.is_asked() {
            if self.stopping.timeline.is_over(now) {
                self.health.end_window(now, &mut self.sessions.driver);
            }
            if let Some(exceeded) = self.stopping.exceeded(now) {
                return Ok(Some(exceeded));
            }
            now = match self.wait(now) {
                Ok(now) => now,
                Err(error) if self.plan.compatibility == Compatibility::Pgbench => {
                    self.abort_all(&AbortCause::System(error.to_string().into()), now);
                    return Ok(None);
                }
                Err(error) => return Err(EngineError::System { what: "wait for its sockets", error }),
            };
            self.pass(now);
            if let Some(timeline) = self.stopping.shortened(now) {
                self.end_early(timeline, now);
            }
            self.check_pause(now);
            if self.population.is_some() {
                self.attend_population(now);
            }
            let happened = self.handle_events(now);
            self.fire_timers(now, happened);
            if !self.yielded.is_empty() {
                self.resume_yielded();
            }
            if self.plan.reconnect || self.population.is_some() {
                self.start_connects(now.max(self.latest));
            }
            if self.reconnecting.is_some() {
                self.attempt_due(now.max(self.latest));
            }
            if self.plan.response_timeout.is_some() {
                self.check_responses(now.max(self.latest));
            }
            self.run_ready();
            self.send_commits(now);
        }
        Ok(None)
    }

    /// Waits for events or for the next timer.
    fn wait(&mut self, now: Timestamp) -> io::Result<Timestamp> {
        let mut deadline = (now + STOP_CHECK).min(self.measurement.end);
        let mut timer = self.timers.earliest().filter(|timer| *timer > now && *timer <= deadline);
        for earlier in self.timers.earliest().into_iter().chain(self.sessions.connecting.retry_at) {
            deadline = deadline.min(earlier);
        }
        let attempt = self.reconnecting.as_ref().and_then(|reconnecting| reconnecting.next_at());
        let of_population = self.population.as_ref().and_then(|population| population.next_at());
        let attempt = attempt.into_iter().chain(of_population);
        for earlier in attempt.chain(self.plan.response_timeout.map(|_| self.response_check)) {
            deadline = deadline.min(earlier);
        }
        if !self.ready.is_empty() || !self.yielded.is_empty() || self.sessions.connecting.has_room() {
            (deadline, timer) = (now, None);
        }
        let woke = self.sessions.driver.wait(deadline)?;
        self.health.woke(woke, timer);
        Ok(woke)
    }

    /// Starts the measured window.
    fn begin_window(&mut self, now: Timestamp) {
        self.health.begin(now, &mut self.sessions.driver);
    }

    /// Advances to `now`; must be called before anything that finished at `now` is recorded.
    #[inline]
    fn pass(&mut self, now: Timestamp) {
        if self.measurement.pass(now) {
            self.begin_window(now);
        }
    }

    /// Reads the clock again, so that the start of a scheduled transaction is distinguished from the time of waking.
    #[inline]
    fn read_clock(&mut self) -> Timestamp {
        self.latest = self.sessions.driver.now();
        self.pass(self.latest);
        self.latest
    }

    /// Returns true if anything has happened.
    fn handle_events(&mut self, now: Timestamp) -> bool {
        let mut happened = false;
        while let Some(event) = self.sessions.driver.next_event() {
            happened = true;
            let now = now.max(self.latest);
            let (Event::Readable(connection) | Event::Connected(connection) | Event::Drained(connection)) =
                event;
            let (slot, link) = self.sessions.load.slot_and_link(connection);
            let is_connecting = self.sessions.slots[slot].connecting_since.is_some();
            match event {
                Event::Readable(_) if is_connecting => self.receive_startup(slot, link, connection, now),
                Event::Readable(_) if self.is_slow_reader(slot) => self.read_slowly(slot, link, now),
                Event::Readable(_) => self.receive(slot, link, now),
                Event::Connected(_) if is_connecting => {
                    if let Err(failure) = self.sessions.send_startup(connection, now) {
                        self.connect_failed(failure, now);
                    }
                }
                Event::Drained(_) if self.sessions.slots[slot].client.is_copying(link) => {
                    // It may have yielded since; a second turn would be at the cost of the others.
                    if !self.yielded.contains(&slot) {
                        self.yielded.push_back(slot);
                    }
                }
                Event::Connected(_) | Event::Drained(_) => {}
            }
        }
        while let Some(failure) = self.sessions.timed_out(now) {
            self.connect_failed(failure, now);
        }
        happened
    }

    /// Wakes the clients whose timers are due. A scheduled transaction gets its own start time: once anything was
    /// done after waking, `now` is not the client's start, and the clock is read again.
    fn fire_timers(&mut self, mut now: Timestamp, mut happened: bool) {
        now = now.max(self.latest);
        while let Some((at, slot)) = self.timers.pop_due(now) {
            let ClientSlot { client, timer, next, warmup, active, is_resting, .. } =
                &mut self.sessions.slots[slot];
            if !*active || *timer != Some(at) {
                continue;
            }
            *timer = None;
            if let Some(transaction) = next.take() {
                if self.pausing.is_paused() {
                    self.pacing.put_back(transaction);
                    self.hold(slot);
                    continue;
                }
                if std::mem::replace(&mut happened, true) {
                    now = self.read_clock();
                }
                if self.is_too_late(&transaction, now) {
                    self.skip(slot, &transaction, now);
                    self.release(slot, now);
                    continue;
                }
                self.start(slot, transaction, now);
            } else if std::mem::take(is_resting) {
                self.release(slot, now);
            } else {
                let step = client.wake(&mut self.sessions.context.turn(now, *warmup));
                if self.act(slot, step, now) {
                    self.release(slot, now);
                }
            }
        }
    }

    /// Continues one client that has let the others act; only one, so that the others wait for no more than its turn.
    fn resume_yielded(&mut self) {
        let Some(slot) = self.yielded.pop_front() else { return };
        let now = self.read_clock();
        let Sessions { load, driver, slots, context, .. } = &mut self.sessions;
        let ClientSlot { client, warmup, active, .. } = &mut slots[slot];
        // More rows would only fill memory; the event that the connection has sent these continues the client.
        let must_wait =
            client.is_copying(client.link) && driver.holds_back(load.connection(slot, client.link));
        if !*active || !client.has_yielded() || must_wait {
            return;
        }
        let step = client.wake(&mut context.turn(now, *warmup));
        if self.act(slot, step, now) {
            self.release(slot, now);
        }
    }

    /// Sets the client's timer to `at`, replacing any earlier one.
    fn set_timer(&mut self, slot: usize, at: Timestamp) {
        self.sessions.slots[slot].timer = Some(at);
        self.timers.set(at, slot);
    }

    /// Runs one round of the clients that never wait. The end of one transaction is the start of the next. A separate
    /// function, so that the compiler keeps its loop in registers.
    #[inline(never)]
    fn run_ready(&mut self) {
        if self.ready.is_empty() {
            return;
        }
        let begin = self.read_clock();
        let end = begin + ROUND;
        let short = self.may_compute(begin) && !self.pausing.is_paused();
        let mut again = None;
        for _ in 0..ROUND_TRANSACTIONS {
            let Some(slot) = again.take().or_else(|| self.ready.pop_front()) else { return };
            if short && self.compute(slot) {
                // A single client does not need the queue.
                if self.ready.is_empty() {
                    again = Some(slot);
                } else {
                    self.ready.push_back(slot);
                }
            } else if !short {
                self.release(slot, self.latest);
            }
            if self.latest >= end {
                break;
            }
        }
        self.ready.extend(again);
    }

    /// Whether scripts without SQL may use the fast path from now on: in a closed loop, after the warm-up, and
    /// without a tracer of single transactions or a connection for each.
    fn may_compute(&self, now: Timestamp) -> bool {
        !self.pacing.is_scheduled()
            && !self.pacing.has_client_stages()
            && self.plan.think_time.is_none()
            && self.population.is_none()
            && now >= self.stopping.timeline.measure
            && !self.plan.reconnect
            && self.sessions.context.is_unobserved()
    }

    /// The client is free: runs its next transaction on the fast path if its script has no SQL, without checks for
    /// events that cannot occur. Returns true if the client is free again; everything else uses the normal path.
    #[inline(always)]
    fn compute(&mut self, slot: usize) -> bool {
        let begun = self.latest;
        if self.pacing.has_reached_limit(&self.sessions.slots[slot]) || self.stopping.timeline.is_over(begun)
        {
            self.release(slot, begun);
            return false;
        }
        let script = self.pacing.choose_script(begun);
        if !self.sessions.load.only_computes[script] {
            let arrival = Arrival { scheduled: begun, number: None };
            self.begin(slot, ScheduledTransaction { script, arrival, draws: None }, begun);
            return false;
        }
        let Sessions { load, context, slots, .. } = &mut self.sessions;
        let own = &mut slots[slot];
        if let Err((done, error)) = own.client.compute(script, load, &mut *context.tracer) {
            own.warmup = false;
            let step = own.client.fail_computing(done, error, &mut context.turn(begun, false));
            return self.act(slot, step, begun);
        }
        own.transactions += 1;
        context.count_computed(script);
        let ended = self.read_clock();
        self.measurement.record_prompt(script, begun, ended);
        true
    }

    /// The client is free: assigns the next transaction, now or later, or ends the client.
    fn release(&mut self, slot: usize, now: Timestamp) {
        if self.pausing.is_paused() && self.must_wait(slot, now) {
            self.hold(slot);
            return;
        }
        if self.population.is_some() && self.is_kept_from_work(slot, now) {
            return;
        }
        if self.pacing.has_client_stages() && self.rest(slot, now) {
            return;
        }
        if let Some(think_time) = self.plan.think_time
            && self.think(slot, think_time, now)
        {
            return;
        }
        // A transaction is skipped or started by the same reading of the clock.
        let now = if self.is_limited() { self.read_clock() } else { now };
        for _ in 0..SKIPS {
            match self.pacing.next(&mut self.sessions.slots[slot], now, &self.stopping.timeline) {
                Next::Skip(transaction) => {
                    self.skip(slot, &transaction, now);
                    continue;
                }
                Next::Transaction(transaction)
                    if self.pacing.is_scheduled() && self.pausing.covers(transaction.arrival.scheduled) =>
                {
                    self.skip(slot, &transaction, now);
                    continue;
                }
                Next::Transaction(transaction) if transaction.arrival.scheduled > now => {
                    self.set_timer(slot, transaction.arrival.scheduled);
                    self.sessions.slots[slot].next = Some(transaction);
                }
                Next::Transaction(transaction) => {
                    let is_stale = self.pacing.is_scheduled() && !self.is_limited();
                    let now = if is_stale { self.read_clock() } else { now };
                    self.start(slot, transaction, now);
                }
                Next::Nothing => self.end_client(slot, now),
                Next::NoArrival => {
                    self.sessions.slots[slot].lacks_arrival = true;
                    self.end_client(slot, now);
                }
            }
            return;
        }
        // More arrivals may have to be skipped. Reading the clock ends the round.
        self.read_clock();
        self.ready.push_back(slot);
    }

    /// Whether no scheduled transaction may start later than the latency limit. pgbench decides when it selects a
    /// transaction, and starts it however long it has slept.
    #[inline]
    fn is_limited(&self) -> bool {
        self.plan.latency_limit.is_some()
            && self.plan.compatibility == Compatibility::Pgmeter
            && self.pacing.is_scheduled()
    }

    /// Whether the start of a scheduled transaction is delayed by more than the latency limit.
    fn is_too_late(&self, transaction: &ScheduledTransaction, now: Timestamp) -> bool {
        let limit = self.plan.latency_limit.filter(|_| self.is_limited());
        limit.is_some_and(|limit| transaction.arrival.scheduled + limit < now)
    }

    /// Counts a transaction that is skipped because it exceeds the latency limit, or was scheduled in a pause.
    fn skip(&mut self, slot: usize, transaction: &ScheduledTransaction, now: Timestamp) {
        let scheduled = transaction.arrival.scheduled;
        // A pause does not count as a delay.
        let ended = if self.pausing.covers(scheduled) { scheduled } else { now };
        self.record(slot, &not_run(transaction, Ending::Skipped, ended));
    }

    /// A transaction is due: starts it when it has a connection.
    #[inline]
    fn start(&mut self, slot: usize, transaction: ScheduledTransaction, now: Timestamp) {
        if self.plan.reconnect {
            self.reconnect(slot, transaction, now);
        } else {
            self.begin(slot, transaction, now);
        }
    }

    /// Starts a transaction.
    #[inline]
    fn begin(&mut self, slot: usize, transaction: ScheduledTransaction, now: Timestamp) {
        let ScheduledTransaction { script, arrival: Arrival { scheduled, .. }, draws } = transaction;
        let ClientSlot { client, warmup, .. } = &mut self.sessions.slots[slot];
        *warmup = scheduled < self.stopping.timeline.measure;
        if let Some(draws) = draws {
            client.random = draws;
        }
        if let Some(time) = self.sessions.load.transaction_time {
            client.set_transaction_time(time, scheduled, self.stopping.timeline.measure);
        }
        let step = client.begin(script, scheduled, &mut self.sessions.context.turn(now, *warmup));
        let ended_at = if let Step::Ended(_) = step { self.read_clock() } else { now };
        match step {
            // Fast path: nothing to send, no connection to close.
            Step::Ended(ending) if self.sessions.context.out.is_empty() && !self.plan.reconnect => {
                self.end_transaction(slot, ending, ended_at);
                self.ready.push_back(slot);
            }
            step => {
                if self.act(slot, step, ended_at) {
                    self.ready.push_back(slot);
                }
            }
        }
    }

    /// Carries out a client's step and sends its output. Returns true if the client is free again.
    fn act(&mut self, slot: usize, mut step: Step, mut now: Timestamp) -> bool {
        loop {
            self.sessions.count_sent(slot);
            if let Step::Ended(ending) = step {
                self.end_transaction(slot, ending, now);
            }
            if !self.sessions.context.out.is_empty() && !matches!(step, Step::Aborted(_) | Step::Lost(_)) {
                let link = self.sessions.slots[slot].client.link;
                let connection = self.sessions.load.connection(slot, link);
                let has_commit = std::mem::take(&mut self.sessions.context.holds);
                if has_commit || !self.commits.is_empty() && self.commits.has(slot) {
                    self.commits.add(slot, &mut self.sessions.context.out);
                } else if let Err(error) =
                    self.sessions.driver.send(connection, &mut self.sessions.context.out)
                {
                    step = self.last_words(slot, link, &error, now);
                }
            }
            match step {
                Step::Reply => return false,
                Step::Sleep(until) => {
                    self.set_timer(slot, until);
                    return false;
                }
                Step::Yield => {
                    self.yielded.push_back(slot);
                    return false;
                }
                Step::Computed => {
                    now = self.read_clock();
                    let ClientSlot { client, warmup, .. } = &mut self.sessions.slots[slot];
                    step = client.wake(&mut self.sessions.context.turn(now, *warmup));
                }
                Step::Shell { command, capture } => {
                    let is_over = |now| self.stopping.is_over(now);
                    // pgbench waits without limit.
                    let is_limited = self.plan.compatibility == Compatibility::Pgmeter;
                    let limit: Option<IsOver<'_>> = if is_limited { Some(&is_over) } else { None };
                    let answer = self.sessions.driver.run_shell(&command, capture, limit);
                    now = self.read_clock();
                    // The transaction is cancelled at the worker's next check.
                    let Some(answer) = answer.transpose() else { return false };
                    let ClientSlot { client, warmup, .. } = &mut self.sessions.slots[slot];
                    step = client.shell_done(answer, &mut self.sessions.context.turn(now, *warmup));
                }
                Step::Ended(_) => {
                    if self.plan.reconnect {
                        self.disconnect(slot);
                    }
                    return true;
                }
                Step::Lost(loss) => {
                    self.lose(slot, *loss, now);
                    return false;
                }
                Step::Aborted(aborted) => {
                    self.abort(slot, *aborted, now);
                    return false;
                }
            }
        }
    }

    /// Sends the commits of this pass, after the tracer has noted them.
    #[inline]
    fn send_commits(&mut self, now: Timestamp) {
        // A lost connection may let another client act, with a commit of its own.
        while !self.commits.is_empty() {
            let now = now.max(self.latest);
            if let Err(error) = self.sessions.context.tracer.flush() {
                let cause = AbortCause::Journal(error.to_string().into());
                self.abort_all(&cause, now);
                self.commits = WaitingCommits::default();
                self.stopping.stop.ask();
                return;
            }
            let mut messages = self.commits.take();
            for (slot, bytes) in &mut messages {
                self.send_commit(*slot, bytes, now);
            }
            self.commits.give_back(messages);
        }
    }

    fn send_commit(&mut self, slot: usize, bytes: &mut Vec<u8>, now: Timestamp) {
        let ClientSlot { client, active, connecting_since, .. } = &self.sessions.slots[slot];
        if !*active || (connecting_since.is_some() && self.reconnecting.is_some()) {
            return;
        }
        let link = client.link;
        let connection = self.sessions.load.connection(slot, link);
        if let Err(error) = self.sessions.driver.send(connection, bytes) {
            let step = self.last_words(slot, link, &error, now);
            if self.act(slot, step, now) {
                self.release(slot, now);
            }
        }
    }

    /// Records an ended transaction.
    #[inline]
    fn end_transaction(&mut self, slot: usize, ending: Ending, now: Timestamp) {
        let client = &mut self.sessions.slots[slot].client;
        let sample = client.sample(ending, now);
        client.in_transaction = false;
        let reserved = std::mem::take(&mut client.reserved);
        let measured = self.record(slot, &sample);
        if reserved && measured && ending == Ending::Succeeded {
            self.measurement.reserve(&sample);
        }
    }

    /// True if it is measured.
    #[inline]
    fn record(&mut self, slot: usize, sample: &Sample) -> bool {
        if let Some(reconnecting) = &mut self.reconnecting {
            reconnecting.ended(slot, sample);
        }
        let slot = &mut self.sessions.slots[slot];
        if sample.ending != Ending::Unfinished {
            slot.shown += 1;
            self.sessions.context.show(slot.client.number, slot.shown, sample);
        }
        let measured = self.measurement.record(sample);
        slot.transactions += u64::from(measured);
        measured
    }
}

/// The sample of a transaction that never started.
fn not_run(transaction: &ScheduledTransaction, ending: Ending, now: Timestamp) -> Sample {
    let ScheduledTransaction { script, arrival: Arrival { scheduled, .. }, .. } = *transaction;
    let traffic = Traffic::default();
    Sample { script, scheduled, started: now, finished: now, tries: 0, business: 1, ending, traffic }
}
