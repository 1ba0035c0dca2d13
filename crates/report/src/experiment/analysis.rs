//! Makes the overview of an experiment from the contents of its stores: cells, charts, contrasts, effects, warnings. The
//! design, if it is known, gives the order, the base and the charts.

use results::{ChartSpec, ExperimentDesign, SafeText, StoredExperiment, TrialOrder};

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
    /// An experiment from one store or several; `design` is what its file says, if that is known.
    ///
    /// # Panics
    /// If there is no store.
    pub fn new(all: Vec<FromStore>, design: Option<&ExperimentDesign>) -> Overview {
        let (hosts, host_factor) = (hosts::hosts(&all), hosts::factor_name(&all));
        let ran_by_repeats = all.iter().all(FromStore::ran_by_repeats);
        let order = design.map(|design| design.order);
        let files_differ = all.windows(2).any(|pair| pair[0].stored.files != pair[1].stored.files);
        let (first, trials) = hosts::merged(all, &hosts, host_factor);
        let StoredExperiment { experiment, name, annotation, profile, started_at, files, .. } = first;
        let factors = cells::factors(&trials, design);
        let (cells, trials) = cells::cells(trials, &factors, host_factor, design);
        // If no trial is complete, only the file shows their kind.
        let is_of_steps =
            trials.iter().any(|trial| trial.steps.is_some()) || design.is_some_and(|design| design.has_steps);
        let base = match design.map(|design| design.base.as_slice()) {
            None | Some([]) => Base::First,
            Some(pairs) => Base::Levels(pairs.to_vec()),
        };
        let text = |of: fn(&ExperimentDesign) -> Option<&SafeText>| {
            design.and_then(of).map(|text| escaped_line(text.as_str()))
        };
        let mut overview = Overview {
            annotation,
            title: escaped_line(design.map_or(&name, |design| design.title.as_str())),
            name: escaped_line(&name),
            source: text(|design| design.source.as_ref()),
            description: text(|design| design.description.as_ref()),
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
            repeats_are_blocks: order == Some(TrialOrder::Interleaved) && ran_by_repeats,
            charts: Vec::new(),
            axis: None,
            stacks: Vec::new(),
            curves: Vec::new(),
            differences: Vec::new(),
            ratios: Vec::new(),
            subjects: Vec::new(),
            screening_tolerance: design.and_then(|design| design.screening_tolerance),
            effects: Vec::new(),
            concerns: Vec::new(),
            builds: Vec::new(),
        };
        overview.find_bases();
        let charts: &[ChartSpec] = design.map_or(&[], |design| &design.charts);
        overview.charts = charts::charts(&overview, charts);
        overview.stacks = charts::stacks(&overview, charts);
        overview.axis = charts::axis(&overview, charts);
        overview.find_previous();
        if let Some(design) = design {
            overview.differences = contrasts::differences(&overview, &design.differences);
            overview.ratios = contrasts::ratios(&overview, &design.ratios);
        }
        let metrics = overview.metrics_of_effects().into_iter();
        overview.effects = metrics.filter_map(|metric| Effects::of(&overview, design, metric)).collect();
        overview.subjects = design.map_or(Vec::new(), |design| overview.subjects_of(design));
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
    fn subjects_of(&self, design: &ExperimentDesign) -> Vec<OverviewSubject> {
        let drawn = design.charts.iter().map(|chart| (chart.y.as_str(), true));
        let contrasts = design.differences.iter().chain(&design.ratios);
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
