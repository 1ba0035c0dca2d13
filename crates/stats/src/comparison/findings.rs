//! A complete comparison: all metrics of all pairs, the noise floor, and the figures of the verdict. `report` makes
//! the sentence.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::comparison::boundary::Boundary;
use crate::comparison::crossover::{Crossover, CrossoverEffect};
use crate::comparison::normal::upper_quantile;
use crate::comparison::pair::{ComparedMetric, Pair, Purpose};
use crate::comparison::schedule::{PAIRS_MIN, PAIRS_OF_SEQUENCE};
use crate::comparison::sequential::{ComparisonDecision, SequentialTest, deviation};
use crate::comparison::signed_rank::{WalshAverages, averages, critical_by_approximation};
use crate::screening::simultaneous;
use crate::series::mean;

/// Planned observations with which ranks can decide on metrics whose intervals hold together; with fewer, Student's t
/// tests them. Nine observations that agree are as improbable as their error rate; interim analyses need some more.
const RANKS_OF_OTHERS_MIN: usize = 12;

/// Parameters of a comparison.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Question {
    /// Error rate of the decisive metric, and of all other metrics together: 0.05.
    pub error_rate: f64,
    /// Smallest relevant deterioration: 0.02 is a factor of 1.02 in either direction.
    pub tolerance: f64,
    /// Planned number of observations without those for the noise floor: sequences of two pairs each, or draws if
    /// these are few. Fixed before the first look, because the error rate is spread over them.
    pub numbers: usize,
    /// The metric that determines when to stop.
    pub decisive: ComparedMetric,
}

/// Minimum number of sequences, or draws of servers, for a reliable estimate of the variation.
const SEQUENCES_FOR_DETECTABLE: usize = 10;
const DRAWS_FOR_DETECTABLE: usize = 5;

/// A comparison in progress.
#[derive(Clone, Debug)]
pub struct Comparison {
    decisive: ComparedMetric,
    /// Pairs per observation: two of a sequence, or one draw of servers.
    pairs_of_number: usize,
    metrics: Vec<MetricState>,
    /// Pairs of an incomplete sequence: of the comparison, and of the noise floor.
    begun: [Option<Pair>; 2],
}

/// State of a metric.
#[derive(Clone, Debug)]
struct MetricState {
    metric: ComparedMetric,
    test: SequentialTest,
    crossover: Crossover,
    /// The logarithms of all blocks of A and of B.
    blocks: [Vec<f64>; 2],
    floor: Vec<f64>,
}

impl Comparison {
    /// An empty comparison.
    ///
    /// # Panics
    /// If the error rate or the tolerance is invalid.
    pub fn new(question: &Question) -> Comparison {
        Comparison::with(question, PAIRS_OF_SEQUENCE, SequentialTest::by_ranks)
    }

    /// The same for few sequences, whose logarithms are assumed to be normally distributed.
    ///
    /// # Panics
    /// If the error rate or the tolerance is invalid.
    pub fn of_few_sequences(question: &Question) -> Comparison {
        Comparison::with(question, PAIRS_OF_SEQUENCE, SequentialTest::by_student)
    }

    /// The same for few, expensive draws: each is an observation by itself, and their logarithms are assumed to be
    /// normally distributed.
    ///
    /// # Panics
    /// If the error rate or the tolerance is invalid.
    pub fn of_few_draws(question: &Question) -> Comparison {
        Comparison::with(question, 1, SequentialTest::by_student)
    }

    fn with(
        question: &Question,
        pairs_of_number: usize,
        test: fn(Arc<Boundary>, f64, f64) -> SequentialTest,
    ) -> Comparison {
        let Question { error_rate, tolerance, numbers, decisive } = *question;
        assert!(error_rate > 0.0 && error_rate < 1.0, "an error rate is between 0 and 1");
        let boundary = Arc::new(Boundary::new(error_rate, numbers));
        let error_rate_of_each = 1.0 - simultaneous(1.0 - error_rate, ComparedMetric::ALL.len() - 1);
        let boundary_of_others = Arc::new(Boundary::new(error_rate_of_each, numbers));
        let test_of_others = if numbers < RANKS_OF_OTHERS_MIN { SequentialTest::by_student } else { test };
        let state = |metric| MetricState {
            metric,
            test: if metric == decisive {
                test(Arc::clone(&boundary), error_rate, tolerance)
            } else {
                test_of_others(Arc::clone(&boundary_of_others), error_rate_of_each, tolerance)
            },
            crossover: Crossover::default(),
            blocks: Default::default(),
            floor: Vec::new(),
        };
        let metrics = ComparedMetric::ALL.map(state).into();
        Comparison { decisive, pairs_of_number, metrics, begun: [None, None] }
    }

