//! `pgmeter compare`: tests whether B is faster than A. The crate `lab` compares; this module has the options,
//! output, and exit status. docs/comparing.md explains the method.

mod arguments;

use ::output::judge_comparison;
use report::Subject;
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
    if arguments.search {
        let (options, places) = (arguments.searches(&what), arguments.places.announced(terminal)?);
        let done = listening(terminal, places.clone(), Output::default(), |listener| {
            ::lab::compare_searches(what, cells, options, &places, &circumstances(), listener, signals)
        })?;
        return crate::search::conclude(done, output, &places, terminal);
    }
    let options = arguments.options(&what, &cells)?;
    let places = arguments.places.announced(terminal)?;
    let done = listening(terminal, places.clone(), Output::default(), |listener| {
        ::lab::compare(what, cells, options, &places, &circumstances(), listener, signals)
    })?;
    output.show(Subject::Comparison(&done.record), terminal)?;
    let kept = done.kept.map_err(|error| RunError::not_stored(error, [done.record.to_json()]))?;
    terminal.say(format_args!("stored as comparison c{kept} in {}", places.store().display()));
    // The result is shown and stored all the same.
    done.failure.map_or(Ok(()), |error| Err(error.after_begin()))?;
    let (status, unmet) = judge_comparison(&done.record)?;
    unmet.iter().for_each(|sentence| terminal.say(sentence));
    Ok(status)
}
