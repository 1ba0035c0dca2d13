//! Periods of a run in which no transaction was completed by any worker. The caller decides from the usual duration
//! of transactions which of them are stalls. The engine adds the intervals second by second.
//!
//! In a closed loop a client always has a running transaction, so every gap counts. With a rate nothing may have been
//! due: a gap starts at the scheduled start of the transaction that ends it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::completions::TICK_NS;
use crate::{Interval, Timestamp};

/// Shorter gaps are not kept, because times are only known to a millisecond.
pub const GAP_MIN: Duration = Duration::from_millis(2);

/// Maximum number of gaps kept with their times, the longest ones. Of all others only length and number are kept.
const GAPS_KEPT_MAX: usize = 4_096;

/// A period without completed transactions.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Begin, from the start of measuring.
    pub start: Duration,
    /// End, from the start of measuring.
    pub end: Duration,
}

impl Gap {
    /// Its length, to a millisecond; never overestimated in a closed loop.
    pub fn length(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }
}

/// The gaps of the measured time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// Start of measuring.
    begin: Timestamp,
    /// Whether a rate fixes the scheduled starts.
    is_scheduled: bool,
    /// End of the last tick with a completion.
    quiet_since: Timestamp,
    /// The earliest scheduled start of an unfinished transaction after the last completion.
    unfinished_since: Option<Timestamp>,
    /// Time of the last possible start, from `begin`; `None` if a number of transactions was the limit.
    last_start: Option<Duration>,
    /// Number of gaps by length in nanoseconds. Different lengths in a run of n milliseconds add up to n at most, so
    /// that there are at most √(2n): 13,000 in a day.
    lengths: BTreeMap<u64, u64>,
    longest: Vec<Gap>,
}

/// Gaps longer than a given length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LongGaps {
    /// Their number.
    pub count: u64,
    /// Their total length.
    pub total: Duration,
    /// The longest of them, at most a few thousand, in the order of time.
    pub longest: Vec<Gap>,
}

impl Gaps {
    /// For a run whose measured time begins at `begin`.
    pub fn new(begin: Timestamp, is_scheduled: bool) -> Gaps {
        Gaps {
            begin,
            is_scheduled,
            quiet_since: begin,
            unfinished_since: None,
            last_start: None,
            lengths: BTreeMap::new(),
            longest: Vec::new(),
        }
    }

    /// Adds the next interval, merged over all workers.
    pub fn take(&mut self, interval: &Interval) {
        for (after_ns, waited_ns) in interval.completions.ticks() {
            let tick = interval.start + Duration::from_nanos(after_ns);
            let due = Timestamp::from_nanos(tick.as_nanos().saturating_sub(waited_ns));
            self.end_gap(due, tick);
            self.quiet_since = self.quiet_since.max(tick + Duration::from_nanos(TICK_NS));
            self.unfinished_since = None;
        }
        if let Some(since) = interval.completions.unfinished_since() {
            self.unfinished_since = Some(self.unfinished_since.map_or(since, |earlier| earlier.min(since)));
        }
    }

    /// The run is over: the last client was done at `finished`, and nothing could start after `last_start`.
    pub fn close(&mut self, finished: Timestamp, last_start: Option<Timestamp>) {
        match self.unfinished_since.take() {
            Some(since) => self.end_gap(since, finished),
            None if !self.is_scheduled => self.end_gap(self.quiet_since, finished),
            None => {}
        }
        self.quiet_since = self.quiet_since.max(finished);
        self.last_start = last_start.map(|last| last.since(self.begin));
    }

