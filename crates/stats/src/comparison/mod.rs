//! Is B faster than A? Pairs of draws in, at every moment an answer out, with its uncertainty; docs/statistics.md
//! explains the method. Pure: whoever runs the load hands the figures in, and randomness comes from seeds.
//!
//! In reading order: a [`Pair`] of two [`Draw`]s is what is measured; a [`Schedule`] says how many, [`order`] in which
//! order: two pairs are a sequence, A B B A or B A A B, which is one number; a [`Comparison`] takes them in, one
//! [`SequentialTest`] for each [`ComparedMetric`], and tells a [`MetricFinding`].

mod normal;

mod pair;

mod signed_rank;

mod boundary;

mod sequential;

mod crossover;

mod schedule;

mod findings;

pub use crossover::CrossoverEffect;
pub use findings::{Comparison, MetricFinding, MetricNoise, Question};
pub use pair::{Block, ComparedMetric, Draw, Pair, Purpose, Side};
pub use schedule::{Components, Costs, PAIRS_OF_SEQUENCE, Schedule, order};
pub use sequential::{ComparisonDecision, Estimate, POWER, SequentialTest};
