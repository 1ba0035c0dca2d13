//! Merges the intervals of the workers into one ordered stream of seconds for the observer, and into the statistics
//! of the run. An interval is kept only until the last worker has sent its part, so that memory does not grow with
//! the length of the run. On rank 0 of a distributed run, each other rank is a further worker, whose intervals arrive as
//! text.

use std::cell::Cell;
use std::collections::BTreeMap;

use stats::{COUNT_MAX, Counts, EncodedInterval, Gaps, Interval, ScriptStats, Summary, Timestamp};
use std::time::Duration;

use crate::outcome::Progress;
use crate::plan::{Grace, Plan};
use crate::stopping::{DISTRIBUTED_LEAD, Stop};
use crate::timeline::{INTERVAL, Timeline};

/// State of the merge.
pub(crate) struct Merging<'a> {
    observer: &'a mut dyn FnMut(&Progress<'_>),
    timeline: Timeline,
    /// Incomplete intervals by their begin; true: warm-up.
    open: BTreeMap<Timestamp, (Interval, bool)>,
    /// For each worker: all earlier intervals were received.
    reached: Vec<Timestamp>,
    /// Number of workers of this process; the other ranks follow.
    workers: usize,
    is_distributed: bool,
    /// What the other ranks have sent.
    received: Vec<Counts>,
    /// Measured transactions of this process, if the run is distributed.
    own: ScriptStats,
    /// Empty intervals for the other ranks, at most one more than there are ranks.
    spares: Vec<Interval>,
    measured: Interval,
    gaps: Gaps,
    stop: &'a Stop<'a>,
    /// Time of the last ended transaction.
    silent_since: Timestamp,
    silence_limit: Option<Duration>,
}

