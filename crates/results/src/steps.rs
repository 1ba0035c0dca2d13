//! The record of statements that were timed one by one: the steps of an experiment's trial, or the queries of a query
//! set. `queries` and `lab` measure them, and `store` keeps the record. docs/steps.md and docs/queries.md explain it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::Scale;

use crate::safe_text::indented;
use crate::upgrade::STEPS;
use crate::{Annotation, BlockSources, Connection, Environment, PgmeterBuild, SafeText, Status, UtcTime};

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
    /// The user's label and note, of a query set.
    #[serde(flatten)]
    pub annotation: Annotation,
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
    /// What was asked of a query set; `null` for the steps of an experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_set: Option<QuerySetPlan>,
    /// Steps in order of execution; after a failure, up to the failed step. Of a query set, its queries in the set's
    /// order, each with the executions of all streams.
    pub steps: Vec<StepResult>,
    /// The streams of a query set; empty for the steps of an experiment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<StreamResult>,
    /// Notes for the reader: what could not be observed, and why.
    pub notes: Vec<SafeText>,
}

/// A query set as it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuerySetPlan {
    /// Name of the workload.
    pub workload: String,
    /// A notice that accompanies the results in every report; `null` for none.
    pub notice: Option<String>,
    /// Scale of the data.
    pub scale: Scale,
    /// The set of indexes with which the tables were loaded; `null` if unknown.
    pub indexes: Option<String>,
    /// The version of the texts; `null` if there is only one.
    pub text: Option<String>,
    /// Seed of the parameters and of the order in the streams; `null`: validation parameters, and the order of seed 0. A
    /// string in JSON.
    #[serde(with = "crate::intervals::optional_decimal")]
    pub seed: Option<u64>,
    /// Sessions that run the whole set at the same time.
    pub streams: u32,
    /// Executions of each query in each stream, one after the other; the first one is apart (cold).
    pub repeats: u32,
    /// Time limit of each execution; `null` for none.
    pub limit_us: Option<u64>,
    /// Names of the selected queries, as given; empty for all.
    #[serde(default)]
    pub select: Vec<String>,
    /// Whether plans were asked for, each with an execution of its own.
    #[serde(default)]
    pub asks_plans: bool,
    /// Whether answers were compared with the expected ones.
    pub checks_answers: bool,
    /// Whether refresh functions ran too.
    pub refreshes: bool,
    /// If it was executed in turns with another query set, to find queries that are slower on one side; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression: Option<RegressionPlan>,
    /// The command that repeats it; secrets are masked.
    pub command_line: Option<SafeText>,
}

/// One of two query sets that were executed in turns. Both have the same start. Of each query, the first execution is
/// apart; the next two of both sides are a sequence, A B B A or B A A B, and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegressionPlan {
    /// The side of this set.
    pub side: RegressionSide,
    /// A query is slower if B ÷ A is above 1 + this share.
    pub limit: f64,
    /// Seed of the order of the sides. A string in JSON.
    #[serde(with = "crate::intervals::optional_decimal")]
    pub order_seed: Option<u64>,
}

/// A side of two query sets.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegressionSide {
    /// The baseline.
    A,
    /// The side that may be slower.
    B,
}

/// A session of a query set, from its first statement to its last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Its number from 0; `null` for the session of the refresh functions.
    pub stream: Option<u32>,
    /// Start, counted from that of the first stream.
    pub started_us: u64,
    /// Elapsed time.
    pub duration_us: u64,
    /// Names of the queries in their order.
    pub order: Vec<String>,
}

/// The answer of a query compared with another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerCheck {
    /// All executions gave the expected answer.
    Equal,
    /// An execution gave another.
    Different {
        /// Expected number of rows.
        expected_rows: u64,
        /// Expected checksum; absent if only the number of rows is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_checksum: Option<String>,
    },
    /// No answer is known for these parameters at this scale.
    Unknown,
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
    /// The answer of a query; `null` if it was not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerCheck>,
    /// The plan of an execution of its own, as EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) returned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<SafeText>,
    /// Executions; none if the query set ended before its first one.
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
    /// The stream of a query set, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// The number of the execution in its stream, from 1; the first one may find cold caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Number of rows of a query's answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Checksum of the answer, independent of the rows' order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Bytes written to temporary files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temp_bytes: Option<u64>,
    /// CPU time of the parallel workers, user and system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers_cpu_us: Option<u64>,
    /// The error; a trial of steps ends with it, a query set goes on.
    pub error: Option<SafeText>,
    /// WAL generated meanwhile.
    pub wal_bytes: Option<u64>,
    /// CPU time of the backend in user mode, without parallel workers. If the server is on another host, that of the
    /// statements by pg_stat_kcache, with parallel workers.
    pub backend_user_us: Option<u64>,
    /// The same in kernel mode.
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
    /// What disks delivered, in blocks; more than `read` where the kernel read ahead.
    #[serde(default)]
    pub disk: Option<u64>,
    /// Dirtied.
    pub dirtied: Option<u64>,
    /// Written by the backend itself.
    pub written: Option<u64>,
}

impl StepBuffers {
    /// Where the blocks were found; `None` if the disk's part is unknown, or no block was accessed.
    pub fn sources(&self) -> Option<BlockSources> {
        BlockSources::new(self.hit? as f64, self.read? as f64, self.disk? as f64)
    }
}

impl StepsRecord {
    /// The document as indented JSON.
    pub fn to_json(&self) -> String {
        indented(self)
    }

    /// The step with this name; it is looked for at this place first, because records of one set have the same order.
    pub fn step(&self, name: &str, near: usize) -> Option<&StepResult> {
        let near = self.steps.get(near).filter(|step| step.name == name);
        near.or_else(|| self.steps.iter().find(|step| step.name == name))
    }

    /// Name of the workload of a query set; empty for the steps of an experiment.
    pub fn set_name(&self) -> &str {
        self.query_set.as_ref().map_or("", |plan| plan.workload.as_str())
    }
}

impl StepResult {
    /// A step without a limit that has not been executed.
    pub fn new(name: String, sql: Option<SafeText>) -> StepResult {
        StepResult {
            name,
            sql,
            limit_us: None,
            at_limit_us: None,
            answer: None,
            plan: None,
            times: Vec::new(),
        }
    }

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
