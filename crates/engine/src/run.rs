//! Runs a plan: starts the workers, synchronizes their start, and collects their results. `worker` generates the
//! load.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use sockets::Clock;
use stats::{Interval, Outages, Timestamp};

use crate::abort::{AbortCause, AbortedClient};
use crate::driver::{Driver, EventLoop};
use crate::error::EngineError;
use crate::errors::ErrorTable;
use crate::load::{Load, Share};
use crate::measurement::IntervalSink;
use crate::merging::Merging;
use crate::net::Network;
use crate::outcome::{CutOff, End, Outcome, Progress, Reconnects};
use crate::plan::{Compatibility, Plan};
use crate::stopping::{Stop, StopRequest, cancel_all};
use crate::timeline::Timeline;
use crate::tracer::{Tracer, WorkerIntro};
use crate::worker::{Worker, WorkerOutcome};

/// A message from a worker to the coordinator.
enum WorkerMessage {
    Connected,
    Interval(Interval, bool),
    Done(Result<Box<WorkerOutcome>, EngineError>),
}

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

/// Runs the plan over real sockets. `observer` is called each second; setting `stop` ends the run soon, with the
/// results so far. `tracers` is called once for each worker, in this thread, when all clients are connected; use
/// [`crate::no_tracer`] for none.
///
/// # Errors
/// The plan is invalid, a client cannot connect, or the system refuses a resource.
pub fn run<'r, 'w>(
    plan: &Plan,
    stop: impl Into<StopRequest<'r>>,
    observer: &mut dyn FnMut(&Progress<'_>),
    tracers: &dyn Fn(WorkerIntro) -> Box<dyn Tracer + 'w>,
) -> Result<Outcome, EngineError> {
    plan.check()?;
    let load = Load::of(plan);
    let stop = &Stop::new(stop.into());
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
        drop(messages);
        coordinate(&load, clock, &inbox, &handles, stop, observer, tracers)
    })
}

/// Runs the plan with a single worker on the caller's driver, in this thread.
///
/// # Errors
/// As [`run`]; also if the plan has more than one worker.
pub fn run_on<'r, 'w, D: Driver>(
    plan: &Plan,
    driver: D,
    stop: impl Into<StopRequest<'r>>,
    observer: &mut dyn FnMut(&Progress<'_>),
    tracers: &dyn Fn(WorkerIntro) -> Box<dyn Tracer + 'w>,
) -> Result<Outcome, EngineError> {
    plan.check()?;
    if plan.workers != 1 {
        return Err(EngineError::Plan("one driver serves one worker".to_owned()));
    }
    let load = Load::of(plan);
    let stop = &Stop::new(stop.into());
    let mut worker = Worker::new(&load, &load.workers[0], driver);
    let begun = worker.now();
    worker.connect(stop)?;
    let timeline = Timeline::new(plan, begun, worker.now());
    let mut merging = Merging::new(1, plan, timeline, observer, stop);
    let tracer = tracers(load.introduce(0, timeline.start));
    let outcome = worker.run(timeline, tracer, stop, &mut merging)?;
    merging.close(0);
    conclude(&load, timeline, timeline.start.since(begun), stop, vec![outcome], Lost::default(), merging)
}

/// A panic in one worker must neither end the others nor hide their results.
fn catch_panic<T>(worker: usize, work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<&str>().copied();
        let text = text.or_else(|| cause.downcast_ref::<String>().map(String::as_str));
        Err(EngineError::Panicked { worker, reason: text.unwrap_or("no reason given").into() })
    })
}

/// Aborts all clients of a worker that panicked.
fn clients_of_lost(load: &Load<'_>, worker: usize, reason: &str) -> impl Iterator<Item = AbortedClient> {
    let cause = AbortCause::WorkerLost { worker, reason: reason.into() };
    let clients = load.workers[worker].clients.clone();
    clients.map(move |client| AbortedClient { client, place: None, cause: cause.clone() })
}

/// A worker's end of the channels.
struct WorkerChannel {
    number: usize,
    messages: Sender<(usize, WorkerMessage)>,
    returned: Receiver<Interval>,
}

impl WorkerChannel {
    fn send(&self, message: WorkerMessage) {
        // The coordinator is gone only after its own error, which it reports.
        let _ = self.messages.send((self.number, message));
    }
}

impl IntervalSink for WorkerChannel {
    fn take(&mut self, interval: Interval, warmup: bool) -> Option<Interval> {
        self.send(WorkerMessage::Interval(interval, warmup));
        self.returned.try_recv().ok()
    }
}

