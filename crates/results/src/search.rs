//! The record of a search for the highest rate that keeps goals (`pgmeter search`): the answer, all loads with their
//! trials, and the confirmations. Made by `lab`, shown by `report`, stored as one JSON text.

use serde::{Deserialize, Serialize};
use stats::EncodedDistribution;
use stats::goals::{Goal, GoalVerdict};

use crate::safe_text::indented;
use crate::upgrade::SEARCH;
use crate::{Annotation, ComparisonDecision, Environment, LimitedBy, NearestLimit, Plan, Status, UtcTime};

/// The schema that this version writes.
pub const SEARCH_SCHEMA: u32 = SEARCH.version();

/// A search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// [`SEARCH_SCHEMA`].
    pub schema_version: u32,
    /// Version of pgmeter.
    pub pgmeter_version: String,
    /// The user's label and note.
    #[serde(flatten)]
    pub annotation: Annotation,
    /// How it ended; the answer of one that did not end as planned is the bracket so far.
    pub status: Status,
    /// Start of the first burst.
    pub started_at: UtcTime,
    /// The load. Its rate, length and seed are those of the last trial; its clients are those of the open loop.
    pub plan: Plan,
    /// Where it ran and against what, before the first burst.
    pub environment: Environment,
    /// The answer and what it follows from.
    pub search: SearchResult,
    /// The search on side A, if this is side B of a comparison of two servers under the same goals; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Box<SearchComparison>>,
}

/// The answer of a search, and what it follows from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResult {
    /// What kind of answer it is.
    pub answer: SearchAnswer,
    /// The rate that the answer is about: the highest one that keeps the goals, or the highest that was seen to. `null` if
    /// none was.
    pub rate_tps: Option<f64>,
    /// Its 95 % interval; `null` if the answer has none.
    pub interval: Option<RateInterval>,
    /// The highest rate that kept the goals; `null` if none did.
    pub kept_tps: Option<f64>,
    /// The lowest rate that broke them; `null` if none did.
    pub broken_tps: Option<f64>,
    /// What was nearest to its limit at this rate; `null` if unknown.
    pub nearest: Option<NearestLimit>,
    /// What was asked.
    pub goals: Vec<SearchGoal>,
    /// How it was looked for.
    pub method: SearchMethod,
    /// Seconds from the first burst to the end.
    pub elapsed_s: f64,
    /// Clients of the open loop.
    pub clients: u32,
    /// Short closed loops before the first trial, for the upper end and the number of clients.
    pub bursts: Vec<SearchBurst>,
    /// The loads, from the lowest rate to the highest.
    pub loads: Vec<SearchLoad>,
    /// Longer loads that confirm or correct the answer, in the order in which they ran.
    pub confirmations: Vec<SearchConfirmation>,
    /// Broken loads that were repeated, because other programs on the machine of pgmeter had delayed them.
    #[serde(default)]
    pub repeated: u32,
    /// The rate that was expected; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedRate>,
}

/// A search that goes on, after its newest trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchState {
    /// `A: ` or `B: ` in a comparison, otherwise nothing.
    pub side: &'static str,
    /// The rate that keeps the goals, as far as it is known.
    pub rate_tps: Option<f64>,
    /// Its 95 % interval, once there is one; otherwise the highest rate that was kept and the lowest that was broken, if
    /// there are both.
    pub bounds: Option<RateInterval>,
    /// Rate of the newest trial.
    pub last_tps: f64,
    /// Whether it kept the goals.
    pub is_kept: bool,
    /// Trials so far.
    pub trials: u64,
    /// Clients of the trials.
    pub clients: u32,
    /// Seconds that have passed, of the budget.
    pub passed_s: f64,
    /// The budget.
    pub budget_s: f64,
}

/// A rate that a search should find at least.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedRate {
    /// In transactions per second.
    pub rate_tps: f64,
    /// Whether the answer is above it.
    pub verdict: GoalVerdict,
}

/// Two searches in turns under the same goals: which side sustains more.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchComparison {
    /// What differs between the sides, such as `settings.wal_compression`.
    pub factor: String,
    /// The levels of A and B.
    pub labels: [String; 2],
    /// The search on side A.
    pub a: SearchRecord,
    /// The rate of B ÷ that of A; `null` if an answer has no interval.
    pub ratio: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<RatioInterval>,
    /// The largest deterioration of B that is accepted, as a share.
    pub tolerance: f64,
    /// What the interval says.
    pub decision: ComparisonDecision,
}

/// Kinds of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchAnswer {
    /// A rate with an interval.
    Sustains,
    /// The confirmation broke the goals, and a lower rate kept them.
    Corrected,
    /// All confirmations broke the goals.
    Unconfirmed,
    /// Two rates: the lower keeps the goals, the upper breaks them. There were too few trials for an interval.
    Between,
    /// The goals are kept at the highest rate that the user allows.
    KeptAtHighest,
    /// The goals are broken at the lowest rate.
    BrokenAtLowest,
    /// pgmeter or its machine was the limit, so the rate is a lower bound.
    GeneratorLimited,
    /// There were too few trials for any answer.
    Nothing,
}

impl SearchAnswer {
    /// The name in records, lists and tables.
    pub fn name(self) -> &'static str {
        match self {
            SearchAnswer::Sustains => "sustains",
            SearchAnswer::Corrected => "corrected",
            SearchAnswer::Unconfirmed => "unconfirmed",
            SearchAnswer::Between => "between",
            SearchAnswer::KeptAtHighest => "kept_at_highest",
            SearchAnswer::BrokenAtLowest => "broken_at_lowest",
            SearchAnswer::GeneratorLimited => "generator_limited",
            SearchAnswer::Nothing => "nothing",
        }
    }
}

