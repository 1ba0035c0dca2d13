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

/// Response times of all transactions that were due, however they ended, in nanoseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TimesOfAll<const N: usize> {
    /// The mean.
    pub mean_ns: f64,
    /// The standard deviation of the population.
    pub stddev_ns: f64,
    /// The requested quantiles, in their order.
    pub quantiles_ns: [u64; N],
}

/// Number of service times that stand for the service time of a skipped transaction.
const SERVICE_TIMES: u32 = 100;

/// Transactions with the same response time.
#[derive(Copy, Clone, Default)]
struct Observed {
    ns: u64,
    /// Transactions that took this time.
    took: f64,
    /// Transactions that would have taken longer: censored observations.
    longer: f64,
}

/// The response times of all transactions that were due. A client was free for a skipped transaction when it was
/// skipped, so it would have taken its delay and a service time; those of the succeeded ones stand for it. A failed,
/// unfinished or unknown one has no answer after its time: it is a censored observation, and the distribution is the
/// Kaplan-Meier estimate (Nonparametric estimation from incomplete observations, Journal of the American Statistical
/// Association 53, 1958). So no quantile is lower than that of the succeeded ones alone. A quantile beyond the last
/// observed time is the longest time of any transaction. `None` if there are no transactions.
pub fn times_of_all<const N: usize>(stats: &ScriptStats, shares: [f64; N]) -> Option<TimesOfAll<N>> {
    let distributions = [&stats.response, &stats.failed, &stats.skipped, &stats.unfinished, &stats.unknown];
    let longest_ns = distributions.iter().filter_map(|it| it.max_ns()).max()?;
    let mut observed = observations(stats);
    observed.sort_unstable_by_key(|it| it.ns);
    let mut at_risk: f64 = observed.iter().map(|it| it.took + it.longer).sum();
    let mut quantiles_ns = [longest_ns; N];
    let mut found = [false; N];
    let (mut surviving, mut sum, mut sum_of_squares) = (1.0, 0.0, 0.0);
    let mut add = |ns: u64, share: f64| {
        sum += share * ns as f64;
        sum_of_squares += share * (ns as f64).powi(2);
    };
    for together in observed.chunk_by(|a, b| a.ns == b.ns) {
        let took: f64 = together.iter().map(|it| it.took).sum();
        let longer: f64 = together.iter().map(|it| it.longer).sum();
        let ns = together[0].ns.min(longest_ns);
        let ended = surviving * (took / at_risk.max(f64::MIN_POSITIVE)).min(1.0);
        add(ns, ended);
        surviving -= ended;
        at_risk = (at_risk - took - longer).max(0.0);
        for (at, share) in shares.iter().enumerate() {
            // Tolerance for products of rounded factors.
            if took > 0.0 && !found[at] && 1.0 - surviving >= share - 1e-9 {
                (quantiles_ns[at], found[at]) = (ns, true);
            }
        }
    }
    add(longest_ns, surviving.max(0.0));
    let stddev_ns = (sum_of_squares - sum * sum).max(0.0).sqrt();
    Some(TimesOfAll { mean_ns: sum, stddev_ns, quantiles_ns })
}

