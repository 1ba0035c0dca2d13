//! Precision of a run's figures: confidence intervals, and whether the run reached a steady state. `stats` computes
//! both from series, which are made here from the record's intervals. docs/statistics.md explains the methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{RatioEstimate, Steadiness};

use crate::times::{NANOSECONDS_PER_MICROSECOND, round_to_ns};
use crate::{Interval, Latency};

/// 95 % confidence intervals, corrected for autocorrelation; each is `null` if the run was too short.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// Interval of the transactions per second.
    pub tps: Option<Estimate>,
    /// Interval of the mean response time.
    pub response_mean_us: Option<Estimate>,
    /// Interval of the mean service time.
    pub service_mean_us: Option<Estimate>,
}

/// A confidence interval.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The lower bound of the 95 % interval.
    pub low: f64,
    /// The upper bound of the 95 % interval.
    pub high: f64,
    /// Degrees of freedom of Student's t, which determine the interval's width together with the noise.
    pub degrees_of_freedom: u32,
    /// Autocorrelation of consecutive intervals of the record, from −1 to 1; the confidence interval is corrected for
    /// it.
    pub autocorrelation: f64,
}

/// Whether the run was in a steady state when measuring began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// `null` if unknown: the run was too short, or its seconds vary too much.
    pub settled: Option<bool>,
    /// Start of the steady state, in seconds since measuring began; 0 if steady from the start, `null` if never.
    pub steady_from_s: Option<f64>,
    /// The evidence.
    pub evidence: SteadyEvidence,
}

/// Evidence for the judgement of a steady state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SteadyEvidence {
    /// Fewer intervals were measured than are needed to distinguish a drift from noise.
    TooShort {
        /// Intervals that were measured.
        intervals: u32,
        /// Intervals that are needed.
        intervals_needed: u32,
    },
    /// No transaction succeeded in some interval.
    EmptyIntervals,
    /// The drifts of the metrics.
    Drifts {
        /// Intervals that were measured.
        intervals: u32,
        /// The drift of each metric.
        drifts: Vec<Drift>,
    },
}

/// Drift of a metric during the run.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The metric.
    pub metric: SteadyMetric,
    /// Difference between the highest and the lowest point of its slow waves, as a share of the mean.
    pub drift_share: f64,
    /// Its meaning.
    pub meaning: DriftMeaning,
}

/// Metrics that are tested for a steady state.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyMetric {
    /// Transactions per second.
    Throughput,
    /// The mean response time.
    MeanResponse,
}

/// Meaning of a drift.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DriftMeaning {
    /// Within the noise.
    Noise,
    /// It is too small to matter.
    Negligible,
    /// Within the noise, but the noise could hide a relevant drift.
    Unclear,
    /// Exceeds the noise.
    Significant,
}

impl SteadyEvidence {
    /// The drifts that make a run unsteady.
    pub(crate) fn significant_drifts(&self) -> Vec<Drift> {
        match self {
            SteadyEvidence::TooShort { .. } | SteadyEvidence::EmptyIntervals => Vec::new(),
            SteadyEvidence::Drifts { drifts, .. } => {
                let is_significant = |drift: &&Drift| drift.meaning == DriftMeaning::Significant;
                drifts.iter().filter(is_significant).copied().collect()
            }
        }
    }
}

/// Minimum length of an interval; a shorter one is added to its neighbour.
const SHORTEST_S: f64 = 0.5;

/// Series of figures, one value per interval.
#[derive(Debug, Default)]
pub(crate) struct Series {
    start_s: Vec<f64>,
    /// Within the measured time; the tail belongs to the last interval.
    length_s: Vec<f64>,
    succeeded: Vec<f64>,
    /// The same without the parts of the transactions in the tail.
    in_time: Vec<f64>,
    /// Sums of the response times of succeeded transactions.
    response_us: Vec<f64>,
    service_us: Vec<f64>,
}

