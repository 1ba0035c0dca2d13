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
    /// none.
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
    fn only_lags_that_are_not_zero_are_recorded() {
        let stats = with_lags(&[0, 40, 0, 0, 10, 0, 0, 30, 20, 0]);
        assert_eq!((stats.lag.count(), stats.lag_max_ns, stats.counts.succeeded), (4, 40, 10));
    }
}
