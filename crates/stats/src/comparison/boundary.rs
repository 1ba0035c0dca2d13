//! Critical values of the ranks at each look, such that all looks together have the required error rate; intervals
//! after a crossing; and the detectable difference. Used by `sequential`.

use std::ops::RangeInclusive;

use crate::comparison::normal::{cumulative, decreasing_root, ln_upper_tail, upper_quantile, upper_tail};
use crate::comparison::signed_rank::{ExactDistribution, critical_by_approximation};

/// Share of the error rate for differences that are evident immediately: by ranks, and by Student's t.
const EARLY_SHARE: f64 = EARLY_RANKS + EARLY_T;
const EARLY_RANKS: f64 = 0.07;
const EARLY_T: f64 = 0.03;
/// The looks with Student's t, at which ranks cannot reject anything yet.
const T_LOOKS: RangeInclusive<usize> = 4..=EARLY_FIRST - 1;
/// The first look of the early part; with one pair fewer not even full agreement is improbable enough.
const EARLY_FIRST: usize = 13;
/// Up to this number of pairs the exact distribution of the ranks is used.
const EXACT_MAX: usize = 64;
/// Mean overshoot of a random walk over a boundary, in standard deviations of its steps: −ζ(1/2) ÷ √(2π).
const OVERSTEP: f64 = 0.583;
/// Reduction of this for few looks, to be divided by their number.
const FEW_LOOKS: f64 = 0.3;
/// Maximum drift in searches, in standard errors at the end of the plan.
const DRIFT_MAX: f64 = 60.0;

/// Critical values of a sequential signed-rank test, symmetric to both sides. One error rate is divided into two
/// parts (Bonferroni):
///
/// - Nine tenths are spent as O'Brien and Fleming do, in the continuous form of Lan and DeMets (Discrete sequential
///   boundaries for clinical trials, Biometrika 70, 1983): next to nothing early, nearly all at the end, so that
///   looks cost hardly any pairs. With infinitely many looks, the boundary of the *sum* of the observations is one
///   constant b with P(max W > b) = 2·P(W₁ > b), by the reflection principle of Brownian motion; with n looks it is
///   lower by 0.583/√n (Siegmund, Sequential Analysis, 1985, chapter X.2), because a walk oversteps it.
/// - One tenth is for very large differences. With 7 % of the error rate, 13 pairs that agree are enough, however many
///   are planned: look n gets a share ∝ 1/(n(n − 1)), which adds up to 1 over all looks. The other 3 % are for looks
///   4 to 12 in equal shares, by Student's t. Ratios of pairs are symmetric if the sides do not differ, and for symmetric
///   distributions with long tails the test is conservative (Benjamini, Is the t test really conservative when the
///   parent distribution is long-tailed?, Journal of the American Statistical Association 78, 1983).
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    /// After n pairs, at index n − 1: the number of Walsh averages on one side of a value that reject it.
    critical: Vec<f64>,
    error_rate: f64,
    /// b for infinitely many looks, in standard errors at the end of the plan.
    level: f64,
}

impl Boundary {
    /// For this number of pairs with one look after each, and an error rate shared equally by the two sides.
    pub(crate) fn new(error_rate: f64, pairs: usize) -> Boundary {
        let one_sided = error_rate / 2.0;
        let level = upper_quantile((1.0 - EARLY_SHARE) * one_sided / 2.0);
        let mut exact = ExactDistribution::new();
        let critical = (1..=pairs).map(|count| {
            let late_z = (level - OVERSTEP / (pairs as f64).sqrt()) * (pairs as f64 / count as f64).sqrt();
            let early = early_share(count) * one_sided;
            if count <= EXACT_MAX {
                exact.step();
                return exact.critical(upper_tail(late_z)).min(exact.critical(early));
            }
            critical_by_approximation(count, late_z.min(upper_quantile(early)))
        });
        Boundary { critical: critical.collect(), error_rate, level }
    }

    /// The number of Walsh averages on one side of a value that reject it after this number of pairs; `None` beyond
    /// the plan.
    pub(crate) fn critical(&self, count: usize) -> Option<f64> {
        self.critical.get(count.checked_sub(1)?).copied()
    }

