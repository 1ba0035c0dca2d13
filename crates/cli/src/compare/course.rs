//! The course of a comparison: pairs of blocks in turns until the answer is sure or the time is over. What is drawn anew
//! for each pair, and when one may stop looking, is explained in docs/comparing.md.

use results::{Checkpoints, ComparedBlock, ComparedMetric, ComparedPair, ComparisonStatus, DrawnAnew};
use stats::comparison::{Comparison, Draw, PAIRS_OF_SEQUENCE, Pair, Purpose, Question, Side, order};

use super::block::{Lengths, Start};
use super::probe::Probe;
use super::spending::{Sequences, Servers};
use super::stand::{Builder, Stand, place};
use super::watching::Watching;
use crate::failure::Failure;
use crate::lab::Passed;

/// How often each metric may be wrong.
pub(super) const ERROR_RATE: f64 = 0.05;
/// Sequences for the noise floor of a server, twice as many as it takes.
const NOISE_FLOOR_OF_A_SERVER: usize = 12;
/// What is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    pub(super) budget_s: f64,
    pub(super) tolerance: f64,
    pub(super) decisive: ComparedMetric,
    pub(super) seed: u64,
    /// Whether a checkpoint before each block is wanted, if blocks write.
    pub(super) checkpoints: bool,
    /// If it is not to be chosen.
    pub(super) block_s: Option<f64>,
    /// Blocks of each side in a pair.
    pub(super) blocks: usize,
}

/// How it went.
pub(super) struct Course {
    pub(super) wish: Wish,
    pub(super) lengths: Lengths,
    pub(super) checkpoints: Checkpoints,
    /// What it takes to set up a block, or to make both servers anew.
    pub(super) setup_s: f64,
    pub(super) comparison: Comparison,
    pub(super) pairs_planned: usize,
    pub(super) pairs: Vec<ComparedPair>,
    pub(super) status: ComparisonStatus,
    pub(super) elapsed_s: f64,
    pub(super) found_after_s: Option<f64>,
    /// Blocks begun, each with random numbers of its own.
    blocks: u64,
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
        let mut seeds = 0;
        let Probe { lengths, checkpoints, setup_s } =
            Probe::of(&mut stand, wish, builder, || block_seed(wish.seed, &mut seeds))?;
        let mut course = Self {
            wish,
            lengths,
            checkpoints,
            setup_s,
            comparison: Comparison::new(&question(wish, 1)),
            pairs_planned: 0,
            pairs: Vec::new(),
            status: ComparisonStatus::Complete,
            elapsed_s: 0.0,
            found_after_s: None,
            blocks: seeds,
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

    /// Sequences of pairs on one and the same ground, each block on connections of its own.
    fn draw_connections(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        watching: &mut Watching<'_>,
    ) -> Result<(), Failure> {
        let budget_s = self.wish.budget_s;
        // The time that a sequence takes is seen in the first, which is for the noise floor.
        let first = self.sequence(builder, stand, Purpose::NoiseFloor, 0)?;
        let spending = Sequences::of(budget_s, self.passed.seconds(), self.wish.blocks);
        let Sequences { blocks, sequence_s: mut cost_s, sequences, noise_floor } = spending;
        self.wish.blocks = blocks;
        let planned = (sequences - noise_floor).max(1.0);
        self.pairs_planned = PAIRS_OF_SEQUENCE * whole(planned);
        self.comparison = Comparison::new(&question(self.wish, whole(planned)));
        first.into_iter().for_each(|pair| self.comparison.add(pair));
        watching.begin(self, PAIRS_OF_SEQUENCE as f64 * sequences);
        let mut made = 0;
        for at in 1.. {
            if self.passed.seconds() + cost_s > budget_s || self.is_over() {
                return Ok(());
            }
            let purpose = spending.purpose(at);
            let begun_s = self.passed.seconds();
            // Sequences of the two purposes have coins of their own.
            let which = if purpose == Purpose::Comparison { made } else { at };
            for pair in self.sequence(builder, stand, purpose, which)? {
                self.take(pair);
            }
            made += usize::from(purpose == Purpose::Comparison);
            cost_s += (self.passed.seconds() - begun_s - cost_s) / 8.0;
            watching.pair(self);
        }
        Ok(())
    }

    /// Two servers side by side, made anew for each pair, which has many blocks and lasts at least as long as making
    /// them.
    fn draw_servers<'a>(
        &mut self,
        builder: &Builder<'a>,
        stand: Stand<'a>,
        watching: &mut Watching<'_>,
    ) -> Result<(), Failure> {
        self.setup_s = stand.starting_s;
        let servers = Servers::of(self.wish.budget_s, stand.starting_s);
        let mut stand = Some(stand);
        self.pairs_planned = whole(servers.makings);
        self.comparison = Comparison::of_few_draws(&question(self.wish, self.pairs_planned));
        watching.begin(self, servers.makings);
        for at in 0..self.pairs_planned {
            if self.is_over() {
                break;
            }
            if at > 0 {
                if !servers.has_time_for_another(self.passed.seconds(), self.setup_s) {
                    break;
                }
                // The old ones are gone before the new ones come.
                drop(stand.take());
                let made = builder.apart(at)?;
                self.setup_s = self.setup_s.max(made.starting_s);
                stand = Some(made);
            }
            let Some(stand) = &mut stand else { break };
            let begun_s = self.passed.seconds();
            let end_s = begun_s + servers.share_s(at, begun_s, self.setup_s);
            if at == 0 {
                self.noise_floor_of_a_server(builder, stand, end_s)?;
            }
            let pair = self.long_pair(builder, stand, at, end_s, watching)?;
            self.take(pair);
            watching.pair(self);
        }
        Ok(())
    }

