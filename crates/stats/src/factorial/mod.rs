//! Main effects and interactions of a factorial experiment in randomised blocks. The values are logarithms, so an effect
//! is the logarithm of a ratio: a contrast of cell means (Box, Hunter and Hunter, Statistics for experimenters, 2nd ed.
//! 2005, chapter 5; Montgomery, Design and analysis of experiments, 8th ed. 2013, chapters 4 and 5), averaged over the
//! combinations of the other factors. Its error is the variation of its own cells within blocks. Levels with a plot of
//! their own, such as a data set whose cells run together, are compared by the means of the plots (section 14.4). Pure.

mod fit;

use std::collections::BTreeMap;

use crate::SampleMean;
use fit::Row;

/// A measured value of a cell.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Observation {
    /// Index of the cell.
    pub cell: usize,
    /// The block, such as the repeat: its values were measured at about the same time.
    pub block: usize,
    /// The logarithm of the figure.
    pub value: f64,
}

/// Values of cells, by cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    values: Vec<Vec<(usize, f64)>>,
    /// The plot of each cell: cells of one plot run together within a block.
    plots: Vec<usize>,
    /// Whether blocks are compared within themselves only.
    are_blocked: bool,
}

impl Measurements {
    /// One plot for each cell. Without blocks all values are exchangeable within their cell.
    ///
    /// # Panics
    /// If an observation is of a cell without a plot.
    pub fn new(observations: &[Observation], plots: Vec<usize>, are_blocked: bool) -> Measurements {
        let mut values = vec![Vec::new(); plots.len()];
        for Observation { cell, block, value } in observations {
            values[*cell].push((*block, *value));
        }
        Measurements { values, plots, are_blocked }
    }

    /// Number of values of a cell.
    pub fn count(&self, cell: usize) -> usize {
        self.values[cell].len()
    }

    /// Σ weight · cell; the weights have the sum 0. `None` if the values do not determine it. Without degrees of
    /// freedom it has no interval.
    pub fn contrast(&self, weights: &[(usize, f64)]) -> Option<SampleMean> {
        if !self.are_blocked {
            return self.fit(weights, |_, _| (0, 0));
        }
        let within = self.fit(weights, |cell, block| (block, self.plots[cell]));
        within.or_else(|| self.between_plots(weights))
    }

    /// The contrast within the strata that `stratum` assigns to a cell and a block.
    fn fit(
        &self,
        weights: &[(usize, f64)],
        stratum: impl Fn(usize, usize) -> (usize, usize),
    ) -> Option<SampleMean> {
        let mut numbers = Numbers::default();
        let mut rows = Vec::new();
        for (treatment, (cell, _)) in weights.iter().enumerate() {
            for (block, value) in &self.values[*cell] {
                rows.push(Row { treatment, stratum: numbers.of(stratum(*cell, *block)), value: *value });
            }
        }
        fit::contrast(&rows, &weights.iter().map(|(_, weight)| *weight).collect::<Vec<_>>())
    }

    /// The contrast of the plots' means, each from the blocks that have all of its cells.
    fn between_plots(&self, weights: &[(usize, f64)]) -> Option<SampleMean> {
        let mut plots: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
        for (cell, weight) in weights {
            plots.entry(self.plots[*cell]).or_default().push((*cell, *weight));
        }
        let sum = |of_plot: &Vec<(usize, f64)>| of_plot.iter().map(|(_, weight)| weight).sum::<f64>();
        let sums: Vec<f64> = plots.values().map(sum).collect();
        if sums.iter().any(|sum| sum.abs() < f64::EPSILON) {
            // Some plots have a contrast of their own, others do not: one value for each block.
            return SampleMean::of(&self.sums(weights).into_values().collect::<Vec<_>>());
        }
        let mut numbers = Numbers::default();
        let mut rows = Vec::new();
        for (treatment, of_plot) in plots.values().enumerate() {
            for (block, value) in self.sums(of_plot) {
                rows.push(Row { treatment, stratum: numbers.of((block, 0)), value: value / sums[treatment] });
            }
        }
        fit::contrast(&rows, &sums)
    }

    /// Σ weight · value in each block that has all of these cells.
    fn sums(&self, weights: &[(usize, f64)]) -> BTreeMap<usize, f64> {
        let mut sums: BTreeMap<usize, (usize, f64)> = BTreeMap::new();
        for (cell, weight) in weights {
            for (block, value) in &self.values[*cell] {
                let (count, sum) = sums.entry(*block).or_default();
                (*count, *sum) = (*count + 1, *sum + weight * value);
            }
        }
        let complete = sums.into_iter().filter(|(_, (count, _))| *count == weights.len());
        complete.map(|(block, (_, sum))| (block, sum)).collect()
    }
}

/// Consecutive numbers for strata.
#[derive(Default)]
struct Numbers(BTreeMap<(usize, usize), usize>);

impl Numbers {
    fn of(&mut self, stratum: (usize, usize)) -> usize {
        let next = self.0.len();
        *self.0.entry(stratum).or_insert(next)
    }
}

/// A factorial experiment.
#[derive(Clone, Debug)]
pub struct Factorial {
    /// Number of levels of each factor.
    levels: Vec<usize>,
    /// The level of each factor that others are compared with.
    base: Vec<usize>,
    /// The planned cells by their levels.
    cells: BTreeMap<Vec<usize>, usize>,
    measurements: Measurements,
}

