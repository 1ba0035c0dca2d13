//! What to know before relying on a comparison: kinds with their figures and names. `report` makes the sentences; those
//! that follow from the method of the comparison, such as its checkpoints, are not stored again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::comparison::ComparedMetric;

use crate::{SafeText, Severity, Warning};

/// Something to know before relying on the answer of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ComparisonNote {
    /// The comparison ended early, and its result covers the pairs before that.
    EndedEarly {
        /// Why.
        reason: SafeText,
    },
    /// The scripts only read, and the server wrote WAL all the same, which no metric contains.
    WalOfOthers {
        /// WAL per second of load.
        bytes_per_s: f64,
    },
    /// Two identical sides differ.
    BiasedNoiseFloor,
    /// The sides differ in a setting that cannot have an effect on the measured load.
    SettingWithoutEffect {
        /// The setting.
        setting: SafeText,
        /// Why it has none.
        cause: NoEffect,
    },
    /// Blocks without a transaction, which are in no figure.
    EmptyBlocks {
        /// Those of A.
        of_a: u64,
        /// Those of B.
        of_b: u64,
        /// Leaving them out favours B by more than the tolerance.
        favor_b: bool,
    },
    /// The geometric means of all blocks differ by a change outside the confidence interval.
    MeansDiffer {
        /// In this metric.
        metric: ComparedMetric,
        /// B ÷ A, of the means.
        ratio_of_means: f64,
        /// B ÷ A, as estimated from the pairs.
        ratio: f64,
    },
    /// Two servers were set up too rarely for an answer.
    TooFewSetups {
        /// How often they were set up.
        setups: u64,
        /// How long that took each time.
        setup_s: f64,
        /// As many are needed.
        setups_needed: u64,
        /// The budget with which there would be as many.
        budget_needed_s: f64,
    },
    /// Two servers were set up anew for each pair.
    ServersSetUp {
        /// How often.
        setups: u64,
    },
    /// The schema of the database was changed between A and B.
    SchemaChanged {
        /// How often.
        switches: u64,
        /// Mean time of a change.
        switch_s: f64,
        /// Tries of its statements to get their locks, including the successful ones; 0 if it was not recorded.
        #[serde(default)]
        tries: u64,
        /// The longest wait for a lock that was seen.
        #[serde(default)]
        longest_wait_s: f64,
    },
    /// The schema of the database is not as before, after the last undo or because that failed.
    SchemaNotRestored {
        /// What differs, or why it could not be undone.
        reason: SafeText,
    },
    /// The two servers were already running and were not restarted.
    ServersNotRestarted,
    /// Something that runs are warned of too.
    #[serde(untagged)]
    Run(Warning),
}

impl ComparisonNote {
    /// Whether it puts the answer into question.
    pub fn severity(&self) -> Severity {
        match self {
            ComparisonNote::EndedEarly { .. }
            | ComparisonNote::BiasedNoiseFloor
            | ComparisonNote::EmptyBlocks { .. }
            | ComparisonNote::MeansDiffer { .. }
            | ComparisonNote::TooFewSetups { .. }
            | ComparisonNote::SchemaNotRestored { .. } => Severity::Caution,
            ComparisonNote::WalOfOthers { .. }
            | ComparisonNote::SettingWithoutEffect { .. }
            | ComparisonNote::ServersSetUp { .. }
            | ComparisonNote::SchemaChanged { .. }
            | ComparisonNote::ServersNotRestarted => Severity::Note,
            ComparisonNote::Run(warning) => warning.severity(),
        }
    }
}

/// Why a setting cannot have an effect on the measured load.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoEffect {
    /// The transactions wrote almost no WAL.
    LittleWal,
    /// No full-page images were written.
    NoFullPageImages,
    /// Each block is short and begins right after a checkpoint.
    BlocksAfterCheckpoint,
    /// The built-in scripts join no tables.
    NoJoins,
}