    /// A beside A on one server and B beside B on the other, for at most a quarter of the first draw's time.
    fn noise_floor_of_a_server(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        end_s: f64,
    ) -> Result<(), Failure> {
        let until_s = self.passed.seconds() + (end_s - self.passed.seconds()) / 4.0;
        for at in 0..NOISE_FLOOR_OF_A_SERVER {
            if self.passed.seconds() > until_s {
                break;
            }
            for pair in self.sequence(builder, stand, Purpose::NoiseFloor, at)? {
                self.comparison.add(pair);
            }
        }
        Ok(())
    }

    fn take(&mut self, pair: Pair) {
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

    /// Two pairs in mirrored order: A B B A or B A A B.
    fn sequence(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        purpose: Purpose,
        at: usize,
    ) -> Result<[Pair; PAIRS_OF_SEQUENCE], Failure> {
        let one = self.pair(builder, stand, purpose, PAIRS_OF_SEQUENCE * at)?;
        Ok([one, self.pair(builder, stand, purpose, PAIRS_OF_SEQUENCE * at + 1)?])
    }

    /// Some blocks of both sides in turns.
    fn pair(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        purpose: Purpose,
        at: usize,
    ) -> Result<Pair, Failure> {
        let sides = order(self.coins(purpose), at, self.wish.blocks);
        // Of the two pairs of a sequence one runs on each side: what blocks leave behind is the same on both.
        let ground = at % PAIRS_OF_SEQUENCE;
        let mut pair = Turns::new(purpose, ground, self.passed.seconds());
        for side in sides {
            pair.turn(self, builder, stand, side)?;
        }
        Ok(pair.end(self))
    }

    /// As many sequences of blocks as there is time for, each side in as many blocks as the other.
    fn long_pair(
        &mut self,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        at: usize,
        end_s: f64,
        watching: &mut Watching<'_>,
    ) -> Result<Pair, Failure> {
        const SEQUENCES_MAX: usize = 50_000;
        let coins = self.coins(Purpose::Comparison);
        let of = |sequence: usize| {
            let pair = PAIRS_OF_SEQUENCE * (at * SEQUENCES_MAX + sequence);
            [order(coins, pair, 1), order(coins, pair + 1, 1)].concat()
        };
        let mut pair = Turns::new(Purpose::Comparison, 0, self.passed.seconds());
        for sequence in 0..SEQUENCES_MAX {
            for side in of(sequence) {
                pair.turn(self, builder, stand, side)?;
            }
            watching.block(self);
            if self.passed.seconds() >= end_s {
                break;
            }
        }
        Ok(pair.end(self))
    }

    /// Where the coins for the order come from.
    fn coins(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Comparison => self.wish.seed,
            Purpose::NoiseFloor => self.wish.seed.rotate_left(32),
        }
    }
}

fn question(wish: Wish, numbers: usize) -> Question {
    Question { error_rate: ERROR_RATE, tolerance: wish.tolerance, numbers, decisive: wish.decisive }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, is above 0")]
fn whole(number: f64) -> usize {
    number as usize
}

/// The seed of the next block. No two blocks draw the same random numbers: the second would find the pages of the first
/// in memory, and already written to since the last checkpoint.
fn block_seed(seed: u64, blocks: &mut u64) -> u64 {
    *blocks += 1;
    stats::SplitMix64::new(seed ^ blocks.wrapping_mul(0x9fb2_1c65_1e98_df25)).bits()
}

/// A pair while it runs.
struct Turns {
    pair: Pair,
    /// For the noise floor, the side that all blocks run on.
    ground: usize,
    start_s: f64,
    blocks: Vec<ComparedBlock>,
}

impl Turns {
    fn new(purpose: Purpose, ground: usize, start_s: f64) -> Self {
        let pair = Pair { purpose, order: Vec::new(), base: Draw::default(), candidate: Draw::default() };
        Self { pair, ground, start_s, blocks: Vec::new() }
    }

    fn turn(
        &mut self,
        course: &mut Course,
        builder: &Builder<'_>,
        stand: &mut Stand<'_>,
        side: Side,
    ) -> Result<(), Failure> {
        let which = place(side);
        let draw = if which == 0 { &mut self.pair.base } else { &mut self.pair.candidate };
        let seed = block_seed(course.wish.seed, &mut course.blocks);
        let runs_on = match self.pair.purpose {
            Purpose::NoiseFloor => self.ground,
            Purpose::Comparison => which,
        };
        let start = match course.checkpoints {
            Checkpoints::EachBlock => Start::AfterCheckpoint,
            Checkpoints::NotNeeded | Checkpoints::NotAllowed | Checkpoints::NotWanted => Start::AtOnce,
        };
        let ran = stand.sides[runs_on].run(course.lengths, seed, start, builder.signals)?;
        draw.blocks.push(ran.block);
        self.pair.order.push(side);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_blocks_draw_the_same_random_numbers() {
        let mut blocks = 0;
        let mut seeds: Vec<u64> = (0..10_000).map(|_| block_seed(1, &mut blocks)).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!((seeds.len(), blocks), (10_000, 10_000));
        assert_eq!(block_seed(7, &mut 0), block_seed(7, &mut 0), "one seed, one comparison");
        assert_ne!(block_seed(7, &mut 0), block_seed(8, &mut 0));
    }
}
