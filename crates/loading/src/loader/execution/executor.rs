//! Carries out a plan: connections on their own threads take tasks, while the caller's thread reports progress and
//! stops the work on request or after an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use connect::{CancelRequest, Session, Stopwatch};

use super::connection::{Cancel, Connection, Event, Running, Sent, Shared};
use super::plan::{Job, Plan, StepName};
use crate::WorkloadError;
use crate::contract::load::{InitProgress, Progress, ROWS_PER_PROGRESS, StepTime, tell};

/// Interval at which the caller may stop if there is no progress to report.
const TICK: Duration = Duration::from_millis(100);

/// Time limit of all cancel requests of one tick together.
const CANCELLING_LIMIT: Duration = Duration::from_secs(2);

/// Tables whose rows the server has judged that a user reads of.
const JUDGED_SHOWN: usize = 10;

/// Connections that have not ended this long after a stop are closed.
const HALT_LIMIT: Duration = Duration::from_secs(3);

/// Carries out a plan; `sessions` is the first session and as many others as are useful.
pub(super) fn work(
    plan: Plan,
    sessions: &mut [&mut Session],
    shared: Shared<'_>,
    progress: &mut Progress<'_>,
) -> Result<Vec<StepTime>, WorkloadError> {
    let Plan { steps, jobs } = plan;
    let mut left = vec![0; steps.len()];
    for job in &jobs {
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
        judged: BTreeMap::new(),
        is_asked_to_end: false,
    };
    monitor.begin_step()?;
    monitor.supervise(&jobs, sessions, shared)?;
    let sentences = judged_sentences(&monitor.judged);
    sentences.iter().try_for_each(|sentence| monitor.say(InitProgress::Found(sentence)))?;
    Ok(monitor.times)
}

/// The jobs that are still to be done.
struct Queue<'a> {
    jobs: &'a [Job],
    state: Mutex<QueueState>,
    /// Signalled when a job has ended.
    changed: Condvar,
}

struct QueueState {
    /// Those that can start.
    ready: BTreeSet<usize>,
    /// By job, how many others have to end before it can start.
    blockers: Vec<usize>,
    /// By job, those that wait for it.
    followers: Vec<Vec<usize>>,
    /// Jobs that have not ended.
    left: usize,
}

