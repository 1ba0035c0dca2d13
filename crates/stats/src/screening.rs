//! Screening designs: which of many factors with two levels matter, from few combinations. Pure; `lab` runs the
//! combinations, `report` ranks the effects. docs/decisions/0020-screening.md gives the reasons.
//!
//! A Plackett–Burman matrix and its mirror image (Plackett and Burman, The design of optimum multifactorial
//! experiments, Biometrika 33, 1946; the foldover: Box and Wilson, Journal of the Royal Statistical Society B 13, 1951).
//! With the mirror image no main effect is mixed with an interaction of two factors: resolution IV.

use crate::quantiles::upper_p_of_f;
use crate::{Measurements, SampleMean, SplitMix64};

/// Maximum number of factors.
pub const SCREENED_MAX: usize = 24;
/// First rows of the cyclic matrices, by Plackett and Burman's table.
const GENERATORS: [&str; 6] =
    ["++-", "+++-+--", "++-+++---+-", "++++-+-++--+---", "++--++++-+-+----++-", "+++++-+-++--++--+-+----"];

/// The combinations for this number of factors: of each factor, whether its level is the second one. Twice the next
/// multiple of four. `None` for no factors, or for too many.
pub fn screening_design(factors: usize) -> Option<Vec<Vec<bool>>> {
    let generator = GENERATORS.iter().find(|generator| (1..=generator.len() + 1).contains(&factors))?;
    let first: Vec<bool> = generator.bytes().map(|sign| sign == b'+').collect();
    let len = first.len();
    // The last column is constant in each half, and so distinguishes a combination from its mirror image.
    let cyclic =
        |row: usize| (0..len).map(|column| first[(column + len - row) % len]).chain([true]).collect();
    let mut half: Vec<Vec<bool>> = (0..len).map(cyclic).collect();
    half.push(std::iter::repeat_n(false, len).chain([true]).collect());
    half.iter_mut().for_each(|row| row.truncate(factors));
    let mirrored: Vec<Vec<bool>> = half.iter().map(|row| row.iter().map(|it| !it).collect()).collect();
    // Few columns repeat their combinations, each equally often.
    let mut design: Vec<Vec<bool>> = Vec::new();
    for row in half.into_iter().chain(mirrored) {
        if !design.contains(&row) {
            design.push(row);
        }
    }
    Some(design)
}

/// Trials of one group that run one after another.
const STRETCH: usize = 3;

/// One repeat in random order with few changes between groups, such as the combinations between which a server must
/// restart: in each round every group has a stretch of trials. So groups that are compared lie close together, and slow
/// drift affects them alike.
pub fn in_stretches(mut groups: Vec<Vec<usize>>, random: &mut SplitMix64) -> Vec<usize> {
    groups.iter_mut().for_each(|group| random.shuffle(group));
    let rounds = groups.iter().map(|group| group.len().div_ceil(STRETCH)).max().unwrap_or(0);
    let mut order = Vec::new();
    for round in 0..rounds {
        let mut stretches: Vec<&[usize]> =
            groups.iter().filter_map(|group| group.chunks(STRETCH).nth(round)).collect();
        random.shuffle(&mut stretches);
        order.extend(stretches.into_iter().flatten());
    }
    order
}

/// The error that the intervals are made of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum ErrorSource {
    /// The variation between the repeats of a combination.
    Repeats,
    /// With a single repeat: the deviation from a sum of main effects. It includes interactions, so intervals are
    /// rather too wide.
    Model,
}

/// The result of a screening.
#[derive(Clone, Debug, PartialEq)]
pub struct Screening {
    /// The effect of each factor's second level instead of its first, as a logarithm of a ratio.
    pub effects: Vec<SampleMean>,
    /// The confidence of each interval with which all of them hold together.
    pub confidence_of_each: f64,
    /// The error of the intervals.
    pub error: ErrorSource,
    /// The probability of interactions at least as large as those measured if there were none; `None` if unknown.
    pub p_of_interactions: Option<f64>,
    /// Combinations without a value.
    pub missing: usize,
}

