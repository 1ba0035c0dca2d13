//! Runs a plan: starts the workers, synchronizes their start, and collects their results. `worker` generates the
//! load, `coordinator` keeps the results.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use sockets::Clock;
use stats::{Interval, Timestamp};

use crate::coordinator::Coordinator;
use crate::driver::Driver;
use crate::error::EngineError;
use crate::load::{Load, Share};
use crate::measurement::IntervalSink;
use crate::net::Network;
use crate::outcome::{Outcome, Progress};
use crate::part::Part;
use crate::peers::{Inbox, Message, Peers, WorkerMessage};
use crate::plan::Plan;
use crate::rank_outcome::RankOutcome;
use crate::stopping::{SharedEnd, Stop, StopRequest};
use crate::timeline::Timeline;
use crate::tracer::{Tracer, WorkerIntro};
use crate::worker::{Worker, WorkerOutcome};

/// The coordinator's end of the channels to one worker.
struct WorkerHandle<'w> {
    start: Sender<Start<'w>>,
    spares: Sender<Interval>,
}

/// Sent to a worker when all clients are connected.
struct Start<'w> {
    timeline: Timeline,
    tracer: Box<dyn Tracer + 'w>,
}

/// Creates the tracer of each worker.
type Tracers<'a, 'w> = &'a dyn Fn(WorkerIntro) -> Box<dyn Tracer + 'w>;

