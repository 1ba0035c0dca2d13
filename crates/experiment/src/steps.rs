//! A timed step: what a trial executes, how often, and its time limit. `step_tables` reads steps; SQL is parsed and
//! executed with its variables when the trial runs.

use std::path::PathBuf;
use std::time::Duration;

/// A step of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Name in results.
    pub name: String,
    /// Timed work.
    pub work: StepWork,
    /// SQL to execute before each execution, not timed.
    pub before: Option<StepSql>,
    /// Number of executions in a trial.
    pub times: u32,
    /// Time limit of an execution.
    pub limit: Option<Duration>,
    /// Time that a cancelled execution counts as; `None`: the limit.
    pub at_limit: Option<Duration>,
}

/// Timed work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepWork {
    /// SQL, timed as a whole.
    Sql(StepSql),
    /// The steps of `init_steps`, each timed separately, in an empty database.
    Init,
}

/// SQL with variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepSql {
    /// Text in the experiment file.
    Here(String),
    /// In a file relative to it.
    File(PathBuf),
}

/// Assumed time of an execution without limit, only for forecasts.
const ROUGHLY: Duration = Duration::from_secs(5);

impl Step {
    /// Approximate time of all its executions.
    pub fn estimate(&self) -> Duration {
        self.limit.map_or(ROUGHLY, |limit| limit.min(ROUGHLY)).saturating_mul(self.times)
    }
}
