//! One thread's loop: waits, reads `now` once per wake-up, hands bytes and timers to its clients, and
//! records what they leave behind. Generic over the [`Driver`], so that it also runs in virtual time.
//! All that a wake-up brings has happened at its `now`; a client that begins late in a long batch has that in its
//! service time. What is scheduled begins at a time of its own: its lag is neither hidden nor put on the server.
//! How clients get in is in `connecting` and `reconnecting`, what a free one does next in `pacing`, what is left
//! to do at the end in `closing`.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use script::Random;
use stats::{CommandTable, Ending, Timestamp, WorkerHealth};

use crate::abort::{AbortCause, AbortedClient};
use crate::arrivals::Arrivals;
use crate::cancelling::RunningSession;
use crate::client::{Client, Step};
use crate::driver::{Driver, Event, EventLoop, IsOver, Receive};
use crate::error::EngineError;
use crate::load::{Load, Share};
use crate::measurement::{IntervalSink, Measurement};
use crate::outcome::{Exceeded, Reconnects};
use crate::plan::Manner;
use crate::stopping::Stop;
use crate::timeline::Timeline;
use crate::timers::Timers;
use crate::witness::{Happening, Witness};

use health::Health;
use pacing::Booking;
use reconnecting::Reconnecting;
use workbench::Workbench;

mod closing;
mod connecting;
mod health;
mod pacing;
mod reconnecting;
mod workbench;

/// The longest time between two looks at the stop flag.
pub(crate) const STOP_CHECK: Duration = Duration::from_millis(100);

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
    /// It was stopped before all its clients were done.
    pub(crate) interrupted: bool,
    /// Clients that were cut off, because their transactions did not end in time.
    pub(crate) cut_off: usize,
    /// What these had exceeded.
    pub(crate) exceeded: Option<Exceeded>,
    pub(crate) reconnects: Reconnects,
    pub(crate) commands: CommandTable,
    pub(crate) health: WorkerHealth,
    /// Sessions whose command was running when the run was stopped.
    pub(crate) to_cancel: Vec<RunningSession>,
    /// How it waited for its sockets.
    pub(crate) event_loop: EventLoop,
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
    number: usize,
    aborted: Vec<AbortedClient>,
    reconnecting: Reconnecting,
    health: Health,
    /// The latest time that was read; nothing that is done now is before it.
    told: Timestamp,
}

/// A client and what the worker knows about it.
struct Seat {
    client: Client,
    /// The transaction that it will start when its alarm rings, or when it is connected.
    booking: Option<Booking>,
    /// The script that it will run, chosen before arrivals were skipped.
    script_kept: Option<usize>,
    /// It is done, for want of arrivals; it takes one that is given back.
    on_call: bool,
    /// The timer that counts; others of this seat are out of date.
    alarm: Option<Timestamp>,
    /// Since when it has been connecting for its next transaction.
    connecting_since: Option<Timestamp>,
    /// Since when it has been on its way, and not in the queue for that.
    under_way_since: Option<Timestamp>,
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
    stop: &'a Stop<'a>,
    active: usize,
    finished: Timestamp,
    cpu_at_measure: Option<Duration>,
}

impl Seat {
    fn new(client: Client) -> Self {
        Self {
            client,
            booking: None,
            script_kept: None,
            on_call: false,
            alarm: None,
            connecting_since: None,
            under_way_since: None,
            transactions: 0,
            shown: 0,
            warmup: false,
            active: false,
        }
    }
}

impl<'p, D: Driver> Worker<'p, D> {
    pub(crate) fn new(load: &'p Load<'p>, share: &Share, driver: D) -> Self {
        Self {
            load,
            driver,
            workbench: Workbench::new(load),
            seats: share.clients.clone().map(|number| Seat::new(load.client(number))).collect(),
            timers: Timers::default(),
            eager: VecDeque::new(),
            chooser: share.chooser.clone(),
            number: share.number,
            aborted: Vec::new(),
            reconnecting: Reconnecting::default(),
            health: Health::new(),
            told: Timestamp::ZERO,
        }
    }

