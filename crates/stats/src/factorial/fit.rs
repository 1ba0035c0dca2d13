//! Least squares for treatments in strata: value = treatment + stratum + error, with any number of missing and repeated
//! values. `factorial` builds the rows; the estimate is a contrast of the treatments.
//!
//! The strata's effects are solved from the normal equations with the treatments eliminated (Montgomery, Design and
//! analysis of experiments, 8th ed. 2013, section 4.4.3: the intrablock analysis of incomplete blocks).

use crate::SampleMean;

/// One value of a treatment in a stratum.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) treatment: usize,
    pub(crate) stratum: usize,
    pub(crate) value: f64,
}

/// Below this, relative to the values, a sum counts as zero.
const NEGLIGIBLE: f64 = 1e-9;

/// Σ weight · treatment, with one weight for each treatment; `None` if the rows do not determine it.
pub(crate) fn contrast(rows: &[Row], weights: &[f64]) -> Option<SampleMean> {
    let layout = Layout::new(rows, weights.len());
    if !layout.determines(weights) {
        return None;
    }
    let means = layout.of_treatments(|row| row.value);
    let of_strata = layout.solve(&layout.of_strata(|row| row.value - means[row.treatment]));
    let treatments = layout.of_treatments(|row| row.value - of_strata[row.stratum]);
    let residual = |row: &Row| row.value - treatments[row.treatment] - of_strata[row.stratum];
    let squares: f64 = rows.iter().map(|row| residual(row).powi(2)).sum();
    let counts = || weights.iter().zip(&layout.in_treatment).filter(|(_, count)| **count > 0.0);
    let mean = weights.iter().zip(&treatments).map(|(weight, it)| weight * it).sum();
    let shares = layout.of_strata(|row| weights[row.treatment] / layout.in_treatment[row.treatment]);
    let adjustment: f64 = layout.solve(&shares).iter().zip(&shares).map(|(a, b)| a * b).sum();
    let scale = counts().map(|(weight, count)| weight.powi(2) / count).sum::<f64>() + adjustment;
    let strata = layout.in_stratum.iter().filter(|count| **count > 0.0).count();
    let parameters = (counts().count() + strata).saturating_sub(layout.components());
    let degrees_of_freedom = rows.len().saturating_sub(parameters) as f64;
    let variance = if degrees_of_freedom > 0.0 { squares / degrees_of_freedom * scale } else { 0.0 };
    let mean: f64 = mean;
    mean.is_finite().then_some(SampleMean { mean, variance, degrees_of_freedom })
}

/// The treatments and strata of some rows.
struct Layout<'a> {
    rows: &'a [Row],
    /// Rows of each treatment, and of each stratum.
    in_treatment: Vec<f64>,
    in_stratum: Vec<f64>,
    /// The component of each treatment: those that share strata, directly or through others, are comparable.
    component: Vec<usize>,
}

impl Layout<'_> {
    fn new(rows: &[Row], treatments: usize) -> Layout<'_> {
        let strata = rows.iter().map(|row| row.stratum + 1).max().unwrap_or(0);
        let (mut in_treatment, mut in_stratum) = (vec![0.0; treatments], vec![0.0; strata]);
        for row in rows {
            in_treatment[row.treatment] += 1.0;
            in_stratum[row.stratum] += 1.0;
        }
        Layout { rows, in_treatment, in_stratum, component: components(rows, treatments, strata) }
    }

    /// Whether all treatments with a weight have values, and the weights of comparable ones have the sum 0.
    fn determines(&self, weights: &[f64]) -> bool {
        let mut sums = vec![0.0; weights.len()];
        let largest = weights.iter().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        for (treatment, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
            if self.in_treatment[treatment] == 0.0 {
                return false;
            }
            sums[self.component[treatment]] += weight;
        }
        sums.iter().all(|sum: &f64| sum.abs() <= NEGLIGIBLE * largest)
    }

    /// Number of components that have rows.
    fn components(&self) -> usize {
        let is_root = |treatment: &usize| self.component[*treatment] == *treatment;
        let has_rows = |treatment: &usize| self.in_treatment[*treatment] > 0.0;
        (0..self.component.len()).filter(is_root).filter(has_rows).count()
    }

    /// The mean of each treatment.
    fn of_treatments(&self, value: impl Fn(&Row) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.in_treatment.len()];
        self.rows.iter().for_each(|row| sums[row.treatment] += value(row));
        sums.iter().zip(&self.in_treatment).map(|(sum, count)| sum / count.max(1.0)).collect()
    }

    /// The sum of each stratum.
    fn of_strata(&self, value: impl Fn(&Row) -> f64) -> Vec<f64> {
        let mut sums = vec![0.0; self.in_stratum.len()];
        self.rows.iter().for_each(|row| sums[row.stratum] += value(row));
        sums
    }

    /// The normal equations' matrix of the strata, treatments eliminated, times `strata`.
    fn multiply(&self, strata: &[f64]) -> Vec<f64> {
        let means = self.of_treatments(|row| strata[row.stratum]);
        self.of_strata(|row| strata[row.stratum] - means[row.treatment])
    }

    /// Solves the normal equations by conjugate gradients (Hestenes and Stiefel, 1952). The matrix is singular; the
    /// solution from 0 is the one in its range, and a complete design needs no or one step.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut solution = vec![0.0; right.len()];
        let mut residual = right.to_vec();
        let mut direction = residual.clone();
        let mut square = dot(&residual, &residual);
        let enough = square * NEGLIGIBLE.powi(2) * NEGLIGIBLE + f64::MIN_POSITIVE;
        for _ in 0..2 * right.len() {
            if square <= enough {
                break;
            }
            let product = self.multiply(&direction);
            let curvature = dot(&direction, &product);
            if curvature <= 0.0 {
                break;
            }
            let step = square / curvature;
            solution.iter_mut().zip(&direction).for_each(|(it, by)| *it += step * by);
            residual.iter_mut().zip(&product).for_each(|(it, by)| *it -= step * by);
            let next = dot(&residual, &residual);
            direction.iter_mut().zip(&residual).for_each(|(it, by)| *it = by + next / square * *it);
            square = next;
        }
        solution
    }
}