/// Minimum degrees of freedom of the variation between repeats; with fewer, that of the model is used.
const FREEDOM_MIN: f64 = 5.0;

impl Screening {
    /// The effects in the measurements of a design's combinations. `None` if they do not determine all of them.
    pub fn of(design: &[Vec<bool>], measurements: &Measurements, confidence: f64) -> Option<Screening> {
        let factors = design.first()?.len();
        let measured: Vec<usize> = (0..design.len()).filter(|cell| measurements.count(*cell) > 0).collect();
        let signs = |cell: usize| design[cell].iter().map(|is_second| if *is_second { 1.0 } else { -1.0 });
        let rows: Vec<Vec<f64>> =
            measured.iter().map(|cell| std::iter::once(1.0).chain(signs(*cell)).collect()).collect();
        let weights = least_squares(&rows)?;
        let contrast = |weights: &[f64]| {
            measurements.contrast(&measured.iter().copied().zip(weights.iter().copied()).collect::<Vec<_>>())
        };
        // The effect is twice the coefficient, since the levels are −1 and 1.
        let double = |weights: &Vec<f64>| weights.iter().map(|weight| 2.0 * weight).collect::<Vec<f64>>();
        let weights: Vec<Vec<f64>> = weights[1..].iter().map(double).collect();
        let mut effects = weights.iter().map(|weights| contrast(weights)).collect::<Option<Vec<_>>>()?;
        let deviation = Deviation::of(&rows, &weights, measurements, &measured)?;
        let pure = effects.first().map_or(0.0, |effect| effect.degrees_of_freedom);
        let error = if pure >= FREEDOM_MIN { ErrorSource::Repeats } else { ErrorSource::Model };
        let p_of_interactions = match (error, effects.first()) {
            (ErrorSource::Repeats, Some(effect)) if deviation.freedom > 0.0 => {
                // The variance of a single value, from that of an effect.
                let scale: f64 =
                    weights[0].iter().zip(&deviation.counts).map(|(it, count)| it * it / count).sum();
                let single = effect.variance / scale;
                (single > 0.0).then(|| upper_p_of_f(deviation.variance() / single, deviation.freedom, pure))
            }
            _ => None,
        };
        if error == ErrorSource::Model {
            for (effect, weights) in effects.iter_mut().zip(&weights) {
                let scale: f64 =
                    weights.iter().zip(&deviation.counts).map(|(it, count)| it * it / count).sum();
                effect.variance = deviation.variance() * scale;
                effect.degrees_of_freedom = deviation.freedom;
            }
        }
        Some(Screening {
            effects,
            confidence_of_each: simultaneous(confidence, factors),
            error,
            p_of_interactions,
            missing: design.len() - measured.len(),
        })
    }
}

/// The confidence of each of several intervals with which all of them hold together (Šidák, Rectangular confidence
/// regions for the means of multivariate normal distributions, Journal of the American Statistical Association 62,
/// 1967: at least this, whatever the correlation).
pub fn simultaneous(confidence: f64, intervals: usize) -> f64 {
    confidence.powf(1.0 / intervals.max(1) as f64)
}

/// The deviation of the combinations from a sum of main effects.
struct Deviation {
    /// Σ values · squared deviation.
    squares: f64,
    freedom: f64,
    /// Number of values of each measured combination.
    counts: Vec<f64>,
}