/// Called with each completed second.
type Observer<'a> = &'a mut dyn FnMut(&Progress<'_>);

/// Runs the plan over real sockets. `observer` is called each second; setting `stop` ends the run soon, with the
/// results so far. `tracers` is called once for each worker, in this thread, when all clients are connected; use
/// [`crate::no_tracer`] for none.
///
/// # Errors
/// The plan is invalid or distributed, a client cannot connect, or the system refuses a resource.
pub fn run<'r, 'w>(
    plan: &Plan,
    stop: impl Into<StopRequest<'r>>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
) -> Result<Outcome, EngineError> {
    expect(plan, !plan.part.is_distributed())?;
    on_threads(plan, stop.into(), observer, tracers, None, |ended| ended.into_outcome())
}

/// Runs the first part of a distributed plan, and combines the results of all ranks. The observer receives the seconds
/// of all ranks together, the outcome is that of the whole run. The caller delivers the messages of the other ranks, and
/// carries the decisions about the end to them ([`SharedEnd`]).
///
/// # Errors
/// As [`run`]; or another rank failed or was lost.
pub fn run_with_peers<'r, 'w>(
    plan: &Plan,
    stop: impl Into<StopRequest<'r>>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
    peers: &mut dyn Peers,
) -> Result<Outcome, EngineError> {
    expect(plan, plan.part.rank == 0)?;
    on_threads(plan, stop.into(), observer, tracers, Some(peers), |ended| ended.into_outcome())
}

/// Runs the part of another rank than 0. The observer receives this rank's seconds, each of which must be sent to rank
/// 0 ([`RankMessage::interval`]), as must the outcome or the error afterwards ([`RankMessage::Done`]). Rank 0 decides
/// about the end.
///
/// # Errors
/// As [`run`].
pub fn run_rank<'r, 'w>(
    plan: &Plan,
    stop: impl Into<StopRequest<'r>>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
    peers: &mut dyn Peers,
) -> Result<RankOutcome, EngineError> {
    expect(plan, plan.part.rank > 0)?;
    on_threads(plan, stop.into(), observer, tracers, Some(peers), |ended| ended.into_rank_outcome())
}

/// Runs the plan with a single worker on the caller's driver, in this thread.
///
/// # Errors
/// As [`run`]; also if the plan has more than one worker.
pub fn run_on<'r, 'w, D: Driver>(
    plan: &Plan,
    driver: D,
    stop: impl Into<StopRequest<'r>>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
) -> Result<Outcome, EngineError> {
    expect(plan, !plan.part.is_distributed())?;
    on_driver(plan, driver, stop.into(), observer, tracers, None, |ended| ended.into_outcome())
}

/// [`run_with_peers`] with a single worker on the caller's driver, in this thread. The run starts when the peers say
/// so, but at the time of the driver's clock.
///
/// # Errors
/// As [`run_with_peers`]; also if the plan has more than one worker.
pub fn run_with_peers_on<'r, 'w, D: Driver>(
    plan: &Plan,
    driver: D,
    stop: impl Into<StopRequest<'r>>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
    peers: &mut dyn Peers,
) -> Result<Outcome, EngineError> {
    expect(plan, plan.part.rank == 0)?;
    on_driver(plan, driver, stop.into(), observer, tracers, Some(peers), |ended| ended.into_outcome())
}

/// [`run_rank`] with a single worker on the caller's driver, in this thread.
///
/// # Errors
/// As [`run_rank`]; also if the plan has more than one worker.
pub fn run_rank_on<'r, 'w, D: Driver>(
    plan: &Plan,
    driver: D,
    stop: impl Into<StopRequest<'r>>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
    peers: &mut dyn Peers,
) -> Result<RankOutcome, EngineError> {
    expect(plan, plan.part.rank > 0)?;
    on_driver(plan, driver, stop.into(), observer, tracers, Some(peers), |ended| ended.into_rank_outcome())
}

/// Checks the plan, and that its part is one for the function that was called.
fn expect(plan: &Plan, is_for_this: bool) -> Result<(), EngineError> {
    plan.check()?;
    if is_for_this {
        return Ok(());
    }
    let Part { rank, ranks } = plan.part;
    Err(EngineError::Plan(format!("rank {rank} of {ranks} is not run like this: see Plan::part")))
}

/// Runs the plan over real sockets, and derives the result from the coordinator at the end.
// Long because: the threads of a run share its values.
fn on_threads<'w, T>(
    plan: &Plan,
    request: StopRequest<'_>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
    peers: Option<&mut dyn Peers>,
    result: impl FnOnce(Coordinator<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let load = Load::of(plan);
    let own_end = SharedEnd::default();
    let stop = &Stop::new(request, &own_end, plan.part);
    let clock = Clock::start();
    let (messages, inbox) = channel();
    thread::scope(|scope| {
        let mut handles = Vec::new();
        for (number, share) in load.workers.iter().enumerate() {
            let (start, started) = channel();
            let (spares, returned) = channel();
            handles.push(WorkerHandle { start, spares });
            let mut to_coordinator = WorkerChannel { number, messages: messages.clone(), returned };
            let load = &load;
            thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn_scoped(scope, move || {
                    let connections = share.clients.len() * load.links.len();
                    let result =
                        catch_panic(number, || match Network::new(plan.event_loop, clock, connections)? {
                            Network::IoUring(driver) => {
                                work(load, share, *driver, &started, &mut to_coordinator, stop)
                            }
                            Network::Epoll(driver) => {
                                work(load, share, *driver, &started, &mut to_coordinator, stop)
                            }
                        });
                    let failed = result.as_ref().is_err_and(|error| !error.is_of_one_worker());
                    to_coordinator.send(WorkerMessage::Done(result.map(Box::new)));
                    // Only now, so that the other workers' reasons do not arrive before this one.
                    if failed {
                        stop.ask();
                    }
                })
                .map_err(|error| EngineError::System { what: "start a thread", error })?;
        }
        wait_for_connects(&inbox, handles.len())?;
        let connected = clock.now();
        let start = match peers {
            Some(peers) => clock.at(peers.start(Inbox { messages })?),
            None => {
                drop(messages);
                connected
            }
        };
        let timeline = Timeline::new(plan, Timestamp::ZERO, start);
        for (number, handle) in handles.iter().enumerate() {
            let tracer = tracers(load.introduce(number, timeline.start));
            // A worker that has ended has reported why, which is received below.
            let _ = handle.start.send(Start { timeline, tracer });
        }
        let connect_time = connected.since(Timestamp::ZERO);
        let mut coordinator = Coordinator::new(&load, stop, timeline, connect_time, observer);
        while !coordinator.is_over() {
            match inbox.recv() {
                Ok(Message::Worker(worker, WorkerMessage::Interval(interval, warmup))) => {
                    if let Some(spare) = coordinator.take_interval(worker, interval, warmup) {
                        let _ = handles[worker].spares.send(spare);
                    }
                }
                Ok(Message::Worker(worker, WorkerMessage::Done(result))) => {
                    coordinator.take_outcome(worker, result.map(|outcome| *outcome), clock.now());
                }
                Ok(Message::Worker(_, WorkerMessage::Connected)) => unreachable!("a worker connects once"),
                Ok(Message::Rank(rank, message)) => coordinator.take_message(rank, message),
                Err(_) => coordinator.close(),
            }
        }
        result(coordinator)
    })
}

/// Runs the plan with a single worker on a driver, and derives the result from the coordinator at the end.
fn on_driver<'w, D: Driver, T>(
    plan: &Plan,
    driver: D,
    request: StopRequest<'_>,
    observer: Observer<'_>,
    tracers: Tracers<'_, 'w>,
    peers: Option<&mut dyn Peers>,
    result: impl FnOnce(Coordinator<'_>) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    if plan.workers != 1 {
        return Err(EngineError::Plan("one driver serves one worker".to_owned()));
    }
    let load = Load::of(plan);
    let own_end = SharedEnd::default();
    let stop = &Stop::new(request, &own_end, plan.part);
    let mut worker = Worker::new(&load, &load.workers[0], driver);
    let begun = worker.now();
    worker.connect(stop)?;
    let (messages, inbox) = channel();
    if let Some(peers) = peers {
        peers.start(Inbox { messages })?;
    }
    let timeline = Timeline::new(plan, begun, worker.now());
    let connect_time = timeline.start.since(begun);
    let coordinator = Coordinator::new(&load, stop, timeline, connect_time, observer);
    let mut in_thread = InThread { coordinator, inbox };
    let tracer = tracers(load.introduce(0, timeline.start));
    let outcome = worker.run(timeline, tracer, stop, &mut in_thread)?;
    let InThread { mut coordinator, inbox } = in_thread;
    let finished = outcome.finished;
    coordinator.take_outcome(0, Ok(outcome), finished);
    while !coordinator.is_over() {
        match inbox.recv() {
            Ok(Message::Rank(rank, message)) => coordinator.take_message(rank, message),
            Ok(Message::Worker(..)) => unreachable!("the worker sends nothing"),
            Err(_) => coordinator.close(),
        }
    }
    result(coordinator)
}

