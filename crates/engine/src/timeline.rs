//! The phases of a run: start, warm-up, measured window, end, and the grid of seconds. Created when all clients are
//! connected; read by each worker.

use std::time::Duration;

use stats::{Limit, Timestamp};

use crate::plan::{Compatibility, Plan};

/// Length of an interval of the record.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// Start times of the phases; the same for all workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    /// Start of the elapsed time and of the grid of seconds.
    pub(crate) origin: Timestamp,
    /// Start of the first transactions.
    pub(crate) start: Timestamp,
    /// Transactions scheduled from here on are measured.
    pub(crate) measure: Timestamp,
    /// Last start of a transaction; `None`: the limit is a number of transactions.
    pub(crate) end: Option<Timestamp>,
    /// Everything ends at this time at the latest.
    pub(crate) deadline: Option<Timestamp>,
}

impl Timeline {
    /// The timeline of a run that started connecting at `begun` and starts its first transactions at `start`.
    pub(crate) fn new(plan: &Plan, begun: Timestamp, start: Timestamp) -> Self {
        let counts_from = match plan.compatibility {
            Compatibility::Pgmeter => start,
            Compatibility::Pgbench => begun,
        };
        let end = match plan.limit {
            Limit::Duration(duration) => Some(counts_from + plan.warmup + duration),
            Limit::TransactionsPerClient(_) => None,
        };
        let deadline = plan.deadline.map(|deadline| start + deadline);
        Self { origin: counts_from, start, measure: start + plan.warmup, end, deadline }
    }

    /// Begin of the interval in which the first transactions start.
    pub(crate) fn first_interval(&self) -> Timestamp {
        self.origin + Duration::from_secs(self.start.since(self.origin).as_secs())
    }

    /// Whether an interval with this begin is measured.
    pub(crate) fn is_measured(&self, begin: Timestamp) -> bool {
        begin >= self.measure || self.measure == self.start
    }

    /// Whether nothing may start at `at` any more.
    pub(crate) fn is_over(&self, at: Timestamp) -> bool {
        self.end.is_some_and(|end| at >= end)
    }

    /// Whether everything must end, finished or not.
    #[inline]
    pub(crate) fn is_past_deadline(&self, at: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| at >= deadline)
    }

    /// The same timeline with the end no later than `end`; `None` if it already is.
    pub(crate) fn ending_at(self, end: Timestamp) -> Option<Self> {
        let sooner = self.end.is_none_or(|planned| end < planned);
        sooner.then_some(Self { end: Some(end), ..self })
    }

    /// Begin of the interval of the measured window that contains `at`.
    pub(crate) fn interval_of(&self, at: Timestamp) -> Timestamp {
        let first = if self.measure == self.start { self.first_interval() } else { self.measure };
        first + Duration::from_secs(at.max(first).since(first).as_secs())
    }

    /// End of the interval that begins at `begin`: one second later, but not across the end of the warm-up.
    pub(crate) fn interval_end(&self, begin: Timestamp) -> Timestamp {
        let end = begin + INTERVAL;
        if !self.is_measured(begin) && end > self.measure { self.measure } else { end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_a_second_long_and_stop_at_the_end_of_the_warm_up() {
        let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let timeline =
            Timeline { origin: at(0), start: at(0), measure: at(1500), end: Some(at(4000)), deadline: None };
        assert_eq!(timeline.interval_end(at(0)), at(1000));
        assert_eq!(timeline.interval_end(at(1000)), at(1500));
        assert_eq!(timeline.interval_end(at(1500)), at(2500));
        assert_eq!([1500, 2499, 2500].map(|ms| timeline.interval_of(at(ms))), [at(1500), at(1500), at(2500)]);
        assert!(!timeline.is_over(at(3999)));
        assert!(timeline.is_over(at(4000)));
    }

    #[test]
    fn a_grid_from_before_the_start_is_kept_and_nothing_of_it_is_warm_up() {
        let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
        let timeline = Timeline {
            origin: at(100),
            start: at(2400),
            measure: at(2400),
            end: Some(at(5100)),
            deadline: None,
        };
        let begin = timeline.first_interval();
        assert_eq!(begin, at(2100));
        assert!(timeline.is_measured(begin));
        assert_eq!(timeline.interval_end(begin), at(3100));
        assert_eq!([2400, 3099, 3100].map(|ms| timeline.interval_of(at(ms))), [at(2100), at(2100), at(3100)]);
    }
}