impl<'a> Queue<'a> {
    fn new(jobs: &'a [Job]) -> Queue<'a> {
        let mut followers = vec![Vec::new(); jobs.len()];
        for (number, job) in jobs.iter().enumerate() {
            job.after.iter().for_each(|&before| followers[before].push(number));
        }
        let blockers: Vec<usize> = jobs.iter().map(|job| job.after.len()).collect();
        let ready = (0..jobs.len()).filter(|&job| blockers[job] == 0).collect();
        let state = QueueState { ready, blockers, followers, left: jobs.len() };
        Queue { jobs, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, as soon as one can start; `None` if all have ended or the work has to stop.
    fn take(&self, halt: &AtomicBool) -> Option<usize> {
        let mut state = self.state();
        while state.left > 0 && !halt.load(Ordering::Relaxed) {
            if let Some(job) = state.ready.pop_first() {
                return Some(job);
            }
            // With a limit, because a stop is not signalled.
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }

    fn finish(&self, job: usize) {
        let mut state = self.state();
        state.left -= 1;
        for follower in std::mem::take(&mut state.followers[job]) {
            state.blockers[follower] -= 1;
            if state.blockers[follower] == 0 {
                state.ready.insert(follower);
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Stops the other connections if a thread panics: they would wait for its job for ever.
struct HaltOnPanic<'a>(&'a AtomicBool);

impl Drop for HaltOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// Supervises the connections.
struct Monitor<'a, 'b> {
    progress: &'a mut Progress<'b>,
    halt: &'a AtomicBool,
    steps: Vec<StepName>,
    /// Remaining tasks of each step.
    left: Vec<usize>,
    /// Index of the first unfinished step.
    current: usize,
    lap: Stopwatch,
    times: Vec<StepTime>,
    count: Option<RowProgress>,
    judged: Judged,
    is_asked_to_end: bool,
}

impl Monitor<'_, '_> {
    /// Has the sessions do the jobs.
    fn supervise(
        &mut self,
        jobs: &[Job],
        sessions: &mut [&mut Session],
        shared: Shared<'_>,
    ) -> Result<(), WorkloadError> {
        let count = sessions.len().min(jobs.len());
        let queue = Queue::new(jobs);
        let cancels: Vec<Cancel> = (0..count).map(|_| Cancel::default()).collect();
        let shared = Shared { connections: &cancels, ..shared };
        thread::scope(|scope| {
            let (events, told) = mpsc::channel();
            for (number, (session, cancel)) in sessions.iter_mut().zip(&cancels).enumerate() {
                let (queue, events) = (&queue, events.clone());
                scope.spawn(move || {
                    let _halt = HaltOnPanic(shared.halt);
                    let locked = shared.locked.filter(|_| number == 0);
                    let mut connection =
                        Connection { session, shared, cancel, events, locked, lock_try: None };
                    if let Err(error) = take_jobs(&mut connection, queue) {
                        // The receiver is gone only if the messages are no longer needed.
                        let _ = connection.tell(Event::Failed(error));
                    }
                    *cancel.lock().unwrap_or_else(PoisonError::into_inner) = None;
                });
            }
            drop(events);
            self.watch(&told, &cancels, shared.rows_limit)
        })
    }

    /// Receives the messages of all connections until they end.
    fn watch(
        &mut self,
        told: &Receiver<Event>,
        cancels: &[Cancel],
        rows_limit: Option<Duration>,
    ) -> Result<(), WorkloadError> {
        let mut failure = None;
        let mut halting = None;
        loop {
            let heard = match told.recv_timeout(TICK) {
                // Statements that were cancelled on request.
                Ok(Event::Failed(error)) if self.is_asked_to_end => Err(interrupted_by(error)),
                Ok(Event::Failed(error)) => Err(error),
                Ok(event) => self.event(event),
                Err(RecvTimeoutError::Timeout) => {
                    if self.halt.load(Ordering::Relaxed) {
                        let halting = halting.get_or_insert_with(Stopwatch::start);
                        cancel_all(cancels);
                        if halting.passed() > HALT_LIMIT {
                            close_all(cancels);
                        }
                    }
                    self.say(InitProgress::Waiting)
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let heard = heard.and_then(|()| rows_limit.map_or(Ok(()), |limit| check_rows(cancels, limit)));
            if let Err(error) = heard {
                // The first error is reported; later errors of stopped connections are not.
                failure.get_or_insert(error);
                self.halt.store(true, Ordering::Relaxed);
            }
        }
        match failure {
            Some(error) => Err(error),
            None if self.is_asked_to_end => Err(WorkloadError::Interrupted { cancelled: None }),
            None => Ok(()),
        }
    }

    fn event(&mut self, event: Event) -> Result<(), WorkloadError> {
        match event {
            Event::Partitions(partitions) => self.say(InitProgress::Partitions(partitions)),
            Event::Found(sentence) => self.say(InitProgress::Found(&sentence)),
            Event::Judged { relation, rank, sentence } => {
                self.judged.insert(relation, (rank, sentence));
                Ok(())
            }
            Event::Notice(notice) => self.say(InitProgress::Notice(&notice)),
            Event::Lost { doing, reason } => self.say(InitProgress::Lost { doing: &doing, reason: &reason }),
            Event::Rows { table, total, part, sent } => {
                let mut count = self
                    .count
                    .take()
                    .filter(|count| count.table == table)
                    .unwrap_or_else(|| RowProgress::new(Arc::clone(&table), total));
                count.part_has(part, sent);
                while let Some(done) = count.next() {
                    let (elapsed, bytes) = (count.since.passed(), count.sum.bytes);
                    self.say(InitProgress::Rows { table: &table, done, total, bytes, elapsed })?;
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
        if let Some(step) = self.steps.get(self.current) {
            let doing = step.doing.clone();
            self.say(InitProgress::Started { doing: &doing })?;
        }
        self.finish_steps()
    }

    /// Ends completed steps in order: time spent on later steps meanwhile counts for the earlier one.
    fn finish_steps(&mut self) -> Result<(), WorkloadError> {
        if self.current < self.steps.len() && self.left[self.current] == 0 {
            let name = self.steps[self.current].name.clone().into_owned();
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

/// The error of a loading that was asked to end, when a connection says how its work ended.
fn interrupted_by(error: WorkloadError) -> WorkloadError {
    match error {
        WorkloadError::Interrupted { .. } => error,
        cancelled => WorkloadError::Interrupted { cancelled: Some(Box::new(cancelled)) },
    }
}

/// Ranks and sentences of the tables whose rows the server has judged.
type Judged = BTreeMap<String, (u8, String)>;

/// The sentences that the user reads: the most important ones, and how many others there are.
fn judged_sentences(judged: &Judged) -> Vec<String> {
    let mut all: Vec<&(u8, String)> = judged.values().collect();
    all.sort_by_key(|(rank, _)| *rank);
    let rest = all.split_off(all.len().min(JUDGED_SHOWN));
    let mut sentences: Vec<String> = all.into_iter().map(|(_, sentence)| sentence.clone()).collect();
    if !rest.is_empty() {
        let lacking = match rest.iter().filter(|(rank, _)| *rank == 0).count() {
            0 => String::new(),
            count => format!("; {count} of them have fewer rows than asked for"),
        };
        sentences.push(format!("the server checked the rows of {} more tables{lacking}", rest.len()));
    }
    sentences
}

/// Does jobs until all have ended.
fn take_jobs(connection: &mut Connection<'_>, queue: &Queue<'_>) -> Result<(), WorkloadError> {
    connection.begin();
    while let Some(number) = queue.take(connection.shared.halt) {
        let job = &queue.jobs[number];
        connection.take(&job.task)?;
        connection.tell(Event::Done { step: job.step })?;
        queue.finish(number);
    }
    Ok(())
}

/// An error if the server has accepted no row of a table for so long.
fn check_rows(cancels: &[Cancel], limit: Duration) -> Result<(), WorkloadError> {
    let mut loading = running(cancels).into_iter().filter_map(|running| running.loading);
    let stopped = loading.find(|(_, since)| since.passed() > limit);
    stopped.map_or(Ok(()), |(table, _)| Err(WorkloadError::RowsLimit { relation: table.to_string(), limit }))
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
    table: Arc<str>,
    total: u64,
    /// Of each part.
    parts: BTreeMap<String, Sent>,
    sum: Sent,
    told: u64,
    since: Stopwatch,
}

impl RowProgress {
    fn new(table: Arc<str>, total: u64) -> RowProgress {
        let since = Stopwatch::start();
        RowProgress { table, total, parts: BTreeMap::new(), sum: Sent::default(), told: 0, since }
    }

    /// So much of a part was sent; less than before if it had to begin again.
    fn part_has(&mut self, part: String, sent: Sent) {
        let before = self.parts.insert(part, sent).unwrap_or_default();
        self.sum.rows = self.sum.rows - before.rows + sent.rows;
        self.sum.bytes = self.sum.bytes - before.bytes + sent.bytes;
        if sent.rows < before.rows {
            self.told = self.sum.rows / ROWS_PER_PROGRESS * ROWS_PER_PROGRESS;
        }
        if self.sum.rows == 0 {
            self.since = Stopwatch::start();
        }
    }

    /// The next number of rows to tell: all round ones, and the last.
    fn next(&mut self) -> Option<u64> {
        let next = (self.told / ROWS_PER_PROGRESS + 1) * ROWS_PER_PROGRESS;
        let next = next.min(self.total);
        if next > self.sum.rows || next == self.told {
            return None;
        }
        self.told = next;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(rows: u64) -> Sent {
        Sent { rows, bytes: rows * 10 }
    }

    #[test]
    fn round_numbers_of_rows_are_told_once_whoever_makes_them() {
        let mut count = RowProgress::new("t".into(), 45_000);
        let mut told = Vec::new();
        let mut has = |relation: &str, done| {
            count.part_has(relation.to_owned(), sent(done));
            told.extend(std::iter::from_fn(|| count.next()));
        };
        for (relation, done) in [("a", 0), ("b", 0), ("a", 9000), ("b", 9000), ("a", 22_000), ("b", 23_000)] {
            has(relation, done);
        }
        assert_eq!(told, [10_000, 20_000, 30_000, 40_000, 45_000]);
    }

    #[test]
    fn a_relation_that_begins_again_takes_its_rows_back() {
        let mut count = RowProgress::new("t".into(), 30_000);
        count.part_has("a".to_owned(), sent(20_000));
        assert_eq!(std::iter::from_fn(|| count.next()).collect::<Vec<_>>(), [10_000, 20_000]);
        count.part_has("a".to_owned(), sent(0));
        assert_eq!(count.next(), None);
        count.part_has("a".to_owned(), sent(10_000));
        assert_eq!((count.next(), count.next()), (Some(10_000), None));
    }
}
