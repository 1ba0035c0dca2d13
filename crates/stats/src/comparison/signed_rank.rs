//! Wilcoxon's signed-rank test and the corresponding estimate, for observations distributed symmetrically around a
//! centre. Everything follows from the Walsh averages (xᵢ + xⱼ)/2, i ≤ j (Hollander, Wolfe and Chicken, Nonparametric
//! Statistical Methods, 3rd ed. 2014, chapter 3): the number that exceeds a value is the test statistic for that
//! value (Tukey 1949), their median is the estimate (Hodges and Lehmann, Estimates of location based on rank tests,
//! 1963), and their order statistics bound the interval of all values that are not rejected. `boundary` handles
//! repeated looks.

/// Two-sided confidence that a difference exists if all of these pairs have the same sign: 1 − 2 · 2⁻ⁿ, by the sign test
/// (the same book, section 3.4).
pub fn confidence_of_agreement(pairs: usize) -> f64 {
    let exponent = i32::try_from(pairs).unwrap_or(i32::MAX);
    (1.0 - 2.0 * 0.5_f64.powi(exponent)).max(0.0)
}

/// The number of Walsh averages above and below a value, updated with each observation.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    origin: f64,
    above: u64,
    below: u64,
}

impl Tally {
    pub(crate) fn new(origin: f64) -> Tally {
        Tally { origin, above: 0, below: 0 }
    }

    /// Counts the averages of the last observation with all of them, including itself.
    pub(crate) fn count_last(&mut self, numbers: &[f64]) {
        let Some(last) = numbers.last() else { return };
        let limit = 2.0 * self.origin - last;
        for number in numbers {
            self.above += u64::from(*number > limit);
            self.below += u64::from(*number < limit);
        }
    }

    pub(crate) fn above(&self) -> f64 {
        self.above as f64
    }

    pub(crate) fn below(&self) -> f64 {
        self.below as f64
    }
}

/// All Walsh averages of some observations, ascending.
pub(crate) struct WalshAverages {
    sorted: Vec<f64>,
}

impl WalshAverages {
    pub(crate) fn of(numbers: &[f64]) -> WalshAverages {
        let mut sorted: Vec<f64> = Vec::with_capacity(averages(numbers.len()));
        for (at, number) in numbers.iter().enumerate() {
            sorted.extend(numbers[..=at].iter().map(|earlier| f64::midpoint(*earlier, *number)));
        }
        sorted.sort_unstable_by(f64::total_cmp);
        WalshAverages { sorted }
    }

    /// The Hodges–Lehmann estimate; `None` without observations.
    pub(crate) fn median(&self) -> Option<f64> {
        let count = self.sorted.len();
        (count > 0).then(|| f64::midpoint(self.sorted[(count - 1) / 2], self.sorted[count / 2]))
    }

    /// The values that are not rejected, where a value is rejected as too low (too high) if at least `critical`
    /// averages lie above (below) it; `None` if there are fewer than that.
    pub(crate) fn not_rejected(&self, critical: f64) -> Option<(f64, f64)> {
        let rank = whole(critical.max(1.0))?;
        let last = self.sorted.len().checked_sub(rank)?;
        Some((self.sorted[last], self.sorted[rank - 1]))
    }
}

/// Number of Walsh averages of this number of observations.
pub(crate) fn averages(count: usize) -> usize {
    count * (count + 1) / 2
}

/// A computed count; `None` if it cannot be the length of a vector.
fn whole(count: f64) -> Option<usize> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked beside it")]
    (count >= 0.0 && count < 2f64.powi(52)).then_some(count as usize)
}

/// The smallest number of Walsh averages above the true centre whose probability is at most `share`, for this number
/// of observations: by the normal approximation with continuity correction. The tails of the statistic are lighter
/// than normal because it is bounded, so the approximation is conservative.
pub(crate) fn critical_by_approximation(count: usize, z: f64) -> f64 {
    let n = count as f64;
    let mean = n * (n + 1.0) / 4.0;
    let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    (mean + z * deviation + 0.5).ceil()
}

/// The exact distribution of the statistic, extended by one observation per step.
pub(crate) struct ExactDistribution {
    /// At index w: the probability that exactly w averages lie above the centre.
    probabilities: Vec<f64>,
    count: usize,
}

