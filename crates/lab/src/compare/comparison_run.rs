//! The run of a comparison: pairs of blocks until the result is clear or the time is over. docs/comparing.md explains
//! the draws and the stopping rule.

use connect::Stopwatch;
use experiment::counted;
use results::{Checkpoints, ComparedBlock, ComparedPair, ComparisonStatus, DrawnAnew};
use run::RunError;
use stats::comparison::{
    Comparison, Draw, PAIRS_OF_SEQUENCE, Pair, Purpose, Question, RANKS_MIN, Side, order,
};

use super::block::{self, BlockStart};
use super::latencies::{Latencies, Mix};
use super::layout::{Layout, ReadySides, place};
use super::probe::Probe;
use super::state::{CompareOptions, ComparisonRun};
use super::time_plan::{SequencePlan, ServerStarts};
use crate::event::{ComparisonEvent, Event};
use crate::schema_change::SchemaCost;
use crate::seeds::load_seed;

/// Error probability of the decisive metric, and of the others together.
pub(super) const ERROR_RATE: f64 = 0.05;
/// Sequences for the noise floor of a server, twice the required minimum.
const NOISE_FLOOR_OF_A_SERVER: usize = 12;

impl ComparisonRun {
    /// Time from the first block to the result.
    pub(super) fn run<'a>(
        layout: &Layout<'a>,
        mut ready: ReadySides<'a>,
        draws: DrawnAnew,
        options: CompareOptions,
    ) -> Result<Self, RunError> {
        let mut seeds = 0;
        let Probe { lengths, checkpoints, setup_s, transactions } =
            Probe::of(&mut ready, options, layout, || load_seed(options.seed, &mut seeds))?;
        let mix = Mix::of(&layout.cells);
        let run = Self {
            options,
            lengths,
            checkpoints,
            setup_s,
            comparison: Comparison::new(&question(options, &mix, 1)),
            latencies: Latencies::new(options.decisive, &mix, transactions),
            mix,
            pairs_planned: 0,
            pairs: Vec::new(),
            status: ComparisonStatus::Complete,
            elapsed_s: 0.0,
            found_after_s: None,
            blocks_of_sides: Default::default(),
            goals: ready.sides.each_ref().map(block::Side::goal_meter),
            schema_changes: SchemaCost::default(),
            not_undone: None,
            ended_early: None,
            wal_of_others: (0.0, 0.0),
            only_reads: ready.sides.iter().all(block::Side::only_reads),
            blocks: seeds,
            stopwatch: Stopwatch::start(),
        };
        let mut runner = PairRunner { run, layout, ready: Some(ready) };
        let ran = match draws {
            DrawnAnew::Connections => runner.run_on_new_connections(),
            DrawnAnew::Servers => runner.run_on_new_servers(),
        };
        let PairRunner { mut run, ready, .. } = runner;
        if let Some(mut ready) = ready {
            run.not_undone = ready.restore_schema().err().map(|error| error.to_string());
            run.schema_changes = ready.cost_of_schema();
        }
        run.elapsed_s = run.stopwatch.seconds();
        layout.listener.tell(Event::Comparison(&run, ComparisonEvent::Ends));
        match ran {
            Ok(()) => run.comparison.close(),
            Err(failure) if failure.is_interruption() => run.status = ComparisonStatus::Interrupted,
            Err(failure) if run.pairs.is_empty() => return Err(failure),
            Err(failure) => {
                run.status = ComparisonStatus::EndedEarly;
                run.ended_early = Some(failure.to_string());
            }
        }
        Ok(run)
    }

    /// The failure that ended it early.
    pub(super) fn early_end(&self) -> Option<RunError> {
        let reason = self.ended_early.as_ref()?;
        let pairs = counted(self.pairs.len(), "pair", "pairs");
        Some(RunError::Aborted(format!("ended early: {reason}; the result covers the {pairs} before that")))
    }
}

/// Runs pairs of blocks on the prepared sides.
struct PairRunner<'l, 'a> {
    run: ComparisonRun,
    layout: &'l Layout<'a>,
    /// `None` only between two draws of servers.
    ready: Option<ReadySides<'a>>,
}

