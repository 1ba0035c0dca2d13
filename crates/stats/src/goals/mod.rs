//! Goals of a run, such as `p99 < 20ms`: their text form, the intervals of their figures, and the verdict: met, missed
//! or undecided. Pure. docs/goals.md is for users, docs/statistics.md explains the intervals.
//!
//! In reading order: a [`Goal`] is parsed from text; a [`GoalMeter`] collects the seconds of a run and evaluates its
//! goals as [`GoalResult`]s, also during the run, to end it once a goal is missed for certain ([`GoalStop`]).
//! `proportion` computes the intervals of shares and percentiles.

mod estimate;
mod goal;
mod meter;
mod parse;
mod proportion;
mod result;
mod series;
mod share;

pub use goal::{Goal, GoalFigure, GoalSide, LatencyKind, LatencyStatistic};
pub use meter::{GOALS_MAX, GoalMeter};
pub use parse::GoalError;
pub(crate) use proportion::is_possible_share;
pub use result::{GoalMethod, GoalResult, GoalStop, GoalTally, GoalVerdict, StopBasis};
pub(crate) use series::over;
