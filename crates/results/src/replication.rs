//! Standbys in the record: how far each was behind its upstream server over time, made by `observe` from
//! `pg_stat_replication`, and what clients saw there, made by the probe of `lab`. Plain data, shown by `report`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Latency, SafeText};

/// A standby of the observed server, and its lag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandbyLag {
    /// Its `application_name`; several standbys with one name are one here, with the largest lag of them.
    pub name: SafeText,
    /// Its `sync_state` at the last sample: `async`, `potential`, `sync` or `quorum`.
    pub sync_state: SafeText,
    /// Usually one per second, in order of time; in long runs each is the largest of several.
    pub samples: Vec<LagSample>,
}

/// The lag of a standby at one moment.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LagSample {
    /// Time of the sample.
    pub time_s: f64,
    /// WAL that the standby has not written, in bytes; `null` if unknown.
    pub write_bytes: Option<f64>,
    /// WAL that the standby has not flushed to its disk.
    pub flush_bytes: Option<f64>,
    /// WAL that the standby has not replayed: queries do not see it there.
    pub replay_bytes: Option<f64>,
    /// Time from the flush of recent WAL on the server until it knew that the standby has written it; `null` if unknown,
    /// such as before PostgreSQL 10 or without recent WAL.
    pub write_us: Option<f64>,
    /// The same until the standby has flushed it.
    pub flush_us: Option<f64>,
    /// The same until the standby has replayed it.
    pub replay_us: Option<f64>,
}

impl LagSample {
    /// The larger value of each.
    pub fn max(&self, other: &LagSample) -> LagSample {
        let larger = |one: Option<f64>, two: Option<f64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.max(two)),
            (one, two) => one.or(two),
        };
        LagSample {
            time_s: self.time_s.max(other.time_s),
            write_bytes: larger(self.write_bytes, other.write_bytes),
            flush_bytes: larger(self.flush_bytes, other.flush_bytes),
            replay_bytes: larger(self.replay_bytes, other.replay_bytes),
            write_us: larger(self.write_us, other.write_us),
            flush_us: larger(self.flush_us, other.flush_us),
            replay_us: larger(self.replay_us, other.replay_us),
        }
    }
}

/// A value of a sample.
pub type LagValue = fn(&LagSample) -> Option<f64>;

impl StandbyLag {
    /// The mean and the maximum of a value over the measured time; `None` if it was never known.
    pub fn mean_and_max(&self, of: LagValue) -> Option<(f64, f64)> {
        let measured = self.samples.iter().filter(|sample| sample.time_s >= 0.0);
        let values: Vec<f64> = measured.filter_map(of).collect();
        let max = values.iter().copied().reduce(f64::max)?;
        Some((values.iter().sum::<f64>() / values.len() as f64, max))
    }
}

/// What clients saw on standbys, measured by a probe that commits a number on the server and reads it there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Staleness {
    /// Acknowledged commits of the probe, warm-up included.
    pub writes: u64,
    /// The sessions that read, in the measured time.
    pub sessions: Vec<StaleSession>,
}

/// A session that reads from one standby, or from all in turn. A session that writes would see the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StaleSession {
    /// The standby, or `standbys` for all in turn.
    pub reads_from: SafeText,
    /// Reads.
    pub reads: u64,
    /// Reads that missed a commit acknowledged before they were sent: violations of read-your-writes.
    pub stale_reads: u64,
    /// Reads that missed what an earlier read of the session had seen: violations of monotonic reads.
    pub backward_reads: u64,
    /// The most acknowledged commits that a read missed.
    pub commits_behind_max: u64,
    /// Age of the oldest acknowledged commit that a read missed, over all reads; 0 if it missed none.
    pub staleness_us: Option<Latency>,
}