impl PairRunner<'_, '_> {
    /// Runs sequences of pairs on one layout, each block on new connections.
    fn run_on_new_connections(&mut self) -> Result<(), RunError> {
        let budget_s = self.run.options.budget_s;
        // The first sequence, which is for the noise floor, shows how long a sequence takes.
        let first = self.sequence(Purpose::NoiseFloor, 0)?;
        let run = &mut self.run;
        let spending = SequencePlan::of(budget_s, run.stopwatch.seconds(), run.options.blocks);
        let SequencePlan { blocks, sequence_s: mut cost_s, sequences, noise_floor } = spending;
        run.options.blocks = blocks;
        let planned = whole((sequences - noise_floor).max(1.0));
        run.pairs_planned = PAIRS_OF_SEQUENCE * planned;
        let question = question(run.options, &run.mix, planned);
        run.comparison = if planned < RANKS_MIN {
            Comparison::of_few_sequences(&question)
        } else {
            Comparison::new(&question)
        };
        for (figure, numbers) in run.latencies.planned(planned, blocks) {
            run.comparison.plan_merged(figure, numbers);
        }
        first.into_iter().for_each(|pair| run.comparison.add(pair));
        run.schema_changes = self.ready.as_ref().map(ReadySides::cost_of_schema).unwrap_or_default();
        self.tell(ComparisonEvent::Begins(PAIRS_OF_SEQUENCE as f64 * sequences));
        let mut made = 0;
        for at in 1.. {
            let begun_s = self.run.stopwatch.seconds();
            if begun_s + cost_s > budget_s || self.run.is_over() {
                return Ok(());
            }
            let purpose = spending.purpose(at);
            // Sequences of each purpose are numbered separately.
            let which = if purpose == Purpose::Comparison { made } else { at };
            for pair in self.sequence(purpose, which)? {
                self.run.take(pair);
            }
            made += usize::from(purpose == Purpose::Comparison);
            cost_s += (self.run.stopwatch.seconds() - begun_s - cost_s) / 8.0;
            self.tell(ComparisonEvent::Pair);
        }
        Ok(())
    }

    /// Runs two servers at the same time, recreated for each pair, which has many blocks and lasts at least as long
    /// as starting them.
    fn run_on_new_servers(&mut self) -> Result<(), RunError> {
        let starting_s = self.ready.as_ref().map_or(0.0, |ready| ready.starting_s);
        let servers = ServerStarts::of(self.run.options.budget_s, starting_s);
        self.run.setup_s = starting_s;
        self.run.pairs_planned = whole(servers.starts);
        self.run.comparison =
            Comparison::of_few_draws(&question(self.run.options, &self.run.mix, self.run.pairs_planned));
        if let Some(needed_s) = servers.budget_needed_s(starting_s) {
            self.layout.listener.warn(format_args!(
                "--budget {}s is too short for an answer: setting up the two servers took {starting_s:.1} s, and an answer needs \
                 three set-ups, each under load for as long. Give --budget {:.0}s or more. This comparison measures one pair",
                self.run.options.budget_s,
                needed_s.ceil()
            ));
        }
        self.tell(ComparisonEvent::Begins(servers.starts));
        for at in 0..self.run.pairs_planned {
            if self.run.is_over() {
                break;
            }
            if at > 0 {
                if !servers.has_time_for_another(self.run.stopwatch.seconds(), self.run.setup_s) {
                    break;
                }
                // The old servers are removed before the new ones start.
                self.ready = None;
                let made = self.layout.apart(at)?;
                self.run.setup_s = self.run.setup_s.max(made.starting_s);
                self.ready = Some(made);
            }
            let begun_s = self.run.stopwatch.seconds();
            let end_s = begun_s + servers.share_s(at, begun_s, self.run.setup_s);
            if at == 0 {
                self.noise_floor_of_a_server(begun_s + (end_s - begun_s) / 4.0)?;
            }
            let pair = self.long_pair(at, end_s)?;
            self.run.take(pair);
            self.tell(ComparisonEvent::Pair);
        }
        Ok(())
    }

    /// Runs A against A on one server and B against B on the other, for at most a quarter of the first draw's time.
    fn noise_floor_of_a_server(&mut self, until_s: f64) -> Result<(), RunError> {
        for at in 0..NOISE_FLOOR_OF_A_SERVER {
            if self.run.stopwatch.seconds() > until_s {
                break;
            }
            for pair in self.sequence(Purpose::NoiseFloor, at)? {
                self.run.comparison.add(pair);
            }
        }
        Ok(())
    }

    fn tell(&self, event: ComparisonEvent) {
        self.layout.listener.tell(Event::Comparison(&self.run, event));
    }

    /// Two pairs in mirrored order: A B B A or B A A B.
    fn sequence(&mut self, purpose: Purpose, at: usize) -> Result<[Pair; PAIRS_OF_SEQUENCE], RunError> {
        let one = self.pair(purpose, PAIRS_OF_SEQUENCE * at)?;
        Ok([one, self.pair(purpose, PAIRS_OF_SEQUENCE * at + 1)?])
    }

