//! A complete comparison: all metrics of all pairs, the noise floor, and the figures of the verdict. `report` makes
//! the sentence.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::comparison::boundary::Boundary;
use crate::comparison::crossover::{Crossover, CrossoverEffect};
use crate::comparison::figure::{ComparedFigure, ComparedMetric};
use crate::comparison::normal::upper_quantile;
use crate::comparison::pair::{Pair, Purpose};
use crate::comparison::schedule::{PAIRS_MIN, PAIRS_OF_SEQUENCE};
use crate::comparison::sequential::{ComparisonDecision, SequentialTest, deviation};
use crate::comparison::signed_rank::{WalshAverages, averages, critical_by_approximation};
use crate::screening::simultaneous;
use crate::series::mean;

/// Planned observations with which ranks can decide on the decisive metric; with fewer, Student's t tests it.
pub const RANKS_MIN: usize = 8;

/// The same for figures whose intervals hold together, each with this error rate. Nine observations that agree are as
/// improbable as the error rate of seven figures; interim analyses need three more.
fn ranks_of_others_min(error_rate: f64) -> usize {
    let (mut agreeing, mut probability) = (1, 1.0);
    while probability > error_rate {
        (agreeing, probability) = (agreeing + 1, probability / 2.0);
    }
    agreeing + 3
}

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
    /// Number of scripts of a mix, whose latencies are compared too; 0 or 1: there is no mix.
    pub scripts: usize,
}

/// Minimum number of sequences, or draws of servers, for a reliable estimate of the variation.
const SEQUENCES_FOR_DETECTABLE: usize = 10;
const DRAWS_FOR_DETECTABLE: usize = 5;

/// A comparison in progress.
#[derive(Clone, Debug)]
pub struct Comparison {
    question: Question,
    /// Error rate of each figure that does not decide.
    error_rate_of_each: f64,
    /// Pairs per observation: two of a sequence, or one draw of servers.
    pairs_of_number: usize,
    figures: Vec<FigureState>,
    /// Pairs of an incomplete sequence: of the comparison, and of the noise floor.
    begun: [Option<Pair>; 2],
}

