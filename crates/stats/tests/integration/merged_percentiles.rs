//! The guarantees of percentiles that are of several pairs together, on simulated blocks with few transactions: error
//! rate, and coverage of the interval. Latencies have long tails, and blocks have luck of their own.

use pgmeter_stats::SplitMix64;
use pgmeter_stats::comparison::{
    Block, ComparedFigure, ComparedMetric, Comparison, Draw, MergedPercentile, MetricFinding, Pair,
    Percentile, Purpose, Question, Side, order,
};
use testkit::extent::choose;

const ERROR_RATE: f64 = 0.05;

/// Comparisons of each load.
fn comparisons() -> u64 {
    choose(80, 800)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "is small and not below 0")]
fn whole(number: f64) -> usize {
    number as usize
}

/// A load whose blocks have too few transactions for the percentile.
#[derive(Copy, Clone)]
struct Load {
    /// Mean transactions of a block; single blocks have half or one and a half times as many.
    transactions: f64,
    /// Standard deviation of the logarithm of a latency.
    spread: f64,
    /// Standard deviation of the logarithm of a block's luck, which all of its transactions share.
    luck: f64,
}

/// Transactions of consecutive blocks of A and of B, as `Merging` collects them.
#[derive(Default)]
struct Collected {
    latencies: [Vec<f64>; 2],
    pairs: usize,
}

impl Collected {
    fn block(&mut self, side: Side, load: Load, ratio: f64, random: &mut SplitMix64) {
        let luck = load.luck * random.normal();
        let number = load.transactions * (0.5 + random.share());
        let latencies = &mut self.latencies[usize::from(side == Side::B)];
        let scale = if side == Side::B { ratio } else { 1.0 };
        for _ in 0..whole(number) {
            latencies.push(1e6 * scale * (luck + load.spread * random.normal()).exp());
        }
    }

    fn end(&mut self, metric: ComparedMetric) -> Option<MergedPercentile> {
        let percentile = metric.percentile().expect("a latency");
        self.pairs += 2;
        let least = usize::try_from(percentile.transactions_min()).unwrap();
        if self.latencies.iter().any(|latencies| latencies.len() < least) {
            return None;
        }
        let quantile = |latencies: &mut Vec<f64>| {
            latencies.sort_unstable_by(f64::total_cmp);
            latencies[whole((percentile.share() * latencies.len() as f64).ceil()) - 1]
        };
        let [a_ns, b_ns] = self.latencies.each_mut().map(quantile);
        let merged = MergedPercentile { metric, script: None, pairs: self.pairs, a_ns, b_ns };
        *self = Collected::default();
        Some(merged)
    }
}

/// The finding on the percentile that decides, after so many sequences or as soon as it is settled, if B's latencies are
/// A's times `ratio`.
fn compare(
    load: Load,
    metric: ComparedMetric,
    sequences: usize,
    ratio: f64,
    seed: u64,
) -> Option<MetricFinding> {
    let question = Question {
        error_rate: ERROR_RATE,
        tolerance: 0.02,
        numbers: sequences,
        decisive: metric,
        scripts: 0,
    };
    let mut comparison = Comparison::new(&question);
    let least = metric.percentile().expect("a latency").transactions_min() as f64;
    let of_observation = (least / (2.0 * load.transactions)).ceil();
    comparison.plan_merged(metric.into(), whole(sequences as f64 / of_observation));
    let mut random = SplitMix64::new(seed);
    let mut collected = Collected::default();
    for at in 0..2 * sequences {
        let sides = order(seed, at, 1);
        sides.iter().for_each(|side| collected.block(*side, load, ratio, &mut random));
        let merged = if at % 2 == 1 { collected.end(metric) } else { None };
        let draw = || Draw { blocks: vec![Block::default()] };
        comparison.add(Pair {
            purpose: Purpose::Comparison,
            order: sides,
            base: draw(),
            candidate: draw(),
            merged: merged.into_iter().collect(),
        });
        if comparison.is_settled() {
            break;
        }
    }
    comparison.close();
    comparison.finding(metric)
}

/// p99 of blocks with a fifth of the transactions that it needs, planned for ranks and for Student's t, and p99.5.
fn loads() -> [(Load, ComparedMetric, usize); 4] {
    let p995 = ComparedMetric::from("p99.5".parse::<Percentile>().unwrap());
    let load = Load { transactions: 20.0, spread: 1.0, luck: 0.1 };
    [
        (load, ComparedMetric::P99, 60),
        (load, ComparedMetric::P99, 15),
        (Load { luck: 0.5, ..load }, ComparedMetric::P99, 60),
        (Load { transactions: 40.0, ..load }, p995, 60),
    ]
}

fn shares(ratio: f64) -> impl Iterator<Item = (f64, f64)> {
    loads().into_iter().map(move |(load, metric, sequences)| {
        let findings: Vec<_> =
            (0..comparisons()).filter_map(|seed| compare(load, metric, sequences, ratio, seed)).collect();
        assert!(findings.len() as u64 * 10 >= comparisons() * 9, "{} have a finding", findings.len());
        let share = |holds: &dyn Fn(&MetricFinding) -> bool| {
            findings.iter().filter(|finding| holds(finding)).count() as f64 / findings.len() as f64
        };
        let misses = |finding: &MetricFinding| {
            finding.low.zip(finding.high).is_some_and(|(low, high)| ratio < low || high < ratio)
        };
        (share(&|finding| finding.different.is_some()), share(&misses))
    })
}

/// Three standard errors above the error rate.
fn limit() -> f64 {
    ERROR_RATE + 3.0 * (ERROR_RATE * (1.0 - ERROR_RATE) / comparisons() as f64).sqrt()
}

#[test]
fn the_interval_of_a_percentile_of_several_pairs_holds_the_true_ratio() {
    let mut found = Vec::new();
    for (at, (differs, misses)) in shares(1.5).enumerate() {
        assert!(misses <= limit(), "load {at}: {misses}");
        found.push(differs);
    }
    // The rule leaves differences to be found.
    assert!(found[0] > 0.5 && found[3] > 0.5, "{found:?}");
}

#[test]
fn a_percentile_of_several_pairs_tells_of_how_many_it_is_and_has_both_sides() {
    let (load, metric, sequences) = loads()[0];
    let finding = compare(load, metric, sequences, 1.5, 1).unwrap();
    assert!((finding.b / finding.a / finding.ratio - 1.0).abs() < 1e-9, "{finding:?}");
    assert!(finding.pairs > 20 && finding.pairs <= 2 * sequences, "{finding:?}");
    // p99 of the exponential of a normal variable: 1 ms × e^2.33.
    assert!((7e6..16e6).contains(&finding.a), "{finding:?}");
    assert_eq!((finding.order_effect, finding.carry_over), (None, None), "single blocks have no such figure");
    let of_other = ComparedFigure::from(ComparedMetric::P50);
    assert_ne!(finding.figure(), of_other);
}

#[test]
fn a_percentile_of_several_pairs_differs_by_chance_in_at_most_one_comparison_of_twenty() {
    for (at, (alarms, misses)) in shares(1.0).enumerate() {
        assert!(alarms <= limit() && misses <= limit(), "load {at}: {alarms} {misses}");
    }
}