/// The component of each treatment, named by one of its treatments.
fn components(rows: &[Row], treatments: usize, strata: usize) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..treatments).collect();
    let mut first = vec![None; strata];
    for row in rows {
        match first[row.stratum] {
            None => first[row.stratum] = Some(row.treatment),
            Some(other) => {
                let (a, b) = (root(&mut parent, row.treatment), root(&mut parent, other));
                parent[a] = b;
            }
        }
    }
    (0..treatments).map(|treatment| root(&mut parent, treatment)).collect()
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from a table with a line for each treatment and a column for each stratum; NaN: missing.
    fn rows(table: &[&[f64]]) -> Vec<Row> {
        let line = |(treatment, line): (usize, &&[f64])| {
            let row = move |(stratum, value): (usize, &f64)| Row { treatment, stratum, value: *value };
            line.iter().enumerate().map(row).filter(|row| !row.value.is_nan()).collect::<Vec<_>>()
        };
        table.iter().enumerate().flat_map(line).collect()
    }

    const NO: f64 = f64::NAN;

    #[test]
    fn a_complete_block_design_is_as_in_the_textbook() {
        // Montgomery, 8th ed., table 4.3: four pressures, six batches. MS of error 7.33 with 15 degrees of freedom.
        let table: [&[f64]; 4] = [
            &[90.3, 89.2, 98.2, 93.9, 87.4, 97.9],
            &[92.5, 89.5, 90.6, 94.7, 87.0, 95.8],
            &[85.5, 90.8, 89.6, 86.2, 88.0, 93.4],
            &[82.5, 89.5, 85.6, 87.4, 78.9, 90.7],
        ];
        let effect = contrast(&rows(&table), &[1.0, 0.0, 0.0, -1.0]).unwrap();
        assert!((effect.mean - (92.816_666 - 85.766_666)).abs() < 1e-4, "{effect:?}");
        assert_eq!(effect.degrees_of_freedom, 15.0);
        assert!((effect.variance - 7.33 * 2.0 / 6.0).abs() < 0.005, "{effect:?}");
    }

    #[test]
    fn balanced_incomplete_blocks_are_as_in_the_textbook() {
        // Montgomery, 8th ed., table 4.22: four catalysts, four batches of raw material. Adjusted effects: τ₁ = −9/8,
        // τ₂ = −7/8, τ₃ = −4/8, τ₄ = 20/8; MS of error 0.65 with 5 degrees of freedom; variance of a difference
        // 2kσ² ÷ (λa) with k = 3, λ = 2, a = 4.
        let table: [&[f64]; 4] = [
            &[73.0, 74.0, NO, 71.0],
            &[NO, 75.0, 67.0, 72.0],
            &[73.0, 75.0, 68.0, NO],
            &[75.0, NO, 72.0, 75.0],
        ];
        let effect = contrast(&rows(&table), &[-1.0, 0.0, 0.0, 1.0]).unwrap();
        assert!((effect.mean - 29.0 / 8.0).abs() < 1e-9, "{effect:?}");
        assert_eq!(effect.degrees_of_freedom, 5.0);
        assert!((effect.variance - 2.0 * 3.0 * 0.65 / (2.0 * 4.0)).abs() < 1e-9, "{effect:?}");
    }

    #[test]
    fn treatments_without_a_common_stratum_are_not_comparable() {
        let table: [&[f64]; 3] = [&[1.0, NO, 1.5], &[NO, 2.0, NO], &[3.0, NO, 3.7]];
        let rows = rows(&table);
        assert_eq!(contrast(&rows, &[-1.0, 1.0, 0.0]), None);
        let effect = contrast(&rows, &[-1.0, 0.0, 1.0]).unwrap();
        assert!((effect.mean - 2.1).abs() < 1e-12);
        assert_eq!(effect.degrees_of_freedom, 1.0);
        assert_eq!(contrast(&rows[..2], &[-1.0, 0.0, 1.0]), None, "a treatment without values");
    }

    #[test]
    fn a_single_stratum_has_an_effect_and_no_interval() {
        let table: [&[f64]; 2] = [&[1.0], &[4.0]];
        let effect = contrast(&rows(&table), &[-1.0, 1.0]).unwrap();
        assert_eq!((effect.mean, effect.interval(0.95)), (3.0, None));
    }
}
