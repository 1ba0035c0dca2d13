//! Makes the overview of an experiment from the contents of its stores: cells, charts, contrasts, effects, warnings. The
//! file, if it can be read, gives the order, the base and the charts.

use ::experiment::{Combinations, Experiment, Order, Plan};
use results::StoredExperiment;

use super::cells::{self, ExperimentCell};
use super::effects::Effects;
use super::hosts::{self, FromStore};
use super::metric::Metric;
use super::overview::{Base, Overview, OverviewSubject};
use super::{charts, concerns, contrasts};
use crate::prose::escaped_line;

/// A warning about experiments from several stores.
const FILES_DIFFER: &str = "The files of the experiment differ between the stores. Order, base and charts are those of \
                            the first store's file.";

impl Overview {
    /// An experiment from one store or several; `read` is its file, if that can be read.
    ///
    /// # Panics
    /// If there is no store.
    pub fn new(all: Vec<FromStore>, read: Option<(&Experiment, &Plan)>) -> Overview {
        let file = read.map(|(file, _)| file);
        let plan = read.map(|(_, plan)| plan);
        let (hosts, host_factor) = (hosts::hosts(&all), hosts::factor_name(&all));
        let ran_by_repeats = all.iter().all(FromStore::ran_by_repeats);
        let order = file.map(|file| file.design.order);
        let files_differ = all.windows(2).any(|pair| pair[0].stored.files != pair[1].stored.files);
        let (first, trials) = hosts::merged(all, &hosts, host_factor);
        let StoredExperiment { experiment, name, annotation, profile, started_at, files, .. } = first;
        let factors = cells::factors(&trials, file);
        let (cells, trials) = cells::cells(trials, &factors, host_factor, plan);
        // If no trial is complete, only the file shows their kind.
        let planned = plan.map_or([].as_slice(), |plan| plan.cells.as_slice());
        let is_of_steps = trials.iter().any(|trial| trial.steps.is_some())
            || planned.iter().any(|cell| !cell.configuration.steps.is_empty());
        let base = match file.map(|file| file.design.base.as_slice()) {
            None | Some([]) => Base::First,
            Some(pairs) => Base::Levels(pairs.to_vec()),
        };
        let text = |of: fn(&Experiment) -> Option<&String>| file.and_then(of).map(|text| escaped_line(text));
        let mut overview = Overview {
            annotation,
            title: escaped_line(file.map_or(&name, |file| &file.title)),
            name: escaped_line(&name),
            source: text(|file| file.source.as_ref()),
            description: text(|file| file.description.as_ref()),
            profile: escaped_line(&profile),
            number: experiment,
            started_at: escaped_line(&started_at),
            store: hosts.iter().map(|host| host.option.as_str()).collect(),
            host_factor: factors.iter().position(|factor| hosts.len() > 1 && factor.name == host_factor),
            hosts,
            files,
            factors,
            cells,
            trials,
            base,
            is_of_steps,
            repeats_are_blocks: order == Some(Order::Interleaved) && ran_by_repeats,
            charts: Vec::new(),
            axis: None,
            stacks: Vec::new(),
            curves: Vec::new(),
            differences: Vec::new(),
            ratios: Vec::new(),
            subjects: Vec::new(),
            screening_tolerance: file.and_then(screening_tolerance),
            effects: Vec::new(),
            concerns: Vec::new(),
            builds: Vec::new(),
        };
        overview.find_bases();
        let charts: &[::experiment::Chart] = file.map_or(&[], |file| &file.charts);
        overview.charts = charts::charts(&overview, charts);
        overview.stacks = charts::stacks(&overview, charts);
        overview.axis = charts::axis(&overview, charts);
        overview.find_previous();
        if let Some(file) = file {
            overview.differences = contrasts::differences(&overview, &file.differences);
            overview.ratios = contrasts::ratios(&overview, &file.ratios);
        }
        let metrics = overview.metrics_of_effects().into_iter();
        overview.effects = metrics.filter_map(|metric| Effects::of(&overview, plan, metric)).collect();
        overview.subjects = file.map_or(Vec::new(), |file| overview.subjects_of(file));
        overview.concerns = concerns::concerns(&overview, order);
        if files_differ {
            overview.concerns.insert(0, FILES_DIFFER.to_owned());
        }
        overview.builds = concerns::builds(&overview);
        overview
    }

    fn find_previous(&mut self) {
        let Some(axis) = self.ladder() else { return };
        let previous = |cell: &ExperimentCell| {
            (0..cell.levels[axis]?).rev().find_map(|level| self.cell_with(cell, &[(axis, level)]))
        };
        let previous: Vec<Option<usize>> = self.cells.iter().map(previous).collect();
        self.cells.iter_mut().zip(previous).for_each(|(cell, previous)| cell.previous = previous);
    }

    /// Each cell's base: the cell with the base's levels, and its own levels of the other factors.
    fn find_bases(&mut self) {
        let fixed: Vec<(usize, usize)> = match (&self.base, self.cells.first()) {
            (_, None) => return,
            // Each host has its own first cell.
            (Base::First, Some(first)) => (first.levels.iter().enumerate())
                .filter(|(factor, _)| Some(*factor) != self.host_factor)
                .filter_map(|(factor, level)| Some((factor, (*level)?)))
                .collect(),
            (Base::Levels(pairs), _) => pairs.iter().filter_map(|pair| self.level_named(pair)).collect(),
        };
        let base = |(number, cell): (usize, &ExperimentCell)| {
            self.cell_with(cell, &fixed).filter(|base| *base != number)
        };
        let bases: Vec<Option<usize>> = self.cells.iter().enumerate().map(base).collect();
        self.cells.iter_mut().zip(bases).for_each(|(cell, base)| cell.base = base);
        let Some(host_factor) = self.host_factor else { return };
        let on_first_host = |cell: &ExperimentCell| {
            if cell.host == 0 { None } else { self.cell_with(cell, &[(host_factor, 0)]) }
        };
        let same: Vec<Option<usize>> = self.cells.iter().map(on_first_host).collect();
        self.cells.iter_mut().zip(same).for_each(|(cell, same)| cell.on_first_host = same);
    }

    /// Figures of charts, then those of differences and ratios.
    fn subjects_of(&self, file: &Experiment) -> Vec<OverviewSubject> {
        let drawn = file.charts.iter().map(|chart| (chart.y.as_str(), true));
        let contrasts = file.differences.iter().chain(&file.ratios);
        let contrasted = contrasts.map(|contrast| (contrast.metric.as_str(), false));
        let mut subjects: Vec<OverviewSubject> = Vec::new();
        for (name, is_drawn) in drawn.chain(contrasted) {
            let Some(metric) = Metric::named(name) else { continue };
            // If each transaction is one operation, operations are throughput.
            let is_main = metric == self.main() || (metric == Metric::Operations && !self.has_batches());
            if !is_main && subjects.iter().all(|known| known.metric != metric) {
                subjects.push(OverviewSubject { metric, is_drawn });
            }
        }
        subjects
    }
}

fn screening_tolerance(file: &Experiment) -> Option<f64> {
    match file.design.combinations {
        Combinations::All => None,
        Combinations::Screening { tolerance } => Some(tolerance),
    }
}
