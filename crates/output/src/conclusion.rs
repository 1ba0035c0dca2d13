//! What a command says at the end of a run or comparison, and the error that its exit status follows from.
//! The results are shown and stored before.

use engine::End;
use results::{ComparisonDecision, ComparisonRecord, ComparisonStatus, GoalVerdict, Record};
use run::{ExitStatus, Finished, RunError};

use crate::tracer::LogFault;

/// Maximum number of aborted clients that are listed.
const REASONS_SHOWN_MAX: usize = 3;
const EVERYTHING_FAILED: &str = "no transaction succeeded; the errors are in the report";
const NOTHING_SCHEDULED: &str =
    "no transaction was scheduled in the measured time; increase the duration or the rate";

/// The end of a run.
#[derive(Debug)]
pub struct Conclusion {
    /// A warning.
    pub warning: Option<&'static str>,
    /// Why clients were aborted: the first of them.
    pub aborted: Vec<String>,
    /// Whether the run did what it was asked to. A run that was aborted or interrupted is an error, although it has
    /// results.
    pub result: Result<(), RunError>,
}

impl Conclusion {
    /// Of a run; `log_fault` is the first error of its log files.
    pub fn new(finished: Finished, log_fault: &LogFault) -> Self {
        let record = &finished.record;
        let warning = (record.summary.counts.scheduled == 0).then_some(NOTHING_SCHEDULED);
        let aborted = finished.outcome.aborted.iter().take(REASONS_SHOWN_MAX);
        let aborted = aborted.map(|aborted| run::with_pooler_remedy(aborted.to_string())).collect();
        Self { warning, aborted, result: result(finished, log_fault) }
    }
}

fn result(Finished { record, outcome, checked }: Finished, log_fault: &LogFault) -> Result<(), RunError> {
    if let Err(lost @ RunError::WorkLost { .. }) = checked {
        return Err(lost);
    }
    match (outcome.end, outcome.aborted.len()) {
        (End::Interrupted, _) => Err(RunError::Interrupted(
            "interrupted; the results above cover the time before the interruption".into(),
        )),
        (_, 0) if let Some(stop) = &record.summary.watch_stop => Err(RunError::from(stop)),
        (End::CutOff(cut_off), 0) => Err(RunError::Aborted(cut_off.to_string())),
        (_, 0) if record.everything_failed() => Err(RunError::Aborted(EVERYTHING_FAILED.to_owned())),
        (_, 0) => match log_fault.get() {
            None => checked.and_then(|()| judge_goals(&record)),
            Some(reason) => Err(RunError::Aborted(format!(
                "a log file could not be written ({reason}): the log is incomplete; the results above are complete"
            ))),
        },
        (_, aborted) => Err(RunError::Aborted(format!(
            "{aborted} of {} clients were aborted; the above results are incomplete",
            record.plan.clients
        ))),
    }
}

/// A missed or undecided goal is an error of its own exit status.
fn judge_goals(record: &Record) -> Result<(), RunError> {
    match report::unmet_goals(&record.summary.goals) {
        None | Some((GoalVerdict::Met, _)) => Ok(()),
        Some((GoalVerdict::Missed, goals)) => Err(RunError::GoalMissed(goals)),
        Some((GoalVerdict::Undecided, goals)) => Err(RunError::GoalUndecided(goals)),
    }
}

/// The exit status of a comparison, and a sentence if a goal of B was not met.
///
/// # Errors
/// It was interrupted.
pub fn judge_comparison(record: &ComparisonRecord) -> Result<(ExitStatus, Option<String>), RunError> {
    if record.status == ComparisonStatus::Interrupted {
        return Err(RunError::Interrupted("interrupted; the result covers the pairs before that".into()));
    }
    let of_decision = match record.decision {
        ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse => {
            ExitStatus::Success
        }
        ComparisonDecision::WorseThanTolerance => ExitStatus::GoalMissed,
        ComparisonDecision::Undecided => ExitStatus::Undecided,
    };
    let [_, b] = &record.sides;
    let (of_goals, unmet) = match report::unmet_goals(&b.goals) {
        None | Some((GoalVerdict::Met, _)) => return Ok((of_decision, None)),
        Some((GoalVerdict::Missed, goals)) => (ExitStatus::GoalMissed, format!("was missed: {goals}")),
        Some((GoalVerdict::Undecided, goals)) => (ExitStatus::Undecided, format!("is undecided: {goals}")),
    };
    Ok((of_decision.max(of_goals), Some(format!("a goal of B {unmet}"))))
}
