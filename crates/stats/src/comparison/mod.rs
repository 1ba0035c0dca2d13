//! Tests whether B is faster than A, from pairs of draws, with a verdict at any moment; docs/statistics.md explains
//! the method. Pure: the caller supplies the figures, and random numbers come from seeds.
//!
//! A [`Pair`] of two [`Draw`]s is measured. A [`Schedule`] sets the number of pairs, [`order`] their order: two pairs are
//! a sequence, A B B A or B A A B, which is one observation. A [`Comparison`] collects them, with a [`SequentialTest`]
//! for each [`ComparedMetric`], and returns a [`MetricFinding`].

pub(crate) mod normal;

mod percentile;

mod figure;

mod pair;

mod merging;

pub(crate) mod signed_rank;

mod boundary;

mod sequential;

mod crossover;

mod schedule;

mod findings;

pub use crossover::CrossoverEffect;
pub use figure::{ComparedFigure, ComparedMetric};
pub use findings::{Comparison, MetricFinding, MetricNoise, Question, RANKS_MIN};
pub use merging::{Merging, percentile_ns};
pub use pair::{Block, Draw, MergedPercentile, Pair, Purpose, ScriptLatencies, Side};
pub use percentile::{NotAPercentile, Percentile};
pub use schedule::{Components, Costs, PAIRS_OF_SEQUENCE, Schedule, order};
pub use sequential::{ComparisonDecision, Estimate, OBSERVATIONS_MIN, POWER, SequentialTest};
pub use signed_rank::confidence_of_agreement;
