//! The time budget of an experiment: how long the next trial and all others will take, and whether there is time for
//! them. `forecast` computes the estimates; here the time passes.

use std::time::Duration;

use crate::forecast::Forecast;
use crate::plan::Plan;
use crate::readiness::{Preparation, Readiness};
use crate::stopwatch::Stopwatch;

/// The time of one process's work on an experiment.
pub(super) struct TimeBudget {
    stopwatch: Stopwatch,
    budget: Option<Duration>,
    forecast: Forecast,
    readiness: Readiness,
}

/// A trial that is being made.
pub(super) struct TrialTiming {
    what: Preparation,
    begun: Duration,
    ready: Duration,
}

impl TimeBudget {
    pub(super) fn new(budget: Option<Duration>) -> Self {
        Self {
            stopwatch: Stopwatch::start(),
            budget,
            forecast: Forecast::default(),
            readiness: Readiness::default(),
        }
    }

    /// A trial of this cell begins, unless it would end after the budget.
    pub(super) fn begin(&mut self, plan: &Plan, cell: usize) -> Option<TrialTiming> {
        let mut readiness = self.readiness.clone();
        let what = readiness.next(plan, cell);
        let begun = self.stopwatch.passed();
        let end = begun.saturating_add(self.forecast.expected(plan, cell, what).total());
        if self.budget.is_some_and(|budget| end > budget) {
            return None;
        }
        self.readiness = readiness;
        Some(TrialTiming { what, begun, ready: begun })
    }

    /// What is left of the budget, if there is one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.budget.map(|budget| budget.saturating_sub(self.stopwatch.passed()))
    }

    /// All that the trial needs is there.
    pub(super) fn ready(&self, timing: &mut TrialTiming) {
        timing.ready = self.stopwatch.passed();
    }

    /// The trial is over. Of one that failed nothing is learnt, and what it stood on may be gone.
    pub(super) fn end(&mut self, plan: &Plan, cell: usize, timing: &TrialTiming, is_complete: bool) {
        if is_complete {
            let readying = timing.ready.saturating_sub(timing.begun);
            let trial = self.stopwatch.passed().saturating_sub(timing.ready);
            self.forecast.learn(plan, cell, timing.what, readying, trial);
        } else {
            self.readiness.lose(plan, cell);
        }
    }

    /// How long trials of these cells will take from here.
    pub(super) fn left(&self, plan: &Plan, cells: impl Iterator<Item = usize>) -> Duration {
        self.forecast.expected_of(plan, cells, &self.readiness).total()
    }
}
