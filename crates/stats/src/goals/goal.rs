//! A goal and its text form.
//! Serialized as text; `parse` reads it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A condition that a figure of a run must fulfil. As text: `[script=NAME: ]FIGURE <|> VALUE`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Goal {
    /// The script whose transactions count; `None`: all.
    pub script: Option<String>,
    /// The figure.
    pub figure: GoalFigure,
    /// The side of the limit on which the figure must be.
    pub side: GoalSide,
    /// Nanoseconds for latencies, a share for shares of transactions, transactions per second for throughput.
    pub limit: f64,
}

/// The figure of a goal.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum GoalFigure {
    /// A latency.
    Latency(LatencyKind, LatencyStatistic),
    /// Share of the scheduled transactions that took longer than so many nanoseconds, failed, were skipped or did not
    /// finish.
    Over(LatencyKind, u64),
    /// Share of the scheduled transactions that failed.
    Failed,
    /// Share of the scheduled transactions that were skipped.
    Skipped,
    /// Share of the scheduled transactions that did not succeed within the latency limit of the run.
    Late,
    /// Succeeded transactions per second.
    Tps,
}

/// The times of a transaction.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum LatencyKind {
    /// From scheduled to finished.
    #[default]
    Response,
    /// From started to finished.
    Service,
    /// From scheduled to started.
    Lag,
}

/// A statistic of latencies.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum LatencyStatistic {
    /// A percentile, above 0 and below 100. Transactions that did not succeed count as infinitely long.
    Percentile(f64),
    /// The mean of the succeeded transactions.
    Mean,
    /// The maximum. Transactions that did not succeed count as infinitely long.
    Max,
}

/// The side of its limit on which a figure must be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum GoalSide {
    /// `<`
    Below,
    /// `>`
    Above,
}

impl Goal {
    /// The latency of which the goal sets a bound, in nanoseconds; `None` for other figures. A goal on the share of
    /// transactions over a latency has one too.
    pub fn latency_limit_ns(&self) -> Option<f64> {
        match self.figure {
            GoalFigure::Latency(..) => Some(self.limit),
            GoalFigure::Over(_, limit_ns) => Some(limit_ns as f64),
            GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late | GoalFigure::Tps => None,
        }
    }

    /// The condition on the figure, such as `< 20ms`.
    pub fn condition(&self) -> String {
        let side = match self.side {
            GoalSide::Below => '<',
            GoalSide::Above => '>',
        };
        match self.figure {
            GoalFigure::Latency(..) => format!("{side} {}", Time(self.limit)),
            GoalFigure::Tps => format!("{side} {}", self.limit),
            GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => {
                format!("{side} {}%", percent(self.limit))
            }
        }
    }
}

impl GoalFigure {
    /// The kind of latency it is about; `None` if it is about none.
    pub fn latency(self) -> Option<LatencyKind> {
        match self {
            GoalFigure::Latency(kind, _) | GoalFigure::Over(kind, _) => Some(kind),
            GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late | GoalFigure::Tps => None,
        }
    }

    /// Whether it is a share of the scheduled transactions.
    pub fn is_share(self) -> bool {
        match self {
            GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => true,
            GoalFigure::Latency(..) | GoalFigure::Tps => false,
        }
    }
}

impl LatencyKind {
    /// The word before a figure; empty for response times.
    fn prefix(self) -> &'static str {
        match self {
            LatencyKind::Response => "",
            LatencyKind::Service => "service ",
            LatencyKind::Lag => "lag ",
        }
    }
}

impl fmt::Display for GoalFigure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GoalFigure::Latency(kind, LatencyStatistic::Percentile(percent)) => {
                write!(out, "{}p{percent}", kind.prefix())
            }
            GoalFigure::Latency(kind, LatencyStatistic::Mean) => write!(out, "{}mean", kind.prefix()),
            GoalFigure::Latency(kind, LatencyStatistic::Max) => write!(out, "{}max", kind.prefix()),
            GoalFigure::Over(kind, limit_ns) => {
                write!(out, "{}over({})", kind.prefix(), Time(*limit_ns as f64))
            }
            GoalFigure::Failed => out.write_str("failed"),
            GoalFigure::Skipped => out.write_str("skipped"),
            GoalFigure::Late => out.write_str("late"),
            GoalFigure::Tps => out.write_str("tps"),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(script) = &self.script {
            write!(out, "script={script}: ")?;
        }
        write!(out, "{} {}", self.figure, self.condition())
    }
}

/// A share as a percentage without the rounding errors of the multiplication.
fn percent(share: f64) -> f64 {
    (share * 1e12).round() / 1e10
}

/// A time in nanoseconds, written with the largest unit that gives a number of at least 1.
struct Time(f64);

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Time(ns) = *self;
        match ns {
            1e9.. => write!(out, "{}s", ns / 1e9),
            1e6.. => write!(out, "{}ms", ns / 1e6),
            _ => write!(out, "{}us", ns / 1e3),
        }
    }
}

impl From<Goal> for String {
    fn from(goal: Goal) -> String {
        goal.to_string()
    }
}
