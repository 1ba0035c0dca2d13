//! Simulations of the statistics' error rates: coverage of intervals, and the steady-state test on steady and
//! drifting series. Seeded, so that the counts are reproducible; docs/statistics.md lists them.

use pgmeter_stats::{INTERVALS_MIN, RatioEstimate, SplitMix64, Steadiness, Until};
use testkit::extent::choose;

/// Of each case.
fn simulations() -> usize {
    choose(800, 2000)
}

struct Noise(SplitMix64);

impl Noise {
    /// An autoregressive process of first order with mean 0 and variance 1, from its stationary distribution.
    fn process(&mut self, len: usize, correlation: f64) -> Vec<f64> {
        let innovation = (1.0 - correlation * correlation).sqrt();
        let mut value = self.0.normal();
        let mut step = || {
            let next = correlation * value + innovation * self.0.normal();
            std::mem::replace(&mut value, next)
        };
        (0..len).map(|_| step()).collect()
    }
}

/// Share of simulations in which a condition held, in percent.
fn percent(happens: impl FnMut(&mut Noise) -> bool) -> f64 {
    percent_of(simulations(), happens)
}

fn percent_of(simulations: usize, mut happens: impl FnMut(&mut Noise) -> bool) -> f64 {
    let mut noise = Noise(SplitMix64::new(5));
    let count = (0..simulations).filter(|_| happens(&mut noise)).count();
    100.0 * count as f64 / simulations as f64
}

fn holds(estimate: Option<RatioEstimate>, truth: f64) -> bool {
    let estimate = estimate.expect("long enough");
    (estimate.ratio - truth).abs() <= estimate.half_width
}

#[track_caller]
fn check_coverage(what: &str, covered: f64) {
    assert!((92.0..=98.0).contains(&covered), "{what}: {covered} % of the intervals hold the true mean");
}

#[test]
fn intervals_of_a_rate_hold_it_in_95_of_100_runs_whatever_its_autocorrelation() {
    for len in [20, 30, 60, 300] {
        for correlation in [0.0, 0.5, 0.8] {
            let covered = percent(|noise| {
                let tps: Vec<_> = noise.process(len, correlation).iter().map(|x| 1000.0 + 50.0 * x).collect();
                holds(RatioEstimate::of(&tps, &vec![1.0; len]), 1000.0)
            });
            check_coverage(&format!("{len} intervals, autocorrelation {correlation}"), covered);
        }
    }
}

#[test]
fn intervals_of_a_mean_latency_hold_it_though_each_second_has_another_number_of_transactions() {
    for (len, correlation) in [(60, 0.0), (60, 0.5), (300, 0.8)] {
        let covered = percent(|noise| {
            let counts = noise.process(len, correlation);
            let latencies = noise.process(len, correlation);
            let counts: Vec<_> = counts.iter().map(|x| 1000.0 + 100.0 * x).collect();
            // Slow seconds have fewer transactions: the mean over transactions differs from that over seconds.
            let pairs = counts.iter().zip(&latencies);
            let sums: Vec<_> = pairs.map(|(n, x)| n * (8.0 + 0.3 * x - (n - 1000.0) / 400.0)).collect();
            holds(RatioEstimate::of(&sums, &counts), 8.0 - 100.0 * 100.0 / 400.0 / 1000.0)
        });
        check_coverage(&format!("{len} intervals, autocorrelation {correlation}"), covered);
    }
}

#[test]
fn a_run_that_is_too_short_has_no_interval() {
    let tps = vec![1000.0; INTERVALS_MIN];
    assert_eq!(RatioEstimate::of(&tps[1..], &[1.0; INTERVALS_MIN - 1]), None);
    let steady = RatioEstimate::of(&tps, &[1.0; INTERVALS_MIN]).expect("just long enough");
    assert_eq!((steady.ratio, steady.half_width), (1000.0, 0.0));
    assert_eq!(RatioEstimate::of(&[], &[]), None);
}

#[test]
fn of_transactions_that_hardly_ever_come_there_is_no_interval() {
    let counts: Vec<_> = (0..60).map(|at| if at % 30 == 7 { 1.0 } else { 0.0 }).collect();
    let sums: Vec<_> = counts.iter().map(|count| 5.0 * count).collect();
    assert_eq!(RatioEstimate::of(&sums, &counts), None);
    assert_eq!(RatioEstimate::of(&vec![0.0; 60], &vec![0.0; 60]), None);
}

/// Throughput with the course `shape`, in standard deviations of a second's noise of 3 %.
fn throughput(noise: &mut Noise, len: usize, correlation: f64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let values = noise.process(len, correlation).into_iter().enumerate();
    values.map(|(at, x)| 1000.0 + 30.0 * (x + shape((at as f64 + 0.5) / len as f64))).collect()
}

fn steadiness(values: &[f64]) -> Steadiness {
    Steadiness::of(values).expect("long enough")
}

