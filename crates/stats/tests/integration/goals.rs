//! Goals on simulated runs: how often the intervals of shares, percentiles and throughput contain the true value, how
//! often the sequential test ends a run that meets its goal, and clear cases. Seeded; docs/statistics.md lists the
//! results.

use std::time::Duration;

use pgmeter_stats::goals::{Goal, GoalMeter, GoalMethod, GoalResult, GoalVerdict, StopBasis};
use pgmeter_stats::{Ending, Failure, Interval, Recorder, Sample, SplitMix64, Timestamp};
use testkit::extent::choose;

/// Runs of each machine.
fn simulations() -> u64 {
    choose(40, 200)
}

/// A simulated run: response times are lognormal, with a level that wanders from second to second.
#[derive(Copy, Clone, Debug)]
struct Machine {
    /// Measured seconds.
    seconds: u64,
    transactions_per_second: u64,
    /// Standard deviation of the logarithm of a second's level.
    level_deviation: f64,
    /// Autocorrelation of that level.
    correlation: f64,
    failed_share: f64,
}

/// Standard deviation of the logarithm of response times within a second.
const WITHIN: f64 = 0.5;
/// The median response time.
const MEDIAN_NS: f64 = 1e6;

impl Machine {
    fn short() -> Machine {
        let (level_deviation, correlation, failed_share) = (0.0, 0.0, 0.0);
        Machine { seconds: 5, transactions_per_second: 200, level_deviation, correlation, failed_share }
    }

    fn correlated(seconds: u64, correlation: f64) -> Machine {
        Machine {
            seconds,
            transactions_per_second: 100,
            level_deviation: 0.4,
            correlation,
            ..Machine::short()
        }
    }

    /// The true share of transactions above so many standard deviations of the logarithm.
    fn limit_ns(&self, deviations: f64) -> f64 {
        MEDIAN_NS * (deviations * self.level_deviation.hypot(WITHIN)).exp()
    }