    /// Reads the driver's clock.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.driver.now()
    }

    /// Runs the load to its end. All clients must be connected, unless they connect for each transaction.
    pub(crate) fn run(
        &mut self,
        timeline: Timeline,
        witness: Box<dyn Witness + 'p>,
        stop: &Stop<'_>,
        sink: &mut dyn IntervalSink,
    ) -> Result<WorkerOutcome, EngineError> {
        let plan = self.load.plan;
        self.workbench.begin(timeline, witness);
        let mut shift = Shift {
            timeline,
            measurement: Measurement::new(plan, timeline),
            arrivals: self.load.arrivals(self.number, timeline.start),
            sink,
            stop,
            active: self.seats.len(),
            finished: timeline.start,
            cpu_at_measure: None,
        };
        if plan.warmup.is_zero() {
            self.begin_window(timeline.start, &mut shift);
        }
        let exceeded = self.attend(&mut shift)?;
        // A request to stop that comes when all are done changes nothing.
        let interrupted = shift.active > 0;
        let cut_off = exceeded.map_or(0, |_| shift.active);
        // Nothing is measured while transactions that are then cut off are waited for.
        let over = shift.timeline.end.filter(|end| cut_off > 0 && self.driver.now() >= *end);
        let measured_until = over.map(|end| end.max(shift.finished));
        let finished = self.close(interrupted, &mut shift);
        Ok(WorkerOutcome {
            finished: measured_until.unwrap_or(finished),
            cpu_at_measure: shift.cpu_at_measure,
            cpu_at_end: self.driver.cpu_time(),
            warmup_transactions: shift.measurement.warmup_transactions(),
            aborted: std::mem::take(&mut self.aborted),
            interrupted,
            cut_off,
            exceeded,
            health: self.health(over.is_some()),
            reconnects: self.reconnecting.reconnects,
            commands: self.workbench.end(finished),
            to_cancel: self.hang_up(interrupted),
            event_loop: self.driver.event_loop(),
        })
    }

    /// Attends to the clients until all are done, somebody asks to stop, or they have exceeded their time.
    fn attend(&mut self, shift: &mut Shift<'_>) -> Result<Option<Exceeded>, EngineError> {
        let mut now = self.driver.now().max(shift.timeline.start);
        for seat in 0..self.seats.len() {
            self.seats[seat].active = true;
            self.release(seat, now, shift);
        }
        while shift.active > 0 && !shift.stop.is_asked() {
            if let Some(exceeded) = self.exceeded(now, shift) {
                return Ok(Some(exceeded));
            }
            now = match self.wait(now, shift) {
                Ok(now) => now,
                Err(error) if self.load.plan.manner == Manner::Pgbench => {
                    self.abort_all(&error, now, shift);
                    return Ok(None);
                }
                Err(error) => return Err(EngineError::System { what: "wait for its sockets", error }),
            };
            self.pass(now, shift);
            if let Some(end) = shift.stop.early_end(now) {
                self.end_early(end, now, shift);
            }
            let happened = self.handle_events(now, shift);
            self.fire_timers(now, happened, shift);
            self.admit(now.max(self.told), shift);
            self.run_eager(shift);
        }
        Ok(None)
    }

    /// Waits for events or for the next thing to do.
    fn wait(&mut self, now: Timestamp, shift: &Shift<'_>) -> io::Result<Timestamp> {
        let mut deadline = (now + STOP_CHECK).min(shift.measurement.interval_end());
        let mut timer = self.timers.earliest().filter(|timer| *timer > now && *timer <= deadline);
        if let Some(timer) = self.timers.earliest() {
            deadline = deadline.min(timer);
        }
        if !self.eager.is_empty() || self.reconnecting.has_room() {
            (deadline, timer) = (now, None);
        }
        let woke = self.driver.wait(deadline)?;
        self.health.woke(woke, timer);
        Ok(woke)
    }

    /// The measured window begins.
    fn begin_window(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        shift.cpu_at_measure = Some(self.driver.cpu_time());
        self.health.begin(now, &mut self.driver);
    }

    /// It is `now`: must be called before anything that finished now is recorded.
    #[inline]
    fn pass(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        if shift.measurement.pass(now, shift.sink) {
            self.begin_window(now, shift);
        }
    }

    /// True if anything has happened.
    fn handle_events(&mut self, now: Timestamp, shift: &mut Shift<'_>) -> bool {
        let mut happened = false;
        while let Some(event) = self.driver.next_event() {
            happened = true;
            let now = now.max(self.told);
            match event {
                Event::Readable(connection) => {
                    let (seat, link) = self.seat_of(connection);
                    if self.seats[seat].connecting_since.is_some() {
                        self.hear_doorkeeper(seat, link, now, shift);
                    } else {
                        self.receive(seat, link, now, shift);
                    }
                }
                Event::Connected(connection) => {
                    let (seat, link) = self.seat_of(connection);
                    self.introduce(seat, link, now, shift);
                }
            }
        }
        self.check_patience(now, shift);
        happened
    }

    /// Takes in all that has arrived for a client.
    fn receive(&mut self, seat: usize, link: usize, mut now: Timestamp, shift: &mut Shift<'_>) {
        let connection = self.connection(seat, link);
        while self.seats[seat].active {
            now = now.max(self.told);
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

    /// Wakes the clients whose time has come. What is scheduled starts at a time of its own: once anything has been
    /// done since the loop woke, `now` is not the moment at which a client begins, and the clock is read again.
    fn fire_timers(&mut self, mut now: Timestamp, mut happened: bool, shift: &mut Shift<'_>) {
        now = now.max(self.told);
        while let Some((at, seat)) = self.timers.pop_due(now) {
            let Seat { client, alarm, booking, connecting_since, warmup, active, .. } = &mut self.seats[seat];
            if !*active || *alarm != Some(at) {
                continue;
            }
            *alarm = None;
            if connecting_since.is_some() {
                self.knock(seat, now, shift);
            } else if let Some(booking) = booking.take() {
                if std::mem::replace(&mut happened, true) {
                    now = self.tell_time(shift);
                }
                self.start(seat, booking, now, shift);
            } else {
                let step = client.wake(&mut self.workbench.turn(now, *warmup));
                if self.act(seat, step, now, shift) {
                    self.release(seat, now, shift);
                }
            }
        }
    }

    /// Wakes a client at `at`, and not at any time set before.
    fn set_alarm(&mut self, seat: usize, at: Timestamp) {
        self.seats[seat].alarm = Some(at);
        self.timers.set(at, seat);
    }

    /// Does what a client's step asks for, and sends what it has to say. True when the client is free again.
    fn act(&mut self, seat: usize, mut step: Step, mut now: Timestamp, shift: &mut Shift<'_>) -> bool {
        loop {
            if let Step::Ended(ending) = step {
                self.record(seat, ending, now, shift);
            }
            if !self.workbench.out.is_empty() && !matches!(step, Step::Aborted(_)) {
                let connection = self.connection(seat, self.seats[seat].client.link());
                if let Err(error) = self.driver.send(connection, &mut self.workbench.out) {
                    step = self.last_words(seat, &error, now);
                }
            }
            match step {
                Step::Reply => return false,
                Step::Sleep(until) => {
                    self.set_alarm(seat, until);
                    return false;
                }
                Step::Computed => {
                    now = self.tell_time(shift);
                    let Seat { client, warmup, .. } = &mut self.seats[seat];
                    step = client.wake(&mut self.workbench.turn(now, *warmup));
                }
                Step::Shell { command, capture } => {
                    let Load { plan, .. } = self.load;
                    let is_over = |now| shift.stop.is_over(plan, shift.timeline, now);
                    // pgbench waits for as long as it takes.
                    let is_limited = plan.manner == Manner::Pgmeter;
                    let limit: Option<IsOver<'_>> = if is_limited { Some(&is_over) } else { None };
                    let answer = self.driver.run_shell(&command, capture, limit);
                    now = self.tell_time(shift);
                    // The transaction is cut off as soon as the worker looks.
                    let Some(answer) = answer.transpose() else { return false };
                    let Seat { client, warmup, .. } = &mut self.seats[seat];
                    step = client.shell_done(answer, &mut self.workbench.turn(now, *warmup));
                }
                Step::Ended(_) => {
                    if self.load.plan.reconnect {
                        self.leave(seat);
                    }
                    return true;
                }
                Step::Aborted(aborted) => {
                    self.abort(seat, *aborted, now, shift);
                    return false;
                }
            }
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
            // For pgbench the transaction is over when its script is.
            let over = aborted.cause == AbortCause::UnfinishedTransaction;
            let succeeded = over && self.load.plan.manner == Manner::Pgbench;
            let ending = if succeeded { Ending::Succeeded } else { Ending::Unfinished };
            self.record(seat, ending, now, shift);
        }
        self.seats[seat].connecting_since = None;
        self.reconnecting.forget(&mut self.seats[seat].under_way_since);
        self.pass_on_booking(seat, now, shift);
        self.workbench.tell(&Happening::Aborted(&aborted));
        self.aborted.push(aborted);
        self.workbench.out.clear();
        for link in 0..self.load.links.len() {
            self.driver.close(self.connection(seat, link));
        }
        self.finish(seat, now, shift);
        if self.load.plan.exit_on_abort {
            shift.stop.ask();
        }
    }

    /// The worker cannot go on, and with it none of its clients.
    fn abort_all(&mut self, error: &io::Error, now: Timestamp, shift: &mut Shift<'_>) {
        for seat in 0..self.seats.len() {
            if self.seats[seat].active {
                let cause = AbortCause::System(error.to_string().into());
                let client = self.seats[seat].client.number();
                self.abort(seat, AbortedClient { client, place: None, cause }, now, shift);
            }
        }
    }

    #[inline]
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

    /// The driver's number for one of a client's connections.
    fn connection(&self, seat: usize, link: usize) -> usize {
        seat * self.load.links.len() + link
    }

    /// The seat and the link of a connection.
    fn seat_of(&self, connection: usize) -> (usize, usize) {
        (connection / self.load.links.len(), connection % self.load.links.len())
    }
}
