//! The record of a comparison (`pgmeter compare`): sides, method, findings, and all pairs, so that the statistics can
//! be recomputed. Made by `cli`, shown by `report`, stored as one JSON text.

use serde::{Deserialize, Serialize};
use stats::comparison::{
    Block, ComparedFigure, ComparedMetric, ComparisonDecision, Draw, MergedPercentile, MetricFinding,
    MetricNoise, Pair, Purpose,
};
use stats::goals::GoalResult;

use crate::safe_text::indented;
use crate::upgrade::COMPARISON;
use crate::{Annotation, ComparisonNote, UtcTime};

/// The schema that this version writes.
pub const COMPARISON_SCHEMA: u32 = COMPARISON.version();

/// A comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// [`COMPARISON_SCHEMA`].
    pub schema_version: u32,
    /// Version of pgmeter.
    pub pgmeter_version: String,
    /// The user's label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// Start of the comparison.
    pub started_at: UtcTime,
    /// Name of the host of pgmeter; empty in records of earlier builds.
    #[serde(default)]
    pub hostname: String,
    /// The experiment's name.
    pub name: String,
    /// The factor that differs.
    pub factor: String,
    /// The levels: A, then B.
    pub sides: [ComparedSide; 2],
    /// The method.
    pub method: ComparisonMethod,
    /// How it ended.
    pub status: ComparisonStatus,
    /// Time from the first pair to the last, including restarts between pairs.
    pub elapsed_s: f64,
    /// Time at which a difference in the decisive metric was first significant, if any.
    pub difference_found_after_s: Option<f64>,
    /// The decision by the decisive metric; undecided, whatever the findings, if stalls of B rule out a positive
    /// decision.
    pub decision: ComparisonDecision,
    /// Findings for each measured metric.
    pub findings: Vec<MetricFinding>,
    /// Metrics that too few pairs have for a finding, without a verdict.
    #[serde(default)]
    pub unjudged: Vec<UnjudgedMetric>,
    /// The noise floor: the difference between identical sides, by metric.
    pub noise_floor: Vec<MetricNoise>,
    /// What to know before relying on the answer.
    pub notes: Vec<ComparisonNote>,
    /// All pairs in the order in which they ran.
    pub pairs: Vec<ComparedPair>,
}

/// A side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedSide {
    /// The level.
    pub label: String,
    /// The server's version, as reported by the server.
    pub server_version: String,
    /// Description of the load, in one line.
    pub load: String,
    /// Its goals with their figures and verdicts. `needed_s` is the length of a comparison.
    #[serde(default)]
    pub goals: Vec<GoalResult>,
}

/// Method of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonMethod {
    /// What is recreated for each pair.
    pub draws: DrawnAnew,
    /// Settings that connections set with their session, because both sides use one server.
    pub session_settings: Vec<String>,
    /// Measured time of a block.
    pub block_s: f64,
    /// Seconds of unmeasured load before a block.
    pub warmup_s: f64,
    /// Blocks of each side in a pair.
    pub blocks: usize,
    /// Planned pairs, excluding those for the noise floor.
    pub pairs_planned: usize,
    /// Time budget.
    pub budget_s: f64,
    /// A decline by less than this share is acceptable.
    pub tolerance: f64,
    /// Probability of a wrong finding on the decisive metric.
    pub error_rate: f64,
    /// Probability that any of the other metrics is wrongly found to differ. `null` in older records, whose metrics each
    /// had the error rate above.
    #[serde(default)]
    pub error_rate_of_others: Option<f64>,
    /// The metric that decides the comparison.
    pub decisive: ComparedMetric,
    /// Names of the scripts of a mix, whose latencies are compared too; empty without a mix, and if the sides have
    /// different scripts.
    #[serde(default)]
    pub scripts: Vec<String>,
    /// Seed of the order of the blocks and of the scripts' random numbers.
    pub seed: u64,
    /// Whether a checkpoint preceded each block.
    pub checkpoints: Checkpoints,
    /// Setup time of a block (connections and a checkpoint), or of both servers if they are recreated.
    pub setup_s: Option<f64>,
}

/// Checkpoints before blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoints {
    /// A checkpoint precedes each block.
    EachBlock,
    /// Not needed: the blocks of both sides write almost nothing.
    NotNeeded,
    /// Blocks write, but the role may not execute CHECKPOINT.
    NotAllowed,
    /// Blocks write, but the user disabled checkpoints.
    NotWanted,
}

/// What is recreated for each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnAnew {
    /// Connections; both sides use one server.
    Connections,
    /// Two servers, initialized and loaded again for each pair of many blocks.
    Servers,
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonStatus {
    /// By a decision, or at the end of the time budget.
    Complete,
    /// By the user.
    Interrupted,
    /// By a failure; [`ComparisonNote::EndedEarly`] has it.
    EndedEarly,
}

impl ComparisonStatus {
    /// The name in the store's column, which knows two; the record has the third.
    pub(crate) fn stored(self) -> &'static str {
        match self {
            ComparisonStatus::Complete => self.name(),
            ComparisonStatus::Interrupted | ComparisonStatus::EndedEarly => {
                ComparisonStatus::Interrupted.name()
            }
        }
    }

    /// The name in records and lists.
    pub fn name(self) -> &'static str {
        match self {
            ComparisonStatus::Complete => "complete",
            ComparisonStatus::Interrupted => "interrupted",
            ComparisonStatus::EndedEarly => "ended_early",
        }
    }
}

