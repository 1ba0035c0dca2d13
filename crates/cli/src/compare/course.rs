//! The course of a comparison: pairs of blocks in turns until the answer is sure or the time is over. What is drawn anew
//! for each pair, and when one may stop looking, is explained in docs/comparing.md.

use results::{ComparedBlock, ComparedMetric, ComparedPair, ComparisonStatus, DrawnAnew};
use stats::comparison::{Comparison, Draw, Pair, Purpose, Question, order};

use super::block::{Lengths, Side};
use super::stand::{Builder, Stand, place};
use super::watching::Watching;
use crate::failure::Failure;
use crate::lab::Passed;

/// How often each metric may be wrong.
pub(super) const ERROR_RATE: f64 = 0.05;
/// Of the pairs, for the noise floor.
const NOISE_FLOOR_SHARE: f64 = 0.1;
/// The fewest pairs from which a noise floor is told; with less time there is none.
const NOISE_FLOOR_MIN: usize = 6;
/// The most pairs: what is reckoned of them takes time and memory with their square, 400 MB for so many.
const PAIRS_MAX: f64 = 10_000.0;
/// How many servers are made anew: of fewer than three nothing can be said, more than ten take time from measuring.
const SERVERS: (f64, f64) = (3.0, 10.0);
/// Of the time, for making servers anew.
const STARTING_SHARE: f64 = 0.5;
/// Measured time of a block, and load before it, if nothing else is asked for and transactions are short.
const BLOCK_S: f64 = 0.25;
const WARMUP_S: f64 = 0.05;
/// Transactions that a block is to have: of each client, and in all.
const TRANSACTIONS_EACH: f64 = 10.0;
const TRANSACTIONS_MIN: f64 = 200.0;
/// A block is never longer than this part of the time.
const BLOCKS_MIN: f64 = 80.0;

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) budget_s: f64,
    pub(super) tolerance: f64,
    pub(super) decisive: ComparedMetric,
    pub(super) seed: u64,
    /// If it is not to be chosen.
    pub(super) block_s: Option<f64>,
    /// Blocks of each side in a pair.
    pub(super) blocks: usize,
}

/// How it went.
pub(super) struct Course {
    pub(super) wish: Wish,
    pub(super) lengths: Lengths,
    pub(super) comparison: Comparison,
    pub(super) pairs_planned: usize,
    pub(super) pairs: Vec<ComparedPair>,
    pub(super) status: ComparisonStatus,
    pub(super) elapsed_s: f64,
    pub(super) found_after_s: Option<f64>,
    passed: Passed,
}

