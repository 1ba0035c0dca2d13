//! `pgmeter compare`: is B faster than A? Two combinations that differ in one factor take turns, block by block, until
//! the answer is sure or the time is over. docs/comparing.md explains the method, docs/statistics.md what is computed.

mod account;
mod arguments;
mod block;
mod course;
mod probe;
mod relevance;
mod spending;
mod stand;
mod watching;

use std::process::ExitCode;

use ::lab::{Configuration, Origin};
use results::{
    ComparisonDecision, ComparisonRecord, ComparisonStatus, Conditions, ProcessorTimes, Store, UtcTime,
};

pub(crate) use arguments::CompareArguments;

use crate::failure::Failure;
use crate::signals::Signals;
use crate::terminal::{self, Terminal, Unit};
use account::Before;
use arguments::OutputName;
use course::Course;
use stand::Builder;
use watching::Watching;

/// Exit statuses, as docs/comparing.md has them.
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
    let what = arguments.comparable()?;
    let mut cells = arguments::sides(&what)?;
    let wish = arguments.wish(&cells, &what.experiment.design)?;
    // On a server of somebody else the role may not be allowed to: the comparison asks, and goes on without.
    for cell in cells.iter_mut().filter(|_| wish.checkpoints) {
        let Configuration { server, data, .. } = &mut cell.configuration;
        data.checkpoint &= !matches!(server.origin, Origin::Running(_));
    }
    let files = what.files(&cells)?;
    // That nothing can be kept is found out before anybody waits.
    drop(Store::create(&arguments.places.store())?);
    let started_at = UtcTime::now();
    let name = what.experiment.name.clone();
    what.remove_leftovers(&cells, terminal)?;
    let conditions = Conditions::detect();
    let builder = Builder { what, cells, seed: wish.seed, terminal, signals };
    let (ground, stand) = builder.first()?;
    signals.check()?;
    let draws = builder.draws(&ground);
    let versions = [stand.sides[0].server_version(), stand.sides[1].server_version()];
    let mut watching = Watching::new(terminal);
    let processors = ProcessorTimes::now();
    let measuring = terminal::measure();
    let course = Course::run(&builder, stand, draws, wish, &mut watching)?;
    measuring.end().into_iter().for_each(|lost| terminal.warn(lost));
    let bar = terminal.bar(None, Unit::Nothing);
    bar.label("working out the answer …");
    let shares = processors.zip(ProcessorTimes::now()).and_then(|(before, after)| before.until(&after));
    let conditions = Conditions { processors: shares, ..conditions };
    let cells = &builder.cells;
    let record =
        account::record(Before { started_at, name, cells, ground, draws, versions, conditions }, course);
    drop(bar);
    let kept = Store::create(&arguments.places.store())?.add_comparison(&record, &files)?;
    match arguments.format {
        OutputName::Text => terminal.print(&report::comparison(&record, terminal.style())),
        OutputName::Json => terminal.print(&results::escaped_json(record.to_json())),
    }
    let store = arguments.places.store();
    terminal.say(format_args!("kept as comparison {kept} in {}", store.display()));
    judge(&record)
}

fn judge(record: &ComparisonRecord) -> Result<ExitCode, Failure> {
    if record.status == ComparisonStatus::Interrupted {
        return Err(Failure::Interrupted("interrupted; what is said above is of the pairs until then"));
    }
    Ok(match record.decision {
        ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse => {
            ExitCode::SUCCESS
        }
        ComparisonDecision::WorseThanTolerance => ExitCode::from(WORSE),
        ComparisonDecision::Undecided => ExitCode::from(UNDECIDED),
    })
}
