//! Interprets the end of a run: the status and the warnings of its record, and errors with a remedy. Pure; `prepared`
//! runs the load.

use engine::{Compatibility, End, EngineError, Outcome, Plan};
use results::{FailedCheck, SafeText, Status, Warning};

use crate::check::pooling;
use crate::error::RunError;
use crate::exit_status::ExitStatus;
use crate::spec::secrets::without_secret_values;

/// Under a rate, transactions that were scheduled and never started are in no latency: that must be said.
pub(crate) fn overload(outcome: &Outcome, clients: usize) -> Option<Warning> {
    let unfinished = outcome.summary.total.counts.unfinished;
    let clients = u32::try_from(clients).unwrap_or(u32::MAX);
    (unfinished > u64::from(clients)).then_some(Warning::RateNotKept { unfinished, clients })
}

pub(crate) fn uncancelled(outcome: &Outcome) -> Option<Warning> {
    let statements = outcome.uncancelled as u64;
    (statements > 0).then_some(Warning::Uncancelled { statements })
}

pub(crate) fn checks_failed(workload: &str, failed: &[workload::FailedCheck]) -> Warning {
    let check = |check: &workload::FailedCheck| FailedCheck {
        name: check.name.as_str().into(),
        rows: check.rows as u64,
        first_row: check.first.as_str().into(),
    };
    Warning::ChecksFailed { workload: workload.into(), checks: failed.iter().map(check).collect() }
}

pub(crate) fn status(outcome: &Outcome, plan: &Plan) -> Status {
    match (&outcome.end, outcome.aborted.first()) {
        (End::Interrupted, _) => Status::Interrupted,
        (_, Some(first)) => {
            let (aborted, clients) = (outcome.aborted.len(), plan.clients);
            let reason = format!("{aborted} of {clients} clients were aborted; the first: {first}");
            let reason = match plan.compatibility {
                Compatibility::Pgmeter => pooling::with_pooler_remedy(reason),
                Compatibility::Pgbench => reason,
            };
            let variables = plan.variables.iter().map(|(name, value)| (name, value));
            Status::Failed { reason: SafeText::from(without_secret_values(&reason, variables)) }
        }
        (End::CutOff(cut_off), None) => {
            Status::Failed { reason: SafeText::from(format!("{cut_off}; change this time with --grace")) }
        }
        (_, None) => Status::Complete,
    }
}

/// A failure after a complete run. It is not one of starting, whose status would say that nothing was measured.
pub(crate) fn after_run(error: RunError) -> RunError {
    match ExitStatus::from(&error) {
        ExitStatus::NotStarted => RunError::Aborted(format!(
            "the run is complete and its record has the results, but what follows it failed: {error}"
        )),
        _ => error,
    }
}

/// Adds the remedy to the engine's sentence.
pub(crate) fn explain(error: EngineError, clients: usize, compatibility: Compatibility) -> RunError {
    if let (Compatibility::Pgmeter, Some(message)) = (compatibility, error.too_many_connections()) {
        let limit = connect::connection_limit(message).replacen("the", "The", 1);
        return RunError::Usage(format!(
            "{error}. {limit} is too low for {clients} clients: raise it, or use fewer clients (-c)"
        ));
    }
    match pooling::remedy(&error.to_string()) {
        Some(remedy) if compatibility == Compatibility::Pgmeter => {
            RunError::Usage(format!("{error}; {remedy}"))
        }
        _ => error.into(),
    }
}
