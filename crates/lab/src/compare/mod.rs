//! Compares two combinations that differ in one factor, with alternating blocks until the result is clear or the time
//! is over. docs/comparing.md explains the method, docs/statistics.md the calculations.

mod block;
mod by_search;
mod comparison_run;
mod latencies;
mod layout;
mod probe;
mod progress;
mod record;
mod relevance;
mod server_set;
mod state;
mod time_plan;

use std::collections::BTreeSet;

use experiment::{Cell, Comparable, Configuration};
use results::{ComparisonRecord, Conditions, ProcessorTimes, UtcTime, Warning};
use run::{Circumstances, Control, RunError, StorePlaces};

use crate::error::LabError;
use crate::event::{Event, Listener};
use crate::files::files;
use crate::leftovers;
use crate::schema_change;
use crate::server_host::find_host;
use crate::trial;
use layout::Layout;
use record::Setup;

pub use by_search::{SearchesOptions, compare_searches};
pub use latencies::compared_metric;
pub use progress::{ComparisonProgress, ProgressText};
pub use state::{CompareOptions, ComparisonRun};

/// A comparison that has ended.
#[derive(Debug)]
pub struct Compared {
    /// Its record.
    pub record: ComparisonRecord,
    /// Its number in the store, or why it was not stored.
    pub kept: Result<i64, RunError>,
    /// Why it ended early, or why the schema is not as before after the last undo.
    pub failure: Option<RunError>,
}

/// The two sides of a comparison.
///
/// # Errors
/// The experiment is not one factor of two levels with a load, or a change of the schema cannot be read.
pub fn sides(what: &Comparable) -> Result<[Cell; 2], LabError> {
    let cells = what.sides(&find_host)?;
    schema_change::check(cells.iter().map(|cell| &cell.configuration))?;
    Ok(cells)
}

/// Removes databases of killed comparisons from the running servers of these combinations.
fn remove_leftovers(cells: &[Cell], listener: Listener<'_>) -> Result<(), RunError> {
    // A comparison in place makes no databases.
    let servers = cells.iter().map(|cell| &cell.configuration.server).filter(|server| !server.in_place);
    let servers: BTreeSet<&str> = servers.filter_map(|server| server.origin.dsn()).collect();
    servers.into_iter().try_for_each(|dsn| leftovers::remove_abandoned(dsn, listener))
}

/// Runs a comparison and saves it.
///
/// # Errors
/// There is no result. A comparison that was interrupted or ended early is saved and marked as such.
pub fn compare(
    what: Comparable,
    cells: [Cell; 2],
    options: CompareOptions,
    places: &StorePlaces,
    circumstances: &Circumstances,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Compared, LabError> {
    let mut cells = cells;
    // On a shared server the role may lack the privilege for a checkpoint: the comparison checks this, and continues
    // without.
    for cell in cells.iter_mut().filter(|_| options.checkpoints) {
        let Configuration { server, data, .. } = &mut cell.configuration;
        data.checkpoint &= server.origin.dsn().is_none();
    }
    if cells.iter().any(|cell| cell.configuration.load.check) {
        listener
            .warn("a comparison cannot run the checks of the workload: check is for trials of pgmeter lab");
    }
    if cells.iter().any(|cell| cell.configuration.load.stop_on_miss) {
        listener
            .warn("a missed goal does not end a comparison early: stop_on_miss is for trials of pgmeter lab");
    }
    trial::check(&cells)?;
    let files = files(&what.subject(cells.to_vec()))?;
    // A store that cannot be written is reported before the comparison starts.
    places.check()?;
    let started_at = UtcTime::now();
    let (name, annotation) = (what.experiment.name.clone(), what.experiment.annotation.clone());
    remove_leftovers(&cells, listener)?;
    let conditions = Conditions::detect();
    let ask_password = circumstances.ask_password;
    let CompareOptions { seed, patience, .. } = options;
    let layout = Layout { what, cells, seed, patience, places, ask_password, listener, control };
    let (server_layout, ready) = layout.first(options.budget_s)?;
    control.check()?;
    let draws = layout.draws(&server_layout);
    let versions = [ready.sides[0].server_version(), ready.sides[1].server_version()];
    let processors = ProcessorTimes::now();
    let output = circumstances.output.map(|begin| begin());
    let run = ComparisonRun::run(&layout, ready, draws, options).map_err(RunError::after_begin)?;
    let failure = run.not_undone.clone().map(RunError::Aborted).or_else(|| run.early_end());
    if let Some(messages) = output.map(|end| end()).filter(|&messages| messages > 0) {
        listener.tell(Event::MeasurementWarning(Warning::MessagesLost { messages }));
    }
    let busy = listener.busy("calculating the result …");
    let shares = processors.zip(ProcessorTimes::now()).and_then(|(before, after)| before.until(&after));
    let conditions = Conditions { processors: shares, ..conditions };
    let cells = &layout.cells;
    let setup =
        Setup { started_at, name, annotation, cells, layout: server_layout, draws, versions, conditions };
    let record = record::record(setup, run);
    drop(busy);
    let kept = places.open().and_then(|mut store| Ok(store.add_comparison(&record, &files)?));
    Ok(Compared { record, kept, failure })
}
