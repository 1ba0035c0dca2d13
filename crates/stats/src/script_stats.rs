//! The statistics of one script, or of all together: counts and latencies. Recorders fill them, intervals contain
//! them, and summaries add them up.

use crate::{Counts, Distribution, Traffic};

/// Counts of all transactions, and their latencies by ending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptStats {
    /// Number of transactions by ending.
    pub counts: Counts,
    /// Response times, from scheduled to finished, of the succeeded transactions.
    pub response: Distribution,
    /// Service times, from started to finished, of the succeeded transactions.
    pub service: Distribution,
    /// Start delays (lag), from scheduled to started, of the delayed succeeded transactions; without a rate there are
    /// none. See [`ScriptStats::lag_quantile_ns`].
    pub lag: Distribution,
    /// The longest start delay of the succeeded transactions; 0 without one. The sum of the delays is the sum of the
    /// response times minus that of the service times.
    pub lag_max_ns: u64,
    /// Response times, from scheduled to finished, of the failed transactions.
    pub failed: Distribution,
    /// Delay of the skipped transactions when they were skipped.
    pub skipped: Distribution,
    /// Time since the scheduled start of the unfinished transactions when the run, or their client, ended.
    pub unfinished: Distribution,
    /// Time from the scheduled start to the loss of the connection, of the transactions with an unknown ending.
    pub unknown: Distribution,
    /// What the succeeded and the failed transactions exchanged with the server.
    pub traffic: Traffic,
}

impl ScriptStats {
    /// Empty statistics.
    pub fn new() -> ScriptStats {
        ScriptStats::default()
    }

    /// Adds `other`.
    ///
    /// # Panics
    /// If a transaction was lost on either side, see [`ScriptStats::check`].
    pub fn merge(&mut self, other: &ScriptStats) {
        other.check();
        let ScriptStats {
            counts,
            response,
            service,
            lag,
            lag_max_ns,
            failed,
            skipped,
            unfinished,
            unknown,
            traffic,
        } = other;
        self.counts.merge(counts);
        self.traffic.add(traffic);
        self.response.merge(response);
        self.service.merge(service);
        let rare = [
            (&mut self.lag, lag),
            (&mut self.failed, failed),
            (&mut self.skipped, skipped),
            (&mut self.unfinished, unfinished),
            (&mut self.unknown, unknown),
        ];
        // Empty distributions, which are frequent, are not touched, so that their memory stays unallocated.
        rare.into_iter()
            .filter(|(_, theirs)| !theirs.is_empty())
            .for_each(|(ours, theirs)| ours.merge(theirs));
        self.lag_max_ns = self.lag_max_ns.max(*lag_max_ns);
        self.check();
    }

    /// Empties it, keeping the memory.
    pub fn clear(&mut self) {
        let ScriptStats {
            counts,
            response,
            service,
            lag,
            lag_max_ns,
            failed,
            skipped,
            unfinished,
            unknown,
            traffic,
        } = self;
        *counts = Counts::default();
        *traffic = Traffic::default();
        [response, service, lag, failed, skipped, unfinished, unknown]
            .into_iter()
            .for_each(Distribution::clear);
        *lag_max_ns = 0;
    }

    /// The start delay that at least the share `q` of the succeeded transactions does not exceed, to three digits; 0
    /// for those that started when scheduled. `None` without succeeded transactions, or if only the longest delay is
    /// known.
    // Counts stay far below 2⁵³, where f64 begins to round integers.
    pub fn lag_quantile_ns(&self, q: f64) -> Option<u64> {
        let all = self.counts.succeeded;
        if all == 0 || (self.lag.is_empty() && self.lag_max_ns > 0) {
            return None;
        }
        let rank = (q.clamp(0.0, 1.0) * all as f64).ceil().max(1.0);
        let rank_among_late = rank - (all - self.lag.count()) as f64;
        if rank_among_late < 1.0 {
            return Some(0);
        }
        // From the middle of the step, so that rounding cannot reach a neighbour.
        self.lag.quantile_ns((rank_among_late - 0.5) / self.lag.count() as f64)
    }

    /// Asserts that every transaction has one ending and every succeeded one both latencies and at most one start
    /// delay.
    ///
    /// # Panics
    /// Otherwise, which is a bug in this program.
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
        assert!(self.lag.count() <= self.counts.succeeded, "no transaction has two lags");
        for (ending, count, latencies) in self.others() {
            assert!(latencies.count() <= count, "no {ending} transaction has two latencies");
        }
    }

    /// Asserts what [`ScriptStats::check`] does, and that each transaction has a latency, however it ended; this
    /// holds when recording. Older records have latencies of succeeded ones only.
    ///
    /// # Panics
    /// Otherwise.
    pub fn check_recorded(&self) {
        self.check();
        for (ending, count, latencies) in self.others() {
            assert_eq!(latencies.count(), count, "each {ending} transaction must have one latency");
        }
    }

    /// Whether [`ScriptStats::check_recorded`] would find nothing; for statistics from outside.
    pub(crate) fn is_recorded(&self) -> bool {
        self.counts.is_balanced()
            && self.response.count() == self.counts.succeeded
            && self.service.count() == self.counts.succeeded
            && self.lag.count() <= self.counts.succeeded
            && self.others().iter().all(|(_, count, latencies)| latencies.count() == *count)
    }

    /// The endings except success: name, count, and latencies.
    fn others(&self) -> [(&'static str, u64, &Distribution); 4] {
        let counts = &self.counts;
        [
            ("failed", counts.failed, &self.failed),
            ("skipped", counts.skipped, &self.skipped),
            ("unfinished", counts.unfinished, &self.unfinished),
            ("unknown", counts.unknown, &self.unknown),
        ]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Ending, Interval, Recorder, Sample, ScriptStats, Timestamp};

    fn with_lags(lags_ns: &[u64]) -> ScriptStats {
        let mut recorder = Recorder::new(1, None);
        for lag_ns in lags_ns {
            let started = Timestamp::from_nanos(*lag_ns);
            let (scheduled, finished) = (Timestamp::ZERO, started);
            let ending = Ending::Succeeded;
            recorder.record(&Sample {
                script: 0,
                scheduled,
                started,
                finished,
                tries: 1,
                business: 1,
                ending,
                traffic: crate::Traffic::default(),
            });
        }
        recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, Interval::new(1)).total()
    }

    #[test]
    fn a_quantile_of_the_lag_counts_those_that_began_in_time() {
        let stats = with_lags(&[0, 40, 0, 0, 10, 0, 0, 30, 20, 0]);
        let quantiles = [0.0, 0.6, 0.61, 0.7, 0.8, 0.9, 0.99, 1.0].map(|q| stats.lag_quantile_ns(q));
        assert_eq!(quantiles, [0, 0, 10, 10, 20, 30, 40, 40].map(Some));
        assert_eq!(stats.lag.count(), 4, "only those that had one are recorded");
    }

    #[test]
    fn without_a_rate_every_quantile_of_the_lag_is_zero() {
        assert_eq!(with_lags(&[0, 0]).lag_quantile_ns(0.99), Some(0));
        assert_eq!(with_lags(&[]).lag_quantile_ns(0.5), None);
    }

    #[test]
    fn of_the_longest_lag_alone_no_quantile_is_made_up() {
        let stats = ScriptStats { lag: crate::Distribution::new(), ..with_lags(&[0, 7]) };
        assert_eq!((stats.lag_max_ns, stats.lag_quantile_ns(0.5)), (7, None));
    }
}
