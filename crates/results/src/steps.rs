//! The record of a trial of timed steps: the steps, and duration and results of each execution.
//! `cli` measures them, and `store` keeps the record. docs/steps.md explains the document.

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
    /// The version of pgmeter.
    pub pgmeter_version: String,
    /// Build profile of pgmeter.
    pub pgmeter_build: PgmeterBuild,
    /// Whether all steps were executed.
    pub status: Status,
    /// Start of the first step.
    pub started_at: UtcTime,
    /// Connection parameters.
    pub connection: Connection,
    /// Values of `:name` in the steps.
    pub variables: BTreeMap<String, SafeText>,
    /// Client's host and server.
    pub environment: Environment,
    /// Steps in order of execution; after a failure, up to the failed step.
    pub steps: Vec<StepResult>,
    /// Notes for the reader: what could not be observed, and why.
    pub notes: Vec<SafeText>,
}

/// A step with its executions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepResult {
    /// Name in the experiment, or name of a loading step, such as `vacuum`.
    pub name: String,
    /// The executed SQL, with substituted variables; `null` for a loading step.
    #[serde(deserialize_with = "crate::safe_text::read_optional_sql")]
    pub sql: Option<SafeText>,
    /// Time limit after which an execution is cancelled; `null` for none.
    pub limit_us: Option<u64>,
    /// The value recorded for a cancelled execution; `null` without a limit.
    pub at_limit_us: Option<u64>,
    /// Executions, at least one.
    pub times: Vec<StepTime>,
}

/// One execution of a step. Values that could not be observed are `null`, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTime {
    /// The recorded duration: the measured one, or `at_limit_us` after cancellation.
    pub duration_us: u64,
    /// Measured duration until success, failure or cancellation, by the client's clock.
    pub measured_us: u64,
    /// Whether it was cancelled at its limit.
    pub limited: bool,
    /// The error; the trial ends with it.
    pub error: Option<SafeText>,
    /// WAL generated meanwhile.
    pub wal_bytes: Option<u64>,
    /// CPU time of the backend in user mode, without parallel workers.
    pub backend_user_us: Option<u64>,
    /// CPU time of the backend in kernel mode, without parallel workers.
    pub backend_system_us: Option<u64>,
    /// Block accesses.
    pub buffers: StepBuffers,
    /// Size of all user tables of the database afterwards, with TOAST tables, free space and visibility maps.
    pub table_bytes: Option<u64>,
    /// Size of all their indexes afterwards.
    pub index_bytes: Option<u64>,
}

/// Block accesses, as far as the server's version counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBuffers {
    /// Found in shared buffers.
    pub hit: Option<u64>,
    /// Read from the operating system.
    pub read: Option<u64>,
    /// Dirtied.
    pub dirtied: Option<u64>,
    /// Written by the backend itself.
    pub written: Option<u64>,
}

impl StepsRecord {
    /// The document as indented JSON.
    pub fn to_json(&self) -> String {
        indented(self)
    }
}

impl StepResult {
    /// Mean recorded duration; `None` without an execution.
    pub fn mean_us(&self) -> Option<f64> {
        let sum: f64 = self.times.iter().map(|time| time.duration_us as f64).sum();
        (!self.times.is_empty()).then(|| sum / self.times.len() as f64)
    }

    /// Number of executions cancelled at the limit.
    pub fn limited(&self) -> usize {
        self.times.iter().filter(|time| time.limited).count()
    }
}
