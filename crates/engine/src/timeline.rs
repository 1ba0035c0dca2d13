//! The parts of a run on the clock: start, warm-up, measured window, end; and its one-second grid.
//! Made once all clients are connected; read by each worker and its measurement.

use std::time::Duration;

use stats::{Limit, Timestamp};

use crate::plan::{Compatibility, Plan};

/// Length of an interval of the record.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);

/// When the phases of a run begin; the same for all workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeline {
    /// What the time shown during the run counts from, and the grid of seconds.
    pub(crate) origin: Timestamp,
    /// First transactions start.
    pub(crate) start: Timestamp,
    /// Transactions scheduled from here on are measured.
    pub(crate) measure: Timestamp,
    /// No transaction starts later; `None`: the limit is a number of transactions.
    pub(crate) end: Option<Timestamp>,
    /// Nothing goes on any longer, whatever the end.
    pub(crate) deadline: Option<Timestamp>,
}

impl Timeline {
    /// The timeline of a run that began to connect at `begun` and starts its first transactions at `start`.
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

    /// The begin of the interval in which the first transactions start.
    pub(crate) fn first_interval(&self) -> Timestamp {
        self.origin + Duration::from_secs(self.start.since(self.origin).as_secs())
    }

    /// True when an interval with this begin is measured.
    pub(crate) fn is_measured(&self, begin: Timestamp) -> bool {
        begin >= self.measure || self.measure == self.start
    }

    /// True when nothing may start at `at` any more.
    pub(crate) fn is_over(&self, at: Timestamp) -> bool {
        self.end.is_some_and(|end| at >= end)
    }

    /// True when everything is to end, finished or not.
    #[inline]
    pub(crate) fn is_past_deadline(&self, at: Timestamp) -> bool {
        self.deadline.is_some_and(|deadline| at >= deadline)
    }

    /// The same with an end that is not later than `end`; `None` if it is that already.
    pub(crate) fn ending_at(self, end: Timestamp) -> Option<Self> {
        let sooner = self.end.is_none_or(|planned| end < planned);
        sooner.then_some(Self { end: Some(end), ..self })
    }

    /// The end of the interval that begins at `begin`: a second later, but never across the end of
    /// the warm-up.
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
    }
}
