//! The search for the highest rate that keeps goals, on a real server: `search` decides which load is next, this module
//! runs it and keeps its figures.
//!
//! In reading order: `options` checks what was asked; `loads` is the server under load, `on_server` a real one; `execution`
//! runs bursts, trials and confirmations; `curve` puts trials together to loads; `record` makes the record.

mod curve;
mod execution;
mod loads;
mod on_server;
mod options;
mod record;

use connect::Target;
use results::{SearchAnswer, SearchRecord, Status};
use run::{Circumstances, Control, ExitStatus, RunError, RunSpec, StorePlaces};

use crate::event::Listener;
use execution::SearchRun;
use loads::Loads;
use on_server::ServerLoads;

pub use options::{GOAL_OF_SEARCH, OPTIONS_OF_SEARCH, SearchClients, SearchOptions};

/// A search that has ended.
#[derive(Debug)]
pub struct Searched {
    /// The record.
    pub record: SearchRecord,
    /// Its number in the store, or why it is not there.
    pub kept: Result<i64, RunError>,
    /// Why it ended early.
    pub failure: Option<RunError>,
}

impl Searched {
    /// The status of the answer.
    pub fn exit_status(&self) -> ExitStatus {
        match self.record.search.answer {
            SearchAnswer::Sustains | SearchAnswer::Corrected | SearchAnswer::KeptAtHighest => {
                ExitStatus::Success
            }
            SearchAnswer::BrokenAtLowest => ExitStatus::GoalMissed,
            SearchAnswer::Unconfirmed
            | SearchAnswer::Between
            | SearchAnswer::GeneratorLimited
            | SearchAnswer::Nothing => ExitStatus::Undecided,
        }
    }
}

/// Searches on a server, and saves the result. The rate, the length and the clients of the load are found.
///
/// # Errors
/// There is no answer. A search that was interrupted or ended early is saved with the bracket so far.
pub fn search(
    (spec, target): (RunSpec, Target),
    options: &SearchOptions,
    places: &StorePlaces,
    circumstances: &Circumstances,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Searched, RunError> {
    let goals = options::goals(&spec)?;
    // Each load reads its scripts again.
    let scripts = spec.scripts.into_iter().map(run::read_standard_input).collect::<Result<_, _>>()?;
    let spec = RunSpec { scripts, ..spec };
    // A store that cannot be written is reported before the first load.
    places.check()?;
    let by = (places, circumstances);
    let mut loads = ServerLoads::new(spec, target, options, goals.clone(), by, listener, control)?;
    let mut run = SearchRun::new(options, goals, loads.clients_max());
    let (status, failure) = match run.run(&mut loads, listener) {
        Ok(()) => (Status::Complete, None),
        Err(failure) if run.is_empty() => return Err(failure),
        Err(failure) if failure.is_interruption() => (Status::Interrupted, Some(failure)),
        Err(failure) => (Status::Failed { reason: failure.to_string().into() }, Some(failure.after_begin())),
    };
    let about = loads.about().ok_or_else(|| RunError::Usage("no load has ended".to_owned()))?;
    let annotation = circumstances.annotation.clone();
    let record = record::record(run, about, annotation, status, loads.passed_s());
    let kept = places.open().and_then(|mut store| Ok(store.add_search(&record)?));
    Ok(Searched { record, kept, failure })
}
