//! Sessions that end while the run goes on, because their lifetime is over or in a storm: how many, how long connecting
//! took, and how long a storm lasted. A worker counts them, and those of all workers and ranks are merged.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stats::{COUNT_MAX, Distribution};

/// Renewed sessions of the measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRenewals {
    /// Times from the end of a session until its client was connected again, in one attempt.
    pub connecting: Distribution,
    /// Attempts that failed. Their clients were aborted, or went on connecting by the plan's policy.
    pub failed: u64,
    /// The storms of the plan, in its order.
    pub storms: Vec<StormCourse>,
}

/// A storm, as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StormCourse {
    /// Clients whose session ended.
    pub clients: u64,
    /// Clients that were connected again before the end of the run.
    pub connected: u64,
    /// Time from the begin of the storm until the last of these was connected.
    pub lasted: Duration,
}

impl SessionRenewals {
    /// Nothing so far, of a plan with this number of storms.
    pub(crate) fn new(storms: usize) -> Self {
        Self { connecting: Distribution::new(), failed: 0, storms: vec![StormCourse::default(); storms] }
    }

    /// Adds those of another worker or rank with the same plan.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.connecting.merge(&other.connecting);
        self.failed = self.failed.saturating_add(other.failed);
        for (own, more) in self.storms.iter_mut().zip(&other.storms) {
            own.clients += more.clients;
            own.connected += more.connected;
            own.lasted = own.lasted.max(more.lasted);
        }
    }

    /// Whether another process with these numbers of clients and storms can have counted this.
    pub(crate) fn is_plausible(&self, clients: usize, storms: usize) -> bool {
        let clients = clients as u64;
        let is_possible = |storm: &StormCourse| storm.clients <= clients && storm.connected <= storm.clients;
        self.connecting.count() <= COUNT_MAX
            && self.failed <= COUNT_MAX
            && self.storms.len() == storms
            && self.storms.iter().all(is_possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_clients_and_keeps_the_longest_storm() {
        let storm =
            |clients, connected, ms| StormCourse { clients, connected, lasted: Duration::from_millis(ms) };
        let mut sum = SessionRenewals::new(1);
        for (clients, ms) in [(3, 20), (5, 70), (2, 10)] {
            let mut one = SessionRenewals::new(1);
            one.connecting.record(Duration::from_millis(ms));
            one.storms[0] = storm(clients, clients - 1, ms);
            sum.merge(&one);
        }
        assert_eq!((sum.connecting.count(), sum.storms[0]), (3, storm(10, 7, 70)));
        assert!(sum.is_plausible(10, 1));
        assert!(!sum.is_plausible(9, 1) && !sum.is_plausible(10, 2));
    }
}
