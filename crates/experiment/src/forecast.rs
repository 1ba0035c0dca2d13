//! Forecasts of trial durations: estimates from the configuration, corrected by the durations of earlier trials. Used
//! for plans, the remaining time and the budget; measurements do not depend on them.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::Limit;
use queries::QuerySetSpec;

use crate::configuration::{Configuration, DataSpec};
use crate::data_size::data_bytes;
use crate::plan::Plan;
use crate::readiness::{Preparation, Readiness};

/// Estimates in seconds: initdb and starting; restarting; loading, and per gigabyte; copying, and per gigabyte; the overhead
/// of each trial, such as a checkpoint and connecting; a load given in transactions.
const STARTING_S: f64 = 5.0;
const RESTARTING_S: f64 = 2.0;
const LOADING_S: f64 = 1.0;
const LOADING_PER_GB_S: f64 = 16.0;
const COPYING_S: f64 = 0.5;
const COPYING_PER_GB_S: f64 = 4.0;
const BESIDE_LOAD_S: f64 = 2.0;
const TRANSACTIONS_S: f64 = 10.0;

/// Gigabytes per unit of scale of a workload of unknown size: about as many as tpcb has.
const UNKNOWN_GB_PER_SCALE: f64 = 0.016;

/// Assumed time of an execution for each gigabyte of tables, and at least.
const ROUGHLY_PER_GB_S: f64 = 1.0;
const ROUGHLY_AT_LEAST_S: f64 = 0.02;
/// The assumed size of tables that is not known.
const ROUGH_GIGABYTES: f64 = 1.0;

/// Maximum correction factor of the preparation, in either direction.
const CORRECTION_MAX: f64 = 20.0;

/// An expected duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Starting servers, loading and restoring data.
    pub preparing: Duration,
    /// The trials themselves.
    pub trials: Duration,
}

impl Expected {
    /// Sum of both.
    pub fn total(self) -> Duration {
        self.preparing.saturating_add(self.trials)
    }
}

/// Observed durations, in seconds.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    /// Preparation: estimated, and actual.
    guessed_s: f64,
    prepared_s: f64,
    /// Total excess of trials over their configured duration.
    trials: u32,
    beyond_s: f64,
    /// Total duration of the trials of each cell.
    cells: BTreeMap<usize, (u32, f64)>,
}

impl Forecast {
    /// Adds a trial of a cell: the duration of its preparation, and of the trial itself.
    pub fn learn(
        &mut self,
        plan: &Plan,
        cell: usize,
        what: Preparation,
        readying: Duration,
        trial: Duration,
    ) {
        let trial_s = trial.as_secs_f64();
        self.guessed_s += preparing_s(plan, cell, what);
        self.prepared_s += readying.as_secs_f64();
        self.trials += 1;
        self.beyond_s += trial_s - asked_s(&plan.cells[cell].configuration);
        let (number, seconds) = self.cells.entry(cell).or_default();
        *number += 1;
        *seconds += trial_s;
    }

    /// Expected duration of a trial of this cell, including its preparation.
    pub fn expected(&self, plan: &Plan, cell: usize, what: Preparation) -> Expected {
        let trial_s = match self.cells.get(&cell) {
            Some((number, seconds)) => seconds / f64::from(*number),
            None => {
                let beyond_s =
                    if self.trials > 0 { self.beyond_s / f64::from(self.trials) } else { BESIDE_LOAD_S };
                asked_s(&plan.cells[cell].configuration) + beyond_s
            }
        };
        let correction = if self.guessed_s > 0.0 { self.prepared_s / self.guessed_s } else { 1.0 };
        let correction = correction.clamp(CORRECTION_MAX.recip(), CORRECTION_MAX);
        let time = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let preparing = time(preparing_s(plan, cell, what) * correction);
        Expected { preparing, trials: time(trial_s.max(0.0)) }
    }

    /// Expected duration of trials of these cells in order, given what is already prepared.
    pub fn expected_of(
        &self,
        plan: &Plan,
        cells: impl Iterator<Item = usize>,
        standing: &Readiness,
    ) -> Expected {
        let mut standing = standing.clone();
        cells.fold(Expected::default(), |sum, cell| {
            let what = standing.next(plan, cell);
            let Expected { preparing, trials } = self.expected(plan, cell, what);
            Expected {
                preparing: sum.preparing.saturating_add(preparing),
                trials: sum.trials.saturating_add(trials),
            }
        })
    }
}