    /// Blocks of both sides in turns.
    fn pair(&mut self, purpose: Purpose, at: usize) -> Result<Pair, RunError> {
        let sides = order(self.order_seed(purpose), at, self.run.options.blocks);
        // Each side runs second in one pair of a sequence, so that the after-effects of blocks affect both sides
        // alike.
        let mut pair = self.begin(purpose, at % PAIRS_OF_SEQUENCE);
        sides.into_iter().try_for_each(|side| self.block(&mut pair, side))?;
        if purpose == Purpose::Comparison && at % PAIRS_OF_SEQUENCE == PAIRS_OF_SEQUENCE - 1 {
            pair.kept.merged = self.run.latencies.end(PAIRS_OF_SEQUENCE);
        }
        Ok(self.end(pair))
    }

    /// As many sequences of blocks as time permits, with the same number of blocks on each side.
    fn long_pair(&mut self, at: usize, end_s: f64) -> Result<Pair, RunError> {
        const SEQUENCES_MAX: usize = 50_000;
        let order_seed = self.order_seed(Purpose::Comparison);
        let mut pair = self.begin(Purpose::Comparison, 0);
        for sequence in 0..SEQUENCES_MAX {
            let number = PAIRS_OF_SEQUENCE * (at * SEQUENCES_MAX + sequence);
            for side in [order(order_seed, number, 1), order(order_seed, number + 1, 1)].concat() {
                self.block(&mut pair, side)?;
            }
            self.tell(ComparisonEvent::Block);
            if self.run.stopwatch.seconds() >= end_s {
                break;
            }
        }
        pair.kept.merged = self.run.latencies.end(1);
        Ok(self.end(pair))
    }

    /// Seed of the order of blocks.
    fn order_seed(&self, purpose: Purpose) -> u64 {
        match purpose {
            Purpose::Comparison => self.run.options.seed,
            Purpose::NoiseFloor => self.run.options.seed.rotate_left(32),
        }
    }

    fn begin(&self, purpose: Purpose, side_of_noise: usize) -> RunningPair {
        let pair = Pair {
            purpose,
            order: Vec::new(),
            base: Draw::default(),
            candidate: Draw::default(),
            merged: Vec::new(),
        };
        let is_noise_floor = purpose == Purpose::NoiseFloor;
        let start_s = self.run.stopwatch.seconds();
        RunningPair {
            pair,
            side_of_noise,
            kept: ComparedPair { is_noise_floor, start_s, blocks: Vec::new(), merged: Vec::new() },
        }
    }

    fn block(&mut self, pair: &mut RunningPair, side: Side) -> Result<(), RunError> {
        let which = place(side);
        let seed = load_seed(self.run.options.seed, &mut self.run.blocks);
        let runs_on = if pair.kept.is_noise_floor { pair.side_of_noise } else { which };
        let start = match self.run.checkpoints {
            Checkpoints::EachBlock => BlockStart::AfterCheckpoint,
            Checkpoints::NotNeeded | Checkpoints::NotAllowed | Checkpoints::NotWanted => BlockStart::AtOnce,
        };
        let lengths = self.run.lengths;
        let Some(ready) = &mut self.ready else { return Err(RunError::Usage("no side is ready".to_owned())) };
        let mut ran = ready.run_block(runs_on, lengths, seed, start, self.layout)?;
        let draw = if which == 0 { &mut pair.pair.base } else { &mut pair.pair.candidate };
        self.run.goals[runs_on].take(&ran.interval);
        self.run.latencies.take(runs_on, &ran.interval, &mut ran.block);
        if !pair.kept.is_noise_floor {
            self.run.latencies.merge(side, &ran.interval);
        }
        self.run.only_reads &= ran.wal_of_others.is_some();
        let (bytes, seconds) = &mut self.run.wal_of_others;
        *bytes += ran.wal_of_others.unwrap_or_default();
        *seconds += self.run.lengths.block_s + self.run.lengths.warmup_s;
        self.run.blocks_of_sides[runs_on].push(ran.block.clone());
        pair.pair.order.push(side);
        pair.kept.blocks.push(ComparedBlock::new(which == 1, &ran.block));
        draw.blocks.push(ran.block);
        Ok(())
    }

    fn end(&mut self, pair: RunningPair) -> Pair {
        let merged = pair.kept.merged.clone();
        self.run.pairs.push(pair.kept);
        Pair { merged, ..pair.pair }
    }
}

/// A pair in progress, for the statistics and for the record.
struct RunningPair {
    pair: Pair,
    kept: ComparedPair,
    /// For the noise floor, the side of all blocks.
    side_of_noise: usize,
}

fn question(options: CompareOptions, mix: &Mix, numbers: usize) -> Question {
    let CompareOptions { tolerance, decisive, .. } = options;
    Question { error_rate: ERROR_RATE, tolerance, numbers, decisive, scripts: mix.names.len() }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, is above 0")]
fn whole(number: f64) -> usize {
    number as usize
}