/// The times of all transactions, in no order.
fn observations(stats: &ScriptStats) -> Vec<Observed> {
    let mut observed: Vec<Observed> = Vec::new();
    let took = |(_, ns, count): (u64, u64, u64)| Observed { ns, took: count as f64, longer: 0.0 };
    observed.extend(stats.response.buckets().map(took));
    for censored in [&stats.failed, &stats.unfinished, &stats.unknown] {
        let longer = |(_, ns, count): (u64, u64, u64)| Observed { ns, took: 0.0, longer: count as f64 };
        observed.extend(censored.buckets().map(longer));
    }
    let middle = |at: u32| (f64::from(at) + 0.5) / f64::from(SERVICE_TIMES);
    let service: Vec<u64> =
        (0..SERVICE_TIMES).filter_map(|at| stats.service.quantile_ns(middle(at))).collect();
    for (_, delay_ns, count) in stats.skipped.buckets() {
        // Those in pauses of the load were not delayed, and would have been like the others.
        if service.is_empty() || delay_ns == 0 {
            observed.push(Observed { ns: delay_ns, took: 0.0, longer: count as f64 });
            continue;
        }
        let each = count as f64 / service.len() as f64;
        let delayed =
            |service_ns: &u64| Observed { ns: delay_ns.saturating_add(*service_ns), took: each, longer: 0.0 };
        observed.extend(service.iter().map(delayed));
    }
    observed
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

    fn quantiles<const N: usize>(stats: &ScriptStats, shares: [f64; N]) -> Option<[u64; N]> {
        times_of_all(stats, shares).map(|times| times.quantiles_ns)
    }

    #[test]
    fn without_others_the_times_of_all_are_those_of_the_succeeded() {
        let values: Vec<u64> = (1..=1_000).collect();
        let stats = stats(&values, &[], &[], &[]);
        let shares = [0.5, 0.9, 0.99, 0.999, 1.0];
        let expected = shares.map(|q| stats.response.quantile_ns(q).expect("there are some"));
        let found = times_of_all(&stats, shares).expect("there are some");
        assert_eq!(found.quantiles_ns, expected);
        let (mean_ns, stddev_ns) = (500.5, 288.675);
        assert!((found.mean_ns - mean_ns).abs() < 1e-3 * mean_ns, "{found:?}");
        assert!((found.stddev_ns - stddev_ns).abs() < 1e-3 * stddev_ns, "{found:?}");
        assert_eq!(times_of_all(&ScriptStats::new(), shares), None);
    }

    #[test]
    fn the_textbook_example_with_censored_observations() {
        // Remission times in weeks, 6-MP group (Freireich and others, Blood 21, 1963): S(6) = 0.857, S(13) = 0.690,
        // S(23) = 0.448; the median is 23 weeks.
        let completed = [6, 6, 6, 7, 10, 13, 16, 22, 23];
        let censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35];
        let shares = [0.142, 0.144, 0.309, 0.311, 0.5, 0.551, 0.553];
        for stats in [stats(&completed, &[], &[], &censored), stats(&completed, &censored, &[], &[])] {
            assert_eq!(quantiles(&stats, shares), Some([6, 7, 13, 16, 23, 23, 35]));
        }
    }

    #[test]
    fn an_unfinished_transaction_that_had_only_begun_says_nothing() {
        let stats = stats(&[100; 10], &[], &[], &[1; 10]);
        assert_eq!(quantiles(&stats, [0.5]), Some([100]));
    }

    #[test]
    fn fast_failures_lower_no_quantile_and_slow_ones_raise_it() {
        assert_eq!(quantiles(&stats(&[100; 10], &[3; 20], &[], &[]), [0.5]), Some([100]));
        assert_eq!(quantiles(&stats(&[100; 10], &[500; 20], &[], &[]), [0.5]), Some([500]));
    }

    #[test]
    fn a_skipped_transaction_takes_its_delay_and_a_service_time() {
        let mut delayed = stats(&[100; 10], &[], &[500; 20], &[]);
        delayed.service = delayed.response.clone();
        let found = times_of_all(&delayed, [0.3, 0.5]).expect("there are some");
        // No time is longer than the longest that was observed.
        assert_eq!(found.quantiles_ns, [100, 500]);
        delayed.unfinished.record(Duration::from_nanos(700));
        assert_eq!(quantiles(&delayed, [0.3, 0.5]), Some([100, 600]));
        // One that was skipped in a pause of the load was not delayed.
        let mut paused = stats(&[100; 10], &[], &[0; 20], &[]);
        paused.service = stats(&[50; 10], &[], &[], &[]).response;
        assert_eq!(quantiles(&paused, [0.1, 0.9]), Some([100, 100]));
    }

    #[test]
    fn transactions_skipped_during_a_lock_count_as_if_they_had_waited() {
        // Of 1,000 transactions, one each millisecond, 4 wait for a lock that is released after 500 ms; those due
        // meanwhile are skipped then. The others take 1 ms.
        let wait_ns: Vec<u64> = (5..500).map(|wait_ms| wait_ms * 1_000_000).collect();
        let mut stats = stats(&[1_000_000; 500], &[], &wait_ns, &[]);
        stats.response.record_times(ms(500), 4);
        stats.service = stats.response.clone();
        let [p50, p75, p90] =
            quantiles(&stats, [0.5, 0.75, 0.9]).expect("there are some").map(|ns| ns / 1_000_000);
        // Without skipping, they would take 0 to 500 ms, evenly.
        assert!(p50 <= 2 && (245..=260).contains(&p75) && (395..=412).contains(&p90), "{p50} {p75} {p90}");
    }
}
