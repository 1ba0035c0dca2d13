//! Plans the time of a comparison: number of draws, blocks per draw, and their order.
//! Pure calculations.

use crate::SplitMix64;
use crate::comparison::boundary::Boundary;
use crate::comparison::figure::ComparedMetric;
use crate::comparison::pair::{Draw, Pair, Side};
use crate::comparison::sequential::{POWER, deviation};
use crate::comparison::signed_rank::WalshAverages;

/// Minimum number of pairs to estimate their variation.
pub const PAIRS_MIN: usize = 6;
/// Minimum number of pairs to decide on, however large the variation of single blocks.
const PAIRS_ENOUGH: f64 = 40.0;
/// Maximum number of blocks per draw, for a machine whose draws do not differ at all.
const BLOCKS_MAX: f64 = 64.0;

/// Components of the variation of a metric; variances of natural logarithms.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Components {
    /// Of a block around the mean of its draw.
    pub block_variance: f64,
    /// Of the ratio of two draws with infinitely many blocks.
    pub draw_variance: f64,
}

impl Components {
    /// Estimated from pairs of either purpose; `None` if they are too few, or never had two blocks in a draw.
    ///
    /// As in an analysis of variance, a pair of draws with k blocks each has the variance draw + 2·block/k. Medians
    /// and ranks replace means of squares, so that a single outlier does not dominate.
    pub fn of(pairs: &[Pair], metric: ComparedMetric) -> Option<Components> {
        let ratios: Vec<f64> = pairs.iter().filter_map(|pair| pair.ln_ratio(metric)).collect();
        if ratios.len() < PAIRS_MIN {
            return None;
        }
        let draws = || pairs.iter().flat_map(|pair| [&pair.base, &pair.candidate]);
        let block_variance = median(draws().filter_map(|draw| variance_within(draw, metric)).collect())?;
        let blocks_inverse = draws().filter_map(|draw| {
            let count = draw.lns(metric).len();
            (count > 0).then(|| 1.0 / count as f64)
        });
        let from_blocks = 2.0 * block_variance * median(blocks_inverse.collect())?;
        // Around their own centre: pairs of both purposes may be mixed if the difference is small compared with the
        // noise.
        let of_pair = deviation(&WalshAverages::of(&ratios), ratios.len())?.powi(2);
        Some(Components { block_variance, draw_variance: (of_pair - from_blocks).max(0.0) })
    }
}

/// Variance of the blocks of a draw, scaled such that the median over draws is unbiased for normal noise: the median
/// of chi-square ÷ ν is close to (1 − 2/(9ν))³ (Wilson and Hilferty 1931).
fn variance_within(draw: &Draw, metric: ComparedMetric) -> Option<f64> {
    let lns = draw.lns(metric);
    let degrees = (lns.len() as f64) - 1.0;
    if degrees < 1.0 {
        return None;
    }
    let mean = lns.iter().sum::<f64>() / lns.len() as f64;
    let variance = lns.iter().map(|ln| (ln - mean).powi(2)).sum::<f64>() / degrees;
    Some(variance / (1.0 - 2.0 / (9.0 * degrees)).powi(3))
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_unstable_by(f64::total_cmp);
    let count = numbers.len();
    (count > 0).then(|| f64::midpoint(numbers[(count - 1) / 2], numbers[count / 2]))
}

/// Costs in seconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Costs {
    /// Drawing both sides of a pair: connecting, starting servers, loading data, warm-up, whatever they differ in.
    pub pair_s: f64,
    /// A block, including the change of sides.
    pub block_s: f64,
    /// Total time.
    pub budget_s: f64,
}

/// The plan.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Blocks of each draw.
    pub blocks: usize,
    /// Number of comparing pairs, for which the sequential test is planned.
    pub pairs: usize,
    /// Number of pairs for the noise floor in addition.
    pub noise_floor_pairs: usize,
    /// The difference detected with 90 % probability, as a share.
    pub smallest_difference: f64,
}

impl Schedule {
    /// The plan with the shortest interval. `noise_floor_share` of the pairs are for the noise floor.
    ///
    /// Blocks of a draw: √(cost of the draw ÷ cost of a block × variance between blocks ÷ variance between draws)
    /// (Kalibera and Jones, Rigorous benchmarking in reasonable time, 2013, section 6), for two draws at once.
    ///
    /// # Panics
    /// If a block costs nothing, or the share is invalid.
    pub fn new(costs: &Costs, components: &Components, noise_floor_share: f64, error_rate: f64) -> Schedule {
        assert!(costs.block_s > 0.0, "a block takes time");
        assert!((0.0..1.0).contains(&noise_floor_share), "a share of the pairs is below 1");
        let both_blocks_s = 2.0 * costs.block_s;
        let ratio = costs.pair_s / both_blocks_s * 2.0 * components.block_variance / components.draw_variance;
        let affordable = (costs.budget_s / PAIRS_ENOUGH - costs.pair_s) / both_blocks_s;
        // NaN if draws have neither cost nor variance: one block.
        let blocks = ratio.sqrt().min(affordable).clamp(1.0, BLOCKS_MAX).round().max(1.0);
        let all_pairs = (costs.budget_s / (costs.pair_s + blocks * both_blocks_s)).floor();
        let noise_floor = (all_pairs * noise_floor_share).round();
        let pairs = count(all_pairs - noise_floor);
        let variance = components.draw_variance + 2.0 * components.block_variance / blocks;
        let detectable = Boundary::new(error_rate, 1).detectable(POWER);
        Schedule {
            blocks: count(blocks),
            pairs,
            noise_floor_pairs: count(noise_floor),
            smallest_difference: (detectable * (variance / pairs.max(1) as f64).sqrt()).exp_m1(),
        }
    }
}

