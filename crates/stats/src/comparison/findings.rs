//! The whole of a comparison: all metrics of all pairs, the noise floor beside them, and the figures of the sentence
//! that is told in the end. The words of the sentence are `report`'s.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::comparison::boundary::Boundary;
use crate::comparison::crossover::{Crossover, CrossoverEffect};
use crate::comparison::normal::upper_quantile;
use crate::comparison::pair::{ComparedMetric, Pair, Purpose};
use crate::comparison::schedule::{PAIRS_MIN, PAIRS_OF_SEQUENCE};
use crate::comparison::sequential::{ComparisonDecision, SequentialTest, deviation};
use crate::comparison::signed_rank::{WalshAverages, averages, critical_by_approximation};
use crate::series::mean;

/// What a comparison is asked.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Question {
    /// How often each metric may be wrong: 0.05.
    pub error_rate: f64,
    /// A worsening by less than this share does not matter: 0.02 is a factor of 1.02, either way.
    pub tolerance: f64,
    /// Numbers planned, those for the noise floor not counted: sequences of two pairs each, or draws where these are
    /// few. Fixed before the first look: the error rate is spread over them.
    pub numbers: usize,
    /// The metric by which it is decided when to stop.
    pub decisive: ComparedMetric,
}

/// Sequences, or draws of servers, from which it is known well enough how they scatter to say what could be found.
const SEQUENCES_FOR_DETECTABLE: usize = 10;
const DRAWS_FOR_DETECTABLE: usize = 5;

/// A comparison while it goes on.
#[derive(Clone, Debug)]
pub struct Comparison {
    decisive: ComparedMetric,
    /// Pairs that make one number: those of a sequence, or one draw of servers.
    pairs_of_number: usize,
    metrics: Vec<MetricState>,
    /// Pairs of a sequence that is not whole yet: of the comparison, and of the noise floor.
    begun: [Option<Pair>; 2],
}

/// What is known of a metric.
#[derive(Clone, Debug)]
struct MetricState {
    metric: ComparedMetric,
    test: SequentialTest,
    crossover: Crossover,
    /// The logarithms of all blocks of A, and of B.
    blocks: [Vec<f64>; 2],
    floor: Vec<f64>,
}

impl Comparison {
    /// Before the first pair.
    ///
    /// # Panics
    /// If the error rate or the tolerance is not one.
    pub fn new(question: &Question) -> Comparison {
        Comparison::with(question, PAIRS_OF_SEQUENCE, SequentialTest::by_ranks)
    }

    /// The same where draws are so expensive that there will be few: each is a number by itself, and their logarithms
    /// are taken for normal.
    ///
    /// # Panics
    /// If the error rate or the tolerance is not one.
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
        let state = |metric| MetricState {
            metric,
            test: test(Arc::clone(&boundary), error_rate, tolerance),
            crossover: Crossover::default(),
            blocks: Default::default(),
            floor: Vec::new(),
        };
        let metrics = ComparedMetric::ALL.map(state).into();
        Comparison { decisive, pairs_of_number, metrics, begun: [None, None] }
    }

    /// One pair more, of either purpose; two in a row of the same purpose are a sequence, and count when it is whole. A
    /// metric that a pair has no figure for does without the sequence.
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

    /// The time is over, whatever was seen: a last look, with all of the error rate that is left. Nothing happens if
    /// the decisive metric is settled: then it was what was seen that ended it.
    pub fn close(&mut self) {
        if self.is_settled() {
            return;
        }
        self.metrics.iter_mut().for_each(|state| state.test.close());
    }

    /// What can be said by now of the decisive metric. Cheap: to be asked after each pair.
    pub fn decision(&self) -> ComparisonDecision {
        self.state(self.decisive).test.decision()
    }

    /// Whether a difference was found in the decisive metric, however small: true if B is better. As cheap.
    pub fn different(&self) -> Option<bool> {
        self.state(self.decisive).test.different()
    }

    /// Whether more pairs could not change that.
    pub fn is_settled(&self) -> bool {
        self.state(self.decisive).test.is_settled()
    }

    /// What is known of a metric; `None` before two numbers had a figure for it.
    pub fn finding(&self, metric: ComparedMetric) -> Option<MetricFinding> {
        let state = self.state(metric);
        state.finding(self.pairs_of_number, metric == self.decisive)
    }

    /// What the pairs for the noise floor say of a metric; `None` of fewer than twelve.
    pub fn noise_floor(&self, metric: ComparedMetric) -> Option<MetricNoise> {
        MetricNoise::of_sequences(metric, &self.state(metric).floor)
    }

    fn state(&self, metric: ComparedMetric) -> &MetricState {
        let found = self.metrics.iter().find(|state| state.metric == metric);
        found.expect("every metric has its state")
    }
}

