//! An experiment as tables and charts see it: its factors, its cells with the figures of their trials, and what came of
//! each trial. Made from what the store has; the file, if it can be read, gives the order, the base and the charts.

use std::collections::BTreeMap;

use lab::{Experiment, Order, Plan};
use results::{StepsRecord, StoredExperiment, StoredRun, StoredTrial, TableSizes, TrialStatus, WaitShare};

use super::chart::{self, Chart};
use super::contrasts::{self, Contrast};
use super::metric::Metric;
use super::repeats::{Known, Ratio, Repeated, Subtraction, ratio};
use super::steps::{self, Stack, StepFigures};
use crate::prose::escaped_line;

/// A whole experiment.
#[derive(Clone, Debug)]
pub struct Overview {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) source: Option<String>,
    pub(crate) description: Option<String>,
    /// `full` or `quick`.
    pub(crate) profile: String,
    /// Its number in the store.
    pub(crate) number: i64,
    pub(crate) started_at: String,
    /// What commands need to find it again: ` --store X`, or nothing.
    pub(crate) store: String,
    /// Texts of its file and of those beside it, by name.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) factors: Vec<Factor>,
    /// In the order of the file: the first factor varies slowest.
    pub(crate) cells: Vec<Cell>,
    /// In the order in which they run.
    pub(crate) trials: Vec<Trial>,
    pub(crate) base: Base,
    /// Whether its trials are of timed steps, not of load.
    pub(crate) is_of_steps: bool,
    /// Whether each repeat went through all cells, so that cells are compared within repeats.
    pub(crate) repeats_are_blocks: bool,
    pub(crate) charts: Vec<Chart>,
    /// Charts of steps.
    pub(crate) stacks: Vec<Stack>,
    /// Named differences of the file.
    pub(crate) differences: Vec<Contrast<Subtraction>>,
    /// Named ratios of the file.
    pub(crate) ratios: Vec<Contrast<Ratio>>,
    /// What the file wants to see beside the main figure.
    subjects: Vec<Subject>,
    /// What to know before believing the figures.
    pub(crate) concerns: Vec<String>,
    /// In what the builds of the servers differ, and which had what.
    pub(crate) builds: Vec<String>,
}

/// Something that is varied.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factor {
    pub(crate) name: String,
    pub(crate) levels: Vec<String>,
}

/// What ratios are given to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// The first cell, since the file names none.
    First,
    /// These levels, everything else the same.
    Levels(Vec<(String, String)>),
}

/// One combination of levels.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Of each factor, in their order; `None` if a trial did not have it.
    pub(crate) levels: Vec<Option<usize>>,
    /// In the order of the repeats.
    pub(crate) trials: Vec<usize>,
    /// Of all metrics, in their order; of complete trials.
    figures: Vec<Known>,
    /// Sizes of tables and of indexes after the runs, in bytes.
    sizes_of_runs: [Known; 2],
    /// Whether its throughput is what was asked for.
    pub(crate) has_rate: bool,
    /// The cell that this one is compared with; `None` for itself, and if there is none.
    pub(crate) base: Option<usize>,
    /// The cell with the nearest earlier level of the first chart's axis, everything else the same, if that factor has
    /// at least three levels.
    pub(crate) previous: Option<usize>,
    /// What the backends did, on average over its trials, the most frequent first.
    pub(crate) waits: Vec<WaitShare>,
    /// Of trials of steps.
    pub(crate) steps: Vec<StepFigures>,
}

/// What came of a trial.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) cell: usize,
    pub(crate) repeat: u32,
    pub(crate) standing: Standing,
    pub(crate) factors: BTreeMap<String, String>,
    /// Its run, if it had one; figures count only if it is complete.
    pub(crate) run: Option<StoredRun>,
    /// What was measured, if it is one of steps.
    pub(crate) steps: Option<StepsRecord>,
    /// How much of the users' work a transaction does.
    operations: f64,
}

/// A figure that the experiment is about, beside the one in which cells are compared first.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Subject {
    metric: Metric,
    /// Whether a chart shows it; otherwise only a difference or a ratio is of it.
    is_drawn: bool,
}

