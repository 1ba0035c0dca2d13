//! Order and carry-over effects of one metric. A sequence A B B A or B A A B is a crossover trial with four periods
//! and two treatments (Jones and Kenward, Design and analysis of cross-over trials, 3rd ed. 2014, chapters 2 and
//! 3.5). In each sequence the effect of the order cancels from B ÷ A, and B ÷ A cancels from the effect of the order.
//! Carry-over, the effect of a side on the block after it, is estimated from the two blocks in the middle: both are
//! of the same side, the first follows the other side, the second its own.

use serde::{Deserialize, Serialize};

use crate::comparison::figure::ComparedFigure;
use crate::comparison::pair::{Pair, Side};
use crate::{CONFIDENCE, SampleMean};

/// Confidence level of the interval outside of which an effect is not negligible: of the decisive metric, and of the
/// many others.
const CONFIDENCE_DECISIVE: f64 = 0.99;
const CONFIDENCE_OTHERS: f64 = 0.999;
/// A B B A or B A A B. Two pairs of one block per side are one sequence; pairs of several blocks contain several.
const BLOCKS_OF_SEQUENCE: usize = 4;
/// Minimum number of sequences of a kind to estimate their variation.
const SEQUENCES_MIN: usize = 3;

/// The effect of the order of the blocks on a metric, independent of the side.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossoverEffect {
    /// The estimate.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// 1 is inside the 99 % interval of the decisive metric, or the 99.9 % interval of another one.
    pub is_negligible: bool,
}

/// Collects sequences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossover {
    /// ln(second ÷ first) of the pairs of a sequence, averaged.
    order: Vec<f64>,
    /// ln(third ÷ second) of the blocks of a sequence that begins with A, and with B.
    middle: [Vec<f64>; 2],
}

impl Crossover {
    /// The sequences of blocks in consecutive pairs; those with a missing value are ignored.
    pub(crate) fn add<'a>(&mut self, figure: ComparedFigure, pairs: impl IntoIterator<Item = &'a Pair>) {
        let blocks: Vec<_> = pairs.into_iter().flat_map(|pair| pair.in_order(figure)).collect();
        for sequence in blocks.chunks_exact(BLOCKS_OF_SEQUENCE) {
            let &[(opens, first), (_, second), (_, third), (closes, fourth)] = sequence else { continue };
            debug_assert_eq!(opens, closes, "ABBA or BAAB");
            let (Some(first), Some(second), Some(third), Some(fourth)) = (first, second, third, fourth)
            else {
                continue;
            };
            self.order.push(f64::midpoint(second - first, fourth - third));
            let at = match opens {
                Side::A => 0,
                Side::B => 1,
            };
            self.middle[at].push(third - second);
        }
    }

    /// The second block of a pair ÷ the first.
    pub(crate) fn order_effect(&self, is_decisive: bool) -> Option<CrossoverEffect> {
        Some(effect(&mean_of(&self.order)?, is_decisive))
    }

    /// A block after B ÷ a block after A. A sequence that begins with A is A B B A: its third block follows B and its
    /// second A; in a sequence that begins with B it is the reverse (Welch's interval for half of the difference).
    pub(crate) fn carry_over(&self, is_decisive: bool) -> Option<CrossoverEffect> {
        let [a, b] = [mean_of(&self.middle[0])?, mean_of(&self.middle[1])?];
        let SampleMean { mean, variance, degrees_of_freedom } = a.minus(&b);
        let half = SampleMean { mean: mean / 2.0, variance: variance / 4.0, degrees_of_freedom };
        Some(effect(&half, is_decisive))
    }
}

/// `None` with too few.
fn mean_of(numbers: &[f64]) -> Option<SampleMean> {
    SampleMean::of(numbers).filter(|_| numbers.len() >= SEQUENCES_MIN)
}

