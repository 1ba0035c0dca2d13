//! `pgmeter compare`: tests whether B is faster than A. The crate `lab` compares; this module has the options,
//! output, and exit status. docs/comparing.md explains the method.

mod arguments;

use report::Subject;
use results::{ComparisonDecision, ComparisonRecord, ComparisonStatus, GoalVerdict};
use run::{ExitStatus, RunError};

pub(crate) use arguments::CompareArguments;

use crate::failure::Failure;
use crate::listener::listening;
use crate::output::Output;
use crate::run_output::circumstances;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};

pub(crate) fn run(
    arguments: &CompareArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    if arguments.undo {
        let (dsn, patience) = (arguments.dsn()?, arguments.patience());
        let places = arguments.places.places()?;
        let (undone, store) = (::lab::undo_left, places.clone());
        let undo =
            |listener: ::lab::Listener<'_>| undone(dsn.as_deref(), &store, patience, listener, signals);
        listening(terminal, places, Output::default(), undo)?;
        return Ok(ExitStatus::Success);
    }
    let output = arguments.output.output(terminal)?;
    compare(arguments, &output, terminal, signals)
        .inspect_err(|failure| output.write_failure("compare", failure, terminal))
}

fn compare(
    arguments: &CompareArguments,
    output: &Output,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let what = arguments.comparable()?;
    let cells = ::lab::sides(&what)?;
    terminal::mask(::experiment::secret_values(&cells));
    let options = arguments.options(&what, &cells)?;
    let places = arguments.places.announced(terminal)?;
    let done = listening(terminal, places.clone(), Output::default(), |listener| {
        ::lab::compare(what, cells, options, &places, &circumstances(), listener, signals)
    })?;
    output.show(Subject::Comparison(&done.record), terminal)?;
    let kept = done.kept.map_err(|error| RunError::not_stored(error, [done.record.to_json()]))?;
    terminal.say(format_args!("stored as comparison c{kept} in {}", places.store().display()));
    // The result is shown and stored all the same.
    done.failure.map_or_else(|| judge(&done.record, terminal), |error| Err(error.after_begin().into()))
}

fn judge(record: &ComparisonRecord, terminal: &Terminal) -> Result<ExitStatus, Failure> {
    if record.status == ComparisonStatus::Interrupted {
        return Err(Failure::Interrupted("interrupted; the result covers the pairs before that"));
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
        None | Some((GoalVerdict::Met, _)) => return Ok(of_decision),
        Some((GoalVerdict::Missed, goals)) => (ExitStatus::GoalMissed, format!("was missed: {goals}")),
        Some((GoalVerdict::Undecided, goals)) => (ExitStatus::Undecided, format!("is undecided: {goals}")),
    };
    terminal.say(format_args!("a goal of B {unmet}"));
    Ok(of_decision.max(of_goals))
}
