//! What is kept of a comparison (`pgmeter compare`): what was compared and how, what was found, and all its pairs, so
//! that the statistics can be made anew from them. Filled in by `cli`, shown by `report`, stored as one JSON text.

use serde::{Deserialize, Serialize};

use crate::UtcTime;

/// The form that this version writes.
pub const COMPARISON_SCHEMA: u32 = 2;

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
    /// What a reader should know.
    pub notes: Vec<String>,
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
    #[serde(default)]
    pub checkpoints: Checkpoints,
    /// What it took to set up a block (connections and a checkpoint) or, where servers are made anew, both of them.
    #[serde(default)]
    pub setup_s: Option<f64>,
}

/// How far from the last checkpoint a block begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checkpoints {
    /// Each block begins right after one.
    EachBlock,
    /// It makes no difference: the blocks of both sides write next to nothing.
    #[default]
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

/// What can be said of B against A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // as `stats::comparison::Decision`
pub enum ComparisonDecision {
    Better,
    Equivalent,
    NoWorse,
    WorseThanTolerance,
    Undecided,
}

impl ComparisonDecision {
    /// As it is stored.
    pub fn name(self) -> &'static str {
        match self {
            ComparisonDecision::Better => "better",
            ComparisonDecision::Equivalent => "equivalent",
            ComparisonDecision::NoWorse => "no_worse",
            ComparisonDecision::WorseThanTolerance => "worse_than_tolerance",
            ComparisonDecision::Undecided => "undecided",
        }
    }
}

impl From<stats::comparison::Decision> for ComparisonDecision {
    fn from(decision: stats::comparison::Decision) -> Self {
        use stats::comparison::Decision;
        match decision {
            Decision::Better => ComparisonDecision::Better,
            Decision::Equivalent => ComparisonDecision::Equivalent,
            Decision::NoWorse => ComparisonDecision::NoWorse,
            Decision::WorseThanTolerance => ComparisonDecision::WorseThanTolerance,
            Decision::Undecided => ComparisonDecision::Undecided,
        }
    }
}

/// A figure that two sides are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // as `stats::comparison::Metric`
pub enum ComparedMetric {
    Tps,
    P50,
    P99,
    ServerCpu,
    ClientCpu,
    Wal,
    FullPageImages,
}

impl ComparedMetric {
    /// The statistics' name of it.
    pub fn metric(self) -> stats::comparison::Metric {
        use stats::comparison::Metric;
        match self {
            ComparedMetric::Tps => Metric::Tps,
            ComparedMetric::P50 => Metric::P50,
            ComparedMetric::P99 => Metric::P99,
            ComparedMetric::ServerCpu => Metric::CpuPerTransaction,
            ComparedMetric::ClientCpu => Metric::ClientCpuPerTransaction,
            ComparedMetric::Wal => Metric::WalPerTransaction,
            ComparedMetric::FullPageImages => Metric::FullPageImagesPerTransaction,
        }
    }

    /// All of them, in the order in which they are shown.
    pub const ALL: [ComparedMetric; 7] = [
        ComparedMetric::Tps,
        ComparedMetric::P50,
        ComparedMetric::P99,
        ComparedMetric::ServerCpu,
        ComparedMetric::ClientCpu,
        ComparedMetric::Wal,
        ComparedMetric::FullPageImages,
    ];
}

/// What was found of one metric. Ratios are B ÷ A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFinding {
    /// Which one.
    pub metric: ComparedMetric,
    /// A: transactions per second, nanoseconds, bytes, or a number. The geometric mean of all blocks of both sides,
    /// divided such that B ÷ A is `ratio`.
    pub a: f64,
    /// The same of B.
    pub b: f64,
    /// Pairs that had the figure and whose sequence is whole.
    pub pairs: usize,
    /// What can be said.
    pub decision: ComparisonDecision,
    /// Whether the interval excludes 1: true if B is better.
    pub different: Option<bool>,
    /// The best single guess.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// No difference above this share, where none was found.
    pub no_difference_above: Option<f64>,
    /// The smallest difference that the pairs planned find in nine comparisons of ten, as a share; `None` if the
    /// comparison was interrupted or had too few pairs to know how they scatter.
    pub smallest_difference: Option<f64>,
    /// Standard deviation of ln(B ÷ A) from pair to pair, without what the order adds to it.
    pub pair_deviation: f64,
    /// Sequences of pairs in which B ÷ A is far above the others, and far below.
    pub outlying: (usize, usize),
    /// The second block of a pair ÷ the first.
    #[serde(default)]
    pub order_effect: Option<CrossoverEffect>,
    /// A block that follows B ÷ a block that follows A.
    #[serde(default)]
    pub carry_over: Option<CrossoverEffect>,
}

