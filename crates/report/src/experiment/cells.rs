//! The cells of an experiment and their trials, made from the trials of its stores: factors and levels, figures over the
//! repeats, waits, sizes. `overview` compares them.

use std::collections::BTreeMap;

use results::{
    ExperimentDesign, SearchRecord, StepsRecord, StoredRun, StoredTrial, TableSizes, TrialStatus, WaitShare,
};
use stats::goals::GoalResult;

use super::metric::Metric;
use super::repeats::{Known, Repeated};
use super::steps::{self, StepFigures};
use crate::prose::escaped_line;

/// A quantity that is varied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factor {
    pub(crate) name: String,
    pub(crate) levels: Vec<String>,
}

/// One combination of levels.
#[derive(Clone, Debug)]
pub(crate) struct ExperimentCell {
    /// Of each factor, in their order; `None` if the trials do not have it.
    pub(crate) levels: Vec<Option<usize>>,
    /// In the order of the repeats.
    pub(crate) trials: Vec<usize>,
    /// Of all metrics, in their order; of complete trials.
    figures: Vec<Known>,
    /// Sizes of tables and of indexes after the runs, in bytes.
    sizes_of_runs: [Known; 2],
    /// Whether its throughput was set by a rate.
    pub(crate) has_rate: bool,
    /// The number of its store.
    pub(crate) host: usize,
    /// The cell that this one is compared with; `None` for the base itself, and where no cell was measured to compare with.
    pub(crate) base: Option<usize>,
    /// The cell with the nearest earlier level of the first chart's axis, everything else the same, if that factor has
    /// at least three levels.
    pub(crate) previous: Option<usize>,
    /// The same combination on the first host.
    pub(crate) on_first_host: Option<usize>,
    /// Wait events and CPU of the backends, on average over its trials, the most frequent first.
    pub(crate) waits: Vec<WaitShare>,
    /// Of trials of steps.
    pub(crate) steps: Vec<StepFigures>,
}

/// A trial and its results.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The number of its store.
    pub(crate) host: usize,
    pub(crate) cell: usize,
    pub(crate) repeat: u32,
    pub(crate) standing: Standing,
    pub(crate) factors: BTreeMap<String, String>,
    /// Its run, if it had one; figures count only if it is complete.
    pub(crate) run: Option<StoredRun>,
    /// Its results, if it is one of steps.
    pub(crate) steps: Option<StepsRecord>,
    /// Its search, if it is one.
    pub(crate) search: Option<SearchRecord>,
    /// Operations of a transaction.
    operations: f64,
}

/// How a trial stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Complete,
    Failed(String),
    Running,
    Planned,
}

impl ExperimentCell {
    /// Over its complete trials; `None` if one of them lacks it.
    pub(crate) fn figure(&self, metric: Metric) -> Option<&Repeated> {
        self.figures[metric as usize].figure()
    }

    /// Sizes of tables and of indexes at the end of its trials, in bytes.
    pub(crate) fn sizes(&self) -> Option<[f64; 2]> {
        if let Some(last) = self.steps.last() {
            return Some([last.table_bytes.as_ref()?.mean, last.index_bytes.as_ref()?.mean]);
        }
        let [tables, indexes] = &self.sizes_of_runs;
        Some([tables.figure()?.mean, indexes.figure()?.mean])
    }

    /// Whether some of its complete trials have it and others lack it.
    pub(crate) fn knows_partly(&self, metric: Metric) -> bool {
        self.figures[metric as usize] == Known::Partly
    }
}

impl Trial {
    pub(crate) fn complete_run(&self) -> Option<&StoredRun> {
        self.run.as_ref().filter(|_| self.standing == Standing::Complete)
    }

    /// The goals of a complete trial.
    pub(crate) fn goals(&self) -> &[GoalResult] {
        let summary = self.complete_run().and_then(|run| run.summary.as_ref());
        summary.map_or(&[], |summary| &summary.goals)
    }

    /// The search of a complete trial.
    pub(crate) fn complete_search(&self) -> Option<&SearchRecord> {
        self.search.as_ref().filter(|_| self.standing == Standing::Complete)
    }

    pub(crate) fn complete_steps(&self) -> Option<&StepsRecord> {
        self.steps.as_ref().filter(|_| self.standing == Standing::Complete)
    }

    /// A figure of a complete trial.
    pub(crate) fn figure(&self, metric: Metric) -> Option<f64> {
        if let Some(record) = self.complete_steps() {
            return steps::sum(metric, record);
        }
        metric.of_trial(self.complete_run()?, self.operations)
    }
}

impl Standing {
    fn of(trial: &StoredTrial) -> Standing {
        match trial.status {
            TrialStatus::Complete => Standing::Complete,
            TrialStatus::Failed => {
                let reason = trial.reason.as_deref().map(escaped_line);
                Standing::Failed(reason.unwrap_or_else(|| "no reason is known".to_owned()))
            }
            TrialStatus::Running => Standing::Running,
            TrialStatus::Planned => Standing::Planned,
        }
    }

    /// As the store has it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Standing::Complete => "complete",
            Standing::Failed(_) => "failed",
            Standing::Running => "running",
            Standing::Planned => "planned",
        }
    }
}

/// Those of the file in its order, then others that the trials have.
pub(super) fn factors(trials: &[(usize, StoredTrial)], design: Option<&ExperimentDesign>) -> Vec<Factor> {
    let of_file = design.iter().flat_map(|design| &design.factors);
    let mut factors: Vec<Factor> =
        of_file.map(|(name, levels)| Factor { name: name.clone(), levels: levels.clone() }).collect();
    for (name, level) in trials.iter().flat_map(|(_, trial)| &trial.factors) {
        let at = factors.iter().position(|factor| factor.name == *name).unwrap_or_else(|| {
            factors.push(Factor { name: name.clone(), levels: Vec::new() });
            factors.len() - 1
        });
        if !factors[at].levels.contains(level) {
            factors[at].levels.push(level.clone());
        }
    }
    factors
}

