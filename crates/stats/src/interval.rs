//! A time interval with the statistics of all scripts, which a recorder hands over each second. Intervals of several
//! workers or seconds can be merged. The engine collects them, `results` stores them.

use crate::{Completions, Counts, Distribution, ScriptStats, Timestamp};

/// Skipped transactions of a script that were due in the same interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSkips {
    /// Begin of the interval in which they were due.
    pub due: Timestamp,
    /// Index of the script.
    pub script: usize,
    /// Their delays when they were skipped.
    pub delays: Distribution,
}

/// The statistics of the transactions that ended between `start` and `end`, per script of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Begin.
    pub start: Timestamp,
    /// End.
    pub end: Timestamp,
    /// One entry per script of the plan, in the plan's order.
    pub scripts: Vec<ScriptStats>,
    /// Times of completions; empty after merging intervals with different begins.
    pub completions: Completions,
    /// The skipped transactions of `scripts` by the interval in which they were due, which may be an earlier one; empty
    /// after merging intervals with different begins.
    pub due_skips: Vec<DueSkips>,
}

impl Interval {
    /// An empty interval for this number of scripts. Takes about 1.8 MB per script, a third of which is used if all
    /// transactions succeed and there is no rate.
    pub fn new(scripts: usize) -> Interval {
        Interval {
            start: Timestamp::ZERO,
            end: Timestamp::ZERO,
            // Not clones of one, which would touch the memory of empty histograms.
            scripts: std::iter::repeat_with(ScriptStats::new).take(scripts).collect(),
            completions: Completions::new(),
            due_skips: Vec::new(),
        }
    }

    /// Adds the statistics of `other` script by script, and extends the interval by its time. An interval made by
    /// [`Interval::new`] takes over the times of `other`.
    ///
    /// # Panics
    /// If the numbers of scripts differ, or a transaction was lost on either side.
    pub fn merge(&mut self, other: &Interval) {
        let Interval { start, end, scripts, completions, due_skips } = other;
        assert_eq!(self.scripts.len(), scripts.len(), "only intervals of the same scripts can be merged");
        if self.start == Timestamp::ZERO && self.end == Timestamp::ZERO {
            (self.start, self.end) = (*start, *end);
            self.completions.merge(completions);
            due_skips.iter().for_each(|skips| self.merge_due_skips(skips));
        } else {
            if self.start == *start {
                self.completions.merge(completions);
                due_skips.iter().for_each(|skips| self.merge_due_skips(skips));
            } else {
                self.completions.clear();
                self.due_skips.clear();
            }
            self.start = self.start.min(*start);
            self.end = self.end.max(*end);
        }
        for (ours, theirs) in self.scripts.iter_mut().zip(scripts) {
            ours.merge(theirs);
        }
    }

    /// Whether each of `due_skips` has a script, and they are the skipped transactions of the scripts, or none of them.
    pub fn has_all_due_skips(&self) -> bool {
        let mut counts = vec![0_u64; self.scripts.len()];
        for DueSkips { script, delays, .. } in &self.due_skips {
            let Some(count) = counts.get_mut(*script) else { return false };
            *count = count.saturating_add(delays.count());
        }
        let agree = |(count, script): (&u64, &ScriptStats)| *count == script.counts.skipped;
        self.due_skips.is_empty() || counts.iter().zip(&self.scripts).all(agree)
    }

    fn merge_due_skips(&mut self, other: &DueSkips) {
        let DueSkips { due, script, delays } = other;
        match self.due_skips.iter_mut().find(|skips| (skips.due, skips.script) == (*due, *script)) {
            Some(skips) => skips.delays.merge(delays),
            None => self.due_skips.push(other.clone()),
        }
    }

    /// The statistics of all scripts together.
    pub fn total(&self) -> ScriptStats {
        let mut total = ScriptStats::new();
        self.scripts.iter().for_each(|script| total.merge(script));
        total
    }

    /// Number of transactions of all scripts together.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.scripts.iter().for_each(|script| counts.merge(&script.counts));
        counts
    }

    /// Resets it to an empty interval at the epoch, keeping the memory. Costs nothing if it is already empty.
    pub fn clear(&mut self) {
        let Interval { start, end, scripts, completions, due_skips } = self;
        (*start, *end) = (Timestamp::ZERO, Timestamp::ZERO);
        scripts.iter_mut().for_each(ScriptStats::clear);
        completions.clear();
        due_skips.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(start: u64, end: u64) -> Interval {
        Interval { start: Timestamp::from_nanos(start), end: Timestamp::from_nanos(end), ..Interval::new(1) }
    }

    #[test]
    fn merged_intervals_reach_from_the_first_start_to_the_last_end() {
        let mut merged = between(20, 30);
        merged.merge(&between(10, 25));
        assert_eq!((merged.start.as_nanos(), merged.end.as_nanos()), (10, 30));
    }

    #[test]
    fn skips_are_merged_by_the_interval_in_which_they_were_due_within_one_interval_only() {
        let skips = |due: u64, ms: u64| {
            let mut delays = Distribution::new();
            delays.record_times(std::time::Duration::from_millis(ms), 1);
            DueSkips { due: Timestamp::from_nanos(due), script: 0, delays }
        };
        let with = |start: u64, due_skips: Vec<DueSkips>| Interval { due_skips, ..between(start, 30) };
        let mut merged = with(20, vec![skips(10, 1)]);
        merged.merge(&with(20, vec![skips(10, 2), skips(20, 3)]));
        let counts: Vec<_> =
            merged.due_skips.iter().map(|skips| (skips.due.as_nanos(), skips.delays.count())).collect();
        assert_eq!(counts, [(10, 2), (20, 1)]);
        merged.merge(&with(30, vec![skips(30, 1)]));
        assert_eq!(merged.due_skips, []);
    }

    #[test]
    fn a_new_interval_takes_the_times_of_what_is_merged_into_it() {
        let mut merged = Interval::new(1);
        merged.merge(&between(10, 25));
        assert_eq!((merged.start.as_nanos(), merged.end.as_nanos()), (10, 25));
    }

    #[test]
    #[should_panic(expected = "only intervals of the same scripts")]
    fn intervals_of_different_scripts_do_not_merge() {
        Interval::new(1).merge(&Interval::new(2));
    }
}
