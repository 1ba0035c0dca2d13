//! The run of a comparison: pairs of blocks in turns until the answer is sure or the time is over. What is drawn anew
//! for each pair, and when one may stop looking, is explained in docs/comparing.md.

use results::{
    Checkpoints, ComparedBlock, ComparedMetric, ComparedPair, ComparisonStatus, DrawnAnew, MetricFinding,
};
use run::RunError;
use stats::comparison::{Comparison, Draw, PAIRS_OF_SEQUENCE, Pair, Purpose, Question, Side, order};

use super::block::{BlockLengths, Start};
use super::layout::{Layout, ReadySides, place};
use super::probe::Probe;
use super::spending::{Sequences, Servers};
use crate::event::{ComparisonEvent, Event};
use crate::stopwatch::Stopwatch;

/// How often each metric may be wrong.
pub(super) const ERROR_RATE: f64 = 0.05;
/// Sequences for the noise floor of a server, twice as many as it takes.
const NOISE_FLOOR_OF_A_SERVER: usize = 12;

/// What is asked of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions {
    /// Time for comparing, beyond starting and loading the first servers.
    pub budget_s: f64,
    /// A worsening by less than this share does not matter.
    pub tolerance: f64,
    /// The figure that decides.
    pub decisive: ComparedMetric,
    /// The number from which the order and all random draws come.
    pub seed: u64,
    /// Whether a checkpoint before each block is wanted, if blocks write.
    pub checkpoints: bool,
    /// Seconds measured in a block; `None`: chosen from a probe.
    pub block_s: Option<f64>,
    /// Blocks of each side in a pair.
    pub blocks: usize,
}

/// A comparison while it runs, and how it went.
pub struct ComparisonRun {
    pub(super) options: CompareOptions,
    pub(super) lengths: BlockLengths,
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
    stopwatch: Stopwatch,
}