impl MetricState {
    /// A whole sequence.
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

/// What was found of one metric: the figures of *B is 4.2 % faster (95 %: 2.9 … 5.6), smallest difference this could have
/// seen 1.1 %*. Ratios are B ÷ A.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricFinding {
    /// Which one.
    pub metric: ComparedMetric,
    /// A: transactions per second, nanoseconds, bytes, or a number. The geometric mean of all blocks of both sides,
    /// divided such that B ÷ A is `ratio`, which is read from the pairs, by ranks.
    pub a: f64,
    /// The same of B.
    pub b: f64,
    /// Pairs that had the figure and whose sequence is whole.
    pub pairs: usize,
    /// What can be said. It agrees with the interval: one that holds 1 is never *better* or *worse*.
    pub decision: ComparisonDecision,
    /// Whether the interval excludes 1: true if B is better.
    pub different: Option<bool>,
    /// The best single guess.
    pub ratio: f64,
    /// Lower end of its 95 % interval; `null` if there were too few pairs for one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The largest difference, as a share, that is still possible by the wider interval that held at all looks together.
    pub no_difference_above: Option<f64>,
    /// The smallest difference that the pairs planned find in nine comparisons of ten, as a share; `null` if the
    /// comparison was interrupted or had too few pairs to know how they scatter.
    pub smallest_difference: Option<f64>,
    /// The same for the pairs there are; not stored.
    #[serde(skip)]
    pub smallest_difference_so_far: Option<f64>,
    /// Standard deviation of ln(B ÷ A) from pair to pair, without what the order adds to it.
    pub pair_deviation: f64,
    /// Sequences of pairs (or draws of servers) in which B ÷ A is far above the others, and far below, by more than three
    /// of their standard deviations: they hardly count. Many on one side only: B has good or bad luck more often than A,
    /// and that is part of what it is.
    pub outlying: (usize, usize),
    /// The second block of a pair ÷ the first; `null` if there were fewer than three sequences.
    pub order_effect: Option<CrossoverEffect>,
    /// A block that follows B ÷ a block that follows A; `null` if there were fewer than three sequences of each kind.
    pub carry_over: Option<CrossoverEffect>,
}

/// Numbers more than three standard deviations above and below the centre, the deviation taken from the median of the
/// distances (Hampel, The influence curve and its role in robust estimation, 1974).
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

/// How much pairs of a side with itself scatter.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricNoise {
    /// In which metric.
    pub metric: ComparedMetric,
    /// Pairs.
    pub pairs: usize,
    /// A ÷ A.
    pub ratio: f64,
    /// Lower end of its 95 % interval; rather wide, as those pairs are few.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation of its logarithm from pair to pair.
    pub pair_deviation: f64,
    /// 1 is outside of even the 99.9 % interval: then something favours one of two sides that are the same, and the
    /// comparison cannot be trusted either.
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
            // Of six numbers the approximation asks for one average more than there are; exactly, all of them on one
            // side are as improbable as 1 in 64.
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
