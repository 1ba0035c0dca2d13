//! Two corrections of response times for transactions that are missing in the distribution of succeeded ones: those
//! that did not start because of a stall, and those that did not succeed. `docs/statistics.md` explains them. Used by
//! `results` for records.

use std::time::Duration;

use crate::{Distribution, Gap, ScriptStats};

/// Number of missing transactions of a stall that are added one by one; beyond it, each represents several.
const POINTS_MAX: u64 = 10_000;

/// The response times of a closed loop, including the transactions that would have started during `stalls` if the
/// clients had not been waiting: Tene's correction for coordinated omission (HdrHistogram's `recordCorrectedValue`),
/// where the expected interval is the mean time between two transactions outside of the stalls at rate `per_s`. A
/// transaction due within a stall waits until its end. None is due from `last_start` on.
pub fn with_stalls(
    response: &Distribution,
    stalls: &[Gap],
    per_s: f64,
    last_start: Option<Duration>,
) -> Distribution {
    let mut corrected = response.clone();
    for stall in stalls {
        let until = last_start.map_or(stall.end, |last| last.clamp(stall.start, stall.end));
        let span_s = until.saturating_sub(stall.start).as_secs_f64();
        // Whole transactions, far below 2⁵³.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let missing = (per_s * span_s).floor().max(0.0) as u64;
        let points = missing.min(POINTS_MAX);
        for point in 0..points {
            // The missing ones, spread evenly.
            let times = missing * (point + 1) / points - missing * point / points;
            let due_s = span_s * (point as f64 + 0.5) / points as f64;
            let waited = stall.length().saturating_sub(Duration::from_secs_f64(due_s));
            corrected.record_times(waited, times);
        }
    }
    corrected
}