/// The operations of a transaction by the file, by factors and levels.
fn operations(design: Option<&ExperimentDesign>) -> Operations<'_> {
    let cells = design.iter().flat_map(|design| &design.cells);
    cells.map(|cell| (&cell.levels, cell.operations)).collect()
}

/// The operations of a transaction by factors and levels.
type Operations<'a> = BTreeMap<&'a BTreeMap<String, String>, u32>;

/// That, or the mean that the script counted with `\\batch`.
fn operations_of(trial: &StoredTrial, host_factor: &str, of_file: &Operations<'_>) -> f64 {
    let counted = || {
        let counts = &trial.run.as_ref()?.summary.as_ref()?.counts;
        (counts.succeeded > 0).then(|| counts.business as f64 / counts.succeeded as f64)
    };
    let mut factors = trial.factors.clone();
    factors.remove(host_factor);
    match of_file.get(&factors) {
        Some(operations) if *operations > 1 => f64::from(*operations),
        _ => counted().unwrap_or(1.0),
    }
}

/// Cells in the order of their levels, and the trials of all stores, each with the number of its store.
pub(super) fn cells(
    stored: Vec<(usize, StoredTrial)>,
    factors: &[Factor],
    host_factor: &str,
    design: Option<&ExperimentDesign>,
) -> (Vec<ExperimentCell>, Vec<Trial>) {
    let operations = operations(design);
    let place = |trial: &StoredTrial| -> Vec<Option<usize>> {
        let level = |factor: &Factor| {
            let level = trial.factors.get(&factor.name)?;
            factor.levels.iter().position(|known| known == level)
        };
        factors.iter().map(level).collect()
    };
    let mut groups: BTreeMap<Vec<Option<usize>>, Vec<usize>> = BTreeMap::new();
    for (number, (_, trial)) in stored.iter().enumerate() {
        groups.entry(place(trial)).or_default().push(number);
    }
    let mut of_cell = vec![0; stored.len()];
    for (cell, members) in groups.values().enumerate() {
        members.iter().for_each(|trial| of_cell[*trial] = cell);
    }
    let trial = |((host, stored), cell): ((usize, StoredTrial), usize)| Trial {
        host,
        cell,
        repeat: stored.repeat,
        standing: Standing::of(&stored),
        operations: operations_of(&stored, host_factor, &operations),
        factors: stored.factors,
        run: stored.run,
        steps: stored.steps,
        search: stored.search,
    };
    let trials: Vec<Trial> = stored.into_iter().zip(of_cell).map(trial).collect();
    let cell = |(levels, mut members): (Vec<Option<usize>>, Vec<usize>)| {
        members.sort_by_key(|trial| trials[*trial].repeat);
        let of_cell = || members.iter().map(|trial| &trials[*trial]);
        let figure = |metric: Metric| {
            let complete = of_cell().filter(|trial| trial.standing == Standing::Complete);
            Known::of(complete.map(|trial| (trial.repeat, trial.figure(metric))))
        };
        let figures = Metric::all().map(figure).collect();
        let asked_for = |run: &StoredRun| run.plan.as_ref().is_some_and(|plan| plan.rate_tps.is_some());
        let has_rate = of_cell().filter_map(Trial::complete_run).all(asked_for);
        let waits = mean_waits(of_cell().filter_map(Trial::complete_run));
        let of_steps = of_cell().filter_map(|trial| Some((trial.repeat, trial.complete_steps()?)));
        let steps = steps::of_cell(&of_steps.collect::<Vec<_>>());
        let host = of_cell().next().map_or(0, |trial| trial.host);
        let size = |of: fn(&TableSizes) -> f64| {
            let runs = of_cell().filter_map(|trial| Some((trial.repeat, trial.complete_run()?)));
            Known::of(runs.map(|(repeat, run)| (repeat, run.sizes.as_ref().map(of))))
        };
        let sizes_of_runs = [size(|it| it.table_bytes), size(|it| it.index_bytes)];
        ExperimentCell {
            levels,
            trials: members,
            figures,
            sizes_of_runs,
            has_rate,
            host,
            base: None,
            previous: None,
            on_first_host: None,
            waits,
            steps,
        }
    };
    (groups.into_iter().map(cell).collect(), trials)
}

/// Shares averaged over the runs that have samples.
fn mean_waits<'a>(runs: impl Iterator<Item = &'a StoredRun>) -> Vec<WaitShare> {
    let mut sums: BTreeMap<(&str, &str), (u64, f64)> = BTreeMap::new();
    let mut sampled_runs = 0.0;
    // A run in which all backends were idle at every look says nothing of what the others did.
    for waits in runs.filter_map(|run| run.waits.as_ref()).filter(|waits| !waits.top.is_empty()) {
        sampled_runs += 1.0;
        for wait in &waits.top {
            let sum = sums.entry((&wait.event_type, &wait.event)).or_default();
            *sum = (sum.0 + wait.seen, sum.1 + wait.share);
        }
    }
    let mean = |((event_type, event), (seen, share)): ((&str, &str), (u64, f64))| WaitShare {
        event_type: escaped_line(event_type),
        event: escaped_line(event),
        seen,
        share: share / sampled_runs,
        interval: None,
    };
    let mut waits: Vec<WaitShare> = sums.into_iter().map(mean).collect();
    waits.sort_by(|a, b| b.share.total_cmp(&a.share));
    waits
}
