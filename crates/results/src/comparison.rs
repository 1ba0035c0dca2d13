//! What is kept of a comparison (`pgmeter compare`): what was compared and how, what was found, and all its pairs, so
//! that the statistics can be made anew from them. Filled in by `cli`, shown by `report`, stored as one JSON text.

use serde::{Deserialize, Serialize};
use stats::comparison::{Block, ComparedMetric, ComparisonDecision, MetricFinding, MetricNoise};

use crate::safe_text::indented;
use crate::upgrade::COMPARISON;
use crate::{ComparisonNote, UtcTime};

/// The schema that this version writes.
pub const COMPARISON_SCHEMA: u32 = COMPARISON.version();

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRecord {
    /// [`COMPARISON_SCHEMA`].
    pub schema_version: u32,
    /// Version of pgmeter.
    pub pgmeter_version: String,
    /// When it began.
    pub started_at: UtcTime,
    /// The experiment's name.
    pub name: String,
    /// What is varied.
    pub factor: String,
    /// The levels: A, then B.
    pub sides: [ComparedSide; 2],
    /// How it was made.
    pub method: ComparisonMethod,
    /// How it ended.
    pub status: ComparisonStatus,
    /// From the first pair to the last, what was started anew in between included.
    pub elapsed_s: f64,
    /// When a difference in the decisive metric was first known, if one was found.
    pub difference_found_after_s: Option<f64>,
    /// What it comes to, by the decisive metric; undecided, whatever was found of that, if nothing good can be said of B
    /// because it stalled.
    pub decision: ComparisonDecision,
    /// What was found of each metric that was measured.
    pub findings: Vec<MetricFinding>,
    /// What the machine makes of no difference, by metric.
    pub noise_floor: Vec<MetricNoise>,
    /// What to know before relying on the answer.
    pub notes: Vec<ComparisonNote>,
    /// All pairs in the order in which they ran.
    pub pairs: Vec<ComparedPair>,
}

/// One of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedSide {
    /// The level.
    pub label: String,
    /// The server's version, as it says itself.
    pub server_version: String,
    /// How the load was made, in a line.
    pub load: String,
}

/// How a comparison is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonMethod {
    /// What is drawn anew.
    pub draws: DrawnAnew,
    /// Settings that each connection sets for itself, since the sides differ in nothing else of the server.
    pub session_settings: Vec<String>,
    /// Measured time of a block.
    pub block_s: f64,
    /// Load before it, not measured.
    pub warmup_s: f64,
    /// Blocks of each side in a pair.
    pub blocks: usize,
    /// Pairs planned, those for the noise floor not counted.
    pub pairs_planned: usize,
    /// The time that was given.
    pub budget_s: f64,
    /// A worsening by less than this share does not matter.
    pub tolerance: f64,
    /// How often each metric may be wrong.
    pub error_rate: f64,
    /// The metric that decides.
    pub decisive: ComparedMetric,
    /// Where the order of the blocks and the draws of the scripts come from.
    pub seed: u64,
    /// Whether the server made a checkpoint before each block.
    pub checkpoints: Checkpoints,
    /// What it took to set up a block (connections and a checkpoint) or, where servers are made anew, both of them.
    pub setup_s: Option<f64>,
}

/// How far from the last checkpoint a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoints {
    /// Each block begins right after one.
    EachBlock,
    /// It makes no difference: the blocks of both sides write next to nothing.
    NotNeeded,
    /// Blocks write, and the role may not ask for one.
    NotAllowed,
    /// Blocks write, and the user wants none.
    NotWanted,
}

/// What is drawn anew for each pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawnAnew {
    /// The connections; both sides are on one server.
    Connections,
    /// Two servers, started and loaded anew for each pair of many blocks.
    Servers,
}

/// How a comparison ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonStatus {
    /// With an answer, or with its time.
    Complete,
    /// By the user.
    Interrupted,
}

impl ComparisonStatus {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            ComparisonStatus::Complete => "complete",
            ComparisonStatus::Interrupted => "interrupted",
        }
    }
}

/// A pair of draws.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedPair {
    /// A beside A, or B beside B.
    pub is_noise_floor: bool,
    /// When it began.
    pub start_s: f64,
    /// In the order in which they ran.
    pub blocks: Vec<ComparedBlock>,
}

/// One side under load for a short while.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedBlock {
    /// Whether it is the candidate's: B, or in a pair for the noise floor the other one of two that are the same.
    pub is_candidate: bool,
    /// What was measured.
    #[serde(flatten)]
    pub figures: Block,
}

impl ComparedBlock {
    /// Of fewer transactions a block has no p99: of so few one in a hundred says nothing.
    pub const TRANSACTIONS_FOR_P99: u64 = 100;

    /// As it is kept.
    pub fn new(is_candidate: bool, figures: &Block) -> Self {
        Self { is_candidate, figures: *figures }
    }

    /// A figure of it.
    pub fn figure(&self, metric: ComparedMetric) -> Option<f64> {
        self.figures.figure(metric)
    }
}

impl ComparisonRecord {
    /// What was found of a metric.
    pub fn finding(&self, metric: ComparedMetric) -> Option<&MetricFinding> {
        self.findings.iter().find(|finding| finding.metric == metric)
    }

    /// The whole of it, as it is stored and shown to programs.
    pub fn to_json(&self) -> String {
        indented(self)
    }
}

/// A comparison for tests.
#[cfg(test)]
pub(crate) fn example() -> ComparisonRecord {
    let side = |label: &str| ComparedSide {
        label: label.to_owned(),
        server_version: "18.0".to_owned(),
        load: "select-only, 8 clients".to_owned(),
    };
    let block = |is_candidate, tps| {
        let block = Block { tps: Some(tps), ..Block::default() };
        ComparedBlock::new(is_candidate, &block)
    };
    ComparisonRecord {
        schema_version: COMPARISON_SCHEMA,
        pgmeter_version: "0.0.0".to_owned(),
        started_at: UtcTime::from_unix_millis(0),
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
            decisive: ComparedMetric::Tps,
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
        noise_floor: Vec::new(),
        notes: Vec::new(),
        pairs: vec![ComparedPair {
            is_noise_floor: false,
            start_s: 0.0,
            blocks: vec![block(false, 1000.0), block(true, 1042.0)],
        }],
    }
}
