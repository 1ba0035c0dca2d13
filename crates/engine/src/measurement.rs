//! Assigns a worker's samples to the run's timeline.
//!
//! A transaction belongs to the measured window if it was *scheduled* in it, and counts in the interval in which it
//! *finished*; of a skipped one, the interval in which it was due is noted too. Transactions scheduled during the warm-up
//! are shown during the warm-up and never measured.

use stats::{Ending, Interval, Recorder, Sample, Timestamp};

use crate::plan::{Compatibility, Plan};
use crate::timeline::Timeline;

/// Receives a finished interval, and may return an old one for reuse.
pub(crate) trait IntervalSink {
    /// `warmup`: the interval is not measured.
    fn take(&mut self, interval: Interval, warmup: bool) -> Option<Interval>;
}

/// State of a worker's measurement.
pub(crate) struct Measurement<'a> {
    recorder: Recorder,
    scripts: usize,
    timeline: Timeline,
    /// Planned end of the measured time; `None` if the run has none, or is pgbench's, which counts until the last
    /// transaction.
    planned_end: Option<Timestamp>,
    is_pgmeter: bool,
    /// Begin of the current interval.
    begin: Timestamp,
    /// Its end.
    pub(crate) end: Timestamp,
    spare: Option<Interval>,
    sink: &'a mut dyn IntervalSink,
    /// Number of transactions that were run but not measured.
    pub(crate) warmup_transactions: u64,
}

impl<'a> Measurement<'a> {
    pub(crate) fn new(plan: &Plan, timeline: Timeline, sink: &'a mut dyn IntervalSink) -> Self {
        let scripts = plan.scripts.len();
        let begin = timeline.first_interval();
        let recorder = Recorder::new(scripts, plan.latency_limit).starting_at(begin);
        let end = timeline.interval_end(begin);
        let is_pgmeter = plan.compatibility == Compatibility::Pgmeter;
        Self {
            recorder,
            scripts,
            timeline,
            planned_end: timeline.end.filter(|_| is_pgmeter),
            is_pgmeter,
            begin,
            end,
            spare: None,
            sink,
            warmup_transactions: 0,
        }
    }

    /// Passes on the intervals that have ended by `now`; must be called before samples that finished at `now` are
    /// recorded. True if the measured window has begun.
    #[inline]
    pub(crate) fn pass(&mut self, now: Timestamp) -> bool {
        now >= self.end && self.hand_over_until(now)
    }

    #[cold]
    fn hand_over_until(&mut self, now: Timestamp) -> bool {
        let was_measuring = self.is_measuring();
        while now >= self.end {
            self.hand_over(self.end);
        }
        !was_measuring && self.is_measuring()
    }

    /// Passes on the rest of the current interval.
    pub(crate) fn close(&mut self, now: Timestamp) {
        self.hand_over(now.max(self.begin));
    }

    /// Records a sample; false if it belongs to the warm-up.
    #[inline]
    pub(crate) fn record(&mut self, sample: &Sample) -> bool {
        let measured = sample.scheduled >= self.timeline.measure;
        if !measured {
            self.warmup_transactions += 1;
        }
        if measured || !self.is_measuring() {
            self.recorder.record(sample);
            if measured && sample.ending == Ending::Skipped {
                self.recorder.skip_due_in(sample, self.timeline.interval_of(sample.scheduled));
            } else if measured
                && let Some(end) = self.planned_end
                && sample.finished > end
                && sample.ending == Ending::Succeeded
            {
                self.recorder.reach_beyond(sample, end);
            }
        } else {
            self.recorder.complete_unmeasured(sample);
            if sample.ending == Ending::Succeeded && self.is_pgmeter {
                self.recorder.reach_into(sample, self.timeline.measure, self.planned_end);
            }
        }
        measured
    }

    /// The run ends earlier than planned.
    pub(crate) fn end_at(&mut self, end: Timestamp) {
        self.planned_end = Some(end);
    }

    /// The recorded transaction, which is measured and has succeeded, was acknowledged with a reservation.
    pub(crate) fn reserve(&mut self, sample: &Sample) {
        self.recorder.reserve(sample.script);
    }

    /// Records a transaction of the measured window that started immediately and succeeded in its first try.
    #[inline]
    pub(crate) fn record_prompt(&mut self, script: usize, started: Timestamp, finished: Timestamp) {
        self.recorder.record_prompt(script, started, finished);
    }

    fn is_measuring(&self) -> bool {
        self.timeline.is_measured(self.begin)
    }

    fn hand_over(&mut self, end: Timestamp) {
        let warmup = !self.is_measuring();
        let spare = self.spare.take().unwrap_or_else(|| Interval::new(self.scripts));
        let interval = self.recorder.hand_over(self.begin, end, spare);
        self.begin = end;
        self.end = self.timeline.interval_end(end);
        self.spare = self.sink.take(interval, warmup);
    }
}