impl Series {
    /// Series of one script, or of all scripts, of a measured time that ended at `end_s`.
    // Counts and sums are small enough for f64.
    pub(crate) fn of(intervals: &[Interval], script: Option<usize>, end_s: f64) -> Series {
        let mut series = Series::default();
        let mut rest = [0.0; 5];
        let mut rest_start_s = None;
        for interval in intervals {
            let scripts =
                interval.scripts.iter().enumerate().filter(|(at, _)| script.is_none_or(|s| s == *at));
            let length_s = interval.end_s.min(end_s) - interval.start_s;
            let mut figures = [length_s.max(0.0), 0.0, 0.0, 0.0, 0.0];
            for (_, script) in scripts {
                let service = script.service.as_ref().unwrap_or(&script.response);
                figures[1] += script.counts.succeeded as f64;
                figures[2] += script.response.sum_ns as f64 / NANOSECONDS_PER_MICROSECOND;
                figures[3] += service.sum_ns as f64 / NANOSECONDS_PER_MICROSECOND;
                figures[4] += script.counts.succeeded_in_time();
            }
            if figures[0] >= SHORTEST_S {
                let start_s = rest_start_s.take().unwrap_or(interval.start_s);
                series.push(start_s, add(figures, std::mem::take(&mut rest)));
            } else if !series.add_to_last(figures) {
                rest = add(rest, figures);
                rest_start_s.get_or_insert(interval.start_s);
            }
        }
        series
    }

    fn push(&mut self, start_s: f64, [length_s, succeeded, response_us, service_us, in_time]: [f64; 5]) {
        self.start_s.push(start_s);
        self.length_s.push(length_s);
        self.succeeded.push(succeeded);
        self.response_us.push(response_us);
        self.service_us.push(service_us);
        self.in_time.push(in_time);
    }

    /// Adds figures to the last interval. False if there is none.
    fn add_to_last(&mut self, figures: [f64; 5]) -> bool {
        let Series { start_s: _, length_s, succeeded, in_time, response_us, service_us } = self;
        let columns = [length_s, succeeded, response_us, service_us, in_time];
        columns
            .into_iter()
            .zip(figures)
            .all(|(column, figure)| column.last_mut().map(|last| *last += figure).is_some())
    }

    /// Intervals around the figures of the summary, which cover exactly the measured time.
    pub(crate) fn confidence(
        &self,
        tps: f64,
        response: Option<Latency>,
        service: Option<Latency>,
    ) -> Confidence {
        let estimate = |figure: Option<f64>, sums: &[f64], of: &[f64]| {
            RatioEstimate::of(sums, of).zip(figure).map(|(ratio, figure)| Estimate::around(figure, &ratio))
        };
        let mean = |latency: Option<Latency>| latency.map(|latency| latency.mean);
        Confidence {
            tps: estimate(Some(tps), &self.in_time, &self.length_s),
            response_mean_us: estimate(mean(response), &self.response_us, &self.succeeded),
            service_mean_us: estimate(mean(service), &self.service_us, &self.succeeded),
        }
    }

    /// Tests throughput and mean response time, because each can drift without the other: a rate fixes throughput, and
    /// pauses in scripts make throughput insensitive to the response time.
    pub(crate) fn steady_state(&self) -> SteadyState {
        let per = |figures: &[f64], of: &[f64]| -> Vec<f64> {
            figures.iter().zip(of).map(|(figure, of)| figure / of).collect()
        };
        let series = [
            (SteadyMetric::Throughput, per(&self.in_time, &self.length_s)),
            (SteadyMetric::MeanResponse, per(&self.response_us, &self.succeeded)),
        ];
        let of_series = |(metric, values): (SteadyMetric, Vec<f64>)| {
            let known = values.iter().all(|value| value.is_finite());
            Some((metric, known.then(|| Steadiness::of(&values))??))
        };
        let found: Option<Vec<_>> = series.into_iter().map(of_series).collect();
        let Some(found) = found else {
            return SteadyState { settled: None, steady_from_s: None, evidence: self.too_little() };
        };
        let drifts: Vec<Drift> = found.iter().map(|(metric, steady)| Drift::of(*metric, steady)).collect();
        let is_unclear = drifts.iter().any(|drift| drift.meaning == DriftMeaning::Unclear);
        let evidence = SteadyEvidence::Drifts { intervals: self.intervals(), drifts };
        if is_unclear && found.iter().all(|(_, steady)| steady.steady_from == Some(0)) {
            return SteadyState { settled: None, steady_from_s: None, evidence };
        }
        let steady_from: Option<Vec<usize>> = found.iter().map(|(_, steady)| steady.steady_from).collect();
        let steady_from = steady_from.and_then(|all| all.into_iter().max());
        SteadyState {
            settled: Some(steady_from == Some(0)),
            steady_from_s: steady_from.map(|from| if from == 0 { 0.0 } else { self.start_s[from] }),
            evidence,
        }
    }