/// What the order of the blocks does to a metric, whichever side they are of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossoverEffect {
    /// The best single guess.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// 1 is inside the 99 % interval of the metric that decides, or the 99.9 % interval of another one.
    pub is_negligible: bool,
}

impl From<stats::comparison::Effect> for CrossoverEffect {
    fn from(effect: stats::comparison::Effect) -> Self {
        let stats::comparison::Effect { ratio, is_negligible } = effect;
        Self { ratio: ratio.estimate, low: ratio.low, high: ratio.high, is_negligible }
    }
}

/// What pairs of A with itself scatter by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricNoise {
    /// Of which metric.
    pub metric: ComparedMetric,
    /// Pairs.
    pub pairs: usize,
    /// A ÷ A.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation of its logarithm from pair to pair.
    pub pair_deviation: f64,
    /// 1 is outside of even the 99.9 % interval.
    pub is_biased: bool,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedBlock {
    /// Whether it is the candidate's: B, or in a pair for the noise floor the other one of two that are the same.
    pub is_candidate: bool,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Median latency.
    pub p50_ns: Option<f64>,
    /// The latency that one transaction in a hundred exceeds.
    pub p99_ns: Option<f64>,
    /// Processor time of the server's backends.
    pub cpu_ns_per_transaction: Option<f64>,
    /// Processor time of pgmeter.
    pub client_cpu_ns_per_transaction: Option<f64>,
    /// Write-ahead log.
    pub wal_bytes_per_transaction: Option<f64>,
    /// Full-page images in it.
    #[serde(default)]
    pub full_page_images_per_transaction: Option<f64>,
}

impl ComparedBlock {
    /// Of fewer transactions a block has no p99: of so few one in a hundred says nothing.
    pub const TRANSACTIONS_FOR_P99: u64 = 100;

    /// As it is kept.
    pub fn new(is_candidate: bool, block: &stats::comparison::Block) -> Self {
        let stats::comparison::Block {
            tps,
            p50_ns,
            p99_ns,
            cpu_ns_per_transaction,
            client_cpu_ns_per_transaction,
            wal_bytes_per_transaction,
            full_page_images_per_transaction,
        } = *block;
        Self {
            is_candidate,
            tps,
            p50_ns,
            p99_ns,
            cpu_ns_per_transaction,
            client_cpu_ns_per_transaction,
            wal_bytes_per_transaction,
            full_page_images_per_transaction,
        }
    }

    /// A figure of it.
    pub fn figure(&self, metric: ComparedMetric) -> Option<f64> {
        match metric {
            ComparedMetric::Tps => self.tps,
            ComparedMetric::P50 => self.p50_ns,
            ComparedMetric::P99 => self.p99_ns,
            ComparedMetric::ServerCpu => self.cpu_ns_per_transaction,
            ComparedMetric::ClientCpu => self.client_cpu_ns_per_transaction,
            ComparedMetric::Wal => self.wal_bytes_per_transaction,
            ComparedMetric::FullPageImages => self.full_page_images_per_transaction,
        }
    }
}

impl ComparisonRecord {
    /// What was found of a metric.
    pub fn finding(&self, metric: ComparedMetric) -> Option<&MetricFinding> {
        self.findings.iter().find(|finding| finding.metric == metric)
    }

    /// The whole of it, as it is stored and shown to programs.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
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
        let block = stats::comparison::Block { tps: Some(tps), ..stats::comparison::Block::default() };
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