/// How a trial stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Complete,
    Failed(String),
    Running,
    Planned,
}

impl Overview {
    /// The whole of what the store has; `read` is what its file says, if that can be read.
    pub fn of(stored: StoredExperiment, read: Option<(&Experiment, &Plan)>) -> Overview {
        let file = read.map(|(file, _)| file);
        let StoredExperiment { experiment, name, profile, started_at, files, trials } = stored;
        let factors = factors(&trials, file);
        let operations = operations(read.map(|(_, plan)| plan));
        // Where servers stood one at a time, all repeats of one ran before those of the next, whatever was asked for.
        let ran_by_repeats = trials.windows(2).all(|pair| pair[0].repeat <= pair[1].repeat);
        let order = file.map(|file| file.design.order);
        let (cells, trials) = cells(trials, &factors, &operations);
        // Of trials that all came to nothing the file alone knows what they were.
        let planned = read.map_or([].as_slice(), |(_, plan)| plan.cells.as_slice());
        let is_of_steps = trials.iter().any(|trial| trial.steps.is_some())
            || planned.iter().any(|cell| !cell.configuration.steps.is_empty());
        let base = match file.map(|file| file.design.base.as_slice()) {
            None | Some([]) => Base::First,
            Some(pairs) => Base::Levels(pairs.to_vec()),
        };
        let text = |of: fn(&Experiment) -> Option<&String>| file.and_then(of).map(|text| escaped_line(text));
        let mut overview = Overview {
            title: file.map_or_else(|| name.clone(), |file| escaped_line(&file.title)),
            name: escaped_line(&name),
            source: text(|file| file.source.as_ref()),
            description: text(|file| file.description.as_ref()),
            profile,
            number: experiment,
            started_at,
            store: String::new(),
            files,
            factors,
            cells,
            trials,
            base,
            is_of_steps,
            repeats_are_blocks: order == Some(Order::Interleaved) && ran_by_repeats,
            charts: Vec::new(),
            stacks: Vec::new(),
            differences: Vec::new(),
            ratios: Vec::new(),
            subjects: Vec::new(),
            concerns: Vec::new(),
            builds: Vec::new(),
        };
        overview.find_bases();
        let charts: &[lab::Chart] = file.map_or(&[], |file| &file.charts);
        overview.charts = chart::charts(&overview, charts);
        overview.stacks = steps::stacks(&overview, charts);
        overview.find_previous();
        if let Some(file) = file {
            overview.differences = contrasts::differences(&overview, &file.differences);
            overview.ratios = contrasts::ratios(&overview, &file.ratios);
        }
        overview.subjects = file.map_or(Vec::new(), |file| overview.subjects_of(file));
        overview.concerns = super::concerns::concerns(&overview, order);
        overview.builds = super::concerns::builds(&overview);
        overview
    }

    /// The same, with the store that its commands have to name.
    #[must_use]
    pub fn kept_in(mut self, store: &str) -> Overview {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        let quoted = if store.chars().all(plain) {
            store.to_owned()
        } else {
            format!("'{}'", store.replace('\'', "'\\''"))
        };
        self.store = format!(" --store {}", escaped_line(&quoted));
        self
    }

    /// Whether its trials are of timed steps.
    pub(crate) fn has_steps(&self) -> bool {
        self.is_of_steps
    }

    /// What cells are compared in first.
    pub(crate) fn main(&self) -> Metric {
        match self.has_steps() {
            true => Metric::Duration,
            // A call that does a thousand is not to be compared with one that does a single one.
            false if self.has_batches() => Metric::Operations,
            false => Metric::Tps,
        }
    }