    /// Nothing was completed from `quiet_since` until `end`; the transaction completed then was scheduled at `due`.
    fn end_gap(&mut self, due: Timestamp, end: Timestamp) {
        let start = if self.is_scheduled { self.quiet_since.max(due) } else { self.quiet_since };
        let length_ns = end.as_nanos().saturating_sub(start.as_nanos());
        if Duration::from_nanos(length_ns) < GAP_MIN {
            return;
        }
        *self.lengths.entry(length_ns).or_default() += 1;
        if self.longest.len() == GAPS_KEPT_MAX {
            self.longest.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.length()));
            self.longest.truncate(GAPS_KEPT_MAX / 2);
        }
        self.longest.push(Gap { start: start.since(self.begin), end: end.since(self.begin) });
    }

    /// The gaps longer than `length`.
    pub fn longer_than(&self, length: Duration) -> LongGaps {
        let mut longest: Vec<Gap> =
            self.longest.iter().filter(|gap| gap.length() > length).copied().collect();
        longest.sort_unstable_by_key(|gap| gap.start);
        let mut long = LongGaps { longest, ..LongGaps::default() };
        for (length_ns, count) in &self.lengths {
            if Duration::from_nanos(*length_ns) > length {
                long.count += count;
                long.total += Duration::from_nanos(length_ns.saturating_mul(*count));
            }
        }
        long
    }

    /// Time of the last possible start, from the start of measuring; `None` if a number of transactions was the
    /// limit.
    pub fn last_start(&self) -> Option<Duration> {
        self.last_start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ending, Recorder, Sample};

    fn ms(ms: u64) -> Timestamp {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    fn sample(scheduled_ms: u64, finished_ms: u64, ending: Ending) -> Sample {
        let (scheduled, finished) = (ms(scheduled_ms), ms(finished_ms));
        Sample {
            script: 0,
            scheduled,
            started: scheduled,
            finished,
            tries: 1,
            business: 1,
            ending,
            traffic: crate::Traffic::default(),
        }
    }

    /// The gaps of two workers with transactions (scheduled and completed, in milliseconds) in seconds from 0 on.
    fn gaps(is_scheduled: bool, workers: [&[(u64, u64)]; 2], unfinished: Option<u64>, end_ms: u64) -> Gaps {
        let mut gaps = Gaps::new(ms(0), is_scheduled);
        let mut recorders = [(); 2].map(|()| Recorder::new(1, None));
        for second in 0..=end_ms / 1_000 {
            let (start, end) = (second * 1_000, (second * 1_000 + 1_000).min(end_ms));
            let mut all = Interval::new(1);
            for (recorder, transactions) in recorders.iter_mut().zip(workers) {
                for (due, done) in transactions.iter().filter(|(_, done)| (start..end).contains(done)) {
                    recorder.record(&sample(*due, *done, Ending::Succeeded));
                }
                if let Some(since) = unfinished.filter(|_| end == end_ms) {
                    recorder.record(&sample(since, end_ms, Ending::Unfinished));
                }
                all.merge(&recorder.hand_over(ms(start), ms(end), Interval::new(1)));
            }
            gaps.take(&all);
        }
        gaps.close(ms(end_ms), Some(ms(end_ms)));
        gaps
    }

    fn longer_than(gaps: &Gaps, length_ms: u64) -> Vec<(u128, u128)> {
        let long = gaps.longer_than(Duration::from_millis(length_ms));
        assert_eq!(long.count, long.longest.len() as u64);
        assert_eq!(long.total, long.longest.iter().map(Gap::length).sum::<Duration>());
        long.longest.iter().map(|gap| (gap.start.as_millis(), gap.end.as_millis())).collect()
    }

    #[test]
    fn a_gap_is_where_no_worker_completes_anything() {
        let steady: Vec<_> = (0..4_000).step_by(5).map(|at| (at, at + 4)).collect();
        let stalled: Vec<_> = steady.iter().filter(|(due, _)| !(500..2_700).contains(due)).copied().collect();
        assert_eq!(longer_than(&gaps(false, [&steady, &stalled], None, 4_000), 10), []);
        assert_eq!(longer_than(&gaps(false, [&stalled, &stalled], None, 4_000), 10), [(500, 2_704)]);
    }

    #[test]
    fn the_end_of_the_run_ends_a_gap_too() {
        let stalled: Vec<_> = (0..1_000).step_by(5).map(|at| (at, at + 4)).collect();
        assert_eq!(longer_than(&gaps(false, [&stalled, &[]], Some(1_000), 3_500), 10), [(1_000, 3_500)]);
    }

    #[test]
    fn under_a_rate_time_in_which_nothing_was_due_is_no_gap() {
        let rare = [(500, 502), (1_500, 1_503), (2_500, 3_400)];
        assert_eq!(longer_than(&gaps(true, [&rare, &[]], None, 4_000), 10), [(2_500, 3_400)]);
        assert_eq!(
            longer_than(&gaps(true, [&rare, &[]], Some(3_700), 4_000), 10),
            [(2_500, 3_400), (3_700, 4_000)]
        );
        assert_eq!(longer_than(&gaps(false, [&rare, &[]], None, 4_000), 100).len(), 4);
    }

    #[test]
    fn of_very_many_gaps_number_and_total_stay_exact_and_the_longest_are_kept() {
        let mut all = Gaps::new(ms(0), false);
        let mut at = 0;
        for number in 0..20_000 {
            all.end_gap(ms(at), ms(at + 10 + number % 7));
            at += 100;
            all.quiet_since = ms(at);
        }
        all.end_gap(ms(at), ms(at + 5_000));
        let long = all.longer_than(Duration::from_millis(9));
        assert_eq!(long.count, 20_001);
        let total: u64 = 5_000 + (0..20_000).map(|number| 10 + number % 7).sum::<u64>();
        assert_eq!(long.total, Duration::from_millis(total));
        assert!(long.longest.len() <= GAPS_KEPT_MAX);
        assert_eq!(long.longest.last().map(Gap::length), Some(Duration::from_secs(5)));
    }
}
