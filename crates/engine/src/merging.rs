//! Merges the intervals of the workers into one ordered stream of seconds for the observer, and into the statistics
//! of the run. An interval is kept only until the last worker has sent its part, so that memory does not grow with
//! the length of the run.

use std::cell::Cell;
use std::collections::BTreeMap;

use stats::{Gaps, Interval, Summary, Timestamp};
use std::time::Duration;

use crate::outcome::Progress;
use crate::plan::{Grace, Plan};
use crate::stopping::Stop;
use crate::timeline::{INTERVAL, Timeline};

/// State of the merge.
pub(crate) struct Merging<'a> {
    observer: &'a mut dyn FnMut(&Progress<'_>),
    /// Start of the elapsed time.
    origin: Timestamp,
    /// Incomplete intervals by their begin; true: warm-up.
    open: BTreeMap<Timestamp, (Interval, bool)>,
    /// For each worker: all earlier intervals were received.
    reached: Vec<Timestamp>,
    measured: Interval,
    gaps: Gaps,
    stop: &'a Stop<'a>,
    /// Planned end of the run.
    end: Option<Timestamp>,
    /// Time of the last ended transaction.
    silent_since: Timestamp,
    silence_limit: Option<Duration>,
}

impl<'a> Merging<'a> {
    pub(crate) fn new(
        workers: usize,
        plan: &Plan,
        timeline: Timeline,
        observer: &'a mut dyn FnMut(&Progress<'_>),
        stop: &'a Stop<'a>,
    ) -> Self {
        Self {
            observer,
            origin: timeline.origin,
            open: BTreeMap::new(),
            reached: vec![timeline.first_interval(); workers],
            measured: Interval::new(plan.scripts.len()),
            gaps: Gaps::new(timeline.measure, plan.rate_per_s.is_some()),
            stop,
            end: timeline.end,
            silent_since: timeline.start,
            silence_limit: plan.silence_limit,
        }
    }

    /// Adds a worker's interval and returns it empty for reuse.
    pub(crate) fn take(&mut self, worker: usize, mut interval: Interval, warmup: bool) -> Option<Interval> {
        let (begin, end) = (interval.start, interval.end);
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

    /// A worker has reached `now`. After the end of the run, all workers get the grace period.
    fn set_grace(&self, now: Timestamp) {
        let end = self.stop.early_end(now).into_iter().chain(self.end).min();
        if end.is_some_and(|end| now >= end) {
            self.stop.set_grace(Grace::after(self.measured.total().response.quantile_ns(0.99)));
        }
    }

    /// Measures the time without an ended transaction.
    fn watch_for_silence(&mut self, interval: &Interval) {
        let counts = interval.total().counts;
        if counts.scheduled > counts.unfinished {
            self.silent_since = interval.end;
        } else if self.silence_limit.is_some_and(|limit| interval.end >= self.silent_since + limit) {
            self.stop.end_for_silence();
        }
    }

    /// The worker will send no more intervals.
    pub(crate) fn close(&mut self, worker: usize) {
        self.reached[worker] = Timestamp::from_nanos(u64::MAX);
        self.report();
    }

    /// The statistics of the measured window and its stalls. The last client ended at `finished`, and nothing could
    /// start after `last_start`.
    pub(crate) fn finish(
        mut self,
        duration: Duration,
        finished: Timestamp,
        last_start: Option<Timestamp>,
    ) -> (Summary, Gaps) {
        assert!(self.open.is_empty(), "every worker has been closed");
        self.gaps.close(finished, last_start);
        (Summary::of([&self.measured], duration), self.gaps)
    }

    /// Passes intervals that all workers have completed to the observer.
    fn report(&mut self) {
        let passed = self.reached.iter().min().copied().unwrap_or(Timestamp::ZERO);
        while let Some(entry) = self.open.first_entry() {
            if *entry.key() >= passed {
                return;
            }
            let (interval, warmup) = entry.remove();
            if interval.start == interval.end && interval.total().counts.scheduled == 0 {
                continue;
            }
            if !warmup {
                self.measured.merge(&interval);
                self.gaps.take(&interval);
            }
            self.watch_for_silence(&interval);
            let elapsed = interval.end.since(self.origin);
            let enough = Cell::new(false);
            (self.observer)(&Progress { interval: &interval, warmup, enough: &enough, elapsed });
            if enough.get() {
                // All workers check this more than once a second.
                self.stop.end_at(interval.end + INTERVAL);
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
    use crate::plan::ScriptPlan;

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
        let stop = Stop::new((&asked).into());
        let mut symbols = Symbols::new();
        let program = script::parse("script", b"SELECT 1;", &mut symbols, Dialect::Pgbench).unwrap();
        let plan = Plan::new(Vec::new(), vec![ScriptPlan { program, weight: 1, target: 0 }], symbols);
        let mut merging = Merging::new(2, &plan, timeline, &mut observer, &stop);
        merging.take(0, interval(0, 1000, 5), true);
        merging.take(0, interval(1000, 2000, 6), false);
        merging.take(1, interval(0, 1000, 7), true);
        merging.take(1, interval(1000, 1800, 8), false);
        merging.close(0);
        merging.take(1, interval(1800, 1800, 0), false);
        merging.close(1);
        let (summary, _) = merging.finish(Duration::from_secs(1), at(2000), None);
        assert_eq!(seen, [(1000, true, 12), (2000, false, 14)]);
        assert_eq!(summary.total.counts.succeeded, 14);
    }
}