    /// A figure by its name.
    pub(crate) fn title_of(&self, metric: Metric) -> &'static str {
        if self.has_steps() { metric.title_of_steps() } else { metric.title() }
    }

    /// `simple, socket, 1`
    pub(crate) fn label(&self, cell: usize) -> String {
        let levels: Vec<&str> = self.levels(cell).map(|(_, level)| level).collect();
        if levels.is_empty() { "everything".to_owned() } else { levels.join(", ") }
    }

    /// `protocol simple, network socket, clients 1`
    pub(crate) fn description_of(&self, cell: usize) -> String {
        let levels: Vec<String> =
            self.levels(cell).map(|(factor, level)| format!("{} {level}", factor.name)).collect();
        if levels.is_empty() { "the only combination".to_owned() } else { levels.join(", ") }
    }

    /// The cell's factors and what they are there.
    pub(crate) fn levels(&self, cell: usize) -> impl Iterator<Item = (&Factor, &str)> {
        self.factors
            .iter()
            .zip(&self.cells[cell].levels)
            .map(|(factor, level)| (factor, level.map_or("—", |level| factor.levels[level].as_str())))
    }

    /// A cell against its base; `None` for the base itself.
    pub(crate) fn ratio(&self, cell: usize, metric: Metric) -> Option<Ratio> {
        self.ratio_to(self.cells[cell].base?, cell, metric)
    }

    /// A cell against the one before it; `None` for the first of a line.
    pub(crate) fn ratio_to_previous(&self, cell: usize, metric: Metric) -> Option<Ratio> {
        self.ratio_to(self.cells[cell].previous?, cell, metric)
    }

    fn ratio_to(&self, base: usize, cell: usize, metric: Metric) -> Option<Ratio> {
        let base = self.cells[base].figure(metric)?;
        ratio(base, self.cells[cell].figure(metric)?, self.repeats_are_blocks)
    }

    /// The factor along which cells have a previous one.
    pub(crate) fn ladder(&self) -> Option<usize> {
        const LEVELS_MIN: usize = 3;
        let axis = self.charts.first()?.x;
        (self.factors[axis].levels.len() >= LEVELS_MIN).then_some(axis)
    }

    fn find_previous(&mut self) {
        let Some(axis) = self.ladder() else { return };
        let previous = |cell: &Cell| {
            (0..cell.levels[axis]?).rev().find_map(|level| self.cell_with(cell, &[(axis, level)]))
        };
        let previous: Vec<Option<usize>> = self.cells.iter().map(previous).collect();
        self.cells.iter_mut().zip(previous).for_each(|(cell, previous)| cell.previous = previous);
    }

    /// Each cell's base: the cell with the base's levels, and its own levels of the other factors.
    fn find_bases(&mut self) {
        let fixed: Vec<(usize, usize)> = match (&self.base, self.cells.first()) {
            (_, None) => return,
            (Base::First, Some(first)) => first
                .levels
                .iter()
                .enumerate()
                .filter_map(|(factor, level)| Some((factor, (*level)?)))
                .collect(),
            (Base::Levels(pairs), _) => pairs.iter().filter_map(|pair| self.level_named(pair)).collect(),
        };
        let base =
            |(number, cell): (usize, &Cell)| self.cell_with(cell, &fixed).filter(|base| *base != number);
        let bases: Vec<Option<usize>> = self.cells.iter().enumerate().map(base).collect();
        self.cells.iter_mut().zip(bases).for_each(|(cell, base)| cell.base = base);
    }

    /// A factor and a level by their names.
    pub(super) fn level_named(&self, (name, label): &(String, String)) -> Option<(usize, usize)> {
        let factor = self.factors.iter().position(|factor| factor.name == *name)?;
        Some((factor, self.factors[factor].levels.iter().position(|level| level == label)?))
    }

    /// The cell with these levels, and those of `cell` of the other factors.
    pub(super) fn cell_with(&self, cell: &Cell, levels: &[(usize, usize)]) -> Option<usize> {
        let mut wanted = cell.levels.clone();
        levels.iter().for_each(|(factor, level)| wanted[*factor] = Some(*level));
        // Cells are in the order of their levels.
        self.cells.binary_search_by(|cell| cell.levels.cmp(&wanted)).ok()
    }

    /// A step of a cell against the same step of its base.
    pub(crate) fn step_ratio(&self, cell: usize, step: &StepFigures, metric: Metric) -> Option<Ratio> {
        let base = &self.cells[self.cells[cell].base?];
        let of_base = base.steps.iter().find(|other| other.name == step.name)?;
        ratio(of_base.figure(metric)?, step.figure(metric)?, self.repeats_are_blocks)
    }

    /// Figures of a table behind the main one: those that the file wants to see first, then the usual ones.
    pub(crate) fn shown(&self, usual: &[Metric]) -> Vec<Metric> {
        let wanted = |it: &&Subject| it.is_drawn || !usual.contains(&it.metric);
        let wanted = self.subjects.iter().filter(wanted).map(|it| it.metric);
        let mut shown: Vec<Metric> = Vec::new();
        for metric in wanted.chain(usual.iter().copied()) {
            if metric != self.main() && !shown.contains(&metric) {
                shown.push(metric);
            }
        }
        shown
    }

    /// Whether a chart of the file shows it, so that its interval is worth knowing.
    pub(crate) fn is_drawn(&self, metric: Metric) -> bool {
        self.subjects.iter().any(|it| it.metric == metric && it.is_drawn)
    }

    /// Whether throughput is what was asked for wherever it was measured.
    pub(crate) fn has_rate(&self) -> bool {
        let measured = || self.cells.iter().filter(|cell| cell.figure(Metric::Tps).is_some());
        measured().next().is_some() && measured().all(|cell| cell.has_rate)
    }

    /// How many trials of a cell are complete, runs or steps.
    pub(crate) fn complete_trials(&self, cell: usize) -> usize {
        let trials = self.cells[cell].trials.iter().map(|trial| &self.trials[*trial]);
        trials.filter(|trial| trial.standing == Standing::Complete).count()
    }

    /// The complete trials of a cell, with their runs.
    pub(crate) fn complete(&self, cell: usize) -> impl Iterator<Item = (&Trial, &StoredRun)> {
        let trials = self.cells[cell].trials.iter().map(|trial| &self.trials[*trial]);
        trials.filter_map(|trial| Some((trial, trial.complete_run()?)))
    }

    /// Whether any cell has something of this above 0.
    pub(crate) fn has(&self, metric: Metric) -> bool {
        self.cells.iter().any(|cell| cell.figure(metric).is_some_and(|figure| figure.mean > 0.0))
    }

    /// Figures of charts, then those of differences and ratios.
    fn subjects_of(&self, file: &Experiment) -> Vec<Subject> {
        let drawn = file.charts.iter().map(|chart| (chart.y.as_str(), true));
        let contrasts = file.differences.iter().chain(&file.ratios);
        let contrasted = contrasts.map(|contrast| (contrast.metric.as_str(), false));
        let mut subjects: Vec<Subject> = Vec::new();
        for (name, is_drawn) in drawn.chain(contrasted) {
            let Some(metric) = Metric::named(name) else { continue };
            // Where no transaction stands for several, operations are throughput.
            let is_main = metric == self.main() || (metric == Metric::Operations && !self.has_batches());
            if !is_main && subjects.iter().all(|known| known.metric != metric) {
                subjects.push(Subject { metric, is_drawn });
            }
        }
        subjects
    }

    /// Whether a transaction stands for several somewhere.
    pub(crate) fn has_batches(&self) -> bool {
        let batched = |cell: &Cell| {
            let mean = |metric| cell.figure(metric).map_or(0.0, |it| it.mean);
            mean(Metric::Operations) > mean(Metric::Tps) * (1.0 + 1e-9)
        };
        self.cells.iter().any(batched)
    }
}

