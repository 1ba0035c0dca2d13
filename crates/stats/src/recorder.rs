//! The statistics of a worker during a run; the only part of this crate on the hot path. It neither locks nor
//! allocates after creation. It does not know warm-up or reporting: the caller passes only samples that count.

use std::time::Duration;

use crate::timestamp::saturating_nanos;
use crate::{Completions, Distribution, DueSkips, Ending, Interval, Sample, ScriptStats, Timestamp};

/// Distributions of skipped transactions by due time in an interval, at most: a minute of ten scripts, or ten minutes of
/// one. Each takes a few kilobytes of memory. Beyond that, transactions count as due when they were skipped.
const DUE_SKIPS_MAX: usize = 600;

/// Counts samples in per-script statistics until they are handed over.
#[derive(Debug)]
pub struct Recorder {
    /// Response times above this are late; `u64::MAX` without a limit.
    latency_limit_ns: u64,
    scripts: Vec<ScriptStats>,
    completions: Completions,
    due_skips: Vec<DueSkips>,
    /// Begin of the current interval.
    begin: Timestamp,
    /// Begin of the next tick in nanoseconds: only the first completion of each tick is needed.
    next_tick_ns: u64,
}

impl Recorder {
    /// A recorder for this number of scripts. Succeeded transactions with a response time above `latency_limit` count
    /// as late.
    pub fn new(scripts: usize, latency_limit: Option<Duration>) -> Recorder {
        Recorder {
            latency_limit_ns: latency_limit.map_or(u64::MAX, saturating_nanos),
            scripts: Interval::new(scripts).scripts,
            completions: Completions::new(),
            due_skips: Vec::new(),
            begin: Timestamp::ZERO,
            next_tick_ns: 0,
        }
    }

    /// Sets the begin of the first interval, which is zero otherwise.
    pub fn starting_at(self, begin: Timestamp) -> Recorder {
        Recorder { begin, ..self }
    }

