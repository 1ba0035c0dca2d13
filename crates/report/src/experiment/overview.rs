//! An experiment for tables and charts: its factors, its cells with their figures, its trials, and all that follows from
//! them. `analysis` makes it.

use std::collections::BTreeMap;

use results::{Annotation, StoredRun};

use super::cells::{ExperimentCell, Factor, Standing, Trial};
use super::chart::{CellChart, Curve, Stack};
use super::effects::Effects;
use super::hosts::Host;
use super::metric::Metric;
use super::repeats::{Ratio, Repeated, Subtraction, quotient, ratio};
use super::steps::{self, StepFigures};

/// A whole experiment.
#[derive(Clone, Debug)]
pub struct Overview {
    pub(crate) name: String,
    pub(crate) annotation: Annotation,
    pub(crate) title: String,
    pub(crate) source: Option<String>,
    pub(crate) description: Option<String>,
    /// `full` or `quick`.
    pub(crate) profile: String,
    /// Its number in the store.
    pub(crate) number: i64,
    pub(crate) started_at: String,
    /// The stores it is from.
    pub(crate) hosts: Vec<Host>,
    /// The options of commands that name its stores: ` --store X`, or nothing.
    pub(crate) store: String,
    /// Texts of its file and of those beside it, by name.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) factors: Vec<Factor>,
    /// The factor whose levels are the hosts, if there are several.
    pub(crate) host_factor: Option<usize>,
    /// In the order of the file: the first factor varies slowest.
    pub(crate) cells: Vec<ExperimentCell>,
    /// In the order in which they run.
    pub(crate) trials: Vec<Trial>,
    pub(crate) base: Base,
    /// Whether its trials are of timed steps, not of load.
    pub(crate) is_of_steps: bool,
    /// Whether each repeat went through all cells, so that cells are compared within repeats.
    pub(crate) repeats_are_blocks: bool,
    pub(crate) charts: Vec<CellChart>,
    /// The factor along the axis of the first chart.
    pub(super) axis: Option<usize>,
    /// Charts of steps.
    pub(crate) stacks: Vec<Stack>,
    /// Throughput over time of some cells, if their records were read.
    pub(crate) curves: Vec<Curve>,
    /// Named differences of the file.
    pub(crate) differences: Vec<Contrast<Subtraction>>,
    /// Named ratios of the file.
    pub(crate) ratios: Vec<Contrast<Ratio>>,
    /// Figures of the file's charts, differences and ratios.
    pub(super) subjects: Vec<OverviewSubject>,
    /// Of a screening: effects within ± this share do not matter.
    pub(crate) screening_tolerance: Option<f64>,
    /// The effects of the factors on the main figure, then on others; empty without factors or figures.
    pub(crate) effects: Vec<Effects>,
    /// Warnings, as sentences.
    pub(crate) concerns: Vec<String>,
    /// Differences between the builds of the servers.
    pub(crate) builds: Vec<String>,
}

/// The cells that others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Base {
    /// The first cell, since the file names none.
    First,
    /// These levels, everything else the same.
    Levels(Vec<(String, String)>),
}

/// A figure that the file names, beside the main one.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct OverviewSubject {
    pub(super) metric: Metric,
    /// Whether a chart shows it; otherwise only a difference or a ratio is of it.
    pub(super) is_drawn: bool,
}

/// A named difference or ratio.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Contrast<T> {
    pub(crate) name: String,
    pub(crate) metric: Metric,
    /// One, or one of each combination of the other factors.
    pub(crate) cells: Vec<ContrastOfCell<T>>,
}

/// A cell beside another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ContrastOfCell<T> {
    pub(crate) cell: usize,
    /// `None` if nothing is subtracted.
    pub(crate) reference: Option<usize>,
    pub(crate) value: T,
}

impl Overview {
    /// Whether its trials are of timed steps.
    pub(crate) fn has_steps(&self) -> bool {
        self.is_of_steps
    }

