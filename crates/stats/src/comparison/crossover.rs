//! Order and carry-over of one metric. A sequence A B B A or B A A B is a crossover trial with four periods and two
//! treatments (Jones and Kenward, Design and analysis of cross-over trials, 3rd ed. 2014, chapters 2 and 3.5). In each
//! sequence the effect of the order cancels from B ÷ A, and B ÷ A cancels from the effect of the order. Carry-over,
//! what a side does to the block after it, is read from the two blocks in the middle: both are of the same side, the
//! first of them follows the other side, the second its own.

use crate::comparison::findings::Ratio;
use crate::comparison::pair::{Metric, Pair, Side};
use crate::quantiles::two_sided_t;

/// The interval that is shown.
const CONFIDENCE: f64 = 0.95;
/// An effect is not negligible if 1 is outside this interval: of the metric that decides, and of the others, which are
/// many.
const CONFIDENCE_DECISIVE: f64 = 0.99;
const CONFIDENCE_OTHERS: f64 = 0.999;
/// A B B A or B A A B. Two pairs of one block a side are one sequence, pairs of several blocks have several.
const BLOCKS_OF_SEQUENCE: usize = 4;
/// Sequences of a kind from which their scatter is known.
const SEQUENCES_MIN: usize = 3;

/// What the order of the blocks does to a metric.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Effect {
    /// A ratio with its 95 % interval.
    pub ratio: Ratio,
    /// 1 is inside the 99 % interval of the metric that decides, or the 99.9 % interval of another one.
    pub is_negligible: bool,
}

/// Collects sequences.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crossover {
    /// ln(second ÷ first) of the pairs of a sequence, on average.
    order: Vec<f64>,
    /// ln(third ÷ second) of the blocks of a sequence that A opened, and that B opened.
    middle: [Vec<f64>; 2],
}

/// A mean, the variance of that mean, and its degrees of freedom.
#[derive(Copy, Clone)]
struct Moments {
    mean: f64,
    variance: f64,
    degrees: f64,
}

impl Crossover {
    /// The sequences of blocks in pairs that ran one after the other; those of which a figure is missing are left out.
    pub(crate) fn add<'a>(&mut self, metric: Metric, pairs: impl IntoIterator<Item = &'a Pair>) {
        let blocks: Vec<_> = pairs.into_iter().flat_map(|pair| pair.in_order(metric)).collect();
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
    pub(crate) fn order_effect(&self, is_decisive: bool) -> Option<Effect> {
        Some(effect(Moments::of(&self.order)?, is_decisive))
    }

    /// A block after B ÷ a block after A. A sequence that A opens has A B B A: its third block follows B and its second
    /// A; a sequence that B opens has it the other way round (Welch's interval for a half of the difference).
    pub(crate) fn carry_over(&self, is_decisive: bool) -> Option<Effect> {
        let [a, b] = [Moments::of(&self.middle[0])?, Moments::of(&self.middle[1])?];
        let variance = a.variance + b.variance;
        let degrees = if variance > 0.0 {
            variance.powi(2) / (a.variance.powi(2) / a.degrees + b.variance.powi(2) / b.degrees)
        } else {
            a.degrees + b.degrees
        };
        let half = Moments { mean: (a.mean - b.mean) / 2.0, variance: variance / 4.0, degrees };
        Some(effect(half, is_decisive))
    }
}

impl Moments {
    fn of(numbers: &[f64]) -> Option<Moments> {
        if numbers.len() < SEQUENCES_MIN {
            return None;
        }
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Some(Moments { mean, variance: squares / (count - 1.0) / count, degrees: count - 1.0 })
    }
}

fn effect(moments: Moments, is_decisive: bool) -> Effect {
    let Moments { mean, variance, degrees } = moments;
    let half = |confidence: f64| two_sided_t(confidence, degrees) * variance.sqrt();
    let shown = half(CONFIDENCE);
    let limit = half(if is_decisive { CONFIDENCE_DECISIVE } else { CONFIDENCE_OTHERS });
    Effect {
        ratio: Ratio { estimate: mean.exp(), low: (mean - shown).exp(), high: (mean + shown).exp() },
        is_negligible: mean.abs() <= limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::pair::{Purpose, tests::draw};
    use crate::comparison::random::Random;
    use crate::comparison::schedule::order;

    /// Sequences of a machine where B is faster by `treatment`, the second block of a pair by `second`, and every block
    /// by `after_b` if B ran before it; logarithms, beside 2 % of noise.
    fn crossover(sequences: usize, treatment: f64, second: f64, after_b: f64) -> Crossover {
        of_blocks(1, sequences, treatment, second, after_b)
    }

    /// The same with pairs of several blocks a side; the second block of any two is faster by `second`.
    fn of_blocks(blocks: usize, sequences: usize, treatment: f64, second: f64, after_b: f64) -> Crossover {
        let (mut random, mut crossover, mut before) = (Random::new(3), Crossover::default(), Side::A);
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
                Pair { purpose: Purpose::Comparison, order: sides, base, candidate }
            };
            let (one, other) = (pair(2 * sequence), pair(2 * sequence + 1));
            crossover.add(Metric::Tps, [&one, &other]);
        }
        crossover
    }

    fn close(ratio: Ratio, truth: f64) -> bool {
        ratio.low < truth.exp() && truth.exp() < ratio.high && (ratio.high - ratio.low) < 0.06
    }

    #[test]
    fn order_and_carry_over_are_told_apart_from_each_other_and_from_the_difference() {
        for (treatment, second, after_b) in [(0.3, 0.0, 0.0), (0.0, 0.1, 0.0), (0.1, 0.05, -0.2)] {
            let crossover = crossover(60, treatment, second, after_b);
            let order = crossover.order_effect(true).unwrap();
            let carried = crossover.carry_over(true).unwrap();
            // The block before is a coin's: what it leaves behind cancels, on average, from the effect of the order.
            assert!(close(order.ratio, second) || after_b != 0.0, "{order:?}");
            assert!(close(carried.ratio, after_b), "{carried:?}, and not {after_b}");
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
            assert!(close(order.ratio, second) || after_b != 0.0, "{order:?}");
            assert!(close(carried.ratio, after_b), "{carried:?}, and not {after_b}");
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
                Pair { purpose, order, base: draw(&[10.0]), candidate: draw(&[10.0]) }
            };
            crossover.add(Metric::Tps, [&pair(2 * at), &pair(2 * at + 1)]);
        }
        let (order, carried) = (crossover.order_effect(false).unwrap(), crossover.carry_over(false).unwrap());
        assert!(order.is_negligible && carried.is_negligible);
        assert_eq!((order.ratio.low, carried.ratio.high), (1.0, 1.0));
    }
}