    fn intervals(&self) -> u32 {
        u32::try_from(self.length_s.len()).unwrap_or(u32::MAX)
    }

    fn too_little(&self) -> SteadyEvidence {
        let (intervals, needed) = (self.intervals(), Steadiness::LEN_MIN);
        if self.length_s.len() < needed {
            let intervals_needed = u32::try_from(needed).unwrap_or(u32::MAX);
            SteadyEvidence::TooShort { intervals, intervals_needed }
        } else {
            SteadyEvidence::EmptyIntervals
        }
    }
}

impl Drift {
    fn of(metric: SteadyMetric, steady: &Steadiness) -> Drift {
        let Steadiness { drift, statistic, limit, steady_from } = *steady;
        let meaning = match steady_from {
            Some(0) if statistic > limit => DriftMeaning::Negligible,
            Some(0) if drift >= UNCLEAR_DRIFT_MIN => DriftMeaning::Unclear,
            Some(0) => DriftMeaning::Noise,
            _ => DriftMeaning::Significant,
        };
        Drift { metric, drift_share: drift, meaning }
    }
}

/// Drift, as a share of the mean, that is relevant: noise of at least this size could hide it.
const UNCLEAR_DRIFT_MIN: f64 = 0.1;

fn add(a: [f64; 5], b: [f64; 5]) -> [f64; 5] {
    std::array::from_fn(|at| a[at] + b[at])
}

impl Estimate {
    /// Lower bounds are at least 0, because throughput and latency are never negative.
    fn around(figure: f64, ratio: &RatioEstimate) -> Estimate {
        let RatioEstimate { ratio: _, half_width, degrees_of_freedom, autocorrelation } = *ratio;
        Estimate {
            low: round_to_ns(figure - half_width).clamp(0.0, figure),
            high: round_to_ns(figure + half_width).max(figure),
            degrees_of_freedom,
            autocorrelation: round_to_ns(autocorrelation),
        }
    }
}

#[cfg(test)]
mod tests {
    use stats::{Ending, Recorder, Sample, Timestamp};

    use super::*;
    use crate::Summary;

    /// Seconds with these numbers of transactions, of 1 ms each, and a last one of 3 ms with one more transaction.
    fn intervals(counts: impl IntoIterator<Item = u64>) -> Vec<Interval> {
        let mut recorder = Recorder::new(1, None);
        let mut interval = |start_ms: u64, length_ms: u64, count: u64| {
            let at = |ms: u64| Timestamp::from_nanos(ms * 1_000_000);
            for _ in 0..count {
                let (scheduled, finished) = (at(start_ms), at(start_ms + 1));
                recorder.record(&Sample {
                    script: 0,
                    scheduled,
                    started: scheduled,
                    finished,
                    tries: 1,
                    business: 1,
                    ending: Ending::Succeeded,
                    traffic: stats::Traffic::default(),
                });
            }
            let spare = stats::Interval::new(1);
            Interval::of(&recorder.hand_over(at(start_ms), at(start_ms + length_ms), spare), Timestamp::ZERO)
        };
        let mut intervals: Vec<_> =
            (0..).zip(counts).map(|(second, count)| interval(1000 * second, 1000, count)).collect();
        intervals.push(interval(1000 * intervals.len() as u64, 3, 1));
        intervals
    }