/// An effect, and the combinations that it was averaged over.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Averaged {
    /// The logarithm of the ratio; `None` if the measurements do not determine it.
    pub effect: Option<SampleMean>,
    /// Combinations of the other factors that it is the mean of.
    pub combinations: usize,
    /// Planned combinations that lack a measurement.
    pub missing: usize,
}

/// A level of a factor instead of its base.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Index of the factor.
    pub factor: usize,
    /// The level instead of the base.
    pub level: usize,
}

/// The effect of a level, averaged over the other factors.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct MainEffect {
    /// The level.
    pub change: Change,
    /// Its effect.
    pub averaged: Averaged,
}

/// The difference that one change makes to the effect of another.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Interaction {
    /// The two changes, by factor.
    pub changes: [Change; 2],
    /// The logarithm of the ratio of the two ratios.
    pub averaged: Averaged,
}

impl Factorial {
    /// `cells` has the levels of each cell of the measurements, and `base` the levels that others are compared with.
    pub fn new(
        levels: Vec<usize>,
        base: Vec<usize>,
        cells: &[Vec<usize>],
        measurements: Measurements,
    ) -> Factorial {
        let cells = cells.iter().enumerate().map(|(number, levels)| (levels.clone(), number)).collect();
        Factorial { levels, base, cells, measurements }
    }

    /// All levels that can be compared with the base of their factor, in order.
    fn changes(&self) -> Vec<Change> {
        let of_factor = |factor: usize| {
            let levels = (0..self.levels[factor]).filter(move |level| *level != self.base[factor]);
            levels.map(move |level| Change { factor, level })
        };
        (0..self.levels.len()).flat_map(of_factor).collect()
    }

    /// The effect of each level, in the order of the factors.
    pub fn main_effects(&self) -> Vec<MainEffect> {
        let effect = |change| MainEffect { change, averaged: self.average(&[change], None) };
        self.changes().into_iter().map(effect).collect()
    }

    /// The interactions of each two factors.
    pub fn interactions(&self) -> Vec<Interaction> {
        let changes = self.changes();
        let mut interactions = Vec::new();
        for (number, first) in changes.iter().enumerate() {
            let others = changes[number..].iter().filter(|second| second.factor != first.factor);
            interactions.extend(others.map(|second| {
                let changes = [*first, *second];
                Interaction { changes, averaged: self.average(&changes, None) }
            }));
        }
        interactions
    }

    /// The effect of a change where another factor has this level.
    pub fn simple_effect(&self, change: Change, at: Change) -> Averaged {
        self.average(&[change], Some(at))
    }

    /// The contrast of one or two changes, averaged over the cells that have them all, as far as the corresponding
    /// cells were measured.
    fn average(&self, changes: &[Change], at: Option<Change>) -> Averaged {
        let has = |levels: &Vec<usize>, change: &Change| levels[change.factor] == change.level;
        let mut groups = Vec::new();
        let mut missing = 0;
        let is_meant = |levels: &Vec<usize>| {
            changes.iter().all(|change| has(levels, change)) && at.iter().all(|at| has(levels, at))
        };
        for levels in self.cells.keys().filter(|levels| is_meant(levels)) {
            let corners = (0..1_usize << changes.len()).map(|corner| {
                let mut levels = levels.clone();
                let mut weight = 1.0;
                let turned = changes.iter().enumerate().filter(|(number, _)| corner >> number & 1 == 1);
                for (_, change) in turned {
                    levels[change.factor] = self.base[change.factor];
                    weight = -weight;
                }
                Some((*self.cells.get(&levels)?, weight))
            });
            // Without a planned counterpart the cell says nothing about the effect.
            let Some(corners) = corners.collect::<Option<Vec<(usize, f64)>>>() else { continue };
            if corners.iter().all(|(cell, _)| self.measurements.count(*cell) > 0) {
                groups.push(corners);
            } else {
                missing += 1;
            }
        }
        let combinations = groups.len();
        let weights: Vec<(usize, f64)> =
            groups.into_iter().flatten().map(|(cell, weight)| (cell, weight / combinations as f64)).collect();
        let effect = if weights.is_empty() { None } else { self.measurements.contrast(&weights) };
        Averaged { effect, combinations, missing }
    }
}

/// Which of several effects are not zero, with this probability that none of those that are zero is among them (Holm,
/// A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979).
pub fn found(effects: &[Option<SampleMean>], confidence: f64) -> Vec<bool> {
    let size = |effect: &SampleMean| match effect.variance.sqrt() {
        error if effect.degrees_of_freedom < 1.0 || error.is_nan() => None,
        error => Some(crate::quantiles::two_sided_p(effect.mean / error, effect.degrees_of_freedom)),
    };
    let mut order: Vec<(f64, usize)> = (effects.iter().enumerate())
        .filter_map(|(number, effect)| Some((size(effect.as_ref()?)?, number)))
        .collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut found = vec![false; effects.len()];
    let tests = order.len();
    for (rank, (p, number)) in order.into_iter().enumerate() {
        if p > (1.0 - confidence) / (tests - rank) as f64 {
            break;
        }
        found[number] = true;
    }
    found
}

#[cfg(test)]
mod tests;
