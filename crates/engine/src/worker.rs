//! One thread's loop: waits, reads `now` once per wake-up, hands bytes and timers to its clients, and
//! records what they leave behind. Generic over the [`Driver`], so that it also runs in virtual time.
//! All that a wake-up brings has happened at its `now`; a client that begins late in a long batch has that in its
//! service time. What is scheduled begins at a time of its own: its lag is neither hidden nor put on the server.
//! The parts have modules of their own: `sessions` connects, `pacing` says what a free client does next, `context` is
//! what clients are handed, `health` what the loop knows of itself; `run` puts them to work.

use std::time::Duration;

use script::Random;
use stats::{CommandTable, Timestamp, WorkerHealth};

use crate::abort::AbortedClient;
use crate::driver::{Driver, EventLoop};
use crate::error::EngineError;
use crate::load::{Load, Share};
use crate::measurement::IntervalSink;
use crate::outcome::{Exceeded, Reconnects};
use crate::stopping::{RunningSession, Stop};
use crate::timeline::Timeline;
use crate::tracer::Tracer;

use run::Run;
use sessions::Sessions;

mod context;
mod health;
mod pacing;
mod run;
mod sessions;

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

/// One worker before its run: its clients, and how they connect. `D` owns sockets and clock.
pub(crate) struct Worker<'p, D> {
    number: usize,
    chooser: Random,
    sessions: Sessions<'p, D>,
}

impl<'p, D: Driver> Worker<'p, D> {
    pub(crate) fn new(load: &'p Load<'p>, share: &Share, driver: D) -> Self {
        let Share { number, chooser, .. } = share;
        Self { number: *number, chooser: chooser.clone(), sessions: Sessions::new(load, share, driver) }
    }

    /// Reads the driver's clock.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.sessions.driver.now()
    }

    /// Connects all clients, unless they connect for each transaction.
    pub(crate) fn connect(&mut self, stop: &Stop<'_>) -> Result<(), EngineError> {
        self.sessions.connect_all(stop)
    }

    /// Runs the load to its end.
    pub(crate) fn run(
        self,
        timeline: Timeline,
        tracer: Box<dyn Tracer + 'p>,
        stop: &Stop<'_>,
        sink: &mut dyn IntervalSink,
    ) -> Result<WorkerOutcome, EngineError> {
        Run::new(self, timeline, tracer, stop, sink).finish()
    }
}
