//! The statistics of one script (or of all together): how many, and how long.
//! It is the unit that recorders fill, intervals carry and summaries add up.

use crate::{Counts, Distribution};

/// Counts of all transactions, and the latencies of the succeeded ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptStats {
    /// How many transactions, by ending.
    pub counts: Counts,
    /// Response times, from scheduled to finished, of the succeeded transactions.
    pub response: Distribution,
    /// Service times, from started to finished, of the succeeded transactions.
    pub service: Distribution,
    /// The longest lag, from scheduled to started, of the succeeded transactions; 0 without one. The sum of the
    /// lags is the sum of the response times less that of the service times.
    pub lag_max_ns: u64,
}

impl ScriptStats {
    /// Statistics of nothing yet.
    pub fn new() -> ScriptStats {
        ScriptStats::default()
    }

    /// Adds `other` to `self`.
    ///
    /// # Panics
    /// If a transaction was lost on either side, see [`ScriptStats::check`].
    pub fn merge(&mut self, other: &ScriptStats) {
        other.check();
        let ScriptStats { counts, response, service, lag_max_ns } = other;
        self.counts.merge(counts);
        self.response.merge(response);
        self.service.merge(service);
        self.lag_max_ns = self.lag_max_ns.max(*lag_max_ns);
        self.check();
    }

    /// Back to nothing, keeping the memory.
    pub fn clear(&mut self) {
        let ScriptStats { counts, response, service, lag_max_ns } = self;
        *counts = Counts::default();
        response.clear();
        service.clear();
        *lag_max_ns = 0;
    }

    /// Asserts that every transaction has one ending and every succeeded one both its latencies.
    ///
    /// # Panics
    /// If not: that is a mistake in this program, never of a user or a server.
    pub fn check(&self) {
        self.counts.check();
        assert!(
            self.response.count() == self.counts.succeeded && self.service.count() == self.counts.succeeded,
            "each succeeded transaction must have one response and one service time: \
             {} succeeded, {} response times, {} service times",
            self.counts.succeeded,
            self.response.count(),
            self.service.count()
        );
    }
}