/// An interval of rates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateInterval {
    /// Lower end, in transactions per second.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl RateInterval {
    /// Half of its width, relative to its middle.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).ln() / 2.0
    }
}

/// An interval of ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A goal of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchGoal {
    /// The goal, such as `p99 < 20ms`.
    pub goal: Goal,
    /// The share of transactions over its limit that it allows.
    pub allowed_share: f64,
}

/// How the rate was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchMethod {
    /// Time for everything, in seconds.
    pub budget_s: f64,
    /// Half of the interval, relative to the rate, at which the search may end.
    pub width: f64,
    /// The highest rate that the user allows; `null`: any.
    pub max_rate_tps: Option<f64>,
    /// Whether the user gave the number of clients.
    pub are_clients_given: bool,
    /// Length of the confirmation, in seconds.
    pub confirmation_s: f64,
    /// Unmeasured load before each trial, in seconds.
    pub warmup_s: f64,
    /// Seed of all random numbers. A string in JSON, where numbers beyond 2⁵³ lose digits.
    #[serde(with = "crate::intervals::decimal")]
    pub seed: u64,
}

/// A closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchBurst {
    /// Clients, all of them busy.
    pub clients: u32,
    /// Throughput.
    pub tps: f64,
}

/// Whether a load kept the goals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadVerdict {
    /// All shares over a limit are below what the goals allow.
    Kept,
    /// One is not, or the load had no transaction.
    Broken,
}

impl LoadVerdict {
    /// The name in records and tables.
    pub fn name(self) -> &'static str {
        match self {
            LoadVerdict::Kept => "kept",
            LoadVerdict::Broken => "broken",
        }
    }
}

/// Transactions under one goal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverCount {
    /// Transactions over the limit. Those that failed, were skipped or did not finish are over each latency.
    pub over: f64,
    /// Scheduled transactions.
    pub of: f64,
}

impl OverCount {
    /// The share over the limit; 0 without transactions.
    pub fn share(self) -> f64 {
        if self.of > 0.0 { self.over / self.of } else { 0.0 }
    }
}

/// Figures of one trial, or of all trials of a load together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadFigures {
    /// The rate that was asked for, in transactions per second.
    pub rate_tps: f64,
    /// Whether all goals were kept.
    pub verdict: LoadVerdict,
    /// For each goal of the search, in its order.
    pub goals: Vec<OverCount>,
    /// Transactions per second that succeeded in the measured time.
    pub achieved_tps: f64,
    /// Median of the response times, in microseconds; `null` without succeeded transactions.
    pub p50_us: Option<f64>,
    /// Their 99th percentile.
    pub p99_us: Option<f64>,
    /// Their 99.9th percentile.
    pub p999_us: Option<f64>,
    /// What was nearest to its limit; `null` if unknown.
    pub nearest: Option<NearestLimit>,
}

/// Trials at one rate, or at rates that are almost equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchLoad {
    /// Of all its trials together; the rate is their geometric mean.
    #[serde(flatten)]
    pub figures: LoadFigures,
    /// Wait events of the backends, the largest share of their active time first.
    pub waits: Vec<LoadWait>,
    /// Its trials, in the order in which they ran.
    pub trials: Vec<SearchTrial>,
}

/// A wait event of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadWait {
    /// Type of the wait event; `CPU` if the backend did not wait.
    pub event_type: String,
    /// The event.
    pub event: String,
    /// Share of the time in which backends were not idle.
    pub share: f64,
}

/// A short load at a constant rate, on connections of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchTrial {
    /// What was measured.
    #[serde(flatten)]
    pub figures: LoadFigures,
    /// When it began, in seconds since the search began.
    pub start_s: f64,
    /// Measured seconds. Fewer than planned if its queue grew without end.
    pub duration_s: f64,
    /// Whether it was ended because its queue grew without end. The rest of its transactions count as over.
    pub is_ended_early: bool,
    /// Clients.
    pub clients: u32,
    /// What limited it; the generator only if that was because of its own work.
    pub limited_by: LimitedBy,
    /// What the pooled figures of its load are made of; only in a search that has not ended as planned, so that it can
    /// be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<TrialDetails>,
}

/// Details of a trial that the figures of its load are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialDetails {
    /// Response times of its succeeded transactions.
    pub response: EncodedDistribution,
    /// Its wait events.
    pub waits: Vec<LoadWait>,
}

/// A longer load at the lower end of the interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchConfirmation {
    /// What was measured.
    #[serde(flatten)]
    pub trial: SearchTrial,
    /// Checkpoints inside; `null` if the server was not observed.
    pub checkpoints: Option<u32>,
    /// Autovacuums of the load's tables inside.
    pub autovacuums: Option<u32>,
}

impl SearchRecord {
    /// Names of the scripts, joined by `+`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.plan.scripts.iter().map(|script| script.name.as_str()).collect();
        names.join("+")
    }

    /// The confirmation that the answer stands on.
    pub fn confirmation(&self) -> Option<&SearchConfirmation> {
        let is_kept = |one: &&SearchConfirmation| one.trial.figures.verdict == LoadVerdict::Kept;
        self.search.confirmations.iter().find(is_kept)
    }

    /// The search as JSON, as stored and as shown to programs.
    pub fn to_json(&self) -> String {
        indented(self)
    }
}
