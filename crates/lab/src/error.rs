//! Errors of `lab`: those of an experiment before it is executed, which `experiment` has, and those of its execution,
//! which `run` has.

/// Why an experiment or a comparison cannot be executed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The experiment cannot be planned.
    #[error(transparent)]
    Experiment(#[from] experiment::ExperimentError),
    /// An error during the execution.
    #[error(transparent)]
    Run(#[from] run::RunError),
}