impl Cell {
    /// Over its complete trials; `None` also if one of them lacks it.
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
                Standing::Failed(reason.unwrap_or_else(|| "it did not say why".to_owned()))
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

/// Those of the file in its order, then whatever else the trials have, as it comes.
fn factors(trials: &[StoredTrial], file: Option<&Experiment>) -> Vec<Factor> {
    let of_file = file.iter().flat_map(|file| &file.factors).map(|factor| Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(|level| level.label.clone()).collect(),
    });
    let mut factors: Vec<Factor> = of_file.collect();
    for (name, level) in trials.iter().flat_map(|trial| &trial.factors) {
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

/// What the file says of how much a transaction does, by factors and levels.
fn operations(plan: Option<&Plan>) -> BTreeMap<BTreeMap<String, String>, u32> {
    let cells = plan.iter().flat_map(|plan| &plan.cells);
    cells.map(|cell| (cell.levels.iter().cloned().collect(), cell.configuration.operations)).collect()
}

/// That, or what the script said with `\\batch` when it ran.
fn operations_of(trial: &StoredTrial, of_file: &BTreeMap<BTreeMap<String, String>, u32>) -> f64 {
    let counted = || {
        let counts = &trial.run.as_ref()?.summary.as_ref()?.counts;
        (counts.succeeded > 0).then(|| counts.business as f64 / counts.succeeded as f64)
    };
    match of_file.get(&trial.factors) {
        Some(operations) if *operations > 1 => f64::from(*operations),
        _ => counted().unwrap_or(1.0),
    }
}

fn cells(
    stored: Vec<StoredTrial>,
    factors: &[Factor],
    operations: &BTreeMap<BTreeMap<String, String>, u32>,
) -> (Vec<Cell>, Vec<Trial>) {
    let place = |trial: &StoredTrial| -> Vec<Option<usize>> {
        let level = |factor: &Factor| {
            let level = trial.factors.get(&factor.name)?;
            factor.levels.iter().position(|known| known == level)
        };
        factors.iter().map(level).collect()
    };
    let mut groups: BTreeMap<Vec<Option<usize>>, Vec<usize>> = BTreeMap::new();
    for (number, trial) in stored.iter().enumerate() {
        groups.entry(place(trial)).or_default().push(number);
    }
    let mut of_cell = vec![0; stored.len()];
    for (cell, members) in groups.values().enumerate() {
        members.iter().for_each(|trial| of_cell[*trial] = cell);
    }
    let trial = |(stored, cell): (StoredTrial, usize)| Trial {
        cell,
        repeat: stored.repeat,
        standing: Standing::of(&stored),
        operations: operations_of(&stored, operations),
        factors: stored.factors,
        run: stored.run,
        steps: stored.steps,
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
        let steps = steps::of_cell(of_cell());
        let size = |of: fn(&TableSizes) -> f64| {
            let runs = of_cell().filter_map(|trial| Some((trial.repeat, trial.complete_run()?)));
            Known::of(runs.map(|(repeat, run)| (repeat, run.sizes.as_ref().map(of))))
        };
        let sizes_of_runs = [size(|it| it.table_bytes), size(|it| it.index_bytes)];
        Cell {
            levels,
            trials: members,
            figures,
            sizes_of_runs,
            has_rate,
            base: None,
            previous: None,
            waits,
            steps,
        }
    };
    (groups.into_iter().map(cell).collect(), trials)
}

/// Shares averaged over the runs that were looked at.
fn mean_waits<'a>(runs: impl Iterator<Item = &'a StoredRun>) -> Vec<WaitShare> {
    let mut sums: BTreeMap<(&str, &str), (u64, f64)> = BTreeMap::new();
    let mut looked_at = 0.0;
    // A run in which all backends were idle at every look says nothing of what the others did.
    for waits in runs.filter_map(|run| run.waits.as_ref()).filter(|waits| !waits.top.is_empty()) {
        looked_at += 1.0;
        for wait in &waits.top {
            let sum = sums.entry((&wait.event_type, &wait.event)).or_default();
            *sum = (sum.0 + wait.seen, sum.1 + wait.share);
        }
    }
    let mean = |((event_type, event), (seen, share)): ((&str, &str), (u64, f64))| WaitShare {
        event_type: escaped_line(event_type),
        event: escaped_line(event),
        seen,
        share: share / looked_at,
        interval: None,
    };
    let mut waits: Vec<WaitShare> = sums.into_iter().map(mean).collect();
    waits.sort_by(|a, b| b.share.total_cmp(&a.share));
    waits
}