impl ComparisonRun {
    /// From the first block to the answer.
    pub(super) fn run<'a>(
        layout: &Layout<'a>,
        ready: ReadySides<'a>,
        draws: DrawnAnew,
        options: CompareOptions,
    ) -> Result<Self, RunError> {
        let mut ready = ready;
        let mut seeds = 0;
        let Probe { lengths, checkpoints, setup_s } =
            Probe::of(&mut ready, options, layout, || block_seed(options.seed, &mut seeds))?;
        let mut run = Self {
            options,
            lengths,
            checkpoints,
            setup_s,
            comparison: Comparison::new(&question(options, 1)),
            pairs_planned: 0,
            pairs: Vec::new(),
            status: ComparisonStatus::Complete,
            elapsed_s: 0.0,
            found_after_s: None,
            blocks: seeds,
            stopwatch: Stopwatch::start(),
        };
        let ran = match draws {
            DrawnAnew::Connections => run.draw_connections(layout, &mut ready),
            DrawnAnew::Servers => run.draw_servers(layout, ready),
        };
        run.elapsed_s = run.stopwatch.seconds();
        layout.listener.tell(Event::Comparison(&run, ComparisonEvent::Ends));
        match ran {
            Ok(()) => run.comparison.close(),
            Err(RunError::Interrupted(_)) => run.status = ComparisonStatus::Interrupted,
            Err(failure) => return Err(failure),
        }
        Ok(run)
    }

    /// Sequences of pairs on one and the same layout, each block on connections of its own.
    fn draw_connections(&mut self, layout: &Layout<'_>, ready: &mut ReadySides<'_>) -> Result<(), RunError> {
        let budget_s = self.options.budget_s;
        // The time that a sequence takes is seen in the first, which is for the noise floor.
        let first = self.sequence(layout, ready, Purpose::NoiseFloor, 0)?;
        let spending = Sequences::of(budget_s, self.stopwatch.seconds(), self.options.blocks);
        let Sequences { blocks, sequence_s: mut cost_s, sequences, noise_floor } = spending;
        self.options.blocks = blocks;
        let planned = (sequences - noise_floor).max(1.0);
        self.pairs_planned = PAIRS_OF_SEQUENCE * whole(planned);
        self.comparison = Comparison::new(&question(self.options, whole(planned)));
        first.into_iter().for_each(|pair| self.comparison.add(pair));
        self.tell(layout, ComparisonEvent::Begins(PAIRS_OF_SEQUENCE as f64 * sequences));
        let mut made = 0;
        for at in 1.. {
            if self.stopwatch.seconds() + cost_s > budget_s || self.is_over() {
                return Ok(());
            }
            let purpose = spending.purpose(at);
            let begun_s = self.stopwatch.seconds();
            // Sequences of the two purposes have coins of their own.
            let which = if purpose == Purpose::Comparison { made } else { at };
            for pair in self.sequence(layout, ready, purpose, which)? {
                self.take(pair);
            }
            made += usize::from(purpose == Purpose::Comparison);
            cost_s += (self.stopwatch.seconds() - begun_s - cost_s) / 8.0;
            self.tell(layout, ComparisonEvent::Pair);
        }
        Ok(())
    }

    /// Two servers side by side, made anew for each pair, which has many blocks and lasts at least as long as making
    /// them.
    fn draw_servers<'a>(&mut self, layout: &Layout<'a>, ready: ReadySides<'a>) -> Result<(), RunError> {
        self.setup_s = ready.starting_s;
        let servers = Servers::of(self.options.budget_s, ready.starting_s);
        let mut ready = Some(ready);
        self.pairs_planned = whole(servers.makings);
        self.comparison = Comparison::of_few_draws(&question(self.options, self.pairs_planned));
        self.tell(layout, ComparisonEvent::Begins(servers.makings));
        for at in 0..self.pairs_planned {
            if self.is_over() {
                break;
            }
            if at > 0 {
                if !servers.has_time_for_another(self.stopwatch.seconds(), self.setup_s) {
                    break;
                }
                // The old ones are gone before the new ones come.
                drop(ready.take());
                let made = layout.apart(at)?;
                self.setup_s = self.setup_s.max(made.starting_s);
                ready = Some(made);
            }
            let Some(ready) = &mut ready else { break };
            let begun_s = self.stopwatch.seconds();
            let end_s = begun_s + servers.share_s(at, begun_s, self.setup_s);
            if at == 0 {
                self.noise_floor_of_a_server(layout, ready, end_s)?;
            }
            let pair = self.long_pair(layout, ready, at, end_s)?;
            self.take(pair);
            self.tell(layout, ComparisonEvent::Pair);
        }
        Ok(())
    }

    /// A beside A on one server and B beside B on the other, for at most a quarter of the first draw's time.
    fn noise_floor_of_a_server(
        &mut self,
        layout: &Layout<'_>,
        ready: &mut ReadySides<'_>,
        end_s: f64,
    ) -> Result<(), RunError> {
        let until_s = self.stopwatch.seconds() + (end_s - self.stopwatch.seconds()) / 4.0;
        for at in 0..NOISE_FLOOR_OF_A_SERVER {
            if self.stopwatch.seconds() > until_s {
                break;
            }
            for pair in self.sequence(layout, ready, Purpose::NoiseFloor, at)? {
                self.comparison.add(pair);
            }
        }
        Ok(())
    }

    fn tell(&self, layout: &Layout<'_>, event: ComparisonEvent) {
        layout.listener.tell(Event::Comparison(self, event));
    }

    fn take(&mut self, pair: Pair) {
        self.comparison.add(pair);
        if self.found_after_s.is_none() && self.comparison.different().is_some() {
            self.found_after_s = Some(self.stopwatch.seconds());
        }
    }

    /// Whether the answer is known, or all that was planned is done.
    fn is_over(&self) -> bool {
        let made = self.pairs.iter().filter(|pair| !pair.is_noise_floor).count();
        self.comparison.is_settled() || made >= self.pairs_planned
    }

    /// What was asked.
    #[must_use]
    pub fn options(&self) -> &CompareOptions {
        &self.options
    }

    /// Seconds measured in a block.
    #[must_use]
    pub fn block_s(&self) -> f64 {
        self.lengths.block_s
    }

    /// Pairs so far, those for the noise floor included.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// What is known so far of the figure that decides.
    #[must_use]
    pub fn finding(&self) -> Option<MetricFinding> {
        self.comparison.finding(self.options.decisive)
    }

    /// Seconds since the first pair began.
    #[must_use]
    pub fn passed_s(&self) -> f64 {
        self.stopwatch.seconds()
    }

    /// Two pairs in mirrored order: A B B A or B A A B.
    fn sequence(
        &mut self,
        layout: &Layout<'_>,
        ready: &mut ReadySides<'_>,
        purpose: Purpose,
        at: usize,
    ) -> Result<[Pair; PAIRS_OF_SEQUENCE], RunError> {
        let one = self.pair(layout, ready, purpose, PAIRS_OF_SEQUENCE * at)?;
        Ok([one, self.pair(layout, ready, purpose, PAIRS_OF_SEQUENCE * at + 1)?])
    }

    /// Some blocks of both sides in turns.
    fn pair(
        &mut self,
        layout: &Layout<'_>,
        ready: &mut ReadySides<'_>,
        purpose: Purpose,
        at: usize,
    ) -> Result<Pair, RunError> {
        let sides = order(self.coins(purpose), at, self.options.blocks);
        // Of the two pairs of a sequence one runs on each side: what blocks leave behind is the same on both.
        let side_of_noise = at % PAIRS_OF_SEQUENCE;
        let mut pair = Turns::new(purpose, side_of_noise, self.stopwatch.seconds());
        for side in sides {
            pair.turn(self, layout, ready, side)?;
        }
        Ok(pair.end(self))
    }

    /// As many sequences of blocks as there is time for, each side in as many blocks as the other.
    fn long_pair(
        &mut self,
        layout: &Layout<'_>,
        ready: &mut ReadySides<'_>,
        at: usize,
        end_s: f64,
    ) -> Result<Pair, RunError> {
        const SEQUENCES_MAX: usize = 50_000;
        let coins = self.coins(Purpose::Comparison);
        let of = |sequence: usize| {
            let pair = PAIRS_OF_SEQUENCE * (at * SEQUENCES_MAX + sequence);
            [order(coins, pair, 1), order(coins, pair + 1, 1)].concat()
        };
        let mut pair = Turns::new(Purpose::Comparison, 0, self.stopwatch.seconds());
        for sequence in 0..SEQUENCES_MAX {
            for side in of(sequence) {
                pair.turn(self, layout, ready, side)?;
            }
            self.tell(layout, ComparisonEvent::Block);
            if self.stopwatch.seconds() >= end_s {
                break;
            }
        }
        Ok(pair.end(self))
    }

    /// Where the coins for the order come from.
    fn coins(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Comparison => self.options.seed,
            Purpose::NoiseFloor => self.options.seed.rotate_left(32),
        }
    }
}