impl Course {
    /// From the first block to the answer.
    pub(super) fn run<'a>(
        builder: &Builder<'a>,
        stand: Stand<'a>,
        draws: DrawnAnew,
        wish: Wish,
        watching: &mut Watching<'_>,
    ) -> Result<Self, Failure> {
        let mut stand = stand;
        let lengths = lengths(&mut stand, wish, builder)?;
        let nothing = |pairs| Question {
            error_rate: ERROR_RATE,
            tolerance: wish.tolerance,
            pairs,
            decisive: wish.decisive.metric(),
        };
        let mut course = Self {
            wish,
            lengths,
            comparison: Comparison::new(&nothing(1)),
            pairs_planned: 0,
            pairs: Vec::new(),
            status: ComparisonStatus::Complete,
            elapsed_s: 0.0,
            found_after_s: None,
            passed: Passed::since_now(),
        };
        let ran = match draws {
            DrawnAnew::Connections => course.draw_connections(builder, &mut stand, watching),
            DrawnAnew::Servers => course.draw_servers(builder, stand, watching),
        };
        course.elapsed_s = course.passed.seconds();
        watching.end();
        match ran {
            Ok(()) => course.comparison.close(),
            Err(Failure::Interrupted(_)) => course.status = ComparisonStatus::Interrupted,
            Err(failure) => return Err(failure),
        }
        Ok(course)
    }

    /// Pairs of blocks on one and the same ground, each block on connections of its own.
    fn draw_connections(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        watching: &mut Watching<'_>,
    ) -> Result<(), Failure> {
        let budget_s = self.wish.budget_s;
        // What a pair takes is seen in the first, which is for the noise floor whatever comes of it.
        let first = self.pair(builder, stand, Purpose::NoiseFloor, 0)?;
        let Spending { blocks, pair_s: mut cost_s, pairs } =
            Spending::of(budget_s, self.passed.seconds(), self.wish.blocks);
        self.wish.blocks = blocks;
        let noise_floor = (pairs * NOISE_FLOOR_SHARE).round().max(1.0);
        let few = pairs < (4 * NOISE_FLOOR_MIN) as f64;
        let noise_floor = if few { 1.0 } else { noise_floor.max(NOISE_FLOOR_MIN as f64) };
        self.plan_for((pairs - noise_floor).max(1.0), false);
        self.comparison.add(&first);
        watching.begin(self, pairs);
        for at in 1.. {
            if self.passed.seconds() + cost_s > budget_s || self.is_over() {
                return Ok(());
            }
            let share = noise_floor / pairs;
            // Spread evenly, the first being one.
            let is_due = (at as f64 * share).floor() > ((at - 1) as f64 * share).floor();
            let purpose = if is_due { Purpose::NoiseFloor } else { Purpose::Comparison };
            let begun_s = self.passed.seconds();
            let pair = self.pair(builder, stand, purpose, at)?;
            self.take(&pair);
            cost_s += (self.passed.seconds() - begun_s - cost_s) / 8.0;
            watching.pair(self);
        }
        Ok(())
    }

    /// Two servers side by side, made anew for each pair, which has many blocks.
    fn draw_servers<'a>(
        &mut self,
        builder: &Builder<'a>,
        stand: Stand<'a>,
        watching: &mut Watching<'_>,
    ) -> Result<(), Failure> {
        let mut starting_s = stand.starting_s;
        let mut stand = Some(stand);
        let budget_s = self.wish.budget_s;
        let (least, most) = SERVERS;
        let draws = (budget_s * STARTING_SHARE / starting_s).floor().clamp(least, most);
        self.plan_for(draws, true);
        watching.begin(self, draws);
        for at in 0..self.pairs_planned {
            if self.is_over() {
                break;
            }
            if at > 0 {
                // The old ones are gone before the new ones come.
                let begun_s = self.passed.seconds();
                drop(stand.take());
                stand = Some(builder.apart(at)?);
                starting_s = starting_s.max(self.passed.seconds() - begun_s);
            }
            let Some(stand) = &mut stand else { break };
            let until_s = budget_s - (draws - 1.0 - at as f64) * starting_s;
            let share_s = (until_s - self.passed.seconds()).max(0.0) / (draws - at as f64);
            let end_s = self.passed.seconds() + share_s;
            if at == 0 {
                self.noise_floor_of_a_server(builder, stand, end_s)?;
            }
            let pair = self.long_pair(builder, stand, at, end_s, watching)?;
            self.take(&pair);
            watching.pair(self);
            // What is left may be a little less than was reserved, and the last draw has little time to measure then.
            if self.passed.seconds() + starting_s / 2.0 > budget_s {
                break;
            }
        }
        Ok(())
    }

    /// A beside A on one server, for a tenth of the first draw's time and at least so often that it can be told.
    fn noise_floor_of_a_server(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        end_s: f64,
    ) -> Result<(), Failure> {
        let until_s = self.passed.seconds() + (end_s - self.passed.seconds()) / 4.0;
        for at in 0..2 * NOISE_FLOOR_MIN {
            if self.passed.seconds() > until_s {
                break;
            }
            let pair = self.pair(builder, stand, Purpose::NoiseFloor, at)?;
            self.comparison.add(&pair);
        }
        Ok(())
    }

    fn plan_for(&mut self, pairs: f64, is_of_few: bool) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, is above 0")]
        let pairs = pairs as usize;
        self.pairs_planned = pairs;
        let question = Question {
            error_rate: ERROR_RATE,
            tolerance: self.wish.tolerance,
            pairs,
            decisive: self.wish.decisive.metric(),
        };
        self.comparison =
            if is_of_few { Comparison::of_few_draws(&question) } else { Comparison::new(&question) };
    }

    fn take(&mut self, pair: &Pair) {
        self.comparison.add(pair);
        if self.found_after_s.is_none() && self.comparison.different().is_some() {
            self.found_after_s = Some(self.passed.seconds());
        }
    }

    /// Whether the answer is known, or all that was planned is done.
    fn is_over(&self) -> bool {
        let made = self.pairs.iter().filter(|pair| !pair.is_noise_floor).count();
        self.comparison.is_settled() || made >= self.pairs_planned
    }

    /// Seconds since the first pair began.
    pub(super) fn passed_s(&self) -> f64 {
        self.passed.seconds()
    }

    /// Some blocks of both sides in turns.
    fn pair(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        purpose: Purpose,
        at: usize,
    ) -> Result<Pair, Failure> {
        let mut pair = Turns::new(purpose, self.passed.seconds());
        for side in order(self.wish.seed, at, self.wish.blocks) {
            pair.turn(self, builder, stand, at, place(side))?;
        }
        Ok(pair.end(self))
    }

    /// As many blocks of both sides as there is time for, each side as many as the other.
    fn long_pair(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        at: usize,
        end_s: f64,
        watching: &mut Watching<'_>,
    ) -> Result<Pair, Failure> {
        const TURNS_MAX: usize = 100_000;
        let mut pair = Turns::new(Purpose::Comparison, self.passed.seconds());
        for turns in order(self.wish.seed, at, TURNS_MAX).chunks(4) {
            for side in turns {
                pair.turn(self, builder, stand, at, place(*side))?;
            }
            watching.block(self);
            if self.passed.seconds() >= end_s {
                break;
            }
        }
        Ok(pair.end(self))
    }
}