    /// Feeds the meter with the run, until it asks to stop.
    fn run(&self, meter: &mut GoalMeter, seed: u64) -> bool {
        let mut random = SplitMix64::new(SplitMix64::new(seed).bits());
        let mut recorder = Recorder::new(1, None);
        let mut spare = Interval::new(1);
        let mut level = random.normal();
        for second in 0..self.seconds {
            let begin = Timestamp::from_nanos(second * 1_000_000_000);
            let innovation = (1.0 - self.correlation * self.correlation).sqrt();
            level = self.correlation * level + innovation * random.normal();
            for _ in 0..self.transactions_per_second {
                let logarithm = self.level_deviation * level + WITHIN * random.normal();
                let failed = self.failed_share > 0.0 && random.chance(self.failed_share);
                let ending = if failed { Ending::Failed(Failure::Other) } else { Ending::Succeeded };
                recorder.record(&sample(begin, MEDIAN_NS * logarithm.exp(), ending));
            }
            let interval = recorder.hand_over(begin, begin + Duration::from_secs(1), spare);
            let stops = meter.take(&interval);
            spare = interval;
            if stops {
                return true;
            }
        }
        false
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive time")]
fn sample(begin: Timestamp, took_ns: f64, ending: Ending) -> Sample {
    let finished = begin + Duration::from_nanos(took_ns as u64);
    Sample {
        script: 0,
        scheduled: begin,
        started: begin,
        finished,
        tries: 1,
        business: 1,
        ending,
        traffic: pgmeter_stats::Traffic::default(),
    }
}

fn goal(text: &str) -> Goal {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn meter(goals: &[&str]) -> GoalMeter {
    GoalMeter::new(goals.iter().map(|text| (goal(text), None)))
}

fn evaluated(machine: &Machine, goals: &[&str], seed: u64) -> Vec<GoalResult> {
    let mut meter = meter(goals);
    machine.run(&mut meter, seed);
    meter.evaluate()
}

fn contains(result: &GoalResult, truth: f64) -> bool {
    // Percentiles are rounded to three digits.
    result.low.is_some_and(|low| low <= 1.001 * truth) && result.high.is_none_or(|high| high >= 0.999 * truth)
}

/// Checks the share of runs whose interval contains the true value, for each goal.
fn check_coverage(machine: &Machine, cases: &[(&str, f64)], least_percent: f64) {
    // A standard error more where there are fewer runs.
    let least_percent = least_percent - choose(4.0, 0.0);
    let goals: Vec<&str> = cases.iter().map(|(goal, _)| *goal).collect();
    let mut covered = vec![0; cases.len()];
    for seed in 0..simulations() {
        let results = evaluated(machine, &goals, seed);
        for ((covered, result), (_, truth)) in covered.iter_mut().zip(&results).zip(cases) {
            *covered += u64::from(contains(result, *truth));
        }
    }
    for (covered, (goal, _)) in covered.into_iter().zip(cases) {
        let percent = 100.0 * covered as f64 / simulations() as f64;
        let Machine { seconds, correlation, .. } = machine;
        assert!(percent >= least_percent, "{seconds} s, {correlation}, {goal}: {percent} %");
    }
}

/// Standard normal quantiles.
const Z_90: f64 = 1.281_551_6;
const Z_99: f64 = 2.326_347_9;

fn micros(ns: f64) -> f64 {
    ns / 1000.0
}

#[test]
fn intervals_of_short_runs_hold_the_true_value_in_95_of_100_runs() {
    let machine = Machine { failed_share: 0.01, ..Machine::short() };
    let over = format!("over({}us) < 20%", micros(machine.limit_ns(Z_90)).round());
    // 1 % failed count as over the limit.
    let over_share = 0.01 + 0.99 * 0.1;
    check_coverage(&machine, &[(&over, over_share), ("failed < 2%", 0.01)], 94.0);
    let machine = Machine::short();
    let percentiles = [
        ("p50 < 1ms", micros(MEDIAN_NS)),
        ("p90 < 1ms", micros(machine.limit_ns(Z_90))),
        ("p99 < 1ms", micros(machine.limit_ns(Z_99))),
        ("mean < 1ms", micros(MEDIAN_NS) * (WITHIN * WITHIN / 2.0).exp()),
    ];
    check_coverage(&machine, &percentiles, 93.0);
}

#[test]
fn a_percentile_and_the_share_over_its_limit_have_one_verdict() {
    let mut verdicts = [0; 3];
    for (seconds, correlation) in [(5, 0.0), (20, 0.0), (20, 0.8), (60, 0.5)] {
        let machine = Machine::correlated(seconds, correlation);
        let limits = [0.5, 0.7, 0.9, 1.0, 1.1, 1.5, 3.0].map(|factor| factor * machine.limit_ns(Z_90));
        let texts: Vec<String> = limits
            .iter()
            .map(|limit| micros(*limit).round())
            .flat_map(|limit| [format!("p90 < {limit}us"), format!("over({limit}us) < 10%")])
            .collect();
        let goals: Vec<&str> = texts.iter().map(String::as_str).collect();
        for seed in 0..choose(4, 20) {
            let results = evaluated(&machine, &goals, seed);
            for [percentile, share] in results.as_chunks().0 {
                assert_eq!(percentile.verdict, share.verdict, "{machine:?} {seed}: {percentile:?} {share:?}");
                verdicts[percentile.verdict as usize] += 1;
                let (value, limit) = (percentile.value.expect("it is known"), percentile.limit());
                let low = percentile.low.expect("it is known");
                let high = percentile.high.unwrap_or(f64::INFINITY);
                assert!(low <= value && value <= high, "{percentile:?}");
                let is_inside = low <= limit && limit < high;
                assert_eq!(is_inside, percentile.verdict == GoalVerdict::Undecided, "{percentile:?}");
            }
        }
    }
    assert!(verdicts.iter().all(|number| *number > choose(10, 50)), "{verdicts:?}");
}

#[test]
fn a_slow_second_does_not_hide_that_the_limit_is_far_away() {
    // All transactions of one second in twenty are above the percentile, and far below the limit.
    let mut meter = meter(&["p95 < 50ms", "over(50ms) < 5%", "p95 < 1ms"]);
    let mut random = SplitMix64::new(1);
    let mut recorder = Recorder::new(1, None);
    for second in 0..25 {
        let begin = Timestamp::from_nanos(second * 1_000_000_000);
        let median_ns = if second == 7 { 10.0 * MEDIAN_NS } else { MEDIAN_NS };
        for _ in 0..200 {
            let took_ns = median_ns * (WITHIN * random.normal()).exp();
            recorder.record(&sample(begin, took_ns, Ending::Succeeded));
        }
        meter.take(&recorder.hand_over(begin, begin + Duration::from_secs(1), Interval::new(1)));
    }
    use GoalVerdict::{Met, Missed};
    let verdicts: Vec<GoalVerdict> = meter.evaluate().iter().map(|result| result.verdict).collect();
    assert_eq!(verdicts, [Met, Met, Missed]);
}

#[test]
fn taking_correlated_seconds_as_independent_would_miss_the_true_value() {
    // The same data as one block of each second, and as a single block without correlation.
    let machine = Machine::correlated(20, 0.8);
    let independent = Machine { seconds: 19, ..machine };
    let held = |machine: &Machine| {
        let holds = |seed: &u64| contains(&evaluated(machine, &["p50 < 1ms"], *seed)[0], micros(MEDIAN_NS));
        (0..simulations()).filter(holds).count()
    };
    let (blocks, independent) = (held(&machine), held(&independent));
    assert!(independent < blocks / 2, "{independent} of {}, with blocks {blocks}", simulations());
}

#[test]
fn a_clear_case_is_decided_in_seconds() {
    let machine = Machine { seconds: 2, ..Machine::short() };
    let goals = [
        "p99 < 100ms",
        "p99 < 1ms",
        "over(20ms) < 2%",
        "over(1ms) < 1%",
        "failed < 2%",
        "tps > 100",
        "tps > 5000",
        "mean < 3ms",
        "max < 100ms",
        "max < 1ms",
    ];
    let results = evaluated(&machine, &goals, 1);
    use GoalVerdict::{Met, Missed};
    let expected = [Met, Missed, Met, Missed, Met, Met, Missed, Met, Met, Missed];
    assert_eq!(results.iter().map(|result| result.verdict).collect::<Vec<_>>(), expected);
    let methods = results.iter().map(|result| result.method);
    assert!(methods.take(8).all(|method| method == GoalMethod::Independent));
    assert_eq!((results[8].method, results[8].low), (GoalMethod::Exact, None));
}

#[test]
fn transactions_that_did_not_succeed_are_over_each_limit() {
    let machine = Machine { failed_share: 0.5, ..Machine::short() };
    let results = evaluated(&machine, &["p90 < 1min", "over(1min) < 10%", "max < 1h", "p10 < 1min"], 3);
    use GoalVerdict::{Met, Missed};
    assert_eq!(
        results.iter().map(|result| result.verdict).collect::<Vec<_>>(),
        [Missed, Missed, Missed, Met]
    );
    assert_eq!((results[0].value, results[0].high), (None, None), "there is no such percentile");
    assert!(results[1].value.is_some_and(|share| (0.4..0.6).contains(&share)), "{:?}", results[1]);
    assert_eq!(results[0].transactions, 1000);
    assert!((400..600).contains(&results[0].uncompleted));
}

#[test]
fn an_undecided_goal_says_how_long_a_run_would_decide_it() {
    let machine = Machine::short();
    let truth = micros(machine.limit_ns(Z_99));
    let close = format!("p99 < {}us", (1.05 * truth).round());
    let [p99, tps, none] = &evaluated(&machine, &[&close, "tps > 195", "p99.99 < 1s"], 5)[..] else {
        panic!("three goals")
    };
    for result in [p99, tps, none] {
        assert_eq!(result.verdict, GoalVerdict::Undecided, "{result:?}");
    }
    let needed_s = p99.needed_s.expect("it is not on the limit");
    assert!((6.0..300.0).contains(&needed_s), "{needed_s}");
    // 36,888 transactions without one over the limit, at 200 per second.
    assert!(none.needed_s.is_some_and(|needed_s| (needed_s - 184.0).abs() < 2.0), "{none:?}");
    assert_eq!(none.high, None);
    let longer = Machine { seconds: 18, transactions_per_second: 2050, ..machine };
    assert_eq!(evaluated(&longer, &["p99.99 < 1s"], 6)[0].verdict, GoalVerdict::Met);
}

#[test]
fn nothing_is_known_of_a_run_without_transactions() {
    let nothing = Machine { transactions_per_second: 0, ..Machine::short() };
    let results =
        evaluated(&nothing, &["p99 < 1ms", "failed < 1%", "mean < 1ms", "max < 1ms", "tps > 10"], 1);
    let undecided = results[..4].iter().all(|result| {
        (result.verdict, result.value, result.needed_s) == (GoalVerdict::Undecided, None, None)
    });
    assert!(undecided, "{results:?}");
    assert_eq!((results[4].verdict, results[4].value), (GoalVerdict::Missed, Some(0.0)));
    assert_eq!(
        meter(&["tps > 10"]).evaluate()[0].verdict,
        GoalVerdict::Undecided,
        "before the first interval"
    );
}

#[test]
fn the_throughput_of_a_goal_is_that_of_the_whole_run() {
    for (duration_s, tps) in [(5.0, 200.0), (10.0, 100.0), (25.0, 40.0), (4.8, 1000.0 / 4.8)] {
        let mut meter = meter(&["tps > 1"]);
        Machine::short().run(&mut meter, 1);
        meter.close(Duration::from_secs_f64(duration_s));
        let result = &meter.evaluate()[0];
        assert!(result.value.is_some_and(|value| (value - tps).abs() < 1e-6), "{duration_s} s: {result:?}");
        assert!(result.low < result.value && result.value < result.high, "{result:?}");
    }
}

#[test]
fn a_clear_miss_ends_the_run_after_a_few_seconds() {
    let machine = Machine { seconds: 100, ..Machine::short() };
    for goal in ["p99 < 1ms", "over(1ms) < 1%", "tps > 5000", "mean < 500us", "max < 1ms"] {
        let mut meter = meter(&["p50 < 10s", goal]).stopping();
        assert!(machine.run(&mut meter, 2), "{goal}");
        let stop = meter.stop().expect("it stopped");
        assert!(stop.goal == 1 && stop.after_s <= 6.0, "{goal}: {stop:?}");
        let expected = if goal.starts_with("max") { StopBasis::Exact } else { StopBasis::Sequential };
        assert_eq!(stop.basis, expected, "{goal}");
        let verdicts: Vec<_> = meter.evaluate().iter().map(|result| result.verdict).collect();
        assert_eq!(verdicts, [GoalVerdict::Met, GoalVerdict::Missed], "{goal}");
    }
    let mut patient = meter(&["p99 < 1ms"]);
    assert!(!machine.run(&mut patient, 2), "without --stop-on-miss");
}

#[test]
fn with_a_known_number_of_transactions_the_end_is_exact() {
    let machine = Machine { seconds: 10, failed_share: 0.02, ..Machine::short() };
    // Of 2,000 transactions 20 may fail; they have failed after some 5 s, long before a test could tell.
    let mut meter = meter(&["failed < 1%"]).stopping().of_transactions(2000);
    assert!(machine.run(&mut meter, 1));
    let stop = meter.stop().expect("it stopped");
    assert_eq!(stop.basis, StopBasis::Exact);
    let result = &meter.evaluate()[0];
    assert!(result.value.is_some_and(|share| share * result.transactions as f64 > 20.0), "{result:?}");
    assert_eq!(result.verdict, GoalVerdict::Missed);
    // Arrivals are random, so more of them may come.
    let mut of_arrivals = self::meter(&["failed < 1%"]).stopping().of_arrivals(200.0, 10.0);
    machine.run(&mut of_arrivals, 1);
    let later = of_arrivals.stop().expect("it stopped");
    assert!(later.after_s >= stop.after_s, "{stop:?} {later:?}");
}

#[test]
fn a_run_of_hours_has_a_limited_number_of_blocks() {
    let machine = Machine { seconds: 8000, transactions_per_second: 3, ..Machine::short() };
    let results = evaluated(&machine, &["p50 < 1ms", "tps > 2"], 1);
    assert!(contains(&results[0], micros(MEDIAN_NS)), "{results:?}");
    assert_eq!((results[0].transactions, results[1].value), (24_000, Some(3.0)));
    assert_eq!(results[1].verdict, GoalVerdict::Met);
}

#[test]
fn intervals_over_seconds_hold_the_true_value_whatever_the_correlation() {
    for (seconds, correlation, least_percent) in
        [(20, 0.0, 91.0), (20, 0.5, 88.0), (20, 0.8, 75.0), (60, 0.5, 88.0)]
    {
        let machine = Machine::correlated(seconds, correlation);
        let over = format!("over({}us) < 20%", micros(machine.limit_ns(Z_90)).round());
        let over99 = format!("over({}us) < 20%", micros(machine.limit_ns(Z_99)).round());
        let cases = [
            (over.as_str(), 0.1),
            (over99.as_str(), 0.01),
            ("p90 < 1ms", micros(machine.limit_ns(Z_90))),
            ("p99 < 1ms", micros(machine.limit_ns(Z_99))),
        ];
        check_coverage(&machine, &cases, least_percent);
    }
}

#[test]
fn the_sequential_test_hardly_ever_ends_a_run_whose_figure_is_on_the_limit() {
    for correlation in [0.0, 0.5, 0.8] {
        let machine = Machine { transactions_per_second: 30, ..Machine::correlated(60, correlation) };
        let limit = micros(machine.limit_ns(Z_90)).round();
        let goals = [format!("over({limit}us) < 10%"), format!("p90 < {limit}us")];
        let stopped = |seed: &u64| {
            let mut meter = meter(&[&goals[0], &goals[1]]).stopping();
            machine.run(&mut meter, *seed)
        };
        let runs = choose(8, 100);
        let ended = (0..runs).filter(stopped).count();
        assert!(ended <= choose(0, 2), "correlation {correlation}: {ended} of {runs}");
    }
}
