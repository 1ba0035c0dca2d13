//! Rules of a benchmark's standard that a run keeps or breaks. A workload states them as kinds with figures, `results`
//! judges a run by them, and `report` has their sentences. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ScriptStats;
use crate::goals::{is_possible_share, over};

/// Probability that a share that was drawn correctly is judged as another one.
pub const DRAWN_SHARE_ERROR: f64 = 0.001;

const NANOS_PER_SECOND: f64 = 1e9;

/// A rule about a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Rule {
    /// At least this share of the transactions has a response time below a limit.
    ResponseTime {
        /// The script whose transactions count; `null`: all.
        script: Option<String>,
        /// The share.
        share: f64,
        /// The limit in seconds.
        below_s: f64,
    },
    /// Measuring began in a steady state.
    SteadyState,
    /// The measured time has a certain length.
    MeasuredTime {
        /// At least so many seconds.
        min_s: f64,
        /// At most so many; `null`: no limit.
        max_s: Option<f64>,
    },
    /// The tables are large enough for the throughput.
    TpsPerScale {
        /// The script whose transactions count; `null`: all.
        script: Option<String>,
        /// At most so many transactions per second for each unit of scale.
        max: f64,
    },
    /// A script has at least this share of the transactions.
    MixShare {
        /// The script.
        script: String,
        /// The share.
        min: f64,
    },
    /// The transactions draw something at random with this share, which a query counts in the tables.
    DrawnShare {
        /// The name of the query.
        query: String,
        /// The share.
        share: f64,
    },
    /// Checks of the workload return no rows.
    Checks {
        /// Their names.
        names: Vec<String>,
    },
    /// Committed transactions survive a crash.
    Durability,
}

/// A rule with its place in the standard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StandardRule {
    /// The clause of the standard, such as `7`; `null` if it is not known.
    pub clause: Option<String>,
    /// The rule.
    pub rule: Rule,
}

/// A rule of a standard and whether a run kept it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuleResult {
    /// The clause of the standard; `null` if it is not known.
    pub clause: Option<String>,
    /// The rule.
    pub rule: Rule,
    /// Whether the run kept it.
    pub verdict: RuleVerdict,
    /// The figure of the run that the rule is about: a share, seconds, or transactions per second for each unit of
    /// scale. `null` if there is none.
    pub figure: Option<f64>,
    /// Transactions or rows of which the figure is a share; `null` if it is no share.
    pub of: Option<u64>,
    /// Names of the checks that failed, or of the settings of the server that break the rule.
    pub names: Vec<String>,
}

/// Whether a run kept a rule.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// It did.
    Kept,
    /// It did not.
    Broken,
    /// Unknown, because the run does not have the figure, or it is too short to judge.
    NotMeasured,
    /// Unknown, because the checks did not run.
    NotChecked,
    /// A run cannot show it.
    NotTestable,
}

/// Share of the transactions with a response time of at most so many seconds, to three digits. Transactions that did
/// not succeed are not among them. `None` without transactions.
pub fn share_within(stats: &ScriptStats, limit_s: f64) -> Option<f64> {
    let scheduled = stats.counts.scheduled;
    let over = over(stats, crate::goals::LatencyKind::Response, limit_s * NANOS_PER_SECOND);
    (scheduled > 0).then(|| scheduled.saturating_sub(over) as f64 / scheduled as f64)
}

/// Whether so many of so many rows can have been drawn with this share, by an exact binomial test with an error of
/// [`DRAWN_SHARE_ERROR`].
pub fn is_drawn_with(share: f64, count: u64, of: u64) -> bool {
    is_possible_share(count as f64, of as f64, share, DRAWN_SHARE_ERROR)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Ending, Interval, Recorder, Sample, Timestamp};

    #[test]
    fn a_share_within_a_limit_counts_transactions_that_failed_as_too_late() {
        let mut recorder = Recorder::new(1, None);
        let endings = [(1, Ending::Succeeded), (2, Ending::Succeeded), (3, Ending::Succeeded)];
        for (seconds, ending) in endings.into_iter().chain([(1, Ending::Unfinished)]) {
            recorder.record(&Sample {
                script: 0,
                scheduled: Timestamp::ZERO,
                started: Timestamp::ZERO,
                finished: Timestamp::ZERO + Duration::from_secs(seconds),
                tries: 1,
                business: 1,
                ending,
                traffic: crate::Traffic::default(),
            });
        }
        let interval = recorder.hand_over(Timestamp::ZERO, Timestamp::from_nanos(1), Interval::new(1));
        let total = interval.total();
        let shares = [0.5, 2.0, 9.0].map(|limit_s| share_within(&total, limit_s));
        assert_eq!(shares, [Some(0.0), Some(0.5), Some(0.75)]);
        assert_eq!(share_within(&ScriptStats::new(), 1.0), None);
    }

    #[test]
    fn a_share_is_possible_within_the_chance_of_its_draws() {
        for (share, count, of, is_possible) in [
            (0.85, 1_700, 2_000, true),
            (0.85, 1_745, 2_000, true),
            (0.85, 1_760, 2_000, false),
            (0.85, 1_640, 2_000, false),
            (0.85, 2, 2, true),
            (0.85, 850_000, 1_000_000, true),
            (0.85, 852_000, 1_000_000, false),
            (0.85, 1_000_000, 1_000_000, false),
            (0.85, 0, 0, false),
        ] {
            assert_eq!(is_drawn_with(share, count, of), is_possible, "{count} of {of}");
        }
    }
}
