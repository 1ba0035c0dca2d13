//! What is told while servers are made ready, trials run and blocks are compared. Listeners return nothing, so they cannot
//! change what is measured.

use results::{ExperimentRow, Record, StepsRecord};
use server::FetchProgress;
use std::fmt::Display;
use std::time::Duration;
use workload::{InitOptions, InitProgress, InitReport};

use crate::campaign::Subject;
use crate::compare::ComparisonRun;

/// Something happened.
pub enum Event<'a> {
    /// A line for the user.
    Message(String),
    /// Something that the user should know; what is going on goes on.
    Warning(String),
    /// A warning about the figures; `report` has its sentence.
    MeasurementWarning(results::Warning),
    /// Something begins that takes a while and has no figures.
    Busy(String),
    /// It is over.
    Idle,
    /// The programs of a server are fetched.
    Fetch(FetchProgress),
    /// Tables are loaded.
    Load(InitProgress<'a>),
    /// They are loaded.
    Loaded(&'a InitOptions, &'a InitReport),
    /// A trial begins: its position in the plan.
    TrialBegins(&'a Subject, &'a ExperimentRow, usize),
    /// The load of a trial is about to begin; where its metrics are to be served.
    RunBegins(&'a results::Plan, Option<&'a str>),
    /// Something happened in a run.
    Run(run::Event<'a>),
    /// The load of a trial is over.
    RunEnded,
    /// A trial is complete; how long the others will take.
    TrialEnded(&'a TrialRecord, Duration),
    /// All that is to be done of an experiment now is done.
    Ended(&'a Subject, &'a ExperimentRow),
    /// A comparison goes on.
    Comparison(&'a ComparisonRun, ComparisonEvent),
}

/// What a trial leaves behind.
pub enum TrialRecord {
    /// One of load.
    Load(Box<Record>),
    /// One of timed steps.
    Steps(Box<StepsRecord>),
}

/// How far a comparison has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ComparisonEvent {
    /// It begins, with at most so many pairs.
    Begins(f64),
    /// A pair is over.
    Pair,
    /// Some blocks of a long pair are over.
    Block,
    /// No more blocks.
    Ends,
}

/// Who is told.
#[derive(Clone, Copy)]
pub struct Listener<'a>(&'a dyn Fn(Event<'_>));

impl<'a> Listener<'a> {
    /// Calls this.
    #[must_use]
    pub fn new(told: &'a dyn Fn(Event<'_>)) -> Self {
        Self(told)
    }

    /// Tells it.
    pub fn tell(&self, event: Event<'_>) {
        (self.0)(event);
    }

    /// A line for the user.
    pub fn say(&self, text: impl Display) {
        self.tell(Event::Message(text.to_string()));
    }

    /// Something that the user should know.
    pub fn warn(&self, text: impl Display) {
        self.tell(Event::Warning(text.to_string()));
    }

    /// Something takes a while, until the result is dropped.
    #[must_use]
    pub fn busy(&self, text: impl Display) -> Busy<'a> {
        self.tell(Event::Busy(text.to_string()));
        Busy(*self)
    }
}

/// Something takes a while.
pub struct Busy<'a>(Listener<'a>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.tell(Event::Idle);
    }
}