    /// Adds a pair of either purpose; two consecutive pairs of the same purpose are a sequence, which counts when it
    /// is complete. A metric without a value in a pair ignores that sequence.
    pub fn add(&mut self, pair: Pair) {
        let purpose = pair.purpose;
        if purpose == Purpose::Comparison {
            for state in &mut self.metrics {
                let draws = [&pair.base, &pair.candidate];
                let sides = state.blocks.iter_mut().zip(draws);
                sides.for_each(|(blocks, draw)| blocks.extend(draw.lns(state.metric)));
            }
        }
        if purpose == Purpose::Comparison && self.pairs_of_number == 1 {
            for state in &mut self.metrics {
                if let Some(ln_ratio) = pair.ln_ratio(state.metric) {
                    state.test.add(state.metric.sign() * ln_ratio);
                    state.crossover.add(state.metric, [&pair]);
                }
            }
            return;
        }
        let begun = match purpose {
            Purpose::Comparison => &mut self.begun[0],
            Purpose::NoiseFloor => &mut self.begun[1],
        };
        let Some(one) = begun.take() else {
            *begun = Some(pair);
            return;
        };
        for state in &mut self.metrics {
            state.add(purpose, &one, &pair);
        }
    }

    /// The time is over, regardless of the results: a final look with the rest of the error rate. No effect if the
    /// decisive metric is settled, because then the results ended the comparison.
    pub fn close(&mut self) {
        if self.is_settled() {
            return;
        }
        self.metrics.iter_mut().for_each(|state| state.test.close());
    }

    /// The current verdict on the decisive metric. Cheap enough to call after each pair.
    pub fn decision(&self) -> ComparisonDecision {
        self.state(self.decisive).test.decision()
    }

    /// Whether a difference of any size was found in the decisive metric: true if B is better. Equally cheap.
    pub fn different(&self) -> Option<bool> {
        self.state(self.decisive).test.different()
    }

    /// Whether more pairs could not change the verdict.
    pub fn is_settled(&self) -> bool {
        self.state(self.decisive).test.is_settled()
    }

    /// The finding on a metric; `None` before two observations.
    pub fn finding(&self, metric: ComparedMetric) -> Option<MetricFinding> {
        let state = self.state(metric);
        state.finding(self.pairs_of_number, metric == self.decisive)
    }

    /// The noise floor of a metric; `None` with fewer than twelve pairs.
    pub fn noise_floor(&self, metric: ComparedMetric) -> Option<MetricNoise> {
        MetricNoise::of_sequences(metric, &self.state(metric).floor)
    }

    fn state(&self, metric: ComparedMetric) -> &MetricState {
        let found = self.metrics.iter().find(|state| state.metric == metric);
        found.expect("every metric has its state")
    }
}

impl MetricState {
    /// A complete sequence.
    fn add(&mut self, purpose: Purpose, one: &Pair, other: &Pair) {
        let ln_ratios = one.ln_ratio(self.metric).zip(other.ln_ratio(self.metric));
        let Some((one_ratio, other_ratio)) = ln_ratios else { return };
        let ln_ratio = f64::midpoint(one_ratio, other_ratio);
        match purpose {
            Purpose::Comparison => {
                self.test.add(self.metric.sign() * ln_ratio);
                self.crossover.add(self.metric, [one, other]);
            }
            Purpose::NoiseFloor => self.floor.push(ln_ratio),
        }
    }

    fn finding(&self, pairs_of_number: usize, is_decisive: bool) -> Option<MetricFinding> {
        let known = self.test.estimate()?;
        let sign = self.metric.sign();
        let centre = sign * known.centre;
        let ends = |(low, high): (f64, f64)| {
            let (one, other) = ((sign * low).exp(), (sign * high).exp());
            (one.min(other), one.max(other))
        };
        let (better, worse) = outlying(self.test.ln_ratios(), known.centre);
        let enough = if pairs_of_number == 1 { DRAWS_FOR_DETECTABLE } else { SEQUENCES_FOR_DETECTABLE };
        let detectable = |ln: f64| (known.numbers >= enough && ln.is_finite()).then(|| ln.exp_m1());
        let [a, b] = self.blocks.each_ref().map(|blocks| mean(blocks));
        let middle = f64::midpoint(a, b);
        let interval = known.interval.map(ends);
        Some(MetricFinding {
            metric: self.metric,
            a: (middle - centre / 2.0).exp(),
            b: (middle + centre / 2.0).exp(),
            pairs: known.numbers * pairs_of_number,
            decision: known.decision,
            different: known.different,
            ratio: centre.exp(),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            no_difference_above: known
                .at_all_looks
                .map(ends)
                .map(|(low, high)| (high - 1.0).max(1.0 / low - 1.0)),
            smallest_difference: detectable(known.smallest_of_all_planned),
            smallest_difference_so_far: detectable(known.smallest_so_far),
            pair_deviation: known.deviation * (pairs_of_number as f64).sqrt(),
            outlying: if sign > 0.0 { (better, worse) } else { (worse, better) },
            order_effect: self.crossover.order_effect(is_decisive),
            carry_over: self.crossover.carry_over(is_decisive),
        })
    }
}