    /// Counts one transaction, without allocation or lock, in well under 50 ns.
    ///
    /// # Panics
    /// Unless `scheduled ≤ started ≤ finished` and the script is one of the plan's.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        let Sample { script, scheduled, started, finished, tries, business, ending, traffic } = *sample;
        assert!(
            scheduled <= started && started <= finished,
            "a sample must be scheduled, started, finished in order"
        );
        let stats = &mut self.scripts[script];
        let response_ns = finished.as_nanos() - scheduled.as_nanos();
        stats.counts.count(ending, tries, business, response_ns > self.latency_limit_ns);
        if ending == Ending::Succeeded {
            let lag_ns = started.as_nanos() - scheduled.as_nanos();
            if lag_ns == 0 {
                Distribution::record_in_both(&mut stats.response, &mut stats.service, response_ns);
            } else {
                stats.response.record_ns(response_ns);
                stats.service.record_ns(response_ns - lag_ns);
                stats.lag.record_ns(lag_ns);
                stats.lag_max_ns = stats.lag_max_ns.max(lag_ns);
            }
            stats.traffic.add(&traffic);
            self.complete(scheduled, finished);
        } else {
            self.record_other(sample, response_ns);
        }
    }

    /// The latency of a transaction that did not succeed.
    #[cold]
    fn record_other(&mut self, sample: &Sample, response_ns: u64) {
        let Sample { script, scheduled, finished, ending, .. } = *sample;
        let stats = &mut self.scripts[script];
        match ending {
            Ending::Succeeded => {}
            Ending::Failed(_) => {
                stats.failed.record_ns(response_ns);
                stats.traffic.add(&sample.traffic);
                self.complete(scheduled, finished);
            }
            Ending::Skipped => stats.skipped.record_ns(response_ns),
            Ending::Unfinished => {
                stats.unfinished.record_ns(response_ns);
                self.completions.leave_unfinished(scheduled);
            }
            // Not a completion: the client waited in vain.
            Ending::Unknown => {
                stats.unknown.record_ns(response_ns);
                self.completions.leave_unfinished(scheduled);
            }
        }
    }

    /// The recorded transaction, which was skipped, was due in the interval that begins at `due`. Allocates once for each
    /// script and interval.
    #[cold]
    pub fn skip_due_in(&mut self, sample: &Sample, due: Timestamp) {
        let Sample { script, scheduled, finished, .. } = *sample;
        let delay = finished.since(scheduled);
        let place = |due: Timestamp| move |skips: &DueSkips| (skips.due, skips.script) == (due, script);
        // The last ones are the newest.
        let found = self.due_skips.iter().rposition(place(due));
        let is_full = found.is_none() && self.due_skips.len() >= DUE_SKIPS_MAX;
        let due = if is_full { self.begin } else { due };
        match found.or_else(|| self.due_skips.iter().rposition(place(due))) {
            Some(at) => self.due_skips[at].delays.record_times(delay, 1),
            None => {
                let mut delays = Distribution::new();
                delays.record_times(delay, 1);
                self.due_skips.push(DueSkips { due, script, delays });
            }
        }
    }

    /// The succeeded transaction of this script that was recorded last was acknowledged with a reservation.
    pub fn reserve(&mut self, script: usize) {
        self.scripts[script].counts.reserved += 1;
    }

    /// The recorded transaction, which is measured and has succeeded, ended after `end`.
    #[cold]
    pub fn reach_beyond(&mut self, sample: &Sample, end: Timestamp) {
        let Sample { script, started, finished, .. } = *sample;
        self.scripts[script].counts.reach_beyond([started, finished], end);
    }

    /// A transaction of the warm-up, which is not recorded, has succeeded after the measured time began.
    #[cold]
    pub fn reach_into(&mut self, sample: &Sample, begin: Timestamp, end: Option<Timestamp>) {
        let Sample { script, started, finished, .. } = *sample;
        self.scripts[script].counts.reach_into([started, finished], begin, end);
    }

    /// Notes the completion of a transaction that is not measured, so that its time does not count as a stall.
    pub fn complete_unmeasured(&mut self, sample: &Sample) {
        if matches!(sample.ending, Ending::Succeeded | Ending::Failed(_)) {
            self.complete(sample.scheduled, sample.finished);
        }
    }

    #[inline(always)]
    fn complete(&mut self, scheduled: Timestamp, finished: Timestamp) {
        if finished.as_nanos() >= self.next_tick_ns {
            self.begin_tick(scheduled, finished);
        }
    }

    #[cold]
    #[inline(never)]
    fn begin_tick(&mut self, scheduled: Timestamp, finished: Timestamp) {
        let after = finished.max(self.begin).since(self.begin);
        let next_after_ns = self.completions.complete(scheduled, finished, after);
        self.next_tick_ns = self.begin.as_nanos().saturating_add(next_after_ns);
    }

    /// Counts one transaction that started when scheduled, succeeded at its first try, and has a multiplicity of 1:
    /// the same as [`Recorder::record`], without checks.
    #[inline]
    pub fn record_prompt(&mut self, script: usize, started: Timestamp, finished: Timestamp) {
        let took_ns = finished.as_nanos().saturating_sub(started.as_nanos());
        let stats = &mut self.scripts[script];
        stats.counts.count_prompt(took_ns > self.latency_limit_ns);
        Distribution::record_in_both(&mut stats.response, &mut stats.service, took_ns);
        self.complete(started, finished);
    }

    /// Hands over everything since the last call as the interval from `start` to `end`, and continues with the memory
    /// of `spare`, an interval that is no longer needed.
    ///
    /// A spare that is not empty is cleared here; clearing it before ([`Interval::clear`]) on another thread saves
    /// the worker about 50 µs per script.
    ///
    /// # Panics
    /// If `spare` has another number of scripts or `end` is before `start`.
    pub fn hand_over(&mut self, start: Timestamp, end: Timestamp, mut spare: Interval) -> Interval {
        assert!(start <= end, "an interval must not end before it starts");
        assert_eq!(spare.scripts.len(), self.scripts.len(), "a spare interval must be for the same scripts");
        spare.clear();
        std::mem::swap(&mut self.scripts, &mut spare.scripts);
        std::mem::swap(&mut self.completions, &mut spare.completions);
        std::mem::swap(&mut self.due_skips, &mut spare.due_skips);
        (self.begin, self.next_tick_ns) = (end, 0);
        spare.start = start;
        spare.end = end;
        spare.scripts.iter().for_each(ScriptStats::check_recorded);
        spare
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    fn at(scheduled: u64, started: u64, finished: u64, ending: Ending) -> Sample {
        let [scheduled, started, finished] = [scheduled, started, finished].map(Timestamp::from_nanos);
        Sample {
            script: 0,
            scheduled,
            started,
            finished,
            tries: 1,
            business: 1,
            ending,
            traffic: crate::Traffic::default(),
        }
    }

    fn hand_over(recorder: &mut Recorder, spare: Interval) -> Interval {
        recorder.hand_over(Timestamp::from_nanos(10), Timestamp::from_nanos(20), spare)
    }

    #[test]
    fn response_counts_from_the_schedule_and_service_from_the_start() {
        let mut recorder = Recorder::new(1, None);
        recorder.record(&at(100, 400, 600, Ending::Succeeded));
        let interval = hand_over(&mut recorder, Interval::new(1));
        assert_eq!(interval.scripts[0].response.max_ns(), Some(500));
        assert_eq!(interval.scripts[0].service.max_ns(), Some(200));
    }

    #[test]
    fn the_longest_lag_is_that_of_a_succeeded_transaction() {
        let mut recorder = Recorder::new(1, None);
        for (started, ending) in
            [(400, Ending::Succeeded), (300, Ending::Succeeded), (500, Ending::Unfinished)]
        {
            recorder.record(&at(100, started, 600, ending));
        }
        let interval = hand_over(&mut recorder, Interval::new(1));
        assert_eq!(interval.scripts[0].lag_max_ns, 300);
    }

    #[test]
    fn a_prompt_transaction_is_recorded_as_any_other_that_needed_no_second_try() {
        let limit = Some(Duration::from_nanos(100));
        let (mut prompt, mut usual) = (Recorder::new(1, limit), Recorder::new(1, limit));
        for took_ns in [7, 100, 101, u64::MAX - 50] {
            prompt.record_prompt(0, Timestamp::from_nanos(50), Timestamp::from_nanos(50 + took_ns));
            usual.record(&at(50, 50, 50 + took_ns, Ending::Succeeded));
        }
        let [prompt, usual] = [prompt, usual].map(|mut recorder| hand_over(&mut recorder, Interval::new(1)));
        assert_eq!(prompt, usual);
        assert_eq!(prompt.scripts[0].counts.late, 2);
    }

    #[test]
    fn each_transaction_is_counted_and_has_its_latency_under_its_ending() {
        let mut recorder = Recorder::new(1, None);
        let others = [Ending::Failed(Failure::Other), Ending::Skipped, Ending::Unfinished, Ending::Unknown];
        for ending in others.into_iter().chain([Ending::Succeeded]) {
            let finished = 5 + ending_number(ending);
            recorder.record(&at(0, 0, finished, ending));
        }
        let total = hand_over(&mut recorder, Interval::new(1)).total();
        assert_eq!((total.counts.scheduled, total.response.count(), total.service.count()), (5, 1, 1));
        let latencies = [&total.response, &total.failed, &total.skipped, &total.unfinished, &total.unknown];
        let found = latencies.map(|latencies| (latencies.count(), latencies.max_ns()));
        assert_eq!(found, [5, 6, 7, 8, 9].map(|longest_ns| (1, Some(longest_ns))));
    }

    fn ending_number(ending: Ending) -> u64 {
        match ending {
            Ending::Succeeded => 0,
            Ending::Failed(_) => 1,
            Ending::Skipped => 2,
            Ending::Unfinished => 3,
            Ending::Unknown => 4,
        }
    }

    #[test]
    #[should_panic(expected = "each failed transaction must have one latency")]
    fn a_failed_transaction_without_its_latency_is_a_mistake() {
        let mut recorder = Recorder::new(1, None);
        recorder.record(&at(0, 0, 5, Ending::Failed(Failure::Other)));
        recorder.scripts[0].failed.clear();
        hand_over(&mut recorder, Interval::new(1));
    }

    #[test]
    fn late_is_above_the_limit_not_at_it_and_measured_from_the_schedule() {
        let mut recorder = Recorder::new(1, Some(Duration::from_nanos(100)));
        recorder.record(&at(0, 50, 100, Ending::Succeeded));
        recorder.record(&at(0, 50, 101, Ending::Succeeded));
        assert_eq!(hand_over(&mut recorder, Interval::new(1)).scripts[0].counts.late, 1);
    }

    #[test]
    fn a_used_spare_brings_nothing_of_its_past_back() {
        let mut recorder = Recorder::new(1, None);
        recorder.record(&at(0, 0, 5, Ending::Succeeded));
        let first = hand_over(&mut recorder, Interval::new(1));
        recorder.record(&at(0, 0, 7, Ending::Succeeded));
        recorder.record(&at(0, 0, 9, Ending::Succeeded));
        let second = hand_over(&mut recorder, first);
        assert_eq!((second.start.as_nanos(), second.end.as_nanos()), (10, 20));
        assert_eq!((second.scripts[0].counts.scheduled, second.scripts[0].response.min_ns()), (2, Some(7)));
        recorder.record(&at(0, 0, 5, Ending::Unfinished));
        let third = hand_over(&mut recorder, second);
        let mut cleared = Interval::new(1);
        (cleared.start, cleared.end) = (third.start, third.end);
        assert_eq!(hand_over(&mut recorder, third).scripts[0].counts.unfinished, 0);
        assert_eq!(hand_over(&mut recorder, Interval::new(1)), cleared);
    }

    #[test]
    #[should_panic(expected = "scheduled, started, finished in order")]
    fn a_sample_that_finished_before_it_started_is_a_mistake() {
        Recorder::new(1, None).record(&at(0, 10, 5, Ending::Succeeded));
    }

    #[test]
    #[should_panic(expected = "for the same scripts")]
    fn a_spare_for_other_scripts_is_a_mistake() {
        hand_over(&mut Recorder::new(1, None), Interval::new(2));
    }

    #[test]
    fn a_long_backlog_of_skips_has_a_limited_number_of_distributions() {
        let mut recorder = Recorder::new(1, None).starting_at(Timestamp::from_nanos(5_000));
        for due in 0..2_000 {
            let sample = at(due, 5_000, 5_000, Ending::Skipped);
            recorder.record(&sample);
            recorder.skip_due_in(&sample, Timestamp::from_nanos(due));
        }
        let interval = hand_over(&mut recorder, Interval::new(1));
        let counts = interval.due_skips.iter().map(|skips| skips.delays.count());
        assert_eq!((counts.clone().sum::<u64>(), counts.count()), (2_000, DUE_SKIPS_MAX + 1));
        let last = interval.due_skips.last().expect("there are some");
        assert_eq!((last.due.as_nanos(), last.delays.count()), (5_000, 2_000 - DUE_SKIPS_MAX as u64));
        assert_eq!(recorder.due_skips, []);
    }
}
