//! Conditions of the server under which a load pauses or ends, and what came of them. The plan has the conditions, the
//! summary the pauses and the end. Watched by `run`, shown by `report`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SafeText;

/// Conditions that are checked while the load runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadWatch {
    /// The load pauses while the replay of a standby is further behind, in seconds; `null` if that is not watched.
    pub max_lag_s: Option<f64>,
    /// The load pauses while more locks are waited for; `null` if that is not watched.
    pub max_waiting_locks: Option<u64>,
    /// The load pauses while this query returns true, with masked secrets; `null` without one.
    #[serde(default, deserialize_with = "crate::safe_text::read_optional_sql")]
    pub pause_when: Option<SafeText>,
    /// The load ends when this query returns true, with masked secrets; `null` without one.
    #[serde(default, deserialize_with = "crate::safe_text::read_optional_sql")]
    pub stop_when: Option<SafeText>,
    /// The load ends after a pause of this many seconds.
    pub max_pause_s: f64,
}

/// Why a load was paused or ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WatchReason {
    /// The replay of a standby was too far behind.
    Lag {
        /// The greatest lag of all standbys, in seconds.
        lag_s: f64,
        /// The limit.
        max_s: f64,
    },
    /// A standby that was there at the start was no longer connected, so that its lag was unknown.
    StandbyGone {
        /// Connected standbys.
        connected: u64,
        /// Those at the start.
        expected: u64,
    },
    /// Too many locks were waited for.
    WaitingLocks {
        /// Locks that were not granted.
        waiting: u64,
        /// The limit.
        max: u64,
    },
    /// The query of `pause_when` returned true.
    PauseWhen,
    /// The query of `stop_when` returned true.
    StopWhen,
    /// A condition could not be checked.
    Unreadable {
        /// The error.
        error: SafeText,
    },
}

/// A pause of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPause {
    /// When it began, in seconds since measuring began; 0 if it began before.
    pub from_s: f64,
    /// When it ended, or the run did.
    pub until_s: f64,
    /// Why it began.
    pub reason: WatchReason,
}

/// All pauses of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPauses {
    /// Number of pauses in the measured time.
    pub count: u64,
    /// Their length together, in seconds.
    pub total_s: f64,
    /// The first of them, at most 1,000.
    pub first: Vec<LoadPause>,
}

/// The end of a load by one of its conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStop {
    /// When, in seconds since measuring began; 0 if before.
    pub at_s: f64,
    /// How long the load had been paused for the reason, in seconds; `null` if it ended without a pause.
    pub paused_s: Option<f64>,
    /// The reason.
    pub reason: WatchReason,
}

impl LoadPauses {
    /// Maximum number of pauses that are listed.
    pub const LISTED_MAX: usize = 1_000;

    /// Whether most of a period lies within a listed pause.
    pub(crate) fn explains(&self, start_s: f64, end_s: f64) -> bool {
        let within = |pause: &LoadPause| end_s.min(pause.until_s) - start_s.max(pause.from_s);
        self.first.iter().any(|pause| within(pause) > (end_s - start_s) / 2.0)
    }

    /// Whether times and numbers agree.
    pub(crate) fn is_consistent(&self) -> bool {
        let in_order = self.first.iter().all(|pause| 0.0 <= pause.from_s && pause.from_s <= pause.until_s);
        in_order
            && self.total_s >= 0.0
            && self.count > 0
            && self.first.len() <= Self::LISTED_MAX
            && self.first.len() as u64 <= self.count
    }
}

/// A clause with the option that it is about.
impl fmt::Display for WatchReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lag { lag_s, max_s } => {
                write!(f, "a standby was {lag_s:.1} s behind, and --max-lag is {max_s} s")
            }
            Self::StandbyGone { connected, expected } => write!(
                f,
                "{connected} of {expected} standbys were still connected, so that --max-lag could not be checked"
            ),
            Self::WaitingLocks { waiting, max } => {
                write!(f, "{waiting} locks were waited for, and --max-waiting-locks is {max}")
            }
            Self::PauseWhen => f.write_str("the query of --pause-when returned true"),
            Self::StopWhen => f.write_str("the query of --stop-when returned true"),
            Self::Unreadable { error } => write!(f, "a watched condition could not be checked ({error})"),
        }
    }
}

impl fmt::Display for LoadStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_s, paused_s, reason } = self;
        match paused_s {
            Some(paused_s) => write!(
                f,
                "the load was ended after {at_s:.1} s, because it had been paused for {paused_s:.1} s, longer than \
                 --max-pause: {reason}"
            ),
            None => write!(f, "the load was ended after {at_s:.1} s: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses() -> LoadPauses {
        let pause = |from_s, until_s| LoadPause { from_s, until_s, reason: WatchReason::PauseWhen };
        LoadPauses { count: 2, total_s: 5.0, first: vec![pause(2.0, 5.0), pause(8.0, 10.0)] }
    }

    #[test]
    fn a_pause_explains_a_period_that_lies_mostly_in_it() {
        for (start_s, end_s, expected) in
            [(1.9, 5.1, true), (8.5, 9.0, true), (5.5, 7.5, false), (0.0, 2.5, false), (4.9, 5.4, false)]
        {
            assert_eq!(pauses().explains(start_s, end_s), expected, "{start_s} to {end_s}");
        }
    }

    #[test]
    fn pauses_whose_figures_contradict_each_other_are_no_record() {
        assert!(pauses().is_consistent());
        let first = vec![LoadPause { from_s: 3.0, until_s: 2.0, reason: WatchReason::StopWhen }];
        assert!(!LoadPauses { first, ..pauses() }.is_consistent());
        assert!(!LoadPauses { count: 1, ..pauses() }.is_consistent());
        assert!(!LoadPauses { count: 0, total_s: 0.0, first: Vec::new() }.is_consistent());
    }

    #[test]
    fn each_reason_names_its_option_and_its_figures() {
        let lag = WatchReason::Lag { lag_s: 7.25, max_s: 5.0 };
        assert_eq!(lag.to_string(), "a standby was 7.2 s behind, and --max-lag is 5 s");
        let gone = WatchReason::StandbyGone { connected: 1, expected: 2 };
        assert!(gone.to_string().contains("1 of 2 standbys") && gone.to_string().contains("--max-lag"));
        let unreadable = WatchReason::Unreadable { error: "connection refused".into() };
        assert!(unreadable.to_string().ends_with("(connection refused)"));
    }
}