#[test]
fn noise_is_called_settled() {
    for len in [30, 60, 120, 600] {
        let settled =
            percent(|noise| steadiness(&throughput(noise, len, 0.0, |_| 0.0)).steady_from == Some(0));
        assert!(settled >= 96.0, "{len} intervals without drift are settled in {settled} %");
    }
}

#[test]
fn correlated_noise_is_rarely_taken_for_a_drift() {
    for (len, correlation, at_least) in [(60, 0.5, 95.0), (120, 0.8, 93.0), (300, 0.8, 95.0)] {
        let settled =
            percent(|noise| steadiness(&throughput(noise, len, correlation, |_| 0.0)).steady_from == Some(0));
        assert!(settled >= at_least, "{len} intervals, autocorrelation {correlation}: {settled} %");
    }
}

/// The course of throughput, by the elapsed share of the run.
type Shape = fn(f64) -> f64;

#[test]
fn a_ramp_a_step_and_a_decaying_start_are_found() {
    let shapes: [(&str, Shape); 5] = [
        ("ramp", |at| 4.0 * at),
        ("step in the middle", |at| if at > 0.5 { 3.0 } else { 0.0 }),
        ("early step", |at| if at > 0.2 { 3.0 } else { 0.0 }),
        ("late step", |at| if at > 0.8 { 3.0 } else { 0.0 }),
        ("decaying start", |at| -8.0 * (-10.0 * at).exp()),
    ];
    for (name, shape) in shapes {
        let found = percent(|noise| steadiness(&throughput(noise, 60, 0.0, shape)).steady_from != Some(0));
        assert!(found >= 90.0, "{name}: found in {found} %");
    }
}

#[test]
fn a_start_that_does_not_belong_to_the_rest_is_cut_off_where_it_ends() {
    let mut cuts = Vec::new();
    percent(|noise| {
        let values = throughput(noise, 120, 0.3, |at| if at < 0.25 { -6.0 } else { 0.0 });
        cuts.extend(steadiness(&values).steady_from);
        true
    });
    cuts.sort_unstable();
    assert!(cuts.len() > simulations() * 9 / 10, "steady in the end in {} of {}", cuts.len(), simulations());
    let tenth = cuts.len() / 10;
    assert!(
        cuts[tenth] >= 30 && cuts[9 * tenth] <= 40,
        "cut between {} and {}",
        cuts[tenth],
        cuts[9 * tenth]
    );
}

#[test]
fn a_ramp_never_settles() {
    let never =
        percent(|noise| steadiness(&throughput(noise, 120, 0.0, |at| 20.0 * at)).steady_from.is_none());
    assert!(never >= 95.0, "{never} %");
}

#[test]
fn a_drift_that_does_not_matter_is_none_however_sure_it_is() {
    let creeping: Vec<_> = (0..600).map(|at| 1000.0 + 0.01 * f64::from(at) + f64::from(at % 2)).collect();
    let found = steadiness(&creeping);
    assert!(found.statistic > found.limit && found.drift < 0.01, "{found:?}");
    assert_eq!(found.steady_from, Some(0));
}

#[test]
fn a_series_that_is_too_short_or_of_nothing_is_not_judged() {
    assert_eq!(Steadiness::of(&[1.0; 29]), None);
    assert_eq!(Steadiness::of(&[0.0; 60]), None);
    assert_eq!(steadiness(&[1.0; 30]).steady_from, Some(0));
}

/// Runs until the throughput has the precision `share`: the second at which it ended, and whether its interval then
/// contains the true value.
fn run_until(noise: &mut Noise, share: f64, correlation: f64) -> (usize, bool) {
    let mut until = Until::new(share);
    let tps: Vec<_> = noise.process(1000, correlation).iter().map(|x| 1000.0 + 50.0 * x).collect();
    let enough = tps.iter().position(|tps| until.take_figures(1.0, *tps, 8e6 * tps));
    let seconds = enough.map_or(tps.len(), |at| at + 1);
    (seconds, holds(RatioEstimate::of(&tps[..seconds], &vec![1.0; seconds]), 1000.0))
}

#[test]
fn a_run_that_ends_when_its_interval_is_narrow_still_has_an_interval_to_be_believed() {
    for (share, correlation) in [(0.01, 0.0), (0.02, 0.5), (0.03, 0.8)] {
        let mut seconds = Vec::new();
        // Fewer, because each checks repeatedly.
        let covered = percent_of(choose(250, 600), |noise| {
            let (took, held) = run_until(noise, share, correlation);
            seconds.push(took);
            held
        });
        seconds.sort_unstable();
        let median = seconds[seconds.len() / 2];
        assert!((92.0..=98.0).contains(&covered), "to {share}: {covered} %, half of them after {median} s");
        assert!((30..600).contains(&median), "{median} s");
    }
}

#[test]
fn a_run_whose_noise_is_too_great_goes_on() {
    let (took, _) = run_until(&mut Noise(SplitMix64::new(1)), 0.0001, 0.0);
    assert_eq!(took, 1000);
}
