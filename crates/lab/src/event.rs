//! Progress events of servers, trials and comparisons. Listeners return nothing, so they cannot change the
//! measurement.

use experiment::Subject;
use results::{ExperimentRow, Record, SearchRecord, SearchState, StepsRecord};
use server::FetchProgress;
use std::fmt::Display;
use std::time::Duration;
use workload::{InitOptions, InitProgress, InitReport};

use crate::compare::ComparisonRun;

/// A progress event.
pub enum Event<'a> {
    /// A line for the user.
    Message(String),
    /// A warning; the work continues.
    Warning(String),
    /// A warning about the figures; `report` has its sentence.
    MeasurementWarning(results::Warning),
    /// Work of unknown length begins.
    Busy(String),
    /// It has ended.
    Idle,
    /// Download of PostgreSQL programs.
    Fetch(FetchProgress),
    /// Progress of loading tables.
    Load(InitProgress<'a>),
    /// Loading has ended.
    Loaded(&'a InitOptions, &'a InitReport),
    /// A trial begins; its index in the plan.
    TrialBegins(&'a Subject, &'a ExperimentRow, usize),
    /// The load of a trial is about to begin; the address of its metrics.
    RunBegins(&'a results::Plan, Option<&'a str>),
    /// Event of a run.
    Run(run::Event<'a>),
    /// The load of a trial has ended.
    RunEnded,
    /// A trial is complete; the expected time of the remaining ones.
    TrialEnded(&'a TrialRecord, Duration),
    /// The execution has ended for now.
    Ended(&'a Subject, &'a ExperimentRow),
    /// A trial of a search has ended.
    Search(&'a SearchState),
    /// Progress of a comparison.
    Comparison(&'a ComparisonRun, ComparisonEvent),
}

/// The result of a trial.
pub enum TrialRecord {
    /// A trial of load.
    Load(Box<Record>),
    /// A trial of timed steps.
    Steps(Box<StepsRecord>),
    /// A trial that is a search.
    Search(Box<SearchRecord>),
}

/// Progress of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ComparisonEvent {
    /// Start, with the maximum number of pairs.
    Begins(f64),
    /// A pair has ended.
    Pair,
    /// Some blocks of a long pair have ended.
    Block,
    /// The last block has ended.
    Ends,
}

/// A receiver of events.
#[derive(Clone, Copy)]
pub struct Listener<'a>(&'a dyn Fn(Event<'_>));

impl<'a> Listener<'a> {
    /// A listener that calls this function.
    pub fn new(told: &'a dyn Fn(Event<'_>)) -> Self {
        Self(told)
    }

    /// Sends an event.
    pub fn tell(&self, event: Event<'_>) {
        (self.0)(event);
    }

    /// Sends a line for the user.
    pub fn say(&self, text: impl Display) {
        self.tell(Event::Message(text.to_string()));
    }

    /// Sends a warning.
    pub fn warn(&self, text: impl Display) {
        self.tell(Event::Warning(text.to_string()));
    }

    /// Shows that work of unknown length is in progress until the result is dropped.
    pub fn busy(&self, text: impl Display) -> Busy<'a> {
        self.tell(Event::Busy(text.to_string()));
        Busy(*self)
    }
}

/// Work in progress.
pub struct Busy<'a>(Listener<'a>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.tell(Event::Idle);
    }
}