fn effect(found: &SampleMean, is_decisive: bool) -> CrossoverEffect {
    let mean = found.mean;
    let half = |confidence: f64| found.half_width(confidence).unwrap_or(f64::INFINITY);
    let shown = half(CONFIDENCE);
    let limit = half(if is_decisive { CONFIDENCE_DECISIVE } else { CONFIDENCE_OTHERS });
    CrossoverEffect {
        ratio: mean.exp(),
        low: (mean - shown).exp(),
        high: (mean + shown).exp(),
        is_negligible: mean.abs() <= limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use crate::comparison::ComparedMetric;
    use crate::comparison::pair::{Purpose, tests::draw};
    use crate::comparison::schedule::order;

    /// Sequences of a machine where B is faster by `treatment`, the second block of a pair by `second`, and every
    /// block by `after_b` if B ran before it; logarithms, with 2 % noise.
    fn crossover(sequences: usize, treatment: f64, second: f64, after_b: f64) -> Crossover {
        of_blocks(1, sequences, treatment, second, after_b)
    }

    /// The same with pairs of several blocks per side; the second block of any two is faster by `second`.
    fn of_blocks(blocks: usize, sequences: usize, treatment: f64, second: f64, after_b: f64) -> Crossover {
        let (mut random, mut crossover, mut before) = (SplitMix64::new(3), Crossover::default(), Side::A);
        for sequence in 0..sequences {
            let mut pair = |at: usize| {
                let sides = order(5, at, blocks);
                let mut tps = [const { Vec::new() }; 2];
                for (place, side) in sides.iter().enumerate() {
                    let of_side = if *side == Side::B { treatment } else { 0.0 };
                    let carried = if before == Side::B { after_b } else { 0.0 };
                    let ln = of_side + carried + second * (place % 2) as f64 + 0.02 * random.normal();
                    tps[usize::from(*side == Side::B)].push(1_000.0 * ln.exp());
                    before = *side;
                }
                let [base, candidate] = tps.map(|tps: Vec<f64>| draw(&tps));
                Pair { purpose: Purpose::Comparison, order: sides, base, candidate, merged: Vec::new() }
            };
            let (one, other) = (pair(2 * sequence), pair(2 * sequence + 1));
            crossover.add(ComparedMetric::Tps.into(), [&one, &other]);
        }
        crossover
    }

    fn close(effect: CrossoverEffect, truth: f64) -> bool {
        effect.low < truth.exp() && truth.exp() < effect.high && (effect.high - effect.low) < 0.06
    }

    #[test]
    fn order_and_carry_over_are_told_apart_from_each_other_and_from_the_difference() {
        for (treatment, second, after_b) in [(0.3, 0.0, 0.0), (0.0, 0.1, 0.0), (0.1, 0.05, -0.2)] {
            let crossover = crossover(60, treatment, second, after_b);
            let order = crossover.order_effect(true).unwrap();
            let carried = crossover.carry_over(true).unwrap();
            // The block before is random, so its after-effect cancels on average from the effect of the order.
            assert!(close(order, second) || after_b != 0.0, "{order:?}");
            assert!(close(carried, after_b), "{carried:?}, and not {after_b}");
            assert_eq!(carried.is_negligible, after_b == 0.0);
            assert_eq!(order.is_negligible, second == 0.0);
        }
    }

    #[test]
    fn pairs_of_several_blocks_have_a_sequence_for_each_four() {
        for (blocks, second, after_b) in [(2, 0.1, 0.0), (3, 0.0, -0.2), (5, 0.0, 0.0)] {
            let crossover = of_blocks(blocks, 40, 0.3, second, after_b);
            assert_eq!(crossover.order.len(), 40 * blocks);
            let order = crossover.order_effect(true).unwrap();
            let carried = crossover.carry_over(true).unwrap();
            assert!(close(order, second) || after_b != 0.0, "{order:?}");
            assert!(close(carried, after_b), "{carried:?}, and not {after_b}");
            assert_eq!((order.is_negligible, carried.is_negligible), (second == 0.0, after_b == 0.0));
        }
    }

    #[test]
    fn few_sequences_say_nothing() {
        let crossover = crossover(2, 0.0, 0.1, 0.0);
        assert_eq!((crossover.order_effect(true), crossover.carry_over(true)), (None, None));
    }

    #[test]
    fn what_does_not_vary_is_no_error() {
        let mut crossover = Crossover::default();
        for at in 0..20 {
            let pair = |at: usize| {
                let (purpose, order) = (Purpose::Comparison, order(5, at, 1));
                Pair { purpose, order, base: draw(&[10.0]), candidate: draw(&[10.0]), merged: Vec::new() }
            };
            crossover.add(ComparedMetric::Tps.into(), [&pair(2 * at), &pair(2 * at + 1)]);
        }
        let (order, carried) = (crossover.order_effect(false).unwrap(), crossover.carry_over(false).unwrap());
        assert!(order.is_negligible && carried.is_negligible);
        assert_eq!((order.low, carried.high), (1.0, 1.0));
    }
}
