//! Decides for each query of a set whether B is slower than A by more than a limit, and limits the false alarms of the
//! whole set. The observations are those of `comparison`: ln(B ÷ A) of sequences A B B A, tested by signed ranks. Pure;
//! docs/statistics.md explains the method.

use crate::comparison::normal::upper_tail;
use crate::comparison::signed_rank::{ExactDistribution, Tally, WalshAverages, critical_by_approximation};

/// Share of wrong verdicts among those of one kind, on average over many sets: "slower", and "not slower".
pub const FALSE_DISCOVERY_RATE: f64 = 0.05;
/// Sequences beyond the least number: with the least number alone, all sequences of a query would have to agree.
const SEQUENCES_EXTRA: usize = 3;
/// Up to this number of sequences the distribution is computed exactly; beyond, the normal approximation is close.
const EXACT_MAX: usize = 60;
/// Outside of the interval with 95 % coverage, on each side, and the corresponding normal quantile.
const TAIL: f64 = 0.025;
const TAIL_Z: f64 = 1.96;

/// The executions of one query on both sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairedQuery {
    /// ln(B ÷ A) of each sequence: the mean of its two pairs. Finite.
    pub ln_ratios: Vec<f64>,
    /// Whether an execution of A reached its time limit: its ratios are then upper bounds.
    pub a_is_limited: bool,
    /// Whether an execution of B reached its time limit: its ratios are then lower bounds.
    pub b_is_limited: bool,
}

/// Whether B is slower than A by more than the limit.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum RegressionVerdict {
    /// It is.
    Slower,
    /// It is faster, equal, or slower by at most the limit.
    NotSlower,
    /// Neither is established.
    Undecided,
}

/// The result for one query.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Regression {
    /// B ÷ A by the Hodges–Lehmann estimate; `None` without a sequence.
    pub ratio: Option<f64>,
    /// Its 95 % interval, for this query alone; `None` with fewer than six sequences, and for a bound.
    pub interval: Option<(f64, f64)>,
    /// The probability of these or more extreme ratios if B is slower by the limit exactly: in favour of "slower".
    pub p_slower: f64,
    /// The same in favour of "not slower".
    pub p_not_slower: f64,
    /// The verdict, which allows for the number of queries.
    pub verdict: RegressionVerdict,
}

/// The least number of sequences with which a single slower query of a set can be found.
pub fn sequences_needed(queries: usize) -> usize {
    let mut needed = 1;
    // Each sequence halves the smallest possible probability.
    while 0.5_f64.powi(needed) > FALSE_DISCOVERY_RATE / queries.max(1) as f64 {
        needed += 1;
    }
    usize::try_from(needed).unwrap_or(usize::MAX)
}

/// The number of sequences if none is given.
pub fn sequences_usual(queries: usize) -> usize {
    sequences_needed(queries) + SEQUENCES_EXTRA
}

/// The verdicts of a set. `limit` is a share: 0.03 for 3 %.
pub fn regressions(queries: &[PairedQuery], limit: f64) -> Vec<Regression> {
    let mut all: Vec<Regression> = queries.iter().map(|query| query.tested(limit.ln_1p())).collect();
    let slower: Vec<f64> = all.iter().map(|it| it.p_slower).collect();
    let not_slower: Vec<f64> = all.iter().map(|it| it.p_not_slower).collect();
    let slower = benjamini_hochberg(&slower, FALSE_DISCOVERY_RATE);
    let not_slower = benjamini_hochberg(&not_slower, FALSE_DISCOVERY_RATE);
    for (regression, (slower, not_slower)) in all.iter_mut().zip(slower.into_iter().zip(not_slower)) {
        regression.verdict = match (slower, not_slower) {
            (true, false) => RegressionVerdict::Slower,
            (false, true) => RegressionVerdict::NotSlower,
            _ => RegressionVerdict::Undecided,
        };
    }
    all
}

/// Which hypotheses are rejected, so that on average at most this share of the rejected ones is true (Benjamini and
/// Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57, 1995). It holds for
/// independent tests and for those with positive dependence (Benjamini and Yekutieli, Annals of Statistics 29, 2001).
pub fn benjamini_hochberg(p: &[f64], rate: f64) -> Vec<bool> {
    let mut ascending = p.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let share = |rank: usize| rate * rank as f64 / p.len() as f64;
    let largest = (1..).zip(&ascending).filter(|(rank, p)| **p <= share(*rank)).map(|(_, p)| *p).last();
    p.iter().map(|p| largest.is_some_and(|largest| *p <= largest)).collect()
}

