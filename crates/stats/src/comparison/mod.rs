//! Is B faster than A? Pairs of draws in, at every moment an answer out, with its uncertainty; docs/statistics.md
//! explains the method. Pure: whoever runs the load hands the figures in, and randomness comes from seeds.
//!
//! In reading order: a [`Pair`] of two [`Draw`]s is what is measured; a [`Schedule`] says how many, [`order`] in which
//! order: two pairs are a sequence, A B B A or B A A B, which is one number; a [`Comparison`] takes them in, one [`SequentialTest`] for each [`Metric`], and tells a [`Finding`]. A
//! [`Machine`] is an imagined one, on which all of it can be tried.

mod normal;

mod random;

mod pair;

mod signed_rank;

mod boundary;

mod sequential;

mod crossover;

mod draws;

mod schedule;

mod findings;

mod imagined;

pub use crossover::Effect;
pub use findings::{Comparison, Finding, NoiseFloor, Question, Ratio};
pub use imagined::{ImaginedRun, Machine};
pub use pair::{Block, Draw, Metric, Pair, Purpose, Side};
pub use random::Random;
pub use schedule::{Components, Costs, PAIRS_OF_SEQUENCE, Schedule, order};
pub use sequential::{Decision, Estimate, POWER, SequentialTest};