    /// The same for a final look before all planned pairs, because the time is over: it may spend the rest of the
    /// error rate (Lan and DeMets, Group sequential procedures: calendar versus information time, Statistics in
    /// Medicine 8, 1989). Paths that crossed the level before are already paid for: P(max < b, W > w) = P(W > w) −
    /// P(W > 2b − w), by reflection.
    pub(crate) fn critical_at_last(&self, count: usize) -> Option<f64> {
        let ordinary = self.critical(count)?;
        Some(critical_by_approximation(count, self.z_left(count)).min(ordinary))
    }

    fn z_left(&self, count: usize) -> f64 {
        let level = self.level * (self.pairs() as f64 / count as f64).sqrt();
        let left = 2.0 * (upper_tail(self.level) - upper_tail(level));
        decreasing_root(0.0, level, |z| upper_tail(z) - upper_tail(2.0 * level - z) - left)
    }

    /// The late part alone, for normally distributed data and few looks: standard errors that reject after this
    /// number of pairs. The correction for finitely many looks is the asymptotic one less 0.3 ÷ looks, which
    /// reproduces the published constants of O'Brien and Fleming's boundary (Jennison and Turnbull, Group sequential
    /// methods with applications to clinical trials, 2000, table 2.3) to three digits.
    pub(crate) fn z(&self, count: usize) -> Option<f64> {
        let looks = self.pairs() as f64;
        let level = self.level - OVERSTEP / looks.sqrt() + FEW_LOOKS / looks;
        (1..=self.pairs()).contains(&count).then(|| level * (looks / count as f64).sqrt())
    }

    /// The same for an early final look.
    pub(crate) fn z_at_last(&self, count: usize) -> Option<f64> {
        Some(self.z(count)?.min(self.z_left(count)))
    }

    /// The coverage of the interval of Student's t that may reject at this early look; `None` at all other looks.
    pub(crate) fn early_coverage(&self, count: usize) -> Option<f64> {
        let looks = T_LOOKS.count() as f64;
        T_LOOKS.contains(&count).then(|| 1.0 - self.error_rate * EARLY_T / looks)
    }

    /// Number of planned pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.critical.len()
    }

    /// The difference detected with this probability, in standard errors at the end of the plan.
    pub(crate) fn detectable(&self, power: f64) -> f64 {
        decreasing_root(0.0, DRIFT_MAX, |drift| power - reaches(self.level, drift))
    }
}

/// Share of one side's error rate that the early part spends at this look.
fn early_share(count: usize) -> f64 {
    if count < EARLY_FIRST {
        return 0.0;
    }
    let (first, n) = (EARLY_FIRST as f64, count as f64);
    EARLY_RANKS * (first - 1.0) / (n * (n - 1.0))
}

/// The probability that a Brownian motion with a drift reaches a level above 0 within time 1 (Siegmund, Sequential
/// Analysis, 1985, (3.15)): Φ(drift − level) + e^(2·drift·level)·Φ(−level − drift).
fn reaches(level: f64, drift: f64) -> f64 {
    cumulative(drift - level) + (2.0 * drift * level + ln_upper_tail(level + drift)).exp()
}

