//! Standbys in the record: how far each was behind its upstream server over time, made by `observe` from
//! `pg_stat_replication`, and what clients saw there, made by the probe of `lab`. Plain data, shown by `report`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Latency, Observation, SafeText};

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
    #[must_use]
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

/// The figures of a run about its standbys: those of the standby with the largest.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct StandbyFigures {
    /// The largest mean of a standby's replay lag.
    pub replay_mean_us: Option<f64>,
    /// The largest replay lag of all standbys.
    pub replay_max_us: Option<f64>,
    /// The same in bytes of WAL.
    pub replay_max_bytes: Option<f64>,
    /// The largest share of a session's reads that were stale.
    pub stale_read_share: Option<f64>,
    /// The largest p99 of a session's staleness.
    pub staleness_p99_us: Option<f64>,
}

impl StandbyFigures {
    /// Of this observation.
    pub fn of(observation: &Observation) -> StandbyFigures {
        let largest = |of: LagValue, pick: fn((f64, f64)) -> f64| {
            observation.standbys.iter().filter_map(|it| it.mean_and_max(of)).map(pick).reduce(f64::max)
        };
        let sessions = || observation.staleness.iter().flat_map(|it| &it.sessions);
        let shares = sessions().filter(|it| it.reads > 0).map(|it| it.stale_reads as f64 / it.reads as f64);
        let p99s = sessions().filter_map(|it| Some(it.staleness_us.as_ref()?.p99));
        StandbyFigures {
            replay_mean_us: largest(|sample| sample.replay_us, |(mean, _)| mean),
            replay_max_us: largest(|sample| sample.replay_us, |(_, max)| max),
            replay_max_bytes: largest(|sample| sample.replay_bytes, |(_, max)| max),
            stale_read_share: shares.reduce(f64::max),
            staleness_p99_us: p99s.reduce(f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standby(replay_us: &[(f64, Option<f64>)]) -> StandbyLag {
        let sample = |&(time_s, replay_us): &(f64, Option<f64>)| LagSample {
            time_s,
            replay_us,
            ..LagSample::default()
        };
        let samples = replay_us.iter().map(sample).collect();
        StandbyLag { name: "one".into(), sync_state: "async".into(), samples }
    }

    #[test]
    fn the_lag_of_a_run_is_that_of_its_slowest_standby_in_the_measured_time() {
        let near = standby(&[(-1.0, Some(900.0)), (1.0, Some(10.0)), (2.0, None), (3.0, Some(30.0))]);
        let far = standby(&[(1.0, Some(15.0)), (2.0, Some(100.0))]);
        assert_eq!(near.mean_and_max(|sample| sample.replay_us), Some((20.0, 30.0)));
        let observation = Observation { standbys: vec![near, far], ..Observation::default() };
        let lag = StandbyFigures::of(&observation);
        let figures = (lag.replay_mean_us, lag.replay_max_us, lag.replay_max_bytes);
        assert_eq!(figures, (Some(57.5), Some(100.0), None));
        assert_eq!(StandbyFigures::of(&Observation::default()), StandbyFigures::default());
    }

    #[test]
    fn the_staleness_of_a_run_is_that_of_its_worst_session() {
        let session = |stale_reads, reads| StaleSession {
            reads_from: "one".into(),
            reads,
            stale_reads,
            backward_reads: 0,
            commits_behind_max: 0,
            staleness_us: None,
        };
        let sessions = vec![session(1, 10), session(5, 10), session(0, 0)];
        let staleness = Some(Staleness { writes: 1, sessions });
        let figures = StandbyFigures::of(&Observation { staleness, ..Observation::default() });
        assert_eq!((figures.stale_read_share, figures.staleness_p99_us), (Some(0.5), None));
    }
}
