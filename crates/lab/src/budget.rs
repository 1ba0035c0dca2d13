//! The time budget of an experiment: the expected time of the next trial and of all remaining ones, and whether it
//! suffices. `experiment::forecast` computes the estimates; this module tracks the time.

use connect::Stopwatch;
use std::time::Duration;

use experiment::{Forecast, Plan, Preparation, Readiness};

/// Time budget of one execution.
pub(super) struct TimeBudget {
    stopwatch: Stopwatch,
    budget: Option<Duration>,
    forecast: Forecast,
    readiness: Readiness,
}

/// The trial in progress.
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

    /// Starts a trial of this cell, unless it would end after the budget.
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

    /// The rest of the budget, if there is one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        self.budget.map(|budget| budget.saturating_sub(self.stopwatch.passed()))
    }

    /// The preparation of the trial is complete.
    pub(super) fn ready(&self, timing: &mut TrialTiming) {
        timing.ready = self.stopwatch.passed();
    }

    /// The trial has ended. A failed one is not used for forecasts, and its server may be gone.
    pub(super) fn end(&mut self, plan: &Plan, cell: usize, timing: &TrialTiming, is_complete: bool) {
        if is_complete {
            let readying = timing.ready.saturating_sub(timing.begun);
            let trial = self.stopwatch.passed().saturating_sub(timing.ready);
            self.forecast.learn(plan, cell, timing.what, readying, trial);
        } else {
            self.readiness.lose(plan, cell);
        }
    }

    /// Expected time of the remaining trials of these cells.
    pub(super) fn left(&self, plan: &Plan, cells: impl Iterator<Item = usize>) -> Duration {
        self.forecast.expected_of(plan, cells, &self.readiness).total()
    }
}
