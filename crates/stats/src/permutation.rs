//! A permutation test for a difference between two sets of values, for runs that are too short for confidence
//! intervals. It assumes that the values are exchangeable: a second's value does not depend on the previous one.

use crate::SplitMix64;

/// Random permutations, so that the smallest p is 0.0001 (Phipson and Smyth, Permutation p-values should never be
/// zero, Statistical Applications in Genetics and Molecular Biology 9, 2010).
const PERMUTATIONS: u32 = 9_999;
/// Minimum number of values per side: with 3 and 3, one permutation in ten is as extreme, so p cannot be below 0.05.
const PERMUTED_MIN: usize = 4;
/// Seed of the permutations; constant, so that reports are reproducible.
const SEED: u64 = 1;

/// The share of permutations whose means differ at least as much; `None` with fewer than four values per side.
pub fn permutation_p(first: &[f64], second: &[f64]) -> Option<f64> {
    if first.len().min(second.len()) < PERMUTED_MIN {
        return None;
    }
    let mut all = [first, second].concat();
    let distance = |all: &[f64]| {
        let (first, second) = all.split_at(first.len());
        (mean(second) - mean(first)).abs()
    };
    // Sums in another order differ in their last digits.
    let found = distance(&all) * (1.0 - 1e-9);
    let mut random = SplitMix64::new(SEED);
    let mut as_far = 0;
    for _ in 0..PERMUTATIONS {
        random.shuffle(&mut all);
        as_far += u32::from(distance(&all) >= found);
    }
    Some(f64::from(as_far + 1) / f64::from(PERMUTATIONS + 1))
}

fn mean(figures: &[f64]) -> f64 {
    figures.iter().sum::<f64>() / figures.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_that_are_far_apart_have_the_smallest_p_that_their_sizes_allow() {
        let (low, high) = ([1.0, 1.1, 0.9, 1.0, 1.05], [100.0, 101.0, 99.0, 100.5, 98.0]);
        // 2 of the 252 ways to divide ten values.
        let p = permutation_p(&low, &high).expect("enough figures");
        assert!((p - 2.0 / 252.0).abs() < 0.004, "{p}");
        assert_eq!(permutation_p(&low, &high), permutation_p(&low, &high));
        let (low, high) = ([1.0; 15], [2.0; 15]);
        assert_eq!(permutation_p(&low, &high), Some(0.0001));
    }

    #[test]
    fn equal_sets_do_not_differ_and_few_figures_are_no_test() {
        assert_eq!(permutation_p(&[5.0; 9], &[5.0; 9]), Some(1.0));
        assert_eq!(permutation_p(&[1.0; 3], &[2.0; 50]), None);
    }

    #[test]
    fn of_equal_processes_one_in_twenty_is_below_a_twentieth() {
        let mut random = SplitMix64::new(7);
        let mut sample = || -> Vec<f64> { (0..8).map(|_| random.normal()).collect() };
        let (pairs, limits) = testkit::extent::choose((70, 1..=14), (200, 1..=25));
        let below =
            (0..pairs).filter(|_| permutation_p(&sample(), &sample()).is_some_and(|p| p <= 0.05)).count();
        // Binomial(200, 0.05): outside of this in fewer than one case in 10,000. Of 70, none is found in 3 of 100 cases; the
        // seed is fixed.
        assert!(limits.contains(&below), "{below}");
    }
}