    fn series(counts: impl IntoIterator<Item = u64>) -> Series {
        Series::of(&intervals(counts), None, f64::INFINITY)
    }

    fn empty() -> Summary {
        serde_json::from_value(serde_json::json!({
            "duration_s": 0.0, "elapsed_s": 0.0, "tps": 0.0, "counts": crate::Counts::default(), "other_endings": {},
            "confidence": {}, "scripts": [],
        }))
        .expect("a summary of nothing")
    }

    #[test]
    fn no_more_can_succeed_than_is_scheduled_and_the_tail_is_no_time() {
        let mut summary = Summary { duration_s: 60.0, tps: 105.0, ..empty() };
        summary.add_confidence(&intervals((0..60).map(|second| 10 * uneven(second))), Some(106.0));
        let found = summary.confidence.tps.expect("long enough");
        assert_eq!(found.high, 106.0);
        summary.add_confidence(&intervals((0..60).map(|second| 10 * uneven(second))), Some(100.0));
        assert_eq!(summary.confidence.tps.expect("long enough").high, 105.0, "never below the figure");
        // Seconds after the planned end belong to the last one within.
        let series = Series::of(&intervals([4, 6, 5]), None, 1.5);
        assert_eq!((series.length_s, series.in_time), (vec![1.0, 0.5], vec![4.0, 12.0]));
    }

    /// Deterministic noise.
    fn uneven(second: u64) -> u64 {
        (second * 7919) % 13
    }

    #[test]
    fn what_is_left_of_a_second_at_the_end_belongs_to_the_one_before() {
        let series = series([4, 6]);
        assert_eq!((series.succeeded, series.response_us), (vec![4.0, 7.0], vec![4_000.0, 7_000.0]));
        assert!((series.length_s[1] - 1.003).abs() < 1e-9);
    }

    #[test]
    fn an_interval_lies_around_the_figure_of_the_summary() {
        let series = series((0..60).map(|second| 100 + uneven(second)));
        let found = series.confidence(105.0, None, None).tps.expect("long enough");
        assert!(
            100.0 < found.low && found.low < 105.0 && 105.0 < found.high && found.high < 110.0,
            "{found:?}"
        );
        assert!(((found.low + found.high) / 2.0 - 105.0).abs() < 1e-3);
    }

    #[test]
    fn a_slow_start_is_told_with_the_second_from_which_on_it_is_steady() {
        let start = |second: u64| if second < 10 { 40 } else { 100 };
        let state = series((0..60).map(|second| start(second) + uneven(second))).steady_state();
        assert_eq!((state.settled, state.steady_from_s), (Some(false), Some(10.0)), "{:?}", state.evidence);
        let [drift] = state.evidence.significant_drifts()[..] else { panic!("{:?}", state.evidence) };
        assert_eq!(drift.metric, SteadyMetric::Throughput);
        let state = series((0..60).map(|second| 100 + uneven(second))).steady_state();
        assert_eq!((state.settled, state.steady_from_s), (Some(true), Some(0.0)), "{:?}", state.evidence);
    }

    #[test]
    fn seconds_that_scatter_too_much_leave_the_question_open() {
        // Blocks of similar seconds, in mixed order.
        let scattered = |second: u64| 20 + 80 * ((second / 5 * 7 + 3) % 5) / 2;
        let state = series((0..60).map(scattered)).steady_state();
        assert_eq!((state.settled, state.steady_from_s), (None, None), "{:?}", state.evidence);
        let SteadyEvidence::Drifts { intervals: 60, drifts } = &state.evidence else { panic!("{state:?}") };
        assert!(drifts.iter().any(|drift| drift.meaning == DriftMeaning::Unclear), "{drifts:?}");
    }

    #[test]
    fn seconds_without_a_transaction_leave_the_question_open() {
        let state = series((0..60).map(|second| second % 2)).steady_state();
        assert_eq!((state.settled, state.steady_from_s), (None, None));
        assert_eq!(state.evidence, SteadyEvidence::EmptyIntervals);
    }
}
