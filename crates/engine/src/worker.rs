//! One thread's loop: waits, reads `now` once per wake-up, hands bytes and timers to its clients, and
//! records what they leave behind. Generic over the [`Driver`], so that it also runs in virtual time.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect::CancelKey;
use script::Random;
use stats::{CommandTable, Ending, Sample, Timestamp};

use crate::abort::{AbortCause, AbortedClient};
use crate::arrivals::Arrivals;
use crate::client::{Client, Step};
use crate::driver::{Driver, Event, Receive};
use crate::error::EngineError;
use crate::load::{Load, Share};
use crate::measurement::{IntervalSink, Measurement};
use crate::plan::Limit;
use crate::timeline::Timeline;
use crate::timers::Timers;
use crate::witness::{Happening, Witness};

use workbench::Workbench;

mod connecting;
mod workbench;

/// The longest time between two looks at the stop flag.
pub(crate) const STOP_CHECK: Duration = Duration::from_millis(100);

/// Transactions of clients that never have to wait are run in rounds of at most this many, so that
/// they do not starve the others.
const ROUND: usize = 64;

/// What one worker returns.
#[derive(Debug)]
pub(crate) struct WorkerOutcome {
    /// When its last client was done.
    pub(crate) finished: Timestamp,
    /// The process's CPU time when the measured window began and when this worker was done; `None` if
    /// the window was never reached.
    pub(crate) cpu_at_measure: Option<Duration>,
    pub(crate) cpu_at_end: Duration,
    pub(crate) warmup_transactions: u64,
    pub(crate) aborted: Vec<AbortedClient>,
    pub(crate) interrupted: bool,
    pub(crate) commands: CommandTable,
    /// Sessions whose command was running when the user asked to stop, each with its target.
    pub(crate) to_cancel: Vec<(usize, CancelKey)>,
}

/// See the module. `D` owns sockets and clock.
pub(crate) struct Worker<'p, D> {
    load: &'p Load<'p>,
    driver: D,
    workbench: Workbench<'p>,
    seats: Vec<Seat>,
    timers: Timers,
    /// Free clients whose last transaction never had to wait.
    eager: VecDeque<usize>,
    chooser: Random,
    throttle: Random,
    total_weight: u64,
    aborted: Vec<AbortedClient>,
}

/// A client and what the worker knows about it.
struct Seat {
    client: Client,
    /// The transaction that it will start when its timer fires.
    booked: Option<Timestamp>,
    /// Counted towards a limit per client.
    transactions: u64,
    /// Shown to the witness.
    shown: u64,
    /// Its transaction was scheduled in the warm-up.
    warmup: bool,
    active: bool,
}

/// The measuring of one run, apart from the clients.
struct Shift<'a> {
    timeline: Timeline,
    measurement: Measurement,
    arrivals: Arrivals,
    sink: &'a mut dyn IntervalSink,
    active: usize,
    finished: Timestamp,
    cpu_at_measure: Option<Duration>,
}

impl<'p, D: Driver> Worker<'p, D> {
    pub(crate) fn new(load: &'p Load<'p>, share: &Share, driver: D) -> Self {
        let seat = |number| Seat {
            client: load.client(number),
            booked: None,
            transactions: 0,
            shown: 0,
            warmup: false,
            active: false,
        };
        Self {
            load,
            driver,
            workbench: Workbench::new(load),
            seats: share.clients.clone().map(seat).collect(),
            timers: Timers::default(),
            eager: VecDeque::new(),
            chooser: share.chooser.clone(),
            throttle: share.throttle.clone(),
            total_weight: load.plan.total_weight(),
            aborted: Vec::new(),
        }
    }