impl PairedQuery {
    /// Tests whether ln(B ÷ A) is above or below `limit`.
    fn tested(&self, limit: f64) -> Regression {
        let count = self.ln_ratios.len();
        let mut tally = Tally::new(limit);
        (1..=count).for_each(|seen| tally.count_last(&self.ln_ratios[..seen]));
        let walsh = WalshAverages::of(&self.ln_ratios);
        let ranks = Ranks::new(count);
        // A bound is evidence for one direction only.
        let p = |statistic: f64, is_bound: bool| if is_bound { 1.0 } else { ranks.at_least(statistic) };
        let is_bound = self.a_is_limited || self.b_is_limited;
        let interval =
            ranks.critical().filter(|_| !is_bound).and_then(|critical| walsh.not_rejected(critical));
        Regression {
            ratio: walsh.median().map(f64::exp),
            interval: interval.map(|(low, high)| (low.exp(), high.exp())),
            p_slower: p(tally.above(), self.a_is_limited),
            p_not_slower: p(tally.below(), self.b_is_limited),
            verdict: RegressionVerdict::Undecided,
        }
    }
}

/// The distribution of the signed-rank statistic.
struct Ranks {
    count: usize,
    exact: Option<ExactDistribution>,
}

impl Ranks {
    fn new(count: usize) -> Ranks {
        let exact = (count <= EXACT_MAX).then(|| {
            let mut exact = ExactDistribution::new();
            (0..count).for_each(|_| exact.step());
            exact
        });
        Ranks { count, exact }
    }

    /// The probability that the statistic is at least this large.
    fn at_least(&self, statistic: f64) -> f64 {
        if let Some(exact) = &self.exact {
            return exact.at_least(statistic);
        }
        let n = self.count as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        upper_tail((statistic - 0.5 - n * (n + 1.0) / 4.0) / deviation)
    }