/// The interval of a difference when it is first found to differ from 0, in standard errors at that time; `z` is the
/// distance of the estimate from the rejected value, above 0.
///
/// A test with early stopping is biased: it stops when the estimate happens to be large, and a plain interval would
/// contain the true value too rarely. Siegmund (Estimation following sequential tests, Biometrika 65, 1978) takes
/// those drifts for which an estimate this large, this early, is neither too improbable nor too probable. The reached
/// value is used as the boundary, so that the overshoot counts too.
pub(crate) fn interval_after_crossing(z: f64, error_rate: f64) -> (f64, f64) {
    let drift = |share: f64| decreasing_root(-DRIFT_MAX, z + DRIFT_MAX, |drift| share - reaches(z, drift));
    (drift(error_rate / 2.0), drift(1.0 - error_rate / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix64;
    use crate::comparison::signed_rank::averages;

    #[test]
    fn the_constant_boundary_is_that_of_o_brien_and_fleming_with_many_looks() {
        // 2.24 for 0.05 on two sides, without the early part.
        let boundary = Boundary::new(0.05 / (1.0 - EARLY_SHARE), 10);
        assert!((boundary.level - 2.2414).abs() < 1e-3, "{}", boundary.level);
    }

    #[test]
    fn few_looks_have_the_printed_constants() {
        for (looks, constant) in
            [(1, 1.960), (2, 1.978), (3, 2.004), (5, 2.040), (8, 2.072), (12, 2.098), (20, 2.126)]
        {
            let boundary = Boundary::new(0.05 / (1.0 - EARLY_SHARE), looks);
            let z = boundary.z(looks).unwrap();
            assert!((z - constant).abs() < 0.003, "{looks}: {z}");
        }
    }

    #[test]
    fn thirteen_pairs_that_agree_are_enough_and_twelve_are_not() {
        for pairs in [60, 150, 2400] {
            let boundary = Boundary::new(0.05, pairs);
            let decided = |count| boundary.critical(count).unwrap() <= averages(count) as f64;
            assert!(!decided(12) && decided(13) && decided(pairs), "{pairs}");
        }
        assert_eq!(Boundary::new(0.05, 20).critical(21), None);
        assert_eq!(Boundary::new(0.05, 20).critical(0), None);
    }

    #[test]
    fn a_last_look_is_allowed_more_the_earlier_it_comes() {
        let boundary = Boundary::new(0.05, 100);
        let both = |count| (boundary.critical_at_last(count).unwrap(), boundary.critical(count).unwrap());
        for count in [20, 50, 80] {
            let (at_last, ordinary) = both(count);
            // With a single look it is the plain quantile of the late part.
            let single = critical_by_approximation(count, upper_quantile((1.0 - EARLY_SHARE) * 0.025));
            assert!(single <= at_last && at_last < ordinary, "{count}: {single} {at_last} {ordinary}");
        }
        assert_eq!(both(100).0, both(100).1, "nothing is left");
        assert_eq!(boundary.critical_at_last(101), None);
    }

    #[test]
    fn the_early_part_spends_its_share_and_no_more() {
        let spent: f64 = (1..100_000).map(early_share).sum();
        assert!(spent <= EARLY_RANKS && spent > 0.999 * EARLY_RANKS, "{spent}");
        let boundary = Boundary::new(0.05, 20);
        let by_t: f64 = (0..40).filter_map(|count| boundary.early_coverage(count)).map(|it| 1.0 - it).sum();
        assert!((by_t - 0.05 * EARLY_T).abs() < 1e-12, "{by_t}");
    }

    #[test]
    fn reaching_a_level_without_drift_is_the_reflection_principle() {
        for level in [0.5, 2.0, 5.0] {
            assert!((reaches(level, 0.0) - 2.0 * upper_tail(level)).abs() < 1e-12);
        }
        assert!(reaches(2.0, 50.0) > 0.999_999 && reaches(20.0, -20.0) < 1e-12);
    }

    #[test]
    fn a_random_walk_with_drift_reaches_as_often_as_computed() {
        let (mut random, steps, walks) = (SplitMix64::new(5), 400, 1_000);
        let reached = (0..walks).filter(|_| {
            let mut place = 0.0;
            (0..steps).any(|_| {
                place += random.normal() / 20.0 + 2.5 / 400.0;
                place > 2.0
            })
        });
        let share = reached.count() as f64 / f64::from(walks);
        // A walk is slightly lower than the Brownian motion between its steps.
        assert!((share - reaches(2.0, 2.5)).abs() < 0.05, "{share} {}", reaches(2.0, 2.5));
    }

    #[test]
    fn an_interval_after_crossing_excludes_what_was_rejected_and_is_drawn_towards_it() {
        for z in [2.3, 4.0, 9.0, 40.0] {
            let (low, high) = interval_after_crossing(z, 0.05);
            assert!(low > 0.0 && low < z - 1.95 && z < high && high < z + 1.97, "{z}: {low} … {high}");
        }
    }
}