/// State of a figure.
#[derive(Clone, Debug)]
struct FigureState {
    figure: ComparedFigure,
    test: SequentialTest,
    crossover: Crossover,
    /// The logarithms of all blocks of A and of B, or of merged blocks.
    blocks: [Vec<f64>; 2],
    /// For each observation of merged blocks, the pairs that it is of.
    merged_pairs: Vec<usize>,
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
        let Question { error_rate, tolerance, numbers, decisive, scripts } = *question;
        assert!(error_rate > 0.0 && error_rate < 1.0, "an error rate is between 0 and 1");
        let figures = ComparedFigure::all(decisive, scripts);
        let boundary = Arc::new(Boundary::new(error_rate, numbers));
        let error_rate_of_each = 1.0 - simultaneous(1.0 - error_rate, figures.len() - 1);
        let boundary_of_others = Arc::new(Boundary::new(error_rate_of_each, numbers));
        let test_of_others =
            if numbers < ranks_of_others_min(error_rate_of_each) { SequentialTest::by_student } else { test };
        let state = |figure: ComparedFigure| FigureState {
            figure,
            test: if figure == decisive.into() {
                test(Arc::clone(&boundary), error_rate, tolerance)
            } else {
                test_of_others(Arc::clone(&boundary_of_others), error_rate_of_each, tolerance)
            },
            crossover: Crossover::default(),
            blocks: Default::default(),
            merged_pairs: Vec::new(),
            floor: Vec::new(),
        };
        let figures = figures.into_iter().map(state).collect();
        Comparison { question: *question, error_rate_of_each, pairs_of_number, figures, begun: [None, None] }
    }

    /// Plans a percentile whose observations are of merged blocks, and so fewer than those of other figures. Their
    /// boundary is one for this number. To be called before any pair is added.
    ///
    /// # Panics
    /// If the comparison does not have the figure.
    pub fn plan_merged(&mut self, figure: ComparedFigure, numbers: usize) {
        let Question { error_rate, tolerance, decisive, .. } = self.question;
        let (error_rate, ranks_min) = if figure == decisive.into() {
            (error_rate, RANKS_MIN)
        } else {
            (self.error_rate_of_each, ranks_of_others_min(self.error_rate_of_each))
        };
        let boundary = Arc::new(Boundary::new(error_rate, numbers.max(1)));
        // Draws of servers are few, and so are those that are merged.
        let has_ranks = numbers >= ranks_min && self.pairs_of_number == PAIRS_OF_SEQUENCE;
        let test = if has_ranks { SequentialTest::by_ranks } else { SequentialTest::by_student };
        let state = self.figures.iter_mut().find(|state| state.figure == figure);
        state.expect("every figure has its state").test = test(boundary, error_rate, tolerance);
    }

    /// Adds a pair of either purpose; two consecutive pairs of the same purpose are a sequence, which counts when it
    /// is complete. A metric without a value in a pair ignores that sequence. A percentile of merged blocks is an
    /// observation by itself, in the pair that ends it.
    pub fn add(&mut self, pair: Pair) {
        let purpose = pair.purpose;
        if purpose == Purpose::Comparison {
            self.figures.iter_mut().for_each(|state| state.add_blocks(&pair));
        }
        if purpose == Purpose::Comparison && self.pairs_of_number == 1 {
            for state in &mut self.figures {
                if let Some(ln_ratio) = pair.ln_ratio(state.figure) {
                    state.test.add(state.figure.metric.sign() * ln_ratio);
                    state.crossover.add(state.figure, [&pair]);
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
        for state in &mut self.figures {
            state.add(purpose, &one, &pair);
        }
    }

    /// The time is over, regardless of the results: a final look with the rest of the error rate. No effect if the
    /// decisive metric is settled, because then the results ended the comparison.
    pub fn close(&mut self) {
        if self.is_settled() {
            return;
        }
        self.figures.iter_mut().for_each(|state| state.test.close());
    }

    /// The current verdict on the decisive metric. Cheap enough to call after each pair.
    pub fn decision(&self) -> ComparisonDecision {
        self.state(self.question.decisive.into()).test.decision()
    }

    /// Whether a difference of any size was found in the decisive metric: true if B is better. Equally cheap.
    pub fn different(&self) -> Option<bool> {
        self.state(self.question.decisive.into()).test.different()
    }

    /// Whether more pairs could not change the verdict.
    pub fn is_settled(&self) -> bool {
        self.state(self.question.decisive.into()).test.is_settled()
    }

    /// What is compared, in the order of output.
    pub fn figures(&self) -> impl Iterator<Item = ComparedFigure> {
        self.figures.iter().map(|state| state.figure)
    }

    /// The finding on a figure; `None` before two observations.
    pub fn finding(&self, figure: impl Into<ComparedFigure>) -> Option<MetricFinding> {
        let figure = figure.into();
        self.state(figure).finding(self.pairs_of_number, figure == self.question.decisive.into())
    }

    /// The noise floor of a metric of all scripts; `None` with fewer than twelve pairs.
    pub fn noise_floor(&self, metric: ComparedMetric) -> Option<MetricNoise> {
        MetricNoise::of_sequences(metric, &self.state(metric.into()).floor)
    }

    fn state(&self, figure: ComparedFigure) -> &FigureState {
        let found = self.figures.iter().find(|state| state.figure == figure);
        found.expect("every figure has its state")
    }
}

impl FigureState {
    /// The blocks of a pair of the comparison.
    fn add_blocks(&mut self, pair: &Pair) {
        let [a, b] = &mut self.blocks;
        let Some(merged) = pair.merged(self.figure) else {
            a.extend(pair.base.lns(self.figure));
            b.extend(pair.candidate.lns(self.figure));
            return;
        };
        if let Some([ln_a, ln_b]) = merged.lns() {
            a.push(ln_a);
            b.push(ln_b);
            self.merged_pairs.push(merged.pairs);
        }
    }

    /// A complete sequence.
    fn add(&mut self, purpose: Purpose, one: &Pair, other: &Pair) {
        let ratios = [one, other].map(|pair| pair.ln_ratio(self.figure));
        let ln_ratio = match ratios {
            // The blocks of both pairs, and of earlier ones.
            [_, Some(merged)] if other.merged(self.figure).is_some() => merged,
            [Some(one), Some(other)] => f64::midpoint(one, other),
            _ => return,
        };
        match purpose {
            Purpose::Comparison => {
                self.test.add(self.figure.metric.sign() * ln_ratio);
                self.crossover.add(self.figure, [one, other]);
            }
            Purpose::NoiseFloor => self.floor.push(ln_ratio),
        }
    }

    fn finding(&self, pairs_of_number: usize, is_decisive: bool) -> Option<MetricFinding> {
        let known = self.test.estimate()?;
        let sign = self.figure.metric.sign();
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
        let pairs = match self.merged_pairs.get(..known.numbers) {
            Some(merged) if !merged.is_empty() => merged.iter().sum(),
            _ => known.numbers * pairs_of_number,
        };
        Some(MetricFinding {
            metric: self.figure.metric,
            script: self.figure.script,
            a: (middle - centre / 2.0).exp(),
            b: (middle + centre / 2.0).exp(),
            pairs,
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
            pair_deviation: known.deviation * (pairs as f64 / known.numbers as f64).sqrt(),
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
    /// Of this script of a mix, from 0; absent if it is of all scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<usize>,
    /// A in transactions per second, nanoseconds, bytes, or a number. The geometric mean of all blocks of both sides,
    /// divided such that B ÷ A is `ratio`, which is estimated from the pairs by ranks. Of a percentile of several
    /// pairs together: the geometric mean of those percentiles.
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

impl MetricFinding {
    /// What it is of.
    pub fn figure(&self) -> ComparedFigure {
        ComparedFigure { metric: self.metric, script: self.script }
    }
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
