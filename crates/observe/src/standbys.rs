//! Replication lag: reads `pg_stat_replication` of the observed server once a second, if it has standbys when the run
//! starts. Called by `watch`.

use std::collections::BTreeMap;

use connect::Row;
use results::{LagSample, StandbyLag};

use crate::catalogue::V10;

/// Limit of stored samples of a standby; in longer runs each stored one is the largest of several.
const SAMPLES_MAX: usize = 1800;
/// Standbys that are stored; a server with more is fed by something else than a benchmark.
const STANDBYS_MAX: usize = 32;

/// Whether there are standbys. Base backups are walsenders too, in the state `backup`.
pub(crate) const EXIST: &str =
    "select count(*) from pg_stat_replication where state in ('startup', 'catchup', 'streaming')";
/// A role without the rights of `pg_monitor` sees the processes, without their states.
pub(crate) const HIDDEN: &str = "select count(*) from pg_stat_replication where state is null";

/// The query for the lag of each standby. On a server that is itself a standby, the lag is that behind what it has
/// received. Before version 10, positions are locations in the "xlog", and there are no times.
pub(crate) fn sql(version: u32) -> String {
    let (now, received, difference, unit) = if version >= V10 {
        ("pg_current_wal_lsn()", "pg_last_wal_receive_lsn()", "pg_wal_lsn_diff", "lsn")
    } else {
        ("pg_current_xlog_location()", "pg_last_xlog_receive_location()", "pg_xlog_location_diff", "location")
    };
    let kinds = ["write", "flush", "replay"];
    let bytes = kinds.map(|kind| format!("{difference}(wal.now, {kind}_{unit})"));
    let micros = kinds.map(|kind| {
        if version >= V10 { format!("extract(epoch from {kind}_lag) * 1e6") } else { "null".to_owned() }
    });
    format!(
        "select application_name, sync_state, {}, {} from pg_stat_replication, (select case when \
         pg_is_in_recovery() then {received} else {now} end as now) as wal where state in ('startup', 'catchup', \
         'streaming')",
        bytes.join(", "),
        micros.join(", ")
    )
}

/// The standbys seen so far.
#[derive(Debug, Default)]
pub(crate) struct Lags(BTreeMap<String, StandbyLag>);

impl Lags {
    /// Adds the answer to the query.
    pub(crate) fn look(&mut self, rows: &[Row], time_s: f64) {
        for row in rows {
            let text = |column: usize| row.get(column).unwrap_or_default();
            let number =
                |column: usize| row.get(column)?.parse().ok().filter(|value: &f64| value.is_finite());
            // A standby may acknowledge WAL that was written after the server's position was read.
            let bytes = |column: usize| number(column).map(|bytes| bytes.max(0.0));
            let sample = LagSample {
                time_s,
                write_bytes: bytes(2),
                flush_bytes: bytes(3),
                replay_bytes: bytes(4),
                write_us: number(5),
                flush_us: number(6),
                replay_us: number(7),
            };
            if self.0.len() >= STANDBYS_MAX && !self.0.contains_key(text(0)) {
                continue;
            }
            let standby = self.0.entry(text(0).to_owned()).or_insert_with(|| StandbyLag {
                name: text(0).into(),
                sync_state: text(1).into(),
                samples: Vec::new(),
            });
            standby.sync_state = text(1).into();
            match standby.samples.last_mut() {
                Some(same_name) if same_name.time_s >= time_s => *same_name = same_name.max(&sample),
                _ => standby.samples.push(sample),
            }
            if standby.samples.len() > SAMPLES_MAX {
                standby.samples = halve(&standby.samples);
            }
        }
    }

    pub(crate) fn into_standbys(self) -> Vec<StandbyLag> {
        self.0.into_values().collect()
    }
}

/// Pairs become their maximum, but never one of the warm-up and one of the measured time.
fn halve(samples: &[LagSample]) -> Vec<LagSample> {
    let warm_up = samples.iter().take_while(|sample| sample.time_s < 0.0).count();
    let (before, measured) = samples.split_at(warm_up);
    let pairs = before.chunks(2).chain(measured.chunks(2));
    pairs.map(|pair| pair[1..].iter().fold(pair[0], |largest, sample| largest.max(sample))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::V9_6;

    #[test]
    fn each_version_is_asked_in_its_own_words() {
        let (old, new) = (sql(V9_6), sql(V10));
        assert!(
            old.contains("pg_xlog_location_diff(wal.now, replay_location), null, null, null from"),
            "{old}"
        );
        assert!(new.contains("pg_wal_lsn_diff(wal.now, replay_lsn)") && new.contains("replay_lag"), "{new}");
    }

    #[test]
    fn long_runs_keep_the_largest_lag_and_the_border_of_the_warm_up() {
        let sample =
            |time_s: f64, bytes: f64| LagSample { time_s, replay_bytes: Some(bytes), ..LagSample::default() };
        let samples = [sample(-1.0, 9.0), sample(0.0, 1.0), sample(1.0, 4.0), sample(2.0, 2.0)];
        let halved = halve(&samples);
        assert_eq!(halved, [sample(-1.0, 9.0), sample(1.0, 4.0), sample(2.0, 2.0)]);
    }
}
