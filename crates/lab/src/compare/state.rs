//! A comparison and its results so far, as listeners see it. `comparison_run` runs its blocks, `record` makes its
//! record.

use connect::Patience;
use connect::Stopwatch;
use results::{Checkpoints, ComparedMetric, ComparedPair, ComparisonStatus, MetricFinding};
use stats::comparison::{Block, Comparison, Pair};
use stats::goals::GoalMeter;

use super::latencies::{Latencies, Mix};
use crate::schema_change::SchemaCost;

/// Times of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockLengths {
    pub(super) block_s: f64,
    pub(super) warmup_s: f64,
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions {
    /// Time limit; starting and loading the first servers does not count.
    pub budget_s: f64,
    /// Smallest relevant deterioration, as a share.
    pub tolerance: f64,
    /// The metric that determines the verdict.
    pub decisive: ComparedMetric,
    /// Seed of the order and of all random numbers.
    pub seed: u64,
    /// Whether to request a checkpoint before each block if blocks write.
    pub checkpoints: bool,
    /// Length of a block in seconds; `None`: determined by a probe.
    pub block_s: Option<f64>,
    /// Blocks of each side in a pair.
    pub blocks: usize,
    /// How long changes of the schema of a database in place wait for locks.
    pub patience: Patience,
}

/// A comparison and its results so far.
pub struct ComparisonRun {
    pub(super) options: CompareOptions,
    pub(super) lengths: BlockLengths,
    pub(super) checkpoints: Checkpoints,
    /// Time to prepare a block, or to recreate both servers.
    pub(super) setup_s: f64,
    pub(super) comparison: Comparison,
    pub(super) pairs_planned: usize,
    pub(super) pairs: Vec<ComparedPair>,
    pub(super) status: ComparisonStatus,
    pub(super) elapsed_s: f64,
    pub(super) found_after_s: Option<f64>,
    /// The scripts whose latencies are compared too.
    pub(super) mix: Mix,
    pub(super) latencies: Latencies,
    /// All blocks of A and of B, also those for the noise floor and of an incomplete pair.
    pub(super) blocks_of_sides: [Vec<Block>; 2],
    /// The goals of A and of B. All blocks count, also those for the noise floor.
    pub(super) goals: [GoalMeter; 2],
    pub(super) schema_changes: SchemaCost,
    /// Why the schema is not as before after the last undo.
    pub(super) not_undone: Option<String>,
    /// Why it ended early.
    pub(super) ended_early: Option<String>,
    /// WAL in the blocks of scripts that only read, in bytes, and the time of these blocks.
    pub(super) wal_of_others: (f64, f64),
    /// Whether blocks of both sides could not have written.
    pub(super) only_reads: bool,
    /// Number of started blocks; each has its own random numbers.
    pub(super) blocks: u64,
    pub(super) stopwatch: Stopwatch,
}

impl ComparisonRun {
    /// Adds a pair to the comparison.
    pub(super) fn take(&mut self, pair: Pair) {
        self.comparison.add(pair);
        if self.found_after_s.is_none() && self.comparison.different().is_some() {
            self.found_after_s = Some(self.stopwatch.seconds());
        }
    }

    /// Whether the result is clear, or all planned pairs have run. With goals, the clear result of one question does not
    /// end the measurement for the other: repeated looks at the goals would invalidate their intervals.
    pub(super) fn is_over(&self) -> bool {
        let made = self.pairs.iter().filter(|pair| !pair.is_noise_floor).count();
        let has_goals = self.goals.iter().any(|meter| !meter.is_empty());
        (self.comparison.is_settled() && !has_goals) || made >= self.pairs_planned
    }

    /// The options.
    pub fn options(&self) -> &CompareOptions {
        &self.options
    }

    /// Length of a block in seconds.
    pub fn block_s(&self) -> f64 {
        self.lengths.block_s
    }

    /// Pairs so far, including those of the noise floor.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Mean time of a change of the schema so far; `None` if both sides have one schema.
    pub fn schema_change_s(&self) -> Option<f64> {
        (self.schema_changes.switches > 0).then(|| self.schema_changes.mean_s())
    }

    /// The current estimate of the decisive metric.
    pub fn finding(&self) -> Option<MetricFinding> {
        self.comparison.finding(self.options.decisive)
    }

    /// Seconds since the first pair began.
    pub fn passed_s(&self) -> f64 {
        self.stopwatch.seconds()
    }
}
