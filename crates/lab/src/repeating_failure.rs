//! Distinguishes failures that would repeat in each trial, such as a syntax error or a missing table, from those of one
//! trial. A failure of the first kind ends the experiment.

use connect::ConnectError;
use queries::WorkError;
use results::Record;
use run::RunError;
use server::ServerError;
use workload::WorkloadError;

/// Classes of SQLSTATEs, or whole codes, of errors that the same statement causes each time: syntax errors and access
/// rules, a missing database or schema, invalid parameter values (manual, PostgreSQL Error Codes).
const SQLSTATES: [&str; 5] = ["42", "3D", "3F", "28", "22023"];

fn is_repeated(sqlstate: &str) -> bool {
    SQLSTATES.iter().any(|class| sqlstate.starts_with(class))
}

/// An error of timed work.
pub(crate) trait Repeats: WorkError {
    /// Whether each trial would meet it.
    fn would_repeat(&self) -> bool;
}

impl Repeats for ConnectError {
    fn would_repeat(&self) -> bool {
        repeats(self)
    }
}

impl Repeats for WorkloadError {
    fn would_repeat(&self) -> bool {
        repeats_of_workload(self)
    }
}

fn repeats(error: &ConnectError) -> bool {
    error.sqlstate().is_some_and(|state| is_repeated(&state.to_string()))
}

fn repeats_of_workload(error: &WorkloadError) -> bool {
    match error {
        WorkloadError::LoadStep { source, .. } | WorkloadError::Query { source, .. } => repeats(source),
        WorkloadError::TablesMissing { .. } | WorkloadError::File(_) | WorkloadError::Statements(_) => true,
        _ => false,
    }
}

/// Whether a failure would be the same in each trial with the same specification.
pub(crate) fn would_repeat(error: &RunError) -> bool {
    match error {
        RunError::Usage(_) | RunError::Script(_) | RunError::Statement(_) => true,
        RunError::Connect(error) => repeats(error),
        RunError::Workload(error) => repeats_of_workload(error),
        RunError::Server(ServerError::StartFailed { log, .. }) => {
            ["unrecognized configuration parameter", "invalid value for parameter"]
                .iter()
                .any(|it| log.contains(it))
        }
        _ => false,
    }
}

/// Whether clients of a run were aborted by such an error.
pub(crate) fn aborted_by_repeated(record: &Record) -> bool {
    let errors = record.summary.errors.iter().flat_map(|errors| &errors.kinds);
    errors.into_iter().any(|kind| kind.counts.aborted > 0 && is_repeated(&kind.sqlstate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_specification_repeat_and_those_of_a_moment_do_not() {
        for (sqlstate, repeats) in [
            ("42601", true),
            ("42P01", true),
            ("42501", true),
            ("22023", true),
            ("22012", false),
            ("40001", false),
            ("53300", false),
            ("57P01", false),
        ] {
            assert_eq!(is_repeated(sqlstate), repeats, "{sqlstate}");
        }
        assert!(would_repeat(&RunError::Usage("no such target".to_owned())));
        assert!(!would_repeat(&RunError::Aborted("a connection was lost".to_owned())));
    }
}
