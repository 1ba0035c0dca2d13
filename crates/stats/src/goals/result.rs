//! The evaluated goal: its figure with an interval, and the verdict.
//! Made by `meter`, stored in records as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goal::{Goal, GoalFigure};

/// A goal of a run with its figure and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalResult {
    /// The goal, such as `p99 < 20ms`.
    pub goal: Goal,
    /// The stage of the load that it is about, from 0; absent if it is about the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<u32>,
    /// Whether it was met.
    pub verdict: GoalVerdict,
    /// The figure: microseconds, a share, or transactions per second. `null` if no transaction was scheduled, or if
    /// so many transactions did not succeed that the percentile or the maximum has no value.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval; `null` if unknown.
    pub low: Option<f64>,
    /// Upper end; `null` if there is none.
    pub high: Option<f64>,
    /// Method of the interval.
    pub method: GoalMethod,
    /// Scheduled transactions that the goal is about.
    pub transactions: u64,
    /// Of these, transactions that failed, were skipped or did not finish. They count as over each limit.
    pub uncompleted: u64,
    /// If undecided: the length of a run, in seconds, that would probably decide it; `null` if the figure is too close
    /// to its limit.
    pub needed_s: Option<f64>,
}

/// Whether a goal was met.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalVerdict {
    /// The whole interval of the figure is on the right side of the limit.
    Met,
    /// The whole interval is on the wrong side, or the run was ended because the goal could not be met any more.
    Missed,
    /// The interval contains the limit.
    Undecided,
}

/// Method of a goal's interval.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalMethod {
    /// No interval: the figure is exact for this run, such as a maximum.
    Exact,
    /// Transactions are taken as independent, because the run is shorter than 20 s.
    Independent,
    /// From blocks of a second or more, allowing for the correlation of neighbouring blocks.
    Blocks,
}

/// Why a run ended early: a goal could not be met any more.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GoalStop {
    /// Number of the goal, from 0.
    pub goal: u32,
    /// How that was known.
    pub basis: StopBasis,
    /// Measured seconds until then.
    pub after_s: f64,
}

/// How it was known that a goal could not be met any more.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopBasis {
    /// The planned number of transactions was known: more were over the limit than the goal allows for all of them.
    Exact,
    /// A sequential test, which ends a run that would meet its goal with a probability of at most 1 %.
    Sequential,
}

const NANOS_PER_MICRO: f64 = 1000.0;

/// A figure in the units of the record.
pub(super) fn recorded(figure: GoalFigure, value: f64) -> f64 {
    match figure {
        GoalFigure::Latency(..) => value / NANOS_PER_MICRO,
        GoalFigure::Over(..)
        | GoalFigure::Failed
        | GoalFigure::Skipped
        | GoalFigure::Late
        | GoalFigure::Tps => value,
    }
}

impl GoalResult {
    /// The limit of the goal, in the units of the figure.
    pub fn limit(&self) -> f64 {
        recorded(self.goal.figure, self.goal.limit)
    }
}

impl GoalVerdict {
    /// The verdict of several goals: missed if one is missed, else undecided if one is undecided. `None` without goals.
    pub fn of_all(results: &[GoalResult]) -> Option<GoalVerdict> {
        results.iter().map(|result| result.verdict).collect::<GoalTally>().verdict()
    }
}

/// How many goals have each verdict.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GoalTally {
    /// Met goals.
    pub met: u32,
    /// Missed goals.
    pub missed: u32,
    /// Undecided goals.
    pub undecided: u32,
}

impl GoalTally {
    /// All goals.
    pub fn total(self) -> u32 {
        let GoalTally { met, missed, undecided } = self;
        met.saturating_add(missed).saturating_add(undecided)
    }

    /// Goals with this verdict.
    pub fn count(self, verdict: GoalVerdict) -> u32 {
        match verdict {
            GoalVerdict::Met => self.met,
            GoalVerdict::Missed => self.missed,
            GoalVerdict::Undecided => self.undecided,
        }
    }

    /// The verdict of all together: missed if one is missed, else undecided if one is undecided. `None` without goals.
    pub fn verdict(self) -> Option<GoalVerdict> {
        let worst = [GoalVerdict::Missed, GoalVerdict::Undecided, GoalVerdict::Met];
        worst.into_iter().find(|verdict| self.count(*verdict) > 0)
    }
}

impl FromIterator<GoalVerdict> for GoalTally {
    fn from_iter<Verdicts: IntoIterator<Item = GoalVerdict>>(verdicts: Verdicts) -> GoalTally {
        let mut tally = GoalTally::default();
        for verdict in verdicts {
            let GoalTally { met, missed, undecided } = &mut tally;
            let count = match verdict {
                GoalVerdict::Met => met,
                GoalVerdict::Missed => missed,
                GoalVerdict::Undecided => undecided,
            };
            *count = count.saturating_add(1);
        }
        tally
    }
}