/// Rounds a calculated number.
fn count(number: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and is not below 0"
    )]
    (number.max(0.0) as usize)
}

/// Pairs in a sequence: A B, then B A, or the other way round.
pub const PAIRS_OF_SEQUENCE: usize = 2;

/// The order of the blocks of a pair. Pairs 2n and 2n + 1 are one sequence with mirrored orders: A B B A or B A A B,
/// selected at random from the seed for every sequence (randomized permuted blocks of four). Pairs of several blocks
/// alternate: A B B A A B B A …
///
/// Each side is first equally often, so that an effect of the order and a steady drift affect both sides alike within
/// each sequence. The error rate rests on the randomization: whatever the machine does and however long it lasts,
/// identical sides are equally likely to be affected (Fisher, The design of experiments, 1935), which is all that
/// signed ranks require.
pub fn order(seed: u64, pair: usize, blocks: usize) -> Vec<Side> {
    let sequence = (pair / PAIRS_OF_SEQUENCE) as u64;
    let coin = SplitMix64::new(seed ^ sequence.wrapping_mul(0xd134_2543_de82_ef95)).bits() >> 63;
    let opens = if coin == 0 { Side::A } else { Side::B };
    let first = if pair.is_multiple_of(PAIRS_OF_SEQUENCE) { opens } else { opens.other() };
    // Indexes 0, 3, 4, 7, 8 … are the first side's.
    let side = |place: usize| if matches!(place % 4, 0 | 3) { first } else { first.other() };
    (0..2 * blocks).map(side).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(pair_s: f64) -> Costs {
        Costs { pair_s, block_s: 1.0, budget_s: 300.0 }
    }

    fn schedule(pair_s: f64, block_variance: f64, draw_variance: f64) -> Schedule {
        Schedule::new(&costs(pair_s), &Components { block_variance, draw_variance }, 0.1, 0.05)
    }

    #[test]
    fn draws_that_cost_nothing_are_made_for_every_block() {
        let schedule = schedule(0.0, 0.01, 0.01);
        assert_eq!((schedule.blocks, schedule.pairs, schedule.noise_floor_pairs), (1, 135, 15));
    }

    #[test]
    fn expensive_draws_have_more_blocks_as_kalibera_and_jones_have_it() {
        // √(8 s ÷ 2 s × 2 · 0.01 ÷ 0.02) = 2.
        let components = Components { block_variance: 0.01, draw_variance: 0.02 };
        let costs = Costs { pair_s: 8.0, block_s: 1.0, budget_s: 1_200.0 };
        let schedule = Schedule::new(&costs, &components, 0.0, 0.05);
        assert_eq!((schedule.blocks, schedule.pairs), (2, 100));
    }

    #[test]
    fn blocks_are_never_so_many_that_pairs_become_few() {
        // √(1.5 s ÷ 2 s × 2 · 0.01 ÷ 0.0005) = 5.5, but 40 pairs in 300 s leave 7.5 s for each.
        let schedule = schedule(1.5, 0.01, 0.000_5);
        assert_eq!((schedule.blocks, schedule.pairs + schedule.noise_floor_pairs), (3, 40));
    }

    #[test]
    fn no_schedule_is_made_of_nonsense() {
        for (block_variance, draw_variance) in [(0.0, 0.0), (0.01, 0.0), (0.0, 0.01)] {
            for pair_s in [0.0, 1.0, 1_000.0] {
                let schedule = schedule(pair_s, block_variance, draw_variance);
                assert!(schedule.blocks >= 1 && schedule.pairs <= 150, "{schedule:?}");
            }
        }
        assert_eq!(schedule(1_000.0, 0.01, 0.01).pairs, 0, "there is no time for even one");
    }

    #[test]
    fn a_schedule_says_what_it_will_find() {
        // 135 pairs with a standard deviation of 9 %: 0.09 ÷ √135 × 3.3.
        let schedule = schedule(0.0, 0.09f64.powi(2) / 4.0, 0.09f64.powi(2) / 2.0);
        assert!((schedule.smallest_difference - 0.026).abs() < 0.001, "{schedule:?}");
    }

    #[test]
    fn a_pair_runs_in_turns_that_no_steady_drift_favours() {
        use Side::{A, B};
        let orders: Vec<Vec<Side>> = (0..200).map(|pair| order(1, pair, 2)).collect();
        let heads = orders.iter().filter(|order| **order == [A, B, B, A]).count();
        let tails = orders.iter().filter(|order| **order == [B, A, A, B]).count();
        assert_eq!((heads, tails), (100, 100));
        assert_eq!(order(1, 5, 3).iter().filter(|side| **side == A).count(), 3);
        assert_eq!(order(9, 3, 1), order(9, 3, 1), "one seed, one order");
    }

    #[test]
    fn each_side_goes_first_in_one_pair_of_every_sequence_and_either_may_open_it() {
        use Side::{A, B};
        for seed in 0..50 {
            let sequences: Vec<[Side; 4]> = (0..100)
                .map(|sequence| {
                    let [one, other] = [2 * sequence, 2 * sequence + 1].map(|pair| order(seed, pair, 1));
                    [one[0], one[1], other[0], other[1]]
                })
                .collect();
            let opened_by_a = sequences.iter().filter(|sequence| **sequence == [A, B, B, A]).count();
            let opened_by_b = sequences.iter().filter(|sequence| **sequence == [B, A, A, B]).count();
            assert_eq!(opened_by_a + opened_by_b, 100, "{seed}");
            assert!((25..=75).contains(&opened_by_a), "{seed}: {opened_by_a}");
        }
    }
}