    /// The figure by which cells are compared.
    pub(crate) fn main(&self) -> Metric {
        match self.has_steps() {
            true => Metric::Duration,
            // A transaction of a thousand operations is not comparable with one of a single operation.
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

    /// The factors with their levels in the cell.
    pub(crate) fn levels(&self, cell: usize) -> impl Iterator<Item = (&Factor, &str)> {
        self.factors
            .iter()
            .zip(&self.cells[cell].levels)
            .map(|(factor, level)| (factor, level.map_or("—", |level| factor.levels[level].as_str())))
    }

    /// A cell ÷ its base; `None` for the base itself.
    pub(crate) fn ratio(&self, cell: usize, metric: Metric) -> Option<Ratio> {
        self.ratio_to(self.cells[cell].base?, cell, metric)
    }

    /// A cell ÷ the one before it; `None` for the first of a line.
    pub(crate) fn ratio_to_previous(&self, cell: usize, metric: Metric) -> Option<Ratio> {
        self.ratio_to(self.cells[cell].previous?, cell, metric)
    }

    /// A cell ÷ the same combination on the first host; `None` for those of the first host.
    pub(crate) fn ratio_to_first_host(&self, cell: usize, metric: Metric) -> Option<Ratio> {
        self.ratio_to(self.cells[cell].on_first_host?, cell, metric)
    }

    /// A cell ÷ another, within repeats if they ran in the same ones.
    pub(crate) fn ratio_to(&self, base: usize, cell: usize, metric: Metric) -> Option<Ratio> {
        let (base, cell) = (&self.cells[base], &self.cells[cell]);
        self.ratio_of(base.figure(metric)?, cell.figure(metric)?, self.share_repeats(base, cell))
    }

    /// Of steps and of queries, the quotient of the means that are shown. Otherwise the geometric mean of the ratios of
    /// the repeats.
    pub(super) fn ratio_of(
        &self,
        base: &Repeated,
        other: &Repeated,
        repeats_are_blocks: bool,
    ) -> Option<Ratio> {
        let estimate = if self.has_steps() { quotient } else { ratio };
        estimate(base, other, repeats_are_blocks)
    }

    /// Whether a repeat of one is a repeat of the other too.
    pub(crate) fn share_repeats(&self, one: &ExperimentCell, other: &ExperimentCell) -> bool {
        self.repeats_are_blocks && one.host == other.host
    }

    /// The factor along which cells have a previous one.
    pub(crate) fn ladder(&self) -> Option<usize> {
        const LEVELS_MIN: usize = 3;
        self.axis.filter(|axis| self.factors[*axis].levels.len() >= LEVELS_MIN)
    }

    /// A factor and a level by their names.
    pub(super) fn level_named(&self, (name, label): &(String, String)) -> Option<(usize, usize)> {
        let factor = self.factors.iter().position(|factor| factor.name == *name)?;
        Some((factor, self.factors[factor].levels.iter().position(|level| level == label)?))
    }

    /// The cell with these levels, and those of `cell` of the other factors.
    pub(super) fn cell_with(&self, cell: &ExperimentCell, levels: &[(usize, usize)]) -> Option<usize> {
        let mut wanted = cell.levels.clone();
        levels.iter().for_each(|(factor, level)| wanted[*factor] = Some(*level));
        // Cells are in the order of their levels.
        self.cells.binary_search_by(|cell| cell.levels.cmp(&wanted)).ok()
    }

    /// A step of a cell ÷ the same step of its base.
    pub(crate) fn step_ratio(&self, cell: usize, step: &StepFigures, metric: Metric) -> Option<Ratio> {
        let cell = &self.cells[cell];
        let base = &self.cells[cell.base?];
        let of_base = steps::same(&base.steps, step)?;
        quotient(of_base.figure(metric)?, step.figure(metric)?, self.share_repeats(base, cell))
    }

    /// Figures of a table behind the main one: first those that the file names, then the usual ones.
    pub(crate) fn shown(&self, usual: &[Metric]) -> Vec<Metric> {
        let wanted = |it: &&OverviewSubject| it.is_drawn || !usual.contains(&it.metric);
        let wanted = self.subjects.iter().filter(wanted).map(|it| it.metric);
        let mut shown: Vec<Metric> = Vec::new();
        for metric in wanted.chain(usual.iter().copied()) {
            if metric != self.main() && !shown.contains(&metric) {
                shown.push(metric);
            }
        }
        shown
    }

    /// Whether a chart of the file shows it; tables then show its interval.
    pub(crate) fn is_drawn(&self, metric: Metric) -> bool {
        self.subjects.iter().any(|it| it.metric == metric && it.is_drawn)
    }

    /// Whether the throughput of all measured cells was set by a rate.
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

    /// Whether a transaction of some cell has several operations.
    pub(crate) fn has_batches(&self) -> bool {
        let batched = |cell: &ExperimentCell| {
            let mean = |metric| cell.figure(metric).map_or(0.0, |it| it.mean);
            mean(Metric::Operations) > mean(Metric::Tps) * (1.0 + 1e-9)
        };
        self.cells.iter().any(batched)
    }
}