impl<'a> Merging<'a> {
    pub(crate) fn new(
        workers: usize,
        others: usize,
        plan: &Plan,
        timeline: Timeline,
        observer: &'a mut dyn FnMut(&Progress<'_>),
        stop: &'a Stop<'a>,
    ) -> Self {
        Self {
            observer,
            timeline,
            open: BTreeMap::new(),
            reached: vec![timeline.first_interval(); workers + others],
            workers,
            is_distributed: plan.part.is_distributed(),
            received: vec![Counts::default(); others],
            own: ScriptStats::new(),
            spares: Vec::new(),
            measured: Interval::new(plan.scripts.len()),
            gaps: Gaps::new(timeline.measure, plan.is_open()),
            stop,
            silent_since: timeline.start,
            silence_limit: plan.silence_limit,
        }
    }

    /// Adds a worker's interval and returns it empty for reuse.
    pub(crate) fn take(&mut self, worker: usize, mut interval: Interval, warmup: bool) -> Option<Interval> {
        let (begin, end) = (interval.start, interval.end);
        if self.is_distributed && !warmup && worker < self.workers {
            interval.scripts.iter().for_each(|script| self.own.merge(script));
        }
        let spare = match self.open.get_mut(&begin) {
            Some((merged, _)) => {
                merged.merge(&interval);
                // Emptying it here keeps the worker free for its clients.
                interval.clear();
                Some(interval)
            }
            None => {
                self.open.insert(begin, (interval, warmup));
                None
            }
        };
        self.reached[worker] = end;
        self.report();
        self.set_grace(end);
        spare
    }

    /// Adds an interval of another rank, which has this index among them.
    ///
    /// # Errors
    /// The text is damaged or does not continue the earlier ones; nothing was added.
    pub(crate) fn take_encoded(&mut self, index: usize, encoded: &EncodedInterval) -> Result<(), String> {
        let worker = self.workers + index;
        let (begin, end) = encoded.span(self.timeline.start);
        if begin != self.reached[worker] || end > self.timeline.interval_end(begin) {
            return Err("its intervals do not follow each other".to_owned());
        }
        let mut interval = self.spares.pop().unwrap_or_else(|| Interval::new(self.measured.scripts.len()));
        let decoded = encoded.decode_into(&mut interval, self.timeline.start);
        decoded.map_err(|error| format!("one of its intervals cannot be used: {error}"))?;
        let warmup = !self.timeline.is_measured(begin);
        let received = &mut self.received[index];
        let counts = interval.counts();
        let sum = received.checked_add(&counts).filter(|sum| sum.scheduled.max(sum.retries) <= COUNT_MAX);
        let sum = sum.ok_or("it counted more transactions than are possible")?;
        if !warmup {
            *received = sum;
        }
        let spare = Merging::take(self, worker, interval, warmup);
        self.spares.extend(spare);
        Ok(())
    }

    /// The measured transactions in the intervals of another rank.
    pub(crate) fn counts_of_rank(&self, index: usize) -> &Counts {
        &self.received[index]
    }

    /// The measured transactions of this process, if the run is distributed.
    pub(crate) fn take_own(&mut self) -> ScriptStats {
        std::mem::take(&mut self.own)
    }

    /// A worker has reached `now`. After the end of the run, all workers get the grace period.
    fn set_grace(&self, now: Timestamp) {
        if !self.stop.decides() || !self.stop.lacks_grace() {
            return;
        }
        let early = self.stop.early_end(self.timeline.start, now);
        let end = early.into_iter().chain(self.timeline.end).min();
        if end.is_some_and(|end| now >= end) {
            self.stop.set_grace(Grace::after(self.measured.total().response.quantile_ns(0.99)));
        }
    }

    /// Measures the time without an ended transaction.
    fn watch_for_silence(&mut self, interval: &Interval) {
        let counts = interval.counts();
        if counts.scheduled > counts.unfinished || self.stop.is_paused() {
            self.silent_since = interval.end;
        } else if self.stop.decides()
            && self.silence_limit.is_some_and(|limit| interval.end >= self.silent_since + limit)
        {
            self.stop.end_for_silence();
        }
    }

    /// The worker will send no more intervals.
    pub(crate) fn close(&mut self, worker: usize) {
        self.reached[worker] = Timestamp::from_nanos(u64::MAX);
        self.report();
    }

    /// The same for another rank.
    pub(crate) fn close_rank(&mut self, index: usize) {
        self.close(self.workers + index);
    }

    /// The statistics of the measured window and its stalls. The window was followed by `tail`, the last client ended at
    /// `finished`, and nothing could start after `last_start`.
    pub(crate) fn finish(
        mut self,
        duration: Duration,
        tail: Duration,
        finished: Timestamp,
        last_start: Option<Timestamp>,
    ) -> (Summary, Gaps) {
        assert!(self.open.is_empty(), "every worker has been closed");
        self.gaps.close(finished, last_start);
        (Summary { tail, ..Summary::of([&self.measured], duration) }, self.gaps)
    }

    /// When the run can end that is complete up to `passed`. All workers check this more than once a second; other ranks
    /// learn of it later, and rank 0 itself may be further than they are.
    fn earliest_end(&self, passed: Timestamp) -> Timestamp {
        if !self.is_distributed {
            return passed + INTERVAL;
        }
        let running = self.reached[..self.workers].iter().filter(|reached| reached.as_nanos() < u64::MAX);
        running.max().copied().unwrap_or(passed).max(passed) + DISTRIBUTED_LEAD
    }

    /// Passes intervals that all workers have completed to the observer.
    fn report(&mut self) {
        let passed = self.reached.iter().min().copied().unwrap_or(Timestamp::ZERO);
        while let Some(entry) = self.open.first_entry() {
            if *entry.key() >= passed {
                return;
            }
            let (mut interval, warmup) = entry.remove();
            if interval.start == interval.end && interval.counts().scheduled == 0 {
                continue;
            }
            if !warmup {
                self.measured.merge(&interval);
                self.gaps.take(&interval);
            }
            self.watch_for_silence(&interval);
            let elapsed = interval.end.since(self.timeline.origin);
            let enough = Cell::new(false);
            (self.observer)(&Progress { interval: &interval, warmup, enough: &enough, elapsed });
            if enough.get() && self.stop.decides() {
                self.stop.end_at(self.timeline.start, self.earliest_end(interval.end));
            }
            if self.spares.len() < self.received.len() {
                interval.clear();
                self.spares.push(interval);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use script::{Dialect, Symbols};
    use stats::{Ending, Recorder, Sample};

    use super::*;
    use crate::part::Part;
    use crate::plan::ScriptPlan;
    use crate::stopping::SharedEnd;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn interval(begin_ms: u64, end_ms: u64, transactions: u64) -> Interval {
        let mut recorder = Recorder::new(1, None);
        for _ in 0..transactions {
            let (scheduled, finished) = (at(begin_ms), at(begin_ms + 1));
            let ending = Ending::Succeeded;
            recorder.record(&Sample {
                script: 0,
                scheduled,
                started: scheduled,
                finished,
                tries: 1,
                business: 1,
                ending,
                traffic: stats::Traffic::default(),
            });
        }
        recorder.hand_over(at(begin_ms), at(end_ms), Interval::new(1))
    }

    /// A plan of one script.
    fn plan() -> Plan {
        let mut symbols = Symbols::new();
        let program = script::parse("script", b"SELECT 1;", &mut symbols, Dialect::Pgbench).unwrap();
        Plan::new(Vec::new(), vec![ScriptPlan { program, weight: 1, target: 0 }], symbols)
    }

    #[test]
    fn four_ranks_are_merged_as_four_workers() {
        let timeline = Timeline { origin: at(0), start: at(0), measure: at(1000), end: None, deadline: None };
        let seconds = [(0, 1000), (1000, 2000), (2000, 3000), (3000, 3400)];
        let of_worker =
            |worker: u64, second: (u64, u64)| interval(second.0, second.1, 3 * worker + second.0 / 500);
        let merged = |workers: usize, others: usize| {
            let mut seen = Vec::new();
            let mut observer = |progress: &Progress<'_>| {
                seen.push((progress.elapsed, progress.warmup, progress.interval.clone()));
            };
            let (asked, end) = (AtomicBool::new(false), SharedEnd::default());
            let stop = Stop::new((&asked).into(), &end, Part::default());
            let plan = plan();
            let mut merging = Merging::new(workers, others, &plan, timeline, &mut observer, &stop);
            // The workers and ranks are not in step: the later ones are behind.
            for step in 0..2 * seconds.len() {
                for worker in 0..4 {
                    let Some(second) = step.checked_sub(worker).and_then(|step| seconds.get(step)) else {
                        continue;
                    };
                    let interval = of_worker(worker as u64, *second);
                    match worker.checked_sub(workers) {
                        None => drop(merging.take(worker, interval, second.0 < 1000)),
                        Some(index) => {
                            let text =
                                serde_json::to_string(&EncodedInterval::new(&interval, at(0))).unwrap();
                            let read = serde_json::from_str(&text).unwrap();
                            assert_eq!(merging.take_encoded(index, &read), Ok(()));
                        }
                    }
                }
            }
            (0..workers).for_each(|worker| merging.close(worker));
            (0..others).for_each(|index| merging.close_rank(index));
            let results = merging.finish(Duration::from_millis(2400), Duration::ZERO, at(3400), None);
            (results, seen)
        };
        let (four_workers, four_ranks) = (merged(4, 0), merged(1, 3));
        assert_eq!(four_ranks, four_workers);
        let ((summary, _), seen) = four_ranks;
        assert_eq!((summary.total.counts.succeeded, seen.len()), (4 * (2 + 4 + 6) + 3 * 18, 4));
    }

    #[test]
    fn a_second_is_shown_once_all_workers_have_passed_it() {
        let mut seen = Vec::new();
        let mut observer = |progress: &Progress<'_>| {
            seen.push((
                progress.elapsed.as_millis(),
                progress.warmup,
                progress.interval.total().counts.succeeded,
            ));
        };
        let timeline = Timeline { origin: at(0), start: at(0), measure: at(1000), end: None, deadline: None };
        let asked = AtomicBool::new(false);
        let end = SharedEnd::default();
        let stop = Stop::new((&asked).into(), &end, Part::default());
        let plan = plan();
        let mut merging = Merging::new(2, 0, &plan, timeline, &mut observer, &stop);
        merging.take(0, interval(0, 1000, 5), true);
        merging.take(0, interval(1000, 2000, 6), false);
        merging.take(1, interval(0, 1000, 7), true);
        merging.take(1, interval(1000, 1800, 8), false);
        merging.close(0);
        merging.take(1, interval(1800, 1800, 0), false);
        merging.close(1);
        let (summary, _) = merging.finish(Duration::from_secs(1), Duration::ZERO, at(2000), None);
        assert_eq!(seen, [(1000, true, 12), (2000, false, 14)]);
        assert_eq!(summary.total.counts.succeeded, 14);
    }
}
