//! Carries out a phase: connections on their own threads process chains of tasks, while the caller's thread reports
//! progress and stops the work on request or after an error.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use connect::{CancelRequest, Session};

use super::connection::{Cancel, Connection, Event, Running, Shared};
use super::phase::{Job, LoadPhase};
use super::step::Step;
use crate::WorkloadError;
use crate::load::{InitProgress, Progress, ROWS_PER_PROGRESS, StepTime, tell};
use crate::stopwatch::Stopwatch;

/// Interval at which the caller may stop if there is no progress to report.
const TICK: Duration = Duration::from_millis(100);

/// Time limit of all cancel requests of one tick together.
const CANCELLING_LIMIT: Duration = Duration::from_secs(2);

/// Connections that have not ended this long after a stop are closed.
const HALT_LIMIT: Duration = Duration::from_secs(3);

/// Chains waiting for a connection.
type Queue = Mutex<VecDeque<Vec<Job>>>;

/// Carries out a phase; `sessions` is the first session and as many others as are useful.
pub(crate) fn work(
    phase: LoadPhase,
    sessions: &mut [&mut Session],
    shared: Shared<'_>,
    progress: &mut Progress<'_>,
) -> Result<Vec<StepTime>, WorkloadError> {
    let LoadPhase { steps, opening, chains, closing } = phase;
    let mut left = vec![0; steps.len()];
    for job in opening.iter().chain(chains.iter().flatten()).chain(&closing) {
        left[job.step] += 1;
    }
    let mut monitor = Monitor {
        progress,
        halt: shared.halt,
        steps,
        left,
        current: 0,
        lap: Stopwatch::start(),
        times: Vec::new(),
        count: None,
        is_asked_to_end: false,
    };
    monitor.begin_step()?;
    let (first, _) = sessions.split_at_mut(1);
    monitor.round(vec![opening], first, shared)?;
    monitor.round(chains, sessions, shared)?;
    let (first, _) = sessions.split_at_mut(1);
    monitor.round(vec![closing], first, shared)?;
    Ok(monitor.times)
}

/// Supervises the connections of a phase.
struct Monitor<'a, 'b> {
    progress: &'a mut Progress<'b>,
    halt: &'a AtomicBool,
    steps: Vec<Step>,
    /// Remaining tasks of each step.
    left: Vec<usize>,
    /// Index of the first unfinished step.
    current: usize,
    lap: Stopwatch,
    times: Vec<StepTime>,
    count: Option<RowProgress>,
    is_asked_to_end: bool,
}

impl Monitor<'_, '_> {
    /// Runs the chains on the sessions in parallel.
    fn round(
        &mut self,
        chains: Vec<Vec<Job>>,
        sessions: &mut [&mut Session],
        shared: Shared<'_>,
    ) -> Result<(), WorkloadError> {
        let count = sessions.len().min(chains.len());
        let queue: Queue = Mutex::new(chains.into());
        let cancels: Vec<Cancel> = (0..count).map(|_| Cancel::default()).collect();
        thread::scope(|scope| {
            let (events, told) = mpsc::channel();
            for (session, cancel) in sessions.iter_mut().zip(&cancels) {
                let (queue, events) = (&queue, events.clone());
                scope.spawn(move || {
                    let mut connection = Connection { session, shared, cancel, events };
                    if let Err(error) = take_chains(&mut connection, queue) {
                        // The receiver is gone only if the messages are no longer needed.
                        let _ = connection.tell(Event::Failed(error));
                    }
                    *cancel.lock().unwrap_or_else(PoisonError::into_inner) = None;
                });
            }
            drop(events);
            self.watch(&told, &cancels)
        })
    }

