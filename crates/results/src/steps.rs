//! The record of a trial of timed steps: what was executed, how often, and what each time took and left behind.
//! Not how it is measured (`cli`) nor where it is kept (`store`). docs/steps.md explains the document.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::safe_text::indented;
use crate::upgrade::STEPS;
use crate::{Connection, Environment, PgmeterBuild, SafeText, Status, UtcTime};

/// The schema of [`StepsRecord`] that this version writes, and the newest it reads.
pub const STEPS_SCHEMA_VERSION: u32 = STEPS.version();

/// One trial of timed steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepsRecord {
    /// The schema of this document, see [`STEPS_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The version of pgmeter that measured.
    pub pgmeter_version: String,
    /// How that was built.
    pub pgmeter_build: PgmeterBuild,
    /// Whether all steps were taken.
    pub status: Status,
    /// When the first step began.
    pub started_at: UtcTime,
    /// Where the steps were executed.
    pub connection: Connection,
    /// What stood for `:name` in the steps.
    pub variables: BTreeMap<String, SafeText>,
    /// Where it ran and against what.
    pub environment: Environment,
    /// In the order in which they were taken; after a failure up to the one that failed.
    pub steps: Vec<StepResult>,
    /// What a reader should know: what could not be seen, and why.
    pub notes: Vec<SafeText>,
}

/// A step, with each time that it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    /// As the experiment calls it; a step of the loader by its name, such as `vacuum`.
    pub name: String,
    /// What was executed, variables put in; `null` for a step of the loader.
    #[serde(deserialize_with = "crate::safe_text::read_optional_sql")]
    pub sql: Option<SafeText>,
    /// After this long a time was cancelled; `null`: never.
    pub limit_us: Option<u64>,
    /// What a cancelled time counts as; `null`: there is no limit.
    pub at_limit_us: Option<u64>,
    /// At least one.
    pub times: Vec<StepTime>,
}

/// A step, taken once. What could not be seen is `null`, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTime {
    /// What it counts as: what it took, or at its limit what was agreed.
    pub duration_us: u64,
    /// What it took until it was done, failed, or was cancelled; by the client's clock.
    pub measured_us: u64,
    /// Whether it was cancelled at its limit.
    pub limited: bool,
    /// Why it failed; the trial ends with it.
    pub error: Option<SafeText>,
    /// By how far the server's write-ahead log went on meanwhile.
    pub wal_bytes: Option<u64>,
    /// CPU time of the backend in user space; without parallel workers.
    pub backend_user_us: Option<u64>,
    /// CPU time of the backend in the kernel.
    pub backend_system_us: Option<u64>,
    /// What was done to blocks.
    pub buffers: StepBuffers,
    /// All user tables of the database afterwards, with their TOAST tables and maps.
    pub table_bytes: Option<u64>,
    /// All their indexes.
    pub index_bytes: Option<u64>,
}

/// Blocks, counted as the server's version can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBuffers {
    /// Found in shared buffers.
    pub hit: Option<u64>,
    /// Read from the system.
    pub read: Option<u64>,
    /// Changed for the first time since they were written.
    pub dirtied: Option<u64>,
    /// Written out by the backend itself.
    pub written: Option<u64>,
}

impl StepsRecord {
    /// The document, indented for people.
    pub fn to_json(&self) -> String {
        indented(self)
    }
}

impl StepResult {
    /// The mean of what its times count as; `None` if it was never taken.
    pub fn mean_us(&self) -> Option<f64> {
        let sum: f64 = self.times.iter().map(|time| time.duration_us as f64).sum();
        (!self.times.is_empty()).then(|| sum / self.times.len() as f64)
    }

    /// How many of its times were cancelled at the limit.
    pub fn limited(&self) -> usize {
        self.times.iter().filter(|time| time.limited).count()
    }
}