/// Waits until all workers are connected.
fn wait_for_connects(inbox: &Receiver<Message>, workers: usize) -> Result<(), EngineError> {
    for _ in 0..workers {
        match inbox.recv() {
            Ok(Message::Worker(_, WorkerMessage::Connected)) => {}
            Ok(Message::Worker(_, WorkerMessage::Done(Err(error)))) => return Err(error),
            _ => unreachable!("a worker first connects or fails"),
        }
    }
    Ok(())
}

/// The coordinator in the thread of its only worker.
struct InThread<'a> {
    coordinator: Coordinator<'a>,
    inbox: Receiver<Message>,
}

impl IntervalSink for InThread<'_> {
    fn take(&mut self, interval: Interval, warmup: bool) -> Option<Interval> {
        let spare = self.coordinator.take_interval(0, interval, warmup);
        while let Ok(Message::Rank(rank, message)) = self.inbox.try_recv() {
            self.coordinator.take_message(rank, message);
        }
        spare
    }
}

/// A panic in one worker must neither end the others nor hide their results.
fn catch_panic<T>(worker: usize, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().copied();
        let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
        Err(EngineError::Panicked { worker, reason: text.unwrap_or("no reason given").into() })
    })
}

/// A worker's end of the channels.
struct WorkerChannel {
    number: usize,
    messages: Sender<Message>,
    returned: Receiver<Interval>,
}

impl WorkerChannel {
    fn send(&self, message: WorkerMessage) {
        // The coordinator is gone only after its own error, which it reports.
        let _ = self.messages.send(Message::Worker(self.number, message));
    }
}

impl IntervalSink for WorkerChannel {
    fn take(&mut self, interval: Interval, warmup: bool) -> Option<Interval> {
        self.send(WorkerMessage::Interval(interval, warmup));
        self.returned.try_recv().ok()
    }
}

/// The main function of a worker thread.
fn work<'w>(
    load: &Load<'_>,
    share: &Share,
    driver: impl Driver,
    started: &Receiver<Start<'w>>,
    to_coordinator: &mut WorkerChannel,
    stop: &Stop<'_>,
) -> Result<WorkerOutcome, EngineError> {
    let mut worker = Worker::new(load, share, driver);
    worker.connect(stop)?;
    to_coordinator.send(WorkerMessage::Connected);
    // The coordinator closes the channel if another worker could not connect.
    let Start { timeline, tracer } = started.recv().map_err(|_| EngineError::InterruptedBeforeStart)?;
    worker.run(timeline, tracer, stop, to_coordinator)
}