    /// Receives the messages of all connections until they end.
    fn watch(&mut self, told: &Receiver<Event>, cancels: &[Cancel]) -> Result<(), WorkloadError> {
        let mut failure = None;
        let mut halting = None;
        loop {
            let heard = match told.recv_timeout(TICK) {
                Ok(Event::Failed(error)) => Err(error),
                Ok(event) => self.event(event),
                Err(RecvTimeoutError::Timeout) => {
                    if self.halt.load(Ordering::Relaxed) {
                        let halting = halting.get_or_insert_with(Stopwatch::start);
                        cancel_all(cancels);
                        if halting.read() > HALT_LIMIT {
                            close_all(cancels);
                        }
                    }
                    self.say(InitProgress::Waiting)
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = heard {
                // The first error is reported; later errors of stopped connections are not.
                failure.get_or_insert(error);
                self.halt.store(true, Ordering::Relaxed);
            }
        }
        match failure {
            Some(error) => Err(error),
            None if self.is_asked_to_end => Err(WorkloadError::Interrupted),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: Event) -> Result<(), WorkloadError> {
        match event {
            Event::Partitions(partitions) => self.say(InitProgress::Partitions(partitions)),
            Event::Notice(notice) => self.say(InitProgress::Notice(&notice)),
            Event::Lost { doing, reason } => self.say(InitProgress::Lost { doing: &doing, reason: &reason }),
            Event::Rows { table, relation, done, total } => {
                let mut count = self
                    .count
                    .take()
                    .filter(|count| count.table == table)
                    .unwrap_or_else(|| RowProgress::new(table, total));
                count.relation_has(relation, done);
                while let Some(done) = count.next() {
                    let elapsed = count.since.read();
                    self.say(InitProgress::Rows { table, done, total, elapsed })?;
                }
                self.count = Some(count);
                Ok(())
            }
            Event::Done { step } => {
                self.left[step] -= 1;
                self.finish_steps()
            }
            Event::Failed(error) => Err(error),
        }
    }

    fn begin_step(&mut self) -> Result<(), WorkloadError> {
        if let Some(&step) = self.steps.get(self.current) {
            self.say(InitProgress::Started { doing: step.facts().doing })?;
        }
        self.finish_steps()
    }

    /// Ends completed steps in order: time spent on later steps meanwhile counts for the earlier one.
    fn finish_steps(&mut self) -> Result<(), WorkloadError> {
        if self.current < self.steps.len() && self.left[self.current] == 0 {
            let name = self.steps[self.current].facts().name.to_owned();
            let time = StepTime { name, took: self.lap.lap() };
            self.current += 1;
            self.say(InitProgress::Finished(&time))?;
            self.times.push(time);
            return self.begin_step();
        }
        Ok(())
    }

    /// Reports progress to the caller, unless it has already asked to stop.
    fn say(&mut self, what: InitProgress<'_>) -> Result<(), WorkloadError> {
        if self.is_asked_to_end {
            return Ok(());
        }
        let told = tell(self.progress, what);
        if told.is_err() {
            self.is_asked_to_end = true;
            self.halt.store(true, Ordering::Relaxed);
        }
        // The work ends by itself, and reports its result.
        Ok(())
    }
}

/// Takes chains as long as there are any.
fn take_chains(connection: &mut Connection<'_>, queue: &Queue) -> Result<(), WorkloadError> {
    connection.begin();
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(chain) = next else { return Ok(()) };
        for job in chain {
            connection.take(&job.task)?;
            connection.tell(Event::Done { step: job.step })?;
        }
    }
}

/// Cancels the statements of the connections. A connection between two statements notices the stop by itself.
fn cancel_all(cancels: &[Cancel]) {
    let running = running(cancels);
    let requests: Vec<_> = running
        .iter()
        .map(|Running { address, transport, key, .. }| CancelRequest { address, transport, key })
        .collect();
    // Repeated at each tick while a connection is active.
    let _ = connect::cancel_all(&requests, CANCELLING_LIMIT);
}

/// Closes the connections that cancelling did not stop.
fn close_all(cancels: &[Cancel]) {
    for closer in running(cancels).into_iter().filter_map(|running| running.closer) {
        closer.close("loading was stopped, but the server did not cancel the statement");
    }
}

/// The active ones.
fn running(cancels: &[Cancel]) -> Vec<Running> {
    let running = |cancel: &Cancel| cancel.lock().unwrap_or_else(PoisonError::into_inner).clone();
    cancels.iter().filter_map(running).collect()
}

/// How many rows of a table there are, made by one connection or by several.
struct RowProgress {
    table: &'static str,
    total: u64,
    /// Of each relation.
    done: BTreeMap<String, u64>,
    sum: u64,
    told: u64,
    since: Stopwatch,
}

impl RowProgress {
    fn new(table: &'static str, total: u64) -> RowProgress {
        RowProgress { table, total, done: BTreeMap::new(), sum: 0, told: 0, since: Stopwatch::start() }
    }

    /// A relation has so many rows now; fewer than before if it had to begin again.
    fn relation_has(&mut self, relation: String, done: u64) {
        let before = self.done.insert(relation, done).unwrap_or(0);
        self.sum = self.sum - before + done;
        if done < before {
            self.told = self.sum / ROWS_PER_PROGRESS * ROWS_PER_PROGRESS;
        }
        if self.sum == 0 {
            self.since = Stopwatch::start();
        }
    }

    /// The next number of rows to tell: all round ones, and the last.
    fn next(&mut self) -> Option<u64> {
        let next = (self.told / ROWS_PER_PROGRESS + 1) * ROWS_PER_PROGRESS;
        let next = next.min(self.total);
        if next > self.sum || next == self.told {
            return None;
        }
        self.told = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_of_rows_are_told_once_whoever_makes_them() {
        let mut count = RowProgress::new("t", 45_000);
        let mut told = Vec::new();
        let mut has = |relation: &str, done| {
            count.relation_has(relation.to_owned(), done);
            told.extend(std::iter::from_fn(|| count.next()));
        };
        for (relation, done) in [("a", 0), ("b", 0), ("a", 9000), ("b", 9000), ("a", 22_000), ("b", 23_000)] {
            has(relation, done);
        }
        assert_eq!(told, [10_000, 20_000, 30_000, 40_000, 45_000]);
    }

    #[test]
    fn a_relation_that_begins_again_takes_its_rows_back() {
        let mut count = RowProgress::new("t", 30_000);
        count.relation_has("a".to_owned(), 20_000);
        assert_eq!(std::iter::from_fn(|| count.next()).collect::<Vec<_>>(), [10_000, 20_000]);
        count.relation_has("a".to_owned(), 0);
        assert_eq!(count.next(), None);
        count.relation_has("a".to_owned(), 10_000);
        assert_eq!((count.next(), count.next()), (Some(10_000), None));
    }
}