/// A pair of sets of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedPair {
    /// Whether it compares identical sides, for the noise floor: A with A, or B with B.
    pub is_noise_floor: bool,
    /// When it began.
    pub start_s: f64,
    /// In the order in which they ran.
    pub blocks: Vec<ComparedBlock>,
    /// Percentiles of the blocks of this pair and of earlier ones together, if single blocks have too few transactions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedPercentile>,
}

impl ComparedPair {
    /// The pair as the statistics have it, without its order: a record of others may have any.
    pub fn pair(&self) -> Pair {
        let draw = |is_candidate: bool| {
            let blocks = self.blocks.iter().filter(|block| block.is_candidate == is_candidate);
            Draw { blocks: blocks.map(|block| block.figures.clone()).collect() }
        };
        Pair {
            purpose: if self.is_noise_floor { Purpose::NoiseFloor } else { Purpose::Comparison },
            order: Vec::new(),
            base: draw(false),
            candidate: draw(true),
            merged: self.merged.clone(),
        }
    }
}

/// The figures of a metric that too few pairs have for a finding.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnjudgedMetric {
    /// The metric.
    pub metric: ComparedMetric,
    /// Of this script of a mix, from 0; absent if it is of all scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<usize>,
    /// A, in the unit of a finding: the geometric mean of its blocks, or the percentile of all their transactions
    /// together. Blocks for the noise floor and of an incomplete pair count too. `null` if there is no value.
    pub a: Option<f64>,
    /// The same of B.
    pub b: Option<f64>,
    /// Complete pairs with a value.
    pub pairs: usize,
}

impl UnjudgedMetric {
    /// What it is of.
    pub fn figure(&self) -> ComparedFigure {
        ComparedFigure { metric: self.metric, script: self.script }
    }
}

/// One block of load on one side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedBlock {
    /// Whether it belongs to the candidate: B, or the second of two identical sides.
    pub is_candidate: bool,
    /// The measured figures.
    #[serde(flatten)]
    pub figures: Block,
}

impl ComparedBlock {
    /// The block, from its figures.
    pub fn new(is_candidate: bool, figures: &Block) -> Self {
        Self { is_candidate, figures: figures.clone() }
    }

    /// One of its figures.
    pub fn figure(&self, figure: impl Into<ComparedFigure>) -> Option<f64> {
        self.figures.figure(figure)
    }
}

impl ComparisonRecord {
    /// What it compares, in the order of output.
    pub fn figures(&self) -> Vec<ComparedFigure> {
        ComparedFigure::all(self.method.decisive, self.method.scripts.len())
    }

    /// The finding for a figure.
    pub fn finding(&self, figure: impl Into<ComparedFigure>) -> Option<&MetricFinding> {
        let figure = figure.into();
        self.findings.iter().find(|finding| finding.figure() == figure)
    }

    /// The comparison as JSON, as stored and as shown to programs.
    pub fn to_json(&self) -> String {
        indented(self)
    }
}

/// A comparison for tests.
// Long because: a comparison has many fields.
#[cfg(test)]
pub(crate) fn example() -> ComparisonRecord {
    let side = |label: &str| ComparedSide {
        label: label.to_owned(),
        server_version: "18.0".to_owned(),
        load: "select-only, 8 clients".to_owned(),
        goals: Vec::new(),
    };
    let block = |is_candidate, tps| {
        let block = Block { tps: Some(tps), ..Block::default() };
        ComparedBlock::new(is_candidate, &block)
    };
    ComparisonRecord {
        schema_version: COMPARISON_SCHEMA,
        pgmeter_version: "0.0.0".to_owned(),
        annotation: Annotation::default(),
        started_at: UtcTime::from_unix_millis(0),
        hostname: "bench".to_owned(),
        name: "compare".to_owned(),
        factor: "protocol".to_owned(),
        sides: [side("simple"), side("prepared")],
        method: ComparisonMethod {
            draws: DrawnAnew::Connections,
            session_settings: Vec::new(),
            block_s: 0.25,
            warmup_s: 0.05,
            blocks: 1,
            pairs_planned: 100,
            budget_s: 60.0,
            tolerance: 0.02,
            error_rate: 0.05,
            error_rate_of_others: Some(0.05),
            decisive: ComparedMetric::Tps,
            scripts: Vec::new(),
            seed: 1,
            checkpoints: Checkpoints::NotNeeded,
            setup_s: Some(0.05),
        },
        status: ComparisonStatus::Complete,
        elapsed_s: 31.5,
        difference_found_after_s: Some(20.0),
        decision: ComparisonDecision::Better,
        findings: vec![MetricFinding {
            metric: ComparedMetric::Tps,
            script: None,
            a: 1000.0,
            b: 1042.0,
            pairs: 1,
            decision: ComparisonDecision::Better,
            different: Some(true),
            ratio: 1.042,
            low: Some(1.029),
            high: Some(1.056),
            no_difference_above: Some(0.06),
            smallest_difference: Some(0.011),
            smallest_difference_so_far: None,
            pair_deviation: 0.03,
            outlying: (0, 1),
            order_effect: None,
            carry_over: None,
        }],
        unjudged: Vec::new(),
        noise_floor: Vec::new(),
        notes: Vec::new(),
        pairs: vec![ComparedPair {
            is_noise_floor: false,
            start_s: 0.0,
            blocks: vec![block(false, 1000.0), block(true, 1042.0)],
            merged: Vec::new(),
        }],
    }
}