    /// The critical value of the interval; `None` if there are too few sequences.
    fn critical(&self) -> Option<f64> {
        let critical = match &self.exact {
            Some(exact) => exact.critical(TAIL),
            None => critical_by_approximation(self.count, TAIL_Z),
        };
        (critical <= (self.count * (self.count + 1) / 2) as f64).then_some(critical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ln_ratios: &[f64]) -> PairedQuery {
        PairedQuery { ln_ratios: ln_ratios.to_vec(), ..PairedQuery::default() }
    }

    fn verdicts(queries: &[PairedQuery], limit: f64) -> Vec<RegressionVerdict> {
        regressions(queries, limit).iter().map(|it| it.verdict).collect()
    }

    /// Number of sets.
    fn sets() -> u32 {
        testkit::extent::choose(120, 400)
    }

    /// Sets of so many queries with noise of 10 %, of which the first ones are slower by 30 %: the share of sets with a
    /// false alarm, the mean share of false ones among the alarms, and the share of slower queries that are found.
    fn simulate(queries: usize, slower: usize, limit: f64) -> (f64, f64, f64) {
        let mut random = crate::SplitMix64::new(7);
        let (mut alarmed, mut false_share, mut found) = (0, 0.0, 0);
        for _ in 0..sets() {
            let set: Vec<PairedQuery> = (0..queries)
                .map(|query| {
                    let mean = if query < slower { 1.3_f64.ln() } else { limit.ln_1p() };
                    let ratios: Vec<f64> =
                        (0..sequences_usual(queries)).map(|_| mean + 0.1 * random.normal()).collect();
                    of(&ratios)
                })
                .collect();
            let verdicts = verdicts(&set, limit);
            let is_alarm = |verdict: &RegressionVerdict| *verdict == RegressionVerdict::Slower;
            let right = verdicts[..slower].iter().filter(|verdict| is_alarm(verdict)).count();
            let wrong = verdicts[slower..].iter().filter(|verdict| is_alarm(verdict)).count();
            alarmed += usize::from(wrong > 0);
            false_share += wrong as f64 / (right + wrong).max(1) as f64;
            found += right;
        }
        let sets = f64::from(sets());
        (alarmed as f64 / sets, false_share / sets, found as f64 / (sets * slower.max(1) as f64))
    }

    #[test]
    fn false_alarms_are_limited_over_whole_sets() {
        // Three standard errors of a share of 5 %.
        let limit = FALSE_DISCOVERY_RATE + 3.0 * (0.05_f64 * 0.95 / f64::from(sets())).sqrt();
        for queries in [1, 22, 99] {
            // All queries are on the limit, where false alarms are most frequent.
            let (alarmed, ..) = simulate(queries, 0, 0.03);
            assert!(alarmed <= limit, "{alarmed} of the sets of {queries} queries have a false alarm");
        }
        let (_, false_share, found) = simulate(22, 4, 0.03);
        assert!(
            false_share <= limit && found > 0.9,
            "{false_share} of the alarms are false, {found} are found"
        );
    }

    #[test]
    fn the_procedure_is_that_of_the_paper() {
        // Benjamini and Hochberg 1995, section 3.2: 15 tests, of which four are rejected at 0.05.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let rejected = benjamini_hochberg(&p, 0.05);
        assert_eq!(rejected.iter().filter(|it| **it).count(), 4);
        assert!(rejected[..4].iter().all(|it| *it));
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
        // A larger probability than its own share is rejected if a later one is not above its share.
        assert_eq!(benjamini_hochberg(&[0.04, 0.049], 0.05), [true, true]);
    }

    #[test]
    fn verdicts_are_on_the_limit_and_not_on_equality() {
        let scattered: Vec<f64> = (0..12).map(|n| f64::from(n % 5 - 2) * 0.005).collect();
        let moved = |by: f64| of(&scattered.iter().map(|it| it + by).collect::<Vec<_>>());
        use RegressionVerdict::{NotSlower, Slower, Undecided};
        let set = [moved(0.0), moved(0.02), moved(0.0296), moved(0.1), moved(-0.5)];
        assert_eq!(verdicts(&set, 0.03), [NotSlower, NotSlower, Undecided, Slower, NotSlower]);
        assert_eq!(verdicts(&set, 0.2), [NotSlower; 5]);
        let regression = regressions(&set, 0.03)[3];
        let (low, high) = regression.interval.expect("twelve sequences");
        let ratio = regression.ratio.expect("a ratio");
        assert!(low < ratio && ratio < high && (ratio - 0.1f64.exp()).abs() < 0.01, "{regression:?}");
        assert!((regression.p_slower - 0.5f64.powi(12)).abs() < 1e-12, "all sequences agree: {regression:?}");
    }

    #[test]
    fn the_least_number_of_sequences_finds_one_slower_query_and_one_less_does_not() {
        for queries in [1, 22, 99] {
            let needed = sequences_needed(queries);
            let set = |sequences: usize| {
                let mut set = vec![of(&vec![0.0; sequences]); queries];
                set[0] = of(&vec![0.2; sequences]);
                verdicts(&set, 0.03)[0]
            };
            assert_eq!(set(needed), RegressionVerdict::Slower, "{queries}");
            assert_eq!(set(needed - 1), RegressionVerdict::Undecided, "{queries}");
        }
        assert_eq!([1, 22, 99].map(sequences_needed), [5, 9, 11]);
    }

    #[test]
    fn a_bound_is_evidence_for_one_direction_only() {
        let slower = PairedQuery { b_is_limited: true, ..of(&[0.3; 12]) };
        let unknown = PairedQuery { a_is_limited: true, ..of(&[0.3; 12]) };
        let not_slower = PairedQuery { a_is_limited: true, ..of(&[-0.3; 12]) };
        let both = PairedQuery { a_is_limited: true, b_is_limited: true, ..of(&[0.0; 12]) };
        use RegressionVerdict::{NotSlower, Slower, Undecided};
        let set = [slower, unknown, not_slower, both];
        assert_eq!(verdicts(&set, 0.03), [Slower, Undecided, NotSlower, Undecided]);
        assert!(regressions(&set, 0.03).iter().all(|it| it.interval.is_none()));
    }

    #[test]
    fn a_query_without_executions_is_undecided() {
        let regression = regressions(&[PairedQuery::default()], 0.03)[0];
        assert_eq!((regression.ratio, regression.interval, regression.p_slower), (None, None, 1.0));
        assert_eq!(regression.verdict, RegressionVerdict::Undecided);
    }

    #[test]
    fn the_approximation_for_many_sequences_continues_the_exact_distribution() {
        let exact = Ranks::new(EXACT_MAX);
        let approximate = Ranks { exact: None, ..Ranks::new(EXACT_MAX) };
        for statistic in [915.0, 1_100.0, 1_300.0] {
            let (exact, approximate) = (exact.at_least(statistic), approximate.at_least(statistic));
            // The tails of the exact distribution are lighter, so the approximation finds too little, not too much.
            assert!(
                (0.99..1.5).contains(&(approximate / exact)) || approximate < 1e-3,
                "{exact} {approximate}"
            );
        }
    }
}