/// Quantiles of the response times of all transactions, however they ended. A skipped, unfinished or
/// unknown transaction would have taken longer than its time so far: it is a censored observation, and the distribution is the Kaplan-Meier
/// estimate (Nonparametric estimation from incomplete observations, Journal of the American Statistical Association
/// 53, 1958). A quantile beyond the last completed transaction is the longest observed time. `None` if there are no
/// transactions.
pub fn quantiles_of_all<const N: usize>(stats: &ScriptStats, shares: [f64; N]) -> Option<[u64; N]> {
    let mut observed: Vec<(u64, u64, u64)> = Vec::new();
    for completed in [&stats.response, &stats.failed] {
        observed.extend(completed.buckets().map(|(_, highest, count)| (highest, count, 0)));
    }
    for censored in [&stats.skipped, &stats.unfinished, &stats.unknown] {
        observed.extend(censored.buckets().map(|(_, highest, count)| (highest, 0, count)));
    }
    observed.sort_unstable();
    let distributions = [&stats.response, &stats.failed, &stats.skipped, &stats.unfinished, &stats.unknown];
    let longest_ns = distributions.iter().filter_map(|it| it.max_ns()).max()?;
    let mut quantiles = [longest_ns; N];
    let mut at_risk: u64 = distributions.iter().map(|it| it.count()).sum();
    let mut surviving = 1.0;
    let mut found = [false; N];
    for together in observed.chunk_by(|a, b| a.0 == b.0) {
        let completed: u64 = together.iter().map(|(_, completed, _)| completed).sum();
        let censored: u64 = together.iter().map(|(_, _, censored)| censored).sum();
        surviving *= 1.0 - completed as f64 / at_risk.max(1) as f64;
        at_risk = at_risk.saturating_sub(completed + censored);
        for (at, share) in shares.iter().enumerate() {
            // Tolerance for products of rounded factors.
            if completed > 0 && !found[at] && 1.0 - surviving >= share - 1e-12 {
                (quantiles[at], found[at]) = (together[0].0.min(longest_ns), true);
            }
        }
    }
    Some(quantiles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn of(count: u64, each: Duration) -> Distribution {
        let mut distribution = Distribution::new();
        distribution.record_times(each, count);
        distribution
    }

    fn quantile_ms(distribution: &Distribution, q: f64) -> f64 {
        distribution.quantile_ns(q).map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }

    #[test]
    fn a_stall_of_half_the_time_is_met_by_half_of_what_would_have_come() {
        // A thousand per second for a second, then a second of nothing, in which each of eight clients waits once.
        let mut response = of(1_000, ms(8));
        response.record_times(ms(1_008), 8);
        let stall = Gap { start: ms(1_000), end: ms(2_000) };
        let corrected = with_stalls(&response, &[stall], 1_000.0, Some(ms(2_000)));
        assert_eq!(corrected.count(), 2_008);
        assert!(quantile_ms(&response, 0.99) < 9.0);
        assert!((quantile_ms(&corrected, 0.75) - 500.0).abs() < 6.0, "{}", quantile_ms(&corrected, 0.75));
        assert!((quantile_ms(&corrected, 0.99) - 988.0).abs() < 6.0, "{}", quantile_ms(&corrected, 0.99));
    }

    #[test]
    fn it_is_what_hdr_histogram_makes_of_the_same() {
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 86_400_000_000_000, 3).unwrap();
        theirs.record_n(4_000_000, 5_000).unwrap();
        theirs.record_correct(2_000_000_000, 1_000_000).unwrap();
        let mut response = of(5_000, ms(4));
        response.record_times(ms(2_000), 1);
        let stall = Gap { start: ms(5_000), end: ms(7_000) };
        let ours = with_stalls(&response, &[stall], 1_000.0, None);
        for q in [0.5, 0.75, 0.9, 0.99, 0.999] {
            let theirs_ms = theirs.value_at_quantile(q) as f64 / 1e6;
            let ours_ms = quantile_ms(&ours, q);
            assert!((ours_ms - theirs_ms).abs() < 2.0 + theirs_ms * 1e-3, "{q}: {ours_ms} {theirs_ms}");
        }
    }

    #[test]
    fn nothing_is_due_after_the_end_of_the_run() {
        let stall = Gap { start: ms(3_000), end: ms(15_000) };
        let corrected = with_stalls(&of(3_000, ms(1)), &[stall], 1_000.0, Some(ms(6_000)));
        assert_eq!(corrected.count(), 6_000);
        // Those due between 3 s and 6 s wait until 15 s.
        assert!((quantile_ms(&corrected, 0.51) - 9_060.0).abs() < 20.0, "{}", quantile_ms(&corrected, 0.51));
    }

    #[test]
    fn very_many_missing_transactions_are_all_counted() {
        let stall = Gap { start: ms(0), end: ms(10_000) };
        let corrected = with_stalls(&of(1, ms(1)), &[stall], 123_456.7, None);
        assert_eq!(corrected.count(), 1_234_567 + 1);
    }

    fn stats(succeeded: &[u64], failed: &[u64], skipped: &[u64], unfinished: &[u64]) -> ScriptStats {
        let mut stats = ScriptStats::new();
        let all = [
            (&mut stats.response, succeeded),
            (&mut stats.failed, failed),
            (&mut stats.skipped, skipped),
            (&mut stats.unfinished, unfinished),
        ];
        for (distribution, values) in all {
            values.iter().for_each(|value| distribution.record(Duration::from_nanos(*value)));
        }
        stats
    }

    #[test]
    fn without_others_the_quantiles_of_all_are_those_of_the_succeeded() {
        let values: Vec<u64> = (1..=1_000).collect();
        let stats = stats(&values, &[], &[], &[]);
        let shares = [0.5, 0.9, 0.99, 0.999, 1.0];
        let expected = shares.map(|q| stats.response.quantile_ns(q).expect("there are some"));
        assert_eq!(quantiles_of_all(&stats, shares), Some(expected));
        assert_eq!(quantiles_of_all(&ScriptStats::new(), shares), None);
    }

    #[test]
    fn the_textbook_example_with_censored_observations() {
        // Remission times in weeks, 6-MP group (Freireich and others, Blood 21, 1963): S(6) = 0.857, S(13) = 0.690,
        // S(23) = 0.448; the median is 23 weeks.
        let completed = [6, 6, 6, 7, 10, 13, 16, 22, 23];
        let censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35];
        let stats = stats(&completed, &[], &[], &censored);
        let shares = [0.142, 0.144, 0.309, 0.311, 0.5, 0.551, 0.553];
        assert_eq!(quantiles_of_all(&stats, shares), Some([6, 7, 13, 16, 23, 23, 35]));
    }

    #[test]
    fn an_unfinished_transaction_that_had_only_begun_says_nothing() {
        let stats = stats(&[100; 10], &[], &[], &[1; 10]);
        assert_eq!(quantiles_of_all(&stats, [0.5]), Some([100]));
    }

    #[test]
    fn fast_failures_lower_a_quantile_and_skipped_ones_raise_it() {
        assert_eq!(quantiles_of_all(&stats(&[100; 10], &[3; 20], &[], &[]), [0.5]), Some([3]));
        assert_eq!(quantiles_of_all(&stats(&[100; 10], &[], &[500; 20], &[]), [0.5]), Some([500]));
    }
}
