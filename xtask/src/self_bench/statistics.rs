//! The few statistics of a table of pairs.
//! Used by `self_bench` only; what pgmeter reports is computed by its own crates.

/// The middle value; of an even number of values, the mean of the two in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The median of the ratios within pairs, with the smallest and the largest.
pub(super) fn ratio_with_spread(ours: &[f64], theirs: &[f64]) -> String {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.2} ({low:.2} … {high:.2})", median(&ratios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]).to_bits(), 2.5_f64.to_bits());
    }

    #[test]
    fn a_ratio_is_taken_within_each_pair() {
        assert_eq!(ratio_with_spread(&[2.0, 6.0, 3.0], &[1.0, 2.0, 3.0]), "2.00 (1.00 … 3.00)");
    }
}