impl IntervalSink for Merging<'_> {
    fn take(&mut self, interval: Interval, warmup: bool) -> Option<Interval> {
        Merging::take(self, 0, interval, warmup)
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

/// Waits until all workers are connected, starts them, and merges their messages.
fn coordinate<'w>(
    load: &Load<'_>,
    clock: Clock,
    inbox: &Receiver<(usize, WorkerMessage)>,
    handles: &[WorkerHandle<'w>],
    stop: &Stop<'_>,
    observer: &mut dyn FnMut(&Progress<'_>),
    tracers: Tracers<'_, 'w>,
) -> Result<Outcome, EngineError> {
    for _ in handles {
        match inbox.recv() {
            Ok((_, WorkerMessage::Connected)) => {}
            Ok((_, WorkerMessage::Done(Err(error)))) => return Err(error),
            _ => unreachable!("a worker first connects or fails"),
        }
    }
    let timeline = Timeline::new(load.plan, Timestamp::ZERO, clock.now());
    for (number, handle) in handles.iter().enumerate() {
        let tracer = tracers(load.introduce(number, timeline.start));
        // A worker that has ended has reported why, which is received below.
        let _ = handle.start.send(Start { timeline, tracer });
    }
    let mut merging = Merging::new(handles.len(), load.plan, timeline, observer, stop);
    let mut outcomes: Vec<_> = handles.iter().map(|_| None).collect();
    let (mut failure, mut lost) = (None, Lost::default());
    while let Ok((worker, message)) = inbox.recv() {
        match message {
            WorkerMessage::Interval(interval, warmup) => {
                if let Some(spare) = merging.take(worker, interval, warmup) {
                    let _ = handles[worker].spares.send(spare);
                }
            }
            WorkerMessage::Done(result) => {
                merging.close(worker);
                match result {
                    Ok(outcome) => outcomes[worker] = Some(*outcome),
                    Err(EngineError::Panicked { worker, reason }) => {
                        lost.clients.extend(clients_of_lost(load, worker, &reason));
                        lost.at = clock.now();
                        if load.plan.exit_on_abort {
                            stop.ask();
                        }
                    }
                    // The others have been asked to end too.
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            WorkerMessage::Connected => unreachable!("a worker connects once"),
        }
    }
    let outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
    if let Some(error) = failure {
        cancel_running(load.plan, &outcomes);
        return Err(error);
    }
    conclude(load, timeline, timeline.start.since(Timestamp::ZERO), stop, outcomes, lost, merging)
}

/// Clients whose worker panicked.
#[derive(Default)]
struct Lost {
    clients: Vec<AbortedClient>,
    /// Time of the last such panic.
    at: Timestamp,
}

/// Cancels the running statements; returns how many could not be cancelled.
fn cancel_running(plan: &Plan, outcomes: &[WorkerOutcome]) -> usize {
    cancel_all(plan, outcomes.iter().flat_map(|outcome| &outcome.to_cancel))
}

/// The workers' event loop: io_uring only if all of them used it.
fn event_loop_of(outcomes: &[WorkerOutcome]) -> EventLoop {
    let mut loops = outcomes.iter().map(|outcome| &outcome.event_loop);
    let worst = loops.clone().find(|event_loop| **event_loop != EventLoop::IoUring);
    worst.or_else(|| loops.next()).cloned().unwrap_or(EventLoop::Other)
}

/// Combines the workers' outcomes in the order of their numbers.
// Long because: it merges each field of an outcome.
fn conclude(
    load: &Load<'_>,
    timeline: Timeline,
    connect_time: Duration,
    stop: &Stop<'_>,
    outcomes: Vec<WorkerOutcome>,
    lost: Lost,
    merging: Merging<'_>,
) -> Result<Outcome, EngineError> {
    let plan = load.plan;
    let finished =
        outcomes.iter().map(|outcome| outcome.finished).max().unwrap_or(timeline.start).max(lost.at);
    let timeline = stop.early_end(finished).and_then(|end| timeline.ending_at(end)).unwrap_or(timeline);
    let interrupted = outcomes.iter().any(|outcome| outcome.interrupted);
    let cpu_from = outcomes.iter().filter_map(|outcome| outcome.cpu_at_measure).min();
    let cpu_to = outcomes.iter().map(|outcome| outcome.cpu_at_end).max().unwrap_or_default();
    let warmup_transactions = outcomes.iter().map(|outcome| outcome.warmup_transactions).sum();
    let event_loop = event_loop_of(&outcomes);
    let uncancelled = cancel_running(plan, &outcomes);
    let reconnects = outcomes.iter().fold(Reconnects::default(), |sum, outcome| sum.and(outcome.reconnects));
    let exceeded = outcomes.iter().find_map(|outcome| outcome.exceeded);
    let cut_off = outcomes.iter().map(|outcome| outcome.cut_off).sum();
    let failed_worker = outcomes.iter().position(|outcome| !outcome.aborted.is_empty());
    let mut commands = load.command_table();
    outcomes.iter().for_each(|outcome| commands.merge(&outcome.commands));
    let (mut errors, mut health) = (ErrorTable::default(), Vec::with_capacity(outcomes.len()));
    let mut logs = Vec::new();
    let mut aborted: Vec<_> = outcomes
        .into_iter()
        .flat_map(|outcome| {
            health.push(outcome.health);
            errors.merge(outcome.errors);
            logs.extend(outcome.outages);
            outcome.aborted
        })
        .collect();
    aborted.extend(lost.clients);
    aborted.sort_by_key(|aborted| aborted.client);
    let end = if interrupted && stop.is_asked_by_user() {
        End::Interrupted
    } else if let Some(worker) = failed_worker.filter(|_| plan.exit_on_abort) {
        End::AbortedOnError { worker }
    } else if aborted.len() == plan.clients {
        End::AllClientsAborted
    } else if let Some(exceeded) = exceeded {
        End::CutOff(CutOff { clients: cut_off, of: plan.clients, exceeded })
    } else {
        End::Complete
    };
    // With a rate, the last transaction may end before the window.
    let keeps_end = end == End::Complete && plan.compatibility == Compatibility::Pgmeter;
    let measured_until = timeline.end.filter(|_| keeps_end).map_or(finished, |planned| planned.max(finished));
    let (summary, gaps) = merging.finish(measured_until.since(timeline.measure), finished, timeline.end);
    errors.conclude(summary.total.counts.failed);
    let outages = plan.reconnecting.is_some().then(|| Outages::new(logs, load.any_writes, measured_until));
    Ok(Outcome {
        end,
        summary,
        gaps,
        connect_time,
        elapsed: finished.since(timeline.start),
        reconnects,
        outages,
        commands,
        errors,
        warmup_transactions,
        health,
        client_cpu: cpu_from.map_or(Duration::ZERO, |from| cpu_to.saturating_sub(from)),
        aborted,
        uncancelled,
        workers: load.workers.len(),
        event_loop,
        default_seed: load.default_seed,
    })
}