impl Deviation {
    fn of(
        rows: &[Vec<f64>],
        weights: &[Vec<f64>],
        measurements: &Measurements,
        measured: &[usize],
    ) -> Option<Deviation> {
        let counts: Vec<f64> = measured.iter().map(|cell| measurements.count(*cell) as f64).collect();
        // Differences to the first combination, free of the blocks.
        let difference = |(number, cell): (usize, &usize)| match number {
            0 => Some(0.0),
            _ => Some(measurements.contrast(&[(measured[0], -1.0), (*cell, 1.0)])?.mean),
        };
        let values: Vec<f64> = measured.iter().enumerate().map(difference).collect::<Option<_>>()?;
        let sum = |weights: &Vec<f64>| weights.iter().zip(&values).map(|(a, b)| a * b).sum::<f64>() / 2.0;
        let coefficients: Vec<f64> = weights.iter().map(sum).collect();
        let explained = |row: &Vec<f64>| row[1..].iter().zip(&coefficients).map(|(a, b)| a * b).sum::<f64>();
        let rest: Vec<f64> = rows.iter().zip(&values).map(|(row, value)| value - explained(row)).collect();
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        let squares = rest.iter().zip(&counts).map(|(it, count)| count * (it - mean).powi(2)).sum();
        let freedom = rows.len() as f64 - rows[0].len() as f64;
        Some(Deviation { squares, freedom, counts })
    }

    fn variance(&self) -> f64 {
        if self.freedom > 0.0 { self.squares / self.freedom } else { 0.0 }
    }
}