fn question(options: CompareOptions, numbers: usize) -> Question {
    Question { error_rate: ERROR_RATE, tolerance: options.tolerance, numbers, decisive: options.decisive }
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
    side_of_noise: usize,
    start_s: f64,
    blocks: Vec<ComparedBlock>,
}

impl Turns {
    fn new(purpose: Purpose, side_of_noise: usize, start_s: f64) -> Self {
        let pair = Pair { purpose, order: Vec::new(), base: Draw::default(), candidate: Draw::default() };
        Self { pair, side_of_noise, start_s, blocks: Vec::new() }
    }

    fn turn(
        &mut self,
        run: &mut ComparisonRun,
        layout: &Layout<'_>,
        ready: &mut ReadySides<'_>,
        side: Side,
    ) -> Result<(), RunError> {
        let which = place(side);
        let draw = if which == 0 { &mut self.pair.base } else { &mut self.pair.candidate };
        let seed = block_seed(run.options.seed, &mut run.blocks);
        let runs_on = match self.pair.purpose {
            Purpose::NoiseFloor => self.side_of_noise,
            Purpose::Comparison => which,
        };
        let start = match run.checkpoints {
            Checkpoints::EachBlock => Start::AfterCheckpoint,
            Checkpoints::NotNeeded | Checkpoints::NotAllowed | Checkpoints::NotWanted => Start::AtOnce,
        };
        let ran = ready.sides[runs_on].run(run.lengths, seed, start, layout.control)?;
        draw.blocks.push(ran.block);
        self.pair.order.push(side);
        self.blocks.push(ComparedBlock::new(which == 1, &ran.block));
        Ok(())
    }

    fn end(self, run: &mut ComparisonRun) -> Pair {
        run.pairs.push(ComparedPair {
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
