//! Estimates the effects of an experiment's factors from its trials, with `stats`: by a model of all combinations, or by
//! a screening. Each factor is compared within repeats, hosts across them.

use std::collections::BTreeMap;

use results::ExperimentDesign;
use stats::{Averaged, CONFIDENCE, Change, Factorial, Measurements, Observation, SampleMean, Screening};

use super::cells::Standing;
use super::effects::{Effects, LevelEffect};
use super::metric::Metric;
use super::overview::{Base, Overview};
use super::repeats::Ratio;

impl Effects {
    /// `None` if the experiment has nothing to compare, or no cell has the figure.
    pub(super) fn of(
        overview: &Overview,
        design: Option<&ExperimentDesign>,
        metric: Metric,
    ) -> Option<Effects> {
        let cells: Vec<usize> = (0..overview.cells.len())
            .filter(|cell| overview.cells[*cell].levels.iter().all(Option::is_some))
            .collect();
        let levels: Vec<usize> = overview.factors.iter().map(|factor| factor.levels.len()).collect();
        if levels.iter().all(|count| *count < 2) {
            return None;
        }
        let observations = observations(overview, &cells, metric);
        if observations.is_empty() {
            return None;
        }
        let of_cells: Vec<Vec<usize>> = cells
            .iter()
            .map(|cell| overview.cells[*cell].levels.iter().flatten().copied().collect())
            .collect();
        let base = base(overview);
        if overview.screening_tolerance.is_some() {
            return Effects::of_screening(overview, &observations, &of_cells, metric);
        }
        let plots = plots(overview, design, &cells);
        let factorial = |are_blocked| {
            let measurements = Measurements::new(&observations, plots.clone(), are_blocked);
            Factorial::new(levels.clone(), base.clone(), &of_cells, measurements)
        };
        let within = factorial(overview.repeats_are_blocks);
        // The repeats of two hosts have nothing in common.
        let across = factorial(false);
        let of_factor = |factor| if overview.host_factor == Some(factor) { &across } else { &within };
        let ratio =
            |effect: SampleMean| Ratio::of_logarithm(&effect, CONFIDENCE, overview.repeats_are_blocks);
        let main = within.main_effects().into_iter().zip(across.main_effects());
        let level = |effect: stats::MainEffect| {
            let Averaged { effect: mean, combinations, missing } = effect.averaged;
            LevelEffect {
                change: effect.change,
                ratio: mean.map(ratio),
                combinations,
                missing,
                depends: None,
            }
        };
        let mut effects = Effects {
            metric,
            base,
            levels: main
                .map(|(within, across)| {
                    level(if overview.host_factor == Some(within.change.factor) { across } else { within })
                })
                .collect(),
            interactions: Vec::new(),
            screening: None,
            others: None,
        };
        effects.find_interactions(&within, ratio);
        effects.find_dependences(&levels, |change, at| {
            let averaged = of_factor(change.factor).simple_effect(change, at);
            averaged.effect.map(ratio)
        });
        effects.sort();
        Some(effects)
    }

    /// The effects of a screening's settings, each on average over the others.
    fn of_screening(
        overview: &Overview,
        observations: &[Observation],
        cells: &[Vec<usize>],
        metric: Metric,
    ) -> Option<Effects> {
        let measurements = Measurements::new(observations, vec![0; cells.len()], overview.repeats_are_blocks);
        let design: Vec<Vec<bool>> =
            cells.iter().map(|levels| levels.iter().map(|level| *level == 1).collect()).collect();
        let screening = Screening::of(&design, &measurements, CONFIDENCE)?;
        let level = |(factor, effect): (usize, &SampleMean)| LevelEffect {
            change: Change { factor, level: 1 },
            ratio: Some(Ratio::of_logarithm(
                effect,
                screening.confidence_of_each,
                overview.repeats_are_blocks,
            )),
            combinations: design.len() - screening.missing,
            missing: screening.missing,
            depends: None,
        };
        let mut effects = Effects {
            metric,
            base: vec![0; overview.factors.len()],
            levels: screening.effects.iter().enumerate().map(level).collect(),
            interactions: Vec::new(),
            others: None,
            screening: Some(screening),
        };
        effects.sort();
        Some(effects)
    }
}

/// The logarithms of all complete trials. A cell with a figure that has no logarithm is left out as a whole: without
/// that trial its mean would be too good.
fn observations(overview: &Overview, cells: &[usize], metric: Metric) -> Vec<Observation> {
    let mut observations = Vec::new();
    for (number, cell) in cells.iter().enumerate() {
        let Some(figure) = overview.cells[*cell].figure(metric) else { continue };
        if figure.values.iter().any(|(_, value)| *value <= 0.0) {
            continue;
        }
        let host = overview.cells[*cell].host;
        observations.extend(figure.values.iter().map(|(repeat, value)| Observation {
            cell: number,
            block: *repeat as usize * overview.hosts.len() + host,
            value: value.ln(),
        }));
    }
    observations
}

/// The base level of each factor: that of the file, otherwise the first.
fn base(overview: &Overview) -> Vec<usize> {
    let mut base = vec![0; overview.factors.len()];
    if let Base::Levels(pairs) = &overview.base {
        for (factor, level) in pairs.iter().filter_map(|pair| overview.level_named(pair)) {
            base[factor] = level;
        }
    }
    base
}

/// The data set of each cell, whose trials run together in each repeat; one for all if the plan is unknown.
fn plots(overview: &Overview, design: Option<&ExperimentDesign>, cells: &[usize]) -> Vec<usize> {
    let planned = || design.iter().flat_map(|design| &design.cells);
    let of_plan: BTreeMap<BTreeMap<&str, &str>, usize> = planned()
        .map(|cell| {
            (cell.levels.iter().map(|(name, level)| (name.as_str(), level.as_str())).collect(), cell.data)
        })
        .collect();
    let sets = planned().map(|cell| cell.data + 1).max().unwrap_or(1);
    let plot = |cell: &usize| {
        let host = overview.host_factor;
        let levels = overview.levels(*cell).enumerate().filter(|(at, _)| Some(*at) != host);
        let levels = levels.map(|(_, (factor, level))| (factor.name.as_str(), level)).collect();
        overview.cells[*cell].host * sets + of_plan.get(&levels).copied().unwrap_or(0)
    };
    cells.iter().map(plot).collect()
}

impl Overview {
    /// Whether all planned trials are complete.
    pub(crate) fn trials_are_complete(&self) -> bool {
        self.trials.iter().all(|trial| trial.standing == Standing::Complete)
    }

    /// The figure whose effects are reported first. A rate determines throughput.
    pub(super) fn metric_of_effects(&self) -> Metric {
        if self.has_rate() { Metric::P50 } else { self.main() }
    }

    /// Figures whose effects are reported, the main one first.
    pub(super) fn metrics_of_effects(&self) -> Vec<Metric> {
        let main = self.metric_of_effects();
        let measured = |metric: Metric| self.cells.iter().any(|cell| cell.figure(metric).is_some());
        let second = (!self.has_steps()).then_some(Metric::P99).filter(|metric| measured(*metric));
        std::iter::once(main).chain(second).collect()
    }
}
