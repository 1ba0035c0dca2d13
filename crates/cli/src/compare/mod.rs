//! `pgmeter compare`: tests whether B is faster than A. The crate `lab` compares; this module has the options,
//! output, and exit status. docs/comparing.md explains the method.

mod arguments;

use std::process::ExitCode;

use report::Subject;
use results::{ComparisonDecision, ComparisonRecord, ComparisonStatus};

pub(crate) use arguments::CompareArguments;

use crate::failure::Failure;
use crate::listener::listening;
use crate::output::Output;
use crate::run_output::circumstances;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};

/// Exit statuses, documented in docs/comparing.md.
const WORSE: u8 = 1;
const UNDECIDED: u8 = 3;

pub(crate) fn run(
    arguments: &CompareArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitCode, Failure> {
    compare(arguments, terminal, signals).map_err(|failure| match failure {
        _ if failure.is_interruption() => failure,
        _ => Failure::NotCompared(Box::new(failure)),
    })
}

fn compare(
    arguments: &CompareArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitCode, Failure> {
    let output = arguments.output.output(terminal)?;
    let what = arguments.comparable()?;
    let cells = arguments::sides(&what)?;
    terminal::mask(::lab::secret_values(&cells));
    let options = arguments.options(&cells, &what.experiment.design)?;
    let places = arguments.places.places();
    let (record, kept) = listening(terminal, places.clone(), Output::default(), |listener| {
        ::lab::compare(what, cells, options, &places, &circumstances(), listener, signals)
    })?;
    output.show(Subject::Comparison(&record), terminal)?;
    terminal.say(format_args!("stored as comparison {kept} in {}", places.store().display()));
    judge(&record)
}

fn judge(record: &ComparisonRecord) -> Result<ExitCode, Failure> {
    if record.status == ComparisonStatus::Interrupted {
        return Err(Failure::Interrupted("interrupted; the result covers the pairs before that"));
    }
    Ok(match record.decision {
        ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse => {
            ExitCode::SUCCESS
        }
        ComparisonDecision::WorseThanTolerance => ExitCode::from(WORSE),
        ComparisonDecision::Undecided => ExitCode::from(UNDECIDED),
    })
}