/// The finding on one metric: the figures of *B is 4.2 % faster (95 %: 2.9 … 5.6), smallest detectable difference 1.1
/// %*. Ratios are B ÷ A.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFinding {
    /// The metric.
    pub metric: ComparedMetric,
    /// A in transactions per second, nanoseconds, bytes, or a number. The geometric mean of all blocks of both sides,
    /// divided such that B ÷ A is `ratio`, which is estimated from the pairs by ranks.
    pub a: f64,
    /// The same of B.
    pub b: f64,
    /// Complete pairs with a value.
    pub pairs: usize,
    /// The verdict. It agrees with the interval: an interval that contains 1 is never *better* or *worse*. Only that of
    /// the decisive metric is a verdict of the comparison.
    pub decision: ComparisonDecision,
    /// Whether the interval excludes 1: true if B is better.
    pub different: Option<bool>,
    /// The estimate.
    pub ratio: f64,
    /// Lower end of its 95 % interval; `null` with too few pairs. Those of all metrics but the decisive one hold together.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The largest difference, as a share, within the wider interval that is valid at all looks together.
    pub no_difference_above: Option<f64>,
    /// The smallest difference that the planned pairs detect with 90 % probability, as a share; `null` if the
    /// comparison was interrupted or had too few pairs to estimate their variation.
    pub smallest_difference: Option<f64>,
    /// The same for the pairs so far; not stored.
    #[serde(skip)]
    pub smallest_difference_so_far: Option<f64>,
    /// Standard deviation of ln(B ÷ A) between pairs, without the effect of the order.
    pub pair_deviation: f64,
    /// Sequences of pairs (or draws of servers) in which B ÷ A is above, and below, the others by more than three
    /// standard deviations; they have hardly any weight. Many on one side only mean that B deviates more often than
    /// A, which is part of its behaviour.
    pub outlying: (usize, usize),
    /// Second block of a pair ÷ first; `null` with fewer than three sequences.
    pub order_effect: Option<CrossoverEffect>,
    /// A block after B ÷ a block after A; `null` with fewer than three sequences of each kind.
    pub carry_over: Option<CrossoverEffect>,
}

/// Observations more than three standard deviations above and below the centre, where the deviation is estimated from
/// the median of the distances (Hampel, The influence curve and its role in robust estimation, 1974).
fn outlying(numbers: &[f64], centre: f64) -> (usize, usize) {
    const NORMAL: f64 = 1.4826;
    let mut distances: Vec<f64> = numbers.iter().map(|number| (number - centre).abs()).collect();
    distances.sort_unstable_by(f64::total_cmp);
    let Some(median) = distances.get(distances.len() / 2) else { return (0, 0) };
    let limit = 3.0 * NORMAL * median;
    let above = numbers.iter().filter(|number| **number - centre > limit);
    let below = numbers.iter().filter(|number| centre - **number > limit);
    (above.count(), below.count())
}

/// The variation between pairs of the same side.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricNoise {
    /// The metric.
    pub metric: ComparedMetric,
    /// Number of pairs.
    pub pairs: usize,
    /// A ÷ A.
    pub ratio: f64,
    /// Lower end of its 95 % interval; rather wide, because these pairs are few.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation of its logarithm between pairs.
    pub pair_deviation: f64,
    /// 1 is outside of the 99.9 % interval: the measurement favours one of two identical sides, so the comparison is
    /// invalid too.
    pub is_biased: bool,
}

/// The normal quantiles of 95 % and 99.9 % on two sides, as shares of one.
const ORDINARY: f64 = 0.025;
const EXTRAORDINARY: f64 = 0.000_5;

impl MetricNoise {
    fn of_sequences(metric: ComparedMetric, ln_ratios: &[f64]) -> Option<MetricNoise> {
        let sequences = ln_ratios.len();
        if sequences < PAIRS_MIN {
            return None;
        }
        let walsh = WalshAverages::of(ln_ratios);
        let interval = |share: f64| {
            let approximate = critical_by_approximation(sequences, upper_quantile(share));
            // For six observations the approximation requires one average more than exists; exactly, all on one side
            // have a probability of 1 in 64.
            let most = averages(sequences) as f64;
            let all_on_one_side = 0.5f64.powi(i32::try_from(sequences).unwrap_or(i32::MAX));
            walsh.not_rejected(if all_on_one_side <= share { approximate.min(most) } else { approximate })
        };
        let (low, high) = interval(ORDINARY)?;
        Some(MetricNoise {
            metric,
            pairs: PAIRS_OF_SEQUENCE * sequences,
            ratio: walsh.median()?.exp(),
            low: low.exp(),
            high: high.exp(),
            pair_deviation: deviation(&walsh, sequences)? * (PAIRS_OF_SEQUENCE as f64).sqrt(),
            is_biased: interval(EXTRAORDINARY).is_some_and(|(low, high)| low > 0.0 || high < 0.0),
        })
    }
}