/// How the time is spent where a draw costs nothing beside its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spending {
    /// Blocks of each side in a pair.
    blocks: usize,
    /// What a pair takes.
    pair_s: f64,
    /// Pairs that there is time for, the first included.
    pairs: f64,
}

impl Spending {
    /// From what the first pair took, with so many blocks. Where the time would hold too many pairs, each has some times
    /// as many blocks, and takes as many times longer: a block has its connections to itself.
    fn of(budget_s: f64, first_s: f64, blocks: usize) -> Self {
        let left_s = (budget_s - first_s).max(0.0);
        let times = (left_s / first_s / (PAIRS_MAX - 1.0)).ceil().max(1.0);
        let pair_s = first_s * times;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, is above 0")]
        let times = times as usize;
        Self { blocks: blocks.saturating_mul(times), pair_s, pairs: 1.0 + (left_s / pair_s).floor() }
    }
}

/// A pair while it runs.
struct Turns {
    pair: Pair,
    start_s: f64,
    blocks: Vec<ComparedBlock>,
}

impl Turns {
    fn new(purpose: Purpose, start_s: f64) -> Self {
        let pair = Pair { purpose, base: Draw::default(), candidate: Draw::default() };
        Self { pair, start_s, blocks: Vec::new() }
    }

    fn turn(
        &mut self,
        course: &Course,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        at: usize,
        which: usize,
    ) -> Result<(), Failure> {
        let draw = if which == 0 { &mut self.pair.base } else { &mut self.pair.candidate };
        // Both sides draw the same.
        let seed = course.wish.seed.wrapping_add((at as u64) << 16).wrapping_add(draw.blocks.len() as u64);
        let side = match self.pair.purpose {
            Purpose::NoiseFloor => 0,
            Purpose::Comparison => which,
        };
        let ran = stand.sides[side].run(course.lengths, seed, builder.signals)?;
        draw.blocks.push(ran.block);
        self.blocks.push(ComparedBlock::new(which == 1, &ran.block));
        Ok(())
    }

    fn end(self, course: &mut Course) -> Pair {
        course.pairs.push(ComparedPair {
            is_noise_floor: self.pair.purpose == Purpose::NoiseFloor,
            start_s: self.start_s,
            blocks: self.blocks,
        });
        self.pair
    }
}

/// How long blocks must be: so that both sides get enough done. Seen in a block of each, which does not count.
fn lengths(stand: &mut Stand<'_>, wish: Wish, builder: &Builder<'_>) -> Result<Lengths, Failure> {
    let usual = wish.block_s.unwrap_or(BLOCK_S);
    let mut lengths = Lengths { block_s: usual, warmup_s: WARMUP_S.max(usual / 10.0) };
    for side in &mut stand.sides {
        let slow_s = needed_s(side, lengths, wish, builder)?;
        if wish.block_s.is_none() && slow_s > lengths.block_s {
            let longest = (wish.budget_s / BLOCKS_MIN).max(BLOCK_S);
            let block_s = slow_s.min(longest);
            lengths = Lengths { block_s, warmup_s: (block_s / 5.0).max(WARMUP_S) };
        }
    }
    Ok(lengths)
}

fn needed_s(side: &mut Side, lengths: Lengths, wish: Wish, builder: &Builder<'_>) -> Result<f64, Failure> {
    let ran = side.run(lengths, wish.seed, builder.signals)?;
    if ran.transactions == 0 {
        return Err(Failure::Usage(format!(
            "no transaction succeeded in a block of {} s: give --block more seconds",
            lengths.block_s
        )));
    }
    let each = ran.block.tps.map_or(f64::INFINITY, f64::recip);
    Ok((TRANSACTIONS_EACH * ran.mean_s).max(TRANSACTIONS_MIN * each))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_time_has_more_blocks_in_a_pair_and_not_more_pairs_than_can_be_reckoned_with() {
        let spent = |budget_s, blocks| {
            let Spending { blocks, pairs, .. } = Spending::of(budget_s, 0.65, blocks);
            (blocks, pairs)
        };
        assert_eq!(spent(300.0, 1), (1, 461.0));
        assert_eq!(spent(300.0, 2), (2, 461.0));
        // 44,307 pairs otherwise.
        assert_eq!(spent(8.0 * 3_600.0, 1), (5, 8_862.0));
        assert_eq!(spent(0.5, 1), (1, 1.0), "the first took all of it");
        for hours in 1..200 {
            let budget_s = f64::from(hours) * 3_600.0;
            let Spending { pair_s, pairs, .. } = Spending::of(budget_s, 0.65, 1);
            let takes_s = 0.65 + (pairs - 1.0) * pair_s;
            assert!(pairs <= PAIRS_MAX && takes_s < budget_s + 1e-6, "{hours} h: {pairs}");
        }
    }
}
