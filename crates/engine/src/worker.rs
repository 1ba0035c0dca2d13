//! The loop of one thread: waits, reads `now` once per wake-up, passes bytes and timers to its clients, and records
//! their results. Generic over the [`Driver`], so that it also runs in virtual time. Everything that a wake-up
//! reports happened at its `now`; a client that is served late in a long batch has this delay in its service time. A
//! scheduled transaction has its own start time, so that the delay counts as start delay and not as server time.
//! Modules: `sessions` connects, `reconnecting` replaces lost connections, `pacing` selects transactions, `context` is the clients' shared state, `health`
//! measures the loop, `run` combines them.

use std::time::Duration;

use script::Random;
use stats::{CommandTable, OutageLog, Timestamp, WorkerHealth};

use crate::abort::AbortedClient;
use crate::driver::{Driver, EventLoop};
use crate::error::EngineError;
use crate::errors::ErrorTable;
use crate::load::{Load, Share};
use crate::measurement::IntervalSink;
use crate::outcome::{Exceeded, Reconnects};
use crate::renewals::SessionRenewals;
use crate::stopping::{RunningSession, Stop};
use crate::timeline::Timeline;
use crate::tracer::Tracer;

use run::Run;
use sessions::Sessions;

mod commits;
mod context;
mod health;
mod member;
mod pacing;
mod reconnecting;
mod run;
mod sessions;
mod slot;

/// Maximum time between two checks of the stop flag.
pub(crate) const STOP_CHECK: Duration = Duration::from_millis(100);

/// Result of one worker.
#[derive(Debug)]
pub(crate) struct WorkerOutcome {
    /// Time when its last client was done.
    pub(crate) finished: Timestamp,
    pub(crate) warmup_transactions: u64,
    pub(crate) aborted: Vec<AbortedClient>,
    /// Whether it was stopped before all its clients were done.
    pub(crate) interrupted: bool,
    /// Number of clients whose transactions were cancelled because they did not end in time.
    pub(crate) cut_off: usize,
    /// The limit that these exceeded.
    pub(crate) exceeded: Option<Exceeded>,
    pub(crate) reconnects: Reconnects,
    /// Renewed sessions; `None` without a population.
    pub(crate) renewals: Option<SessionRenewals>,
    /// Lost connections and the attempts to replace them; `None` unless the plan reconnects.
    pub(crate) outages: Option<OutageLog>,
    pub(crate) commands: CommandTable,
    pub(crate) errors: ErrorTable,
    pub(crate) health: WorkerHealth,
    /// Sessions with a running command when the run was stopped.
    pub(crate) to_cancel: Vec<RunningSession>,
    pub(crate) event_loop: EventLoop,
}

/// One worker before its run, with its clients. `D` owns sockets and clock.
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