    /// Reads the driver's clock.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.driver.now()
    }

    /// Runs the load to its end. All clients must be connected.
    pub(crate) fn run(
        &mut self,
        timeline: Timeline,
        witness: Box<dyn Witness + 'p>,
        stop: &AtomicBool,
        sink: &mut dyn IntervalSink,
    ) -> Result<WorkerOutcome, EngineError> {
        let plan = self.load.plan;
        self.workbench.begin(timeline, witness);
        let throttle = self.throttle.clone();
        let mut shift = Shift {
            timeline,
            measurement: Measurement::new(plan, timeline),
            arrivals: Arrivals::new(plan.rate_per_s, self.load.workers.len(), throttle, timeline.start),
            sink,
            active: self.seats.len(),
            finished: timeline.start,
            cpu_at_measure: plan.warmup.is_zero().then(|| self.driver.cpu_time()),
        };
        let mut now = self.driver.now().max(timeline.start);
        for seat in 0..self.seats.len() {
            self.seats[seat].active = true;
            self.release(seat, now, &mut shift);
        }
        let mut interrupted = false;
        while shift.active > 0 && !interrupted {
            now = self.wait(now, &shift)?;
            self.pass(now, &mut shift);
            interrupted = stop.load(Ordering::Relaxed);
            self.handle_events(now, &mut shift);
            self.fire_timers(now, &mut shift);
            self.run_eager(&mut shift);
        }
        let finished = self.close(interrupted, &mut shift);
        Ok(WorkerOutcome {
            finished,
            cpu_at_measure: shift.cpu_at_measure,
            cpu_at_end: self.driver.cpu_time(),
            warmup_transactions: shift.measurement.warmup_transactions(),
            aborted: std::mem::take(&mut self.aborted),
            interrupted,
            commands: self.workbench.end(finished),
            to_cancel: self.hang_up(interrupted),
        })
    }

    /// Waits for events or for the next thing to do.
    fn wait(&mut self, now: Timestamp, shift: &Shift<'_>) -> Result<Timestamp, EngineError> {
        let mut deadline = (now + STOP_CHECK).min(shift.measurement.interval_end());
        if let Some(timer) = self.timers.earliest() {
            deadline = deadline.min(timer);
        }
        if !self.eager.is_empty() {
            deadline = now;
        }
        self.driver
            .wait(deadline)
            .map_err(|error| EngineError::System { what: "wait for its sockets", error })
    }

    /// It is `now`: must be called before anything that finished now is recorded.
    fn pass(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        if shift.measurement.pass(now, shift.sink) {
            shift.cpu_at_measure = Some(self.driver.cpu_time());
        }
    }

    fn handle_events(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        while let Some(event) = self.driver.next_event() {
            match event {
                Event::Readable(connection) => {
                    let (seat, link) = self.seat_of(connection);
                    self.receive(seat, link, now, shift);
                }
                // Only clients that are connecting have this event, and none is during a run.
                Event::Connected(_) => {}
            }
        }
    }

    /// Takes in all that has arrived for a client.
    fn receive(&mut self, seat: usize, link: usize, now: Timestamp, shift: &mut Shift<'_>) {
        let connection = self.connection(seat, link);
        while self.seats[seat].active {
            let Self { load, driver, seats, workbench, .. } = self;
            let Seat { client, warmup, .. } = &mut seats[seat];
            let step = match driver.receive(connection) {
                Receive::Empty => return,
                Receive::Bytes(bytes) => client.receive(link, bytes, &mut workbench.turn(now, *warmup)),
                Receive::Closed(cause) => Some(client.lose_connection(link, cause.as_ref(), load)),
            };
            if let Some(step) = step {
                let ended = self.act(seat, step, now, shift);
                if ended {
                    self.release(seat, now, shift);
                }
            }
        }
    }

    fn fire_timers(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        while let Some((_, seat)) = self.timers.pop_due(now) {
            if !self.seats[seat].active {
                continue;
            }
            if let Some(scheduled) = self.seats[seat].booked.take() {
                self.start(seat, scheduled, now, shift);
                continue;
            }
            let Seat { client, warmup, .. } = &mut self.seats[seat];
            let step = client.wake(&mut self.workbench.turn(now, *warmup));
            if self.act(seat, step, now, shift) {
                self.release(seat, now, shift);
            }
        }
    }

    /// Runs one round of the clients that never wait, each at a time of its own.
    fn run_eager(&mut self, shift: &mut Shift<'_>) {
        for _ in 0..self.eager.len().min(ROUND) {
            let Some(seat) = self.eager.pop_front() else { return };
            let now = self.driver.now();
            self.pass(now, shift);
            self.release(seat, now, shift);
        }
    }

    /// A client is free: gives it the next transaction, now or later, or ends it.
    fn release(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        if let Limit::TransactionsPerClient(limit) = self.load.plan.limit
            && self.seats[seat].transactions >= limit
        {
            return self.finish(seat, now, shift);
        }
        let scheduled = shift.arrivals.next(now);
        if shift.timeline.is_over(scheduled) {
            return self.finish(seat, now, shift);
        }
        if shift.timeline.is_over(now) {
            shift.arrivals.put_back(scheduled);
            return self.finish(seat, now, shift);
        }
        if scheduled > now {
            self.seats[seat].booked = Some(scheduled);
            self.timers.set(scheduled, seat);
        } else {
            self.start(seat, scheduled, now, shift);
        }
    }

    /// Starts a transaction.
    fn start(&mut self, seat: usize, scheduled: Timestamp, now: Timestamp, shift: &mut Shift<'_>) {
        let script = self.choose_script();
        let warmup = scheduled < shift.timeline.measure;
        self.seats[seat].warmup = warmup;
        let step = self.seats[seat].client.begin(script, scheduled, &mut self.workbench.turn(now, warmup));
        let mut ended_at = now;
        if matches!(step, Step::Ended(_)) {
            ended_at = self.driver.now();
            self.pass(ended_at, shift);
        }
        if self.act(seat, step, ended_at, shift) {
            self.eager.push_back(seat);
        }
    }

    /// Draws the next script; nothing is drawn when there is only one.
    fn choose_script(&mut self) -> usize {
        let scripts = &self.load.plan.scripts;
        if scripts.len() == 1 {
            return 0;
        }
        let mut drawn = self.chooser.range(self.total_weight - 1);
        for (index, script) in scripts.iter().enumerate() {
            let weight = u64::from(script.weight);
            if drawn < weight {
                return index;
            }
            drawn -= weight;
        }
        unreachable!("a draw below the total weight falls into one of the weights")
    }

    /// Does what a client's step asks for. True when the client is free again.
    fn act(&mut self, seat: usize, step: Step, now: Timestamp, shift: &mut Shift<'_>) -> bool {
        match step {
            Step::Reply => self.send(seat, now, shift),
            Step::Sleep(until) => self.timers.set(until, seat),
            Step::Shell { command: _, capture: _ } => {
                let client = self.seats[seat].client.number();
                let cause = AbortCause::NotSupportedYet("shell");
                self.abort(seat, AbortedClient { client, place: None, cause }, now, shift);
            }
            Step::Ended(ending) => {
                self.record(seat, ending, now, shift);
                return true;
            }
            Step::Aborted(aborted) => self.abort(seat, *aborted, now, shift),
        }
        false
    }

    fn send(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        if self.workbench.out.is_empty() {
            return;
        }
        let connection = self.connection(seat, self.seats[seat].client.link());
        if let Err(error) = self.driver.send(connection, &mut self.workbench.out) {
            let step = self.last_words(seat, &error, now);
            self.act(seat, step, now, shift);
        }
    }

    /// The connection broke while sending: what the server said before it closed is still unread, and
    /// tells more than the error.
    fn last_words(&mut self, seat: usize, error: &io::Error, now: Timestamp) -> Step {
        let link = self.seats[seat].client.link();
        let connection = self.connection(seat, link);
        let Self { load, driver, seats, workbench, .. } = self;
        let Seat { client, warmup, .. } = &mut seats[seat];
        while let Receive::Bytes(bytes) = driver.receive(connection) {
            let step = client.receive(link, bytes, &mut workbench.turn(now, *warmup));
            if let Some(Step::Aborted(aborted)) = step {
                return Step::Aborted(aborted);
            }
        }
        workbench.out.clear();
        client.lose_connection(link, Some(error), load)
    }

    fn abort(&mut self, seat: usize, aborted: AbortedClient, now: Timestamp, shift: &mut Shift<'_>) {
        if self.seats[seat].client.in_transaction() {
            self.record(seat, Ending::Unfinished, now, shift);
        }
        self.give_up_booking(seat, shift);
        self.workbench.tell(&Happening::Aborted(&aborted));
        self.aborted.push(aborted);
        self.workbench.out.clear();
        for link in 0..self.load.links.len() {
            self.driver.close(self.connection(seat, link));
        }
        self.finish(seat, now, shift);
    }

    /// The transaction that a client was going to start is for others to take.
    fn give_up_booking(&mut self, seat: usize, shift: &mut Shift<'_>) {
        if let Some(scheduled) = self.seats[seat].booked.take() {
            shift.arrivals.put_back(scheduled);
        }
    }

    fn record(&mut self, seat: usize, ending: Ending, now: Timestamp, shift: &mut Shift<'_>) {
        let seat = &mut self.seats[seat];
        let sample = seat.client.sample(ending, now);
        if ending != Ending::Unfinished {
            seat.shown += 1;
            self.workbench.show(seat.client.number(), seat.shown, &sample);
        }
        if shift.measurement.record(&sample) {
            seat.transactions += 1;
        }
        seat.client.forget_transaction();
    }

    fn finish(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        self.seats[seat].active = false;
        shift.active -= 1;
        shift.finished = shift.finished.max(now);
    }

    /// Accounts for what was begun or scheduled and will not be finished, and hands over the last
    /// interval. Returns when the last client was done.
    fn close(&mut self, interrupted: bool, shift: &mut Shift<'_>) -> Timestamp {
        let now = self.driver.now();
        if interrupted {
            self.pass(now, shift);
        }
        for seat in 0..self.seats.len() {
            if self.seats[seat].client.in_transaction() {
                self.record(seat, Ending::Unfinished, now, shift);
            }
            self.give_up_booking(seat, shift);
        }
        let finished = if interrupted { now } else { shift.finished };
        if let Some(end) = shift.timeline.end {
            while let Some(scheduled) = shift.arrivals.next_missed(end.min(finished)) {
                let sample = Sample {
                    script: self.choose_script(),
                    scheduled,
                    started: finished,
                    finished,
                    tries: 0,
                    business: 1,
                    ending: Ending::Unfinished,
                };
                shift.measurement.record(&sample);
            }
        }
        shift.measurement.close(finished, shift.sink);
        finished
    }

    /// Says good-bye to the server. When interrupted, returns the sessions whose command still runs.
    fn hang_up(&mut self, interrupted: bool) -> Vec<(usize, CancelKey)> {
        let mut running = Vec::new();
        for seat in 0..self.seats.len() {
            let client = &mut self.seats[seat].client;
            if interrupted {
                let target = self.load.links[client.link()];
                running.extend(client.running().map(|key| (target, key.clone())));
            }
            for link in 0..self.load.links.len() {
                self.close_link(seat, link);
            }
        }
        running
    }

    /// Says good-bye on one connection.
    fn close_link(&mut self, seat: usize, link: usize) {
        let connection = self.connection(seat, link);
        let out = &mut self.workbench.out;
        out.clear();
        self.seats[seat].client.terminate(link, out);
        // A server that is gone already needs no good-bye.
        let _ = self.driver.send(connection, out);
        self.driver.close(connection);
    }

    /// The driver's number for one of a client's connections.
    fn connection(&self, seat: usize, link: usize) -> usize {
        seat * self.load.links.len() + link
    }

    /// The seat and the link of a connection.
    fn seat_of(&self, connection: usize) -> (usize, usize) {
        (connection / self.load.links.len(), connection % self.load.links.len())
    }
}
