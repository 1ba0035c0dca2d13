//! The search for the highest rate that keeps goals, on a real server: `search` decides which load is next, this module
//! runs it and keeps its figures.
//!
//! In reading order: `options` checks what was asked; `loads` is the server under load, `on_server` a real one; `execution`
//! runs bursts, trials and confirmations; `curve` puts trials together to loads; `record` makes the record,
//! `kept` stores it and finds one to continue.

mod answer_figures;
mod curve;
mod execution;
mod kept;
mod loads;
mod on_server;
mod options;
mod record;

use connect::Target;
use results::{ComparisonDecision, GoalVerdict, SearchAnswer, SearchRecord, Status};
use run::{Circumstances, Control, ExitStatus, RunError, RunSpec, StorePlaces};

use crate::event::Listener;

pub(crate) use execution::SearchRun;
pub(crate) use kept::KeptSearch;
pub(crate) use loads::Loads;
pub(crate) use on_server::{About, ServerLoads};
pub(crate) use options::goals;
pub use options::{GOAL_OF_SEARCH, OPTIONS_OF_SEARCH, ResumedSearch, SearchClients, SearchOptions};
pub(crate) use record::record;

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
    /// How it can be continued, if it was broken off.
    pub fn advice(&self) -> Option<&'static str> {
        let is_broken_off = self.record.status != Status::Complete && self.record.comparison.is_none();
        is_broken_off.then_some("the same command with --resume continues it")
    }

    /// The status of the answer; of an expected rate, whether it is above that.
    pub fn exit_status(&self) -> ExitStatus {
        if let Some(comparison) = &self.record.comparison {
            return match comparison.decision {
                ComparisonDecision::Better | ComparisonDecision::Equivalent | ComparisonDecision::NoWorse => {
                    ExitStatus::Success
                }
                ComparisonDecision::WorseThanTolerance => ExitStatus::GoalMissed,
                ComparisonDecision::Undecided => ExitStatus::Undecided,
            };
        }
        if let Some(expected) = self.record.search.expected {
            return match expected.verdict {
                GoalVerdict::Met => ExitStatus::Success,
                GoalVerdict::Missed => ExitStatus::GoalMissed,
                GoalVerdict::Undecided => ExitStatus::Undecided,
            };
        }
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

/// Searches on a server, and saves the result. The rate, the length and the clients of the load are found. `resumed` names
/// an earlier search that is continued.
///
/// # Errors
/// There is no answer. A search that was interrupted or ended early is saved with the bracket so far.
pub fn search(
    (spec, target): (RunSpec, Target),
    (options, resumed): (&SearchOptions, Option<ResumedSearch>),
    places: &StorePlaces,
    circumstances: &Circumstances,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Searched, RunError> {
    let goals = goals(&spec)?;
    let spec = with_read_scripts(spec)?;
    // A store that cannot be written is reported before the first load.
    places.check()?;
    let earlier = resumed.map(|which| kept::earlier(places, which, &goals)).transpose()?;
    let by = (places, circumstances);
    let mut loads = ServerLoads::new(spec, target, options, goals.clone(), by, listener, control)?;
    let mut run = SearchRun::new(options, goals, loads.clients_max());
    if let Some((number, record)) = &earlier {
        listener.say(format_args!(
            "continuing search h{number}, which has taken {:.0} s",
            record.search.elapsed_s
        ));
        loads.resume(record);
        run.resume(&record.search, loads.overhead_s())?;
    }
    let mut keeper = KeptSearch::new(places, earlier.map(|(number, _)| number));
    let annotation = circumstances.annotation.clone();
    let measured = loop {
        match run.step(&mut loads, listener) {
            Ok(true) if keeper.is_due(loads.passed_s()) => {
                if let Some(about) = loads.about() {
                    // The search is worth more than its copy: what cannot be kept now is reported at the end.
                    let state =
                        record(&run, about, annotation.clone(), Status::Interrupted, loads.passed_s());
                    let _ = keeper.keep(&state);
                }
            }
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    let (status, failure) = match measured {
        Ok(()) => (Status::Complete, None),
        Err(failure) if run.is_empty() => return Err(failure),
        Err(failure) if failure.is_interruption() => (Status::Interrupted, Some(failure)),
        Err(failure) => (Status::Failed { reason: failure.to_string().into() }, Some(failure.after_begin())),
    };
    let about = loads.about().ok_or_else(|| RunError::Usage("no load has ended".to_owned()))?;
    let searched = record(&run, about, annotation, status, loads.passed_s());
    let kept = keeper.keep(&searched);
    Ok(Searched { record: searched, kept, failure })
}

/// Each load reads its scripts again, but standard input can be read only once.
fn with_read_scripts(spec: RunSpec) -> Result<RunSpec, RunError> {
    let scripts = spec.scripts.into_iter().map(run::read_standard_input).collect::<Result<_, _>>()?;
    Ok(RunSpec { scripts, ..spec })
}