impl ExactDistribution {
    /// Without observations.
    pub(crate) fn new() -> ExactDistribution {
        ExactDistribution { probabilities: vec![1.0], count: 0 }
    }

    /// Adds an observation: its rank is added to the statistic, or not, with equal probability.
    pub(crate) fn step(&mut self) {
        self.count += 1;
        let mut next = vec![0.0; averages(self.count) + 1];
        for (at, probability) in self.probabilities.iter().enumerate() {
            next[at] += probability / 2.0;
            next[at + self.count] += probability / 2.0;
        }
        self.probabilities = next;
    }

    /// The probability that at least this number of averages lies above the centre.
    pub(crate) fn at_least(&self, above: f64) -> f64 {
        let tail = (0..).zip(&self.probabilities).filter(|(count, _)| f64::from(*count) >= above);
        // The last digits of a sum may exceed 1.
        tail.map(|(_, probability)| probability).sum::<f64>().min(1.0)
    }

    /// The smallest critical value whose tail is at most `share`; one more than the number of averages if there is
    /// none.
    pub(crate) fn critical(&self, share: f64) -> f64 {
        let mut tail = 0.0;
        let mut critical = self.probabilities.len();
        for probability in self.probabilities.iter().rev() {
            tail += probability;
            if tail > share {
                break;
            }
            critical -= 1;
        }
        critical as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use crate::comparison::normal::upper_quantile;

    fn exact(count: usize) -> ExactDistribution {
        let mut exact = ExactDistribution::new();
        (0..count).for_each(|_| exact.step());
        exact
    }

    #[test]
    fn critical_values_are_as_in_the_printed_tables() {
        // Hollander, Wolfe and Chicken, table of the signed rank statistic: P(T⁺ ≥ 47) = 0.024 for n = 10.
        assert_eq!(exact(10).critical(0.025), 47.0);
        assert_eq!(exact(5).critical(0.0313), 15.0);
        assert_eq!(exact(5).critical(0.03), 16.0, "no sample of five is that improbable");
    }

    #[test]
    fn the_approximation_is_on_the_safe_side_and_close() {
        let exact = exact(40);
        for share in [0.025, 0.01, 1e-3, 1e-5] {
            let (true_value, approximate) =
                (exact.critical(share), critical_by_approximation(40, upper_quantile(share)));
            assert!(approximate >= true_value && approximate - true_value < 80.0, "{share}");
        }
    }

    #[test]
    fn tallies_say_the_same_as_all_averages() {
        let mut random = SplitMix64::new(3);
        let mut numbers = Vec::new();
        let mut tally = Tally::new(0.25);
        for _ in 0..40 {
            numbers.push(random.normal());
            tally.count_last(&numbers);
        }
        let all = WalshAverages::of(&numbers).sorted;
        assert_eq!(all.len(), averages(40));
        assert_eq!(tally.above, all.iter().filter(|average| **average > 0.25).count() as u64);
        assert_eq!(tally.below, all.iter().filter(|average| **average < 0.25).count() as u64);
    }

    #[test]
    fn an_interval_ends_where_rejection_begins() {
        let numbers = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0];
        let walsh = WalshAverages::of(&numbers);
        let (low, high) = walsh.not_rejected(25.0).unwrap();
        for (origin, rejected) in [(low - 1e-9, true), (low + 1e-9, false)] {
            let mut tally = Tally::new(origin);
            (1..=numbers.len()).for_each(|count| tally.count_last(&numbers[..count]));
            assert_eq!(tally.above() >= 25.0, rejected);
        }
        assert!(low < walsh.median().unwrap() && walsh.median().unwrap() < high);
        assert_eq!(walsh.not_rejected(29.0), None);
    }

    #[test]
    fn numbers_that_do_not_scatter_have_an_interval_of_no_width() {
        let walsh = WalshAverages::of(&[0.5; 20]);
        assert_eq!((walsh.median(), walsh.not_rejected(180.0)), (Some(0.5), Some((0.5, 0.5))));
        assert_eq!(WalshAverages::of(&[]).median(), None);
    }
}
