//! Exit statuses of all commands except the drop-in, which has pgbench's. docs/ending.md has the table for users; `cli`
//! returns them.

use verify::VerifyError;
use workload::WorkloadError;

use crate::error::RunError;

/// How a command ended, from the weakest to the strongest: if several apply, the greatest wins.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Everything was done.
    #[default]
    Success,
    /// The result is open: a comparison or a goal is undecided, or trials were left.
    Undecided,
    /// A goal was missed, B is worse than A, or this machine cannot measure reliably (`self-test`).
    GoalMissed,
    /// A check of the workload found an error, or an answer differs.
    Differs,
    /// The results are incomplete, or everything failed.
    Incomplete,
    /// A watched condition of the server ended the load.
    Stopped,
    /// The server lost work that it had acknowledged, or violated an isolation level.
    WorkLost,
    /// Nothing was measured.
    NotStarted,
    /// A signal with this number ended it.
    Interrupted(u8),
}

impl ExitStatus {
    /// Ctrl-C.
    pub const INTERRUPTED: ExitStatus = ExitStatus::Interrupted(2);

    /// The number for the caller of the program.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Undecided => 3,
            Self::GoalMissed => 5,
            Self::Differs => 6,
            Self::NotStarted => 1,
            Self::Incomplete => 2,
            Self::Stopped => 7,
            Self::WorkLost => 4,
            // As in shells.
            Self::Interrupted(signal) => 128_u8.saturating_add(signal),
        }
    }
}

impl From<&RunError> for ExitStatus {
    fn from(error: &RunError) -> Self {
        match error {
            RunError::Unfinished(_) | RunError::GoalUndecided(_) => Self::Undecided,
            RunError::GoalMissed(_) => Self::GoalMissed,
            RunError::Aborted(_) | RunError::NotStored { .. } | RunError::ResultNotStored { .. } => {
                Self::Incomplete
            }
            RunError::Workload(WorkloadError::ChecksFailed { .. }) => Self::Differs,
            RunError::Stopped(_) => Self::Stopped,
            RunError::WorkLost { .. } => Self::WorkLost,
            error if error.is_interruption() => Self::INTERRUPTED,
            RunError::Verify(VerifyError::NotReady { .. }) => Self::Incomplete,
            _ => Self::NotStarted,
        }
    }
}

impl RunError {
    /// The same error after measuring began: the results are incomplete.
    #[must_use]
    pub fn after_begin(self) -> Self {
        if ExitStatus::from(&self) == ExitStatus::NotStarted { Self::Aborted(self.to_string()) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn the_strongest_status_wins() {
        let ascending = [
            (ExitStatus::Success, 0),
            (ExitStatus::Undecided, 3),
            (ExitStatus::GoalMissed, 5),
            (ExitStatus::Differs, 6),
            (ExitStatus::Incomplete, 2),
            (ExitStatus::Stopped, 7),
            (ExitStatus::WorkLost, 4),
            (ExitStatus::NotStarted, 1),
            (ExitStatus::INTERRUPTED, 130),
            (ExitStatus::Interrupted(15), 143),
        ];
        for (at, (weaker, code)) in ascending.into_iter().enumerate() {
            assert_eq!(weaker.code(), code, "{weaker:?}");
            for (stronger, _) in &ascending[at..] {
                assert_eq!(weaker.max(*stronger), *stronger);
            }
        }
    }

    #[test]
    fn errors_of_runs_have_the_status_of_what_they_left_undone() {
        let check = |error: RunError, expected: u8| assert_eq!(ExitStatus::from(&error).code(), expected);
        check(RunError::Usage(String::new()), 1);
        check(RunError::Unfinished(String::new()), 3);
        check(RunError::GoalMissed(String::new()), 5);
        check(RunError::GoalUndecided(String::new()), 3);
        check(RunError::Aborted(String::new()), 2);
        check(RunError::Stopped(String::new()), 7);
        check(RunError::WorkLost { lost: 1, acknowledged: 2 }, 4);
        let (table, reason) = (String::new, String::new);
        check(RunError::Verify(VerifyError::Interrupted { table: table() }), 130);
        check(RunError::Verify(VerifyError::NotReady { seconds: 60, reason: reason(), table: table() }), 2);
        check(RunError::Interrupted(Cow::Borrowed("stopped")), 130);
        check(
            RunError::Workload(WorkloadError::ChecksFailed { workload: String::new(), failed: Vec::new() }),
            6,
        );
    }
}