impl Plan {
    /// Approximate total time, including starting, loading and restoring.
    pub fn estimate(&self) -> Expected {
        let cells = self.trials.iter().map(|trial| trial.cell);
        Forecast::default().expected_of(self, cells, &Readiness::default())
    }
}

/// Configured duration of a trial.
fn asked_s(configuration: &Configuration) -> f64 {
    let Configuration { load, steps, .. } = configuration;
    if !steps.is_empty() {
        return steps.iter().map(|step| step.estimate().as_secs_f64()).sum();
    }
    if let Some(spec) = &configuration.queries {
        let data = &configuration.data;
        let gigabytes = data.bytes_per_scale.map(|_| data_bytes(data) as f64 / 1e9);
        let reports_late = configuration.server.origin.reports_late();
        let pass = pass_estimate(spec, configuration.query_count, gigabytes, reports_late);
        return pass.as_secs_f64();
    }
    if let Some(search) = configuration.search {
        return search.budget.as_secs_f64();
    }
    let length_s = match load.limit {
        Limit::Duration(time) => time.as_secs_f64(),
        Limit::TransactionsPerClient(_) => TRANSACTIONS_S,
    };
    length_s + load.warmup.as_secs_f64()
}

/// Estimated time of a pass over this number of queries. `reports_late`: the server reports its counters with a delay,
/// for which the meter waits after each execution.
fn pass_estimate(
    spec: &QuerySetSpec,
    queries: usize,
    gigabytes: Option<f64>,
    reports_late: bool,
) -> Duration {
    let each = (gigabytes.unwrap_or(ROUGH_GIGABYTES) * ROUGHLY_PER_GB_S).max(ROUGHLY_AT_LEAST_S);
    let each = Duration::try_from_secs_f64(each).unwrap_or(Duration::MAX);
    let each = spec.limit.map_or(each, |limit| limit.min(each));
    let is_metered = spec.streams == 1 && queries <= queries::METERED_QUERIES_MAX;
    let wait = if reports_late && is_metered { queries::REPORT_DELAY } else { Duration::ZERO };
    let each = each.saturating_add(wait);
    let executions = spec.repeats.saturating_add(u32::from(spec.plans));
    each.saturating_mul(executions).saturating_mul(u32::try_from(queries).unwrap_or(u32::MAX))
}

/// Estimated preparation; includes the overhead of every trial, so that it is never zero.
fn preparing_s(plan: &Plan, cell: usize, what: Preparation) -> f64 {
    let (_, data) = &plan.data[plan.data_of[cell]];
    let Preparation { starts, loads, copies, restarts } = what;
    // On a running server only a session is started.
    let runs_already = plan.cells[cell].configuration.server.origin.dsn().is_some();
    let standbys = plan.cells[cell].configuration.server.standbys.len() as f64;
    let part = |is_done: bool, seconds: f64| if is_done { seconds } else { 0.0 };
    BESIDE_LOAD_S / 4.0
        + part(starts && !runs_already, STARTING_S * (1.0 + standbys))
        + part(restarts, RESTARTING_S + STARTING_S * standbys)
        + part(loads, loading_s(data))
        + part(copies, COPYING_S + COPYING_PER_GB_S * data_bytes(data) as f64 / 1e9)
}

/// Estimated time to start a server and to load its data.
pub fn setup_s(configuration: &Configuration) -> f64 {
    STARTING_S * (1.0 + configuration.server.standbys.len() as f64) + loading_s(&configuration.data)
}

fn loading_s(data: &DataSpec) -> f64 {
    let gigabytes = match (&data.workload, data.bytes_per_scale) {
        (None, _) => 0.0,
        (Some(_), Some(_)) => data_bytes(data) as f64 / 1e9,
        (Some(_), None) => data.scale.units() * UNKNOWN_GB_PER_SCALE,
    };
    LOADING_S + LOADING_PER_GB_S * gigabytes
}
