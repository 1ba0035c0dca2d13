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
    /// Time of the longest storm; `None` without one.
    pub fn longest_storm_s(&self) -> Option<f64> {
        self.storms.iter().map(|storm| storm.lasted_s).max_by(f64::total_cmp)
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
