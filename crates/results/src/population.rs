//! What the population of a run did beside transactions: renewed sessions, storms, and sessions that held a transaction
//! open. The plan has what was asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Latency, SafeText};

/// What clients did beside transactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopulationSummary {
    /// Sessions that ended in the measured time and were made anew in one attempt.
    pub renewed_sessions: u64,
    /// Attempts to make a session anew that failed.
    pub failed_renewals: u64,
    /// From the end of a session until its client was connected again; `null` if none was made anew.
    pub connecting_us: Option<Latency>,
    /// The storms of the plan, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub storms: Vec<StormSummary>,
    /// Sessions that held a transaction open; absent unless the plan has some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_in_transaction: Option<IdleInTransaction>,
}

/// A storm of reconnecting clients.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormSummary {
    /// When it began, in seconds since measuring began.
    pub at_s: f64,
    /// Clients whose session ended. A client that was connecting at that time is not among them.
    pub clients: u64,
    /// Clients that were connected again before the end of the run.
    pub connected: u64,
    /// Seconds until the last of these was connected.
    pub lasted_s: f64,
}

/// Sessions that held a transaction open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IdleInTransaction {
    /// Number of sessions.
    pub sessions: u64,
    /// Transactions that they began.
    pub transactions: u64,
    /// Sessions that ended before the run, and why the first of them did.
    pub lost: u64,
    /// The first error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<SafeText>,
}

impl PopulationSummary {
    /// Time of the longest storm; `None` without one, or if a client was not connected again: the storm then lasted longer
    /// than the run.
    pub fn longest_storm_s(&self) -> Option<f64> {
        let lasted = |storm: &StormSummary| (storm.connected == storm.clients).then_some(storm.lasted_s);
        let all: Option<Vec<f64>> = self.storms.iter().map(lasted).collect();
        all?.into_iter().max_by(f64::total_cmp)
    }

    /// Whether the counts fit each other.
    pub(crate) fn check(&self) -> Result<(), String> {
        let storms =
            self.storms.iter().all(|storm| storm.connected <= storm.clients && storm.lasted_s >= 0.0);
        let idle = self.idle_in_transaction.as_ref().is_none_or(|idle| idle.lost <= idle.sessions);
        let renewed = (self.renewed_sessions > 0) == self.connecting_us.is_some();
        if storms && idle && renewed {
            return Ok(());
        }
        Err("more clients of a population were connected or lost than there were".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(storms: &[(u64, u64, f64)]) -> PopulationSummary {
        let storm = |(clients, connected, lasted_s): &(u64, u64, f64)| StormSummary {
            at_s: 1.0,
            clients: *clients,
            connected: *connected,
            lasted_s: *lasted_s,
        };
        PopulationSummary { storms: storms.iter().map(storm).collect(), ..PopulationSummary::default() }
    }

    #[test]
    fn a_storm_that_did_not_end_has_no_length() {
        assert_eq!(summary(&[(5, 5, 2.0), (9, 9, 3.0)]).longest_storm_s(), Some(3.0));
        assert_eq!(summary(&[(5, 5, 2.0), (9, 8, 1.0)]).longest_storm_s(), None);
        assert_eq!(summary(&[]).longest_storm_s(), None);
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        assert_eq!(summary(&[(5, 5, 2.0)]).check(), Ok(()));
        assert!(summary(&[(5, 6, 2.0)]).check().is_err());
        assert!(PopulationSummary { renewed_sessions: 1, ..summary(&[]) }.check().is_err());
        let idle = IdleInTransaction { sessions: 2, transactions: 2, lost: 3, error: None };
        assert!(PopulationSummary { idle_in_transaction: Some(idle), ..summary(&[]) }.check().is_err());
    }
}
