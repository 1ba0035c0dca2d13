//! Is B faster than A? Two combinations that differ in one factor take turns, block by block, until the answer is sure or
//! the time is over. docs/comparing.md explains the method, docs/statistics.md what is computed.

mod block;
mod comparison_run;
mod layout;
mod probe;
mod record;
mod relevance;
mod server_set;
mod time_plan;

use results::{ComparisonRecord, Conditions, ProcessorTimes, UtcTime, Warning};
use run::{Circumstances, Control, StorePlaces};

use crate::configuration::Configuration;
use crate::error::LabError;
use crate::event::{Event, Listener};
use crate::matrix::Cell;
use layout::Layout;
use record::Setup;

pub use comparison_run::{CompareOptions, ComparisonRun};
pub use server_set::Comparable;

/// Compares, and keeps the comparison; its record and its number in the store.
///
/// # Errors
/// Nothing was compared, or it cannot be kept. An interrupted comparison is kept, and says so.
pub fn compare(
    what: Comparable,
    cells: [Cell; 2],
    options: CompareOptions,
    places: &StorePlaces,
    circumstances: &Circumstances,
    listener: Listener<'_>,
    control: &Control,
) -> Result<(ComparisonRecord, i64), LabError> {
    let mut cells = cells;
    // On a server of somebody else the role may not be allowed to: the comparison asks, and goes on without.
    for cell in cells.iter_mut().filter(|_| options.checkpoints) {
        let Configuration { server, data, .. } = &mut cell.configuration;
        data.checkpoint &= server.origin.dsn().is_none();
    }
    if cells.iter().any(|cell| cell.configuration.load.check) {
        listener.warn("a comparison executes no checks of the workload: check is for trials of pgmeter lab");
    }
    let files = what.files(&cells)?;
    // That nothing can be kept is found out before anybody waits.
    drop(places.open()?);
    let started_at = UtcTime::now();
    let name = what.experiment.name.clone();
    what.remove_leftovers(&cells, listener)?;
    let conditions = Conditions::detect();
    let ask_password = circumstances.ask_password;
    let layout = Layout { what, cells, seed: options.seed, ask_password, listener, control };
    let (server_layout, ready) = layout.first()?;
    control.check()?;
    let draws = layout.draws(&server_layout);
    let versions = [ready.sides[0].server_version(), ready.sides[1].server_version()];
    let processors = ProcessorTimes::now();
    let output = circumstances.output.map(|begin| begin());
    let run = ComparisonRun::run(&layout, ready, draws, options)?;
    if let Some(messages) = output.map(|end| end()).filter(|&messages| messages > 0) {
        listener.tell(Event::MeasurementWarning(Warning::MessagesLost { messages }));
    }
    let busy = listener.busy("working out the answer …");
    let shares = processors.zip(ProcessorTimes::now()).and_then(|(before, after)| before.until(&after));
    let conditions = Conditions { processors: shares, ..conditions };
    let cells = &layout.cells;
    let setup = Setup { started_at, name, cells, layout: server_layout, draws, versions, conditions };
    let record = record::record(setup, run);
    drop(busy);
    let kept = places.open()?.add_comparison(&record, &files).map_err(run::RunError::from)?;
    Ok((record, kept))
}
