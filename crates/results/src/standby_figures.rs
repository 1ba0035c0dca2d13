//! The figures of a run about its standbys: the largest lag, and the most stale reads.
//! Made from the observation; `replication` has the lag and the reads of each standby.

use crate::{LagValue, Observation};

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
    use crate::{LagSample, StaleSession, Staleness, StandbyLag};

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