/// (X′X)⁻¹X′ of these rows: the weights of the values in each coefficient. `None` if X′X is singular.
fn least_squares(rows: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let width = rows.first()?.len();
    let product = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    // X′X beside X′, brought to the identity by Gauss and Jordan's elimination.
    let line = |a: usize| (0..width).map(|b| product(a, b)).chain(rows.iter().map(|row| row[a])).collect();
    let mut lines: Vec<Vec<f64>> = (0..width).map(line).collect();
    for column in 0..width {
        let size = |line: &usize| lines[*line][column].abs();
        let pivot = (column..width).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if lines[pivot][column].abs() < 1e-9 {
            return None;
        }
        lines.swap(column, pivot);
        let scale = lines[column][column];
        lines[column].iter_mut().for_each(|it| *it /= scale);
        let own = lines[column].clone();
        for (_, line) in lines.iter_mut().enumerate().filter(|(number, _)| *number != column) {
            let factor = line[column];
            line.iter_mut().zip(&own).for_each(|(it, own)| *it -= factor * own);
        }
    }
    Some(lines.into_iter().map(|line| line[width..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;

    fn sign(is_second: bool) -> f64 {
        if is_second { 1.0 } else { -1.0 }
    }

    #[test]
    fn main_effects_are_mixed_neither_with_each_other_nor_with_interactions_of_two() {
        for factors in 1..=SCREENED_MAX {
            let design = screening_design(factors).expect("a design");
            let most = 2 * factors.next_multiple_of(4);
            assert_eq!(design.len(), if factors < 4 { 1 << factors } else { most }, "{factors} factors");
            let sum = |columns: &[usize]| -> f64 {
                design.iter().map(|row| columns.iter().map(|at| sign(row[*at])).product::<f64>()).sum()
            };
            for a in 0..factors {
                assert_eq!(sum(&[a]), 0.0, "{factors} factors: as many first as second levels");
                for b in 0..a {
                    assert_eq!(sum(&[a, b]), 0.0, "{factors} factors, {a} and {b}");
                    for c in 0..factors {
                        assert_eq!(sum(&[a, b, c]), 0.0, "{factors} factors, {a}, {b} and {c}");
                    }
                }
            }
        }
        assert_eq!((screening_design(0), screening_design(25)), (None, None));
        assert_eq!(screening_design(12).map(|design| design.len()), Some(24));
    }

    #[test]
    fn each_trial_of_a_repeat_runs_once_and_groups_take_turns() {
        let groups = vec![(0..12).collect(), (12..24).collect::<Vec<usize>>()];
        let mut random = SplitMix64::new(1);
        let order = in_stretches(groups.clone(), &mut random);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..24).collect::<Vec<_>>());
        let changes = order.windows(2).filter(|pair| (pair[0] < 12) != (pair[1] < 12)).count();
        assert!((4..=7).contains(&changes), "{changes} changes: {order:?}");
        assert!(
            order.chunks(6).all(|round| round.iter().filter(|cell| **cell < 12).count() == 3),
            "{order:?}"
        );
        assert_ne!(in_stretches(groups, &mut random), order, "each repeat has its own order");
    }

    /// A screening of these true effects with an interaction of the first two, normal noise and some repeats.
    fn screening(effects: &[f64], interaction: f64, noise: f64, repeats: usize) -> Screening {
        let design = screening_design(effects.len()).expect("a design");
        let mut random = SplitMix64::new(11);
        let mut observations = Vec::new();
        for block in 0..repeats {
            let drift = random.normal();
            for (cell, row) in design.iter().enumerate() {
                let main: f64 = row.iter().zip(effects).map(|(it, effect)| sign(*it) * effect / 2.0).sum();
                let both = interaction * sign(row[0]) * sign(row[1]);
                observations.push(Observation {
                    cell,
                    block,
                    value: main + both + drift + noise * random.normal(),
                });
            }
        }
        let measurements = Measurements::new(&observations, vec![0; design.len()], true);
        Screening::of(&design, &measurements, 0.95).expect("a screening")
    }

    const TRUE: [f64; 12] = [0.5, -0.2, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.0, -1.0];

    #[test]
    fn without_noise_the_effects_are_exact_although_two_factors_interact() {
        for repeats in [1, 3] {
            let screening = screening(&TRUE, 0.4, 0.0, repeats);
            for (effect, truth) in screening.effects.iter().zip(TRUE) {
                assert!((effect.mean - truth).abs() < 1e-9, "{effect:?} is {truth}");
            }
        }
    }

    #[test]
    fn the_error_is_that_of_repeats_or_of_the_model() {
        let with = screening(&TRUE, 0.2, 0.05, 3);
        assert_eq!((with.error, with.effects[0].degrees_of_freedom), (ErrorSource::Repeats, 46.0));
        assert!(with.p_of_interactions.is_some_and(|p| p < 1e-6), "{with:?}");
        let without = screening(&TRUE, 0.0, 0.05, 3);
        assert!(without.p_of_interactions.is_some_and(|p| p > 0.01), "{without:?}");
        let single = screening(&TRUE, 0.0, 0.05, 1);
        assert_eq!((single.error, single.effects[0].degrees_of_freedom), (ErrorSource::Model, 11.0));
        // 2 σ ÷ √24 with σ = 0.05, within the wide limits of eleven degrees of freedom.
        let error = single.effects[0].variance.sqrt();
        assert!((0.01..0.04).contains(&error), "{error}");
        assert_eq!(single.p_of_interactions, None);
    }

    #[test]
    fn a_combination_that_failed_costs_precision_but_no_effect() {
        let design = screening_design(12).unwrap();
        let value = |row: &[bool]| row.iter().zip(TRUE).map(|(it, effect)| sign(*it) * effect / 2.0).sum();
        let observations: Vec<Observation> = (0..2)
            .flat_map(|block| design.iter().enumerate().map(move |(cell, row)| (block, cell, row)))
            .filter(|(_, cell, _)| *cell != 5)
            .map(|(block, cell, row)| Observation { cell, block, value: value(row) })
            .collect();
        let measurements = Measurements::new(&observations, vec![0; design.len()], true);
        let screening = Screening::of(&design, &measurements, 0.95).unwrap();
        assert_eq!(screening.missing, 1);
        for (effect, truth) in screening.effects.iter().zip(TRUE) {
            assert!((effect.mean - truth).abs() < 1e-9, "{effect:?} is {truth}");
        }
        let none = Measurements::new(&observations[..8], vec![0; design.len()], true);
        assert_eq!(Screening::of(&design, &none, 0.95), None, "eight values do not determine twelve effects");
    }
}
