//! How sure the figures of a run are: intervals that would hold its true values, and whether it had settled.
//! `stats` computes both from series, which are made here from the intervals of the record; `report` shows them.
//! docs/statistics.md explains the methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{RatioEstimate, Steadiness};

use crate::summary::{NANOSECONDS_PER_MICROSECOND, round_to_ns};
use crate::{Interval, Latency, Summary};

/// 95 % confidence intervals that allow for autocorrelation; each `null` if the run was too short for one.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Confidence {
    /// Of the transactions per second.
    pub tps: Option<Estimate>,
    /// Of the mean response time.
    pub response_mean_us: Option<Estimate>,
    /// Of the mean service time.
    pub service_mean_us: Option<Estimate>,
}

/// An estimate between its bounds.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The lower bound of the 95 % interval.
    pub low: f64,
    /// The upper bound of the 95 % interval.
    pub high: f64,
    /// Of Student's t, by which the interval is as wide as it is: the fewer, the less was known of the noise.
    pub degrees_of_freedom: u32,
    /// Autocorrelation of neighbouring intervals of the record, from −1 to 1; the interval allows for it.
    pub autocorrelation: f64,
}

/// Whether the run had settled when measuring began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// `null` if it cannot be told: the run was too short, or its seconds scatter too much.
    pub settled: Option<bool>,
    /// From when on it was steady, in seconds since measuring began; 0 if from the start, `null` if never.
    pub steady_from_s: Option<f64>,
    /// Why.
    pub evidence: SteadyEvidence,
}

/// What the judgement of a steady state rests on.
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
        /// Of each metric.
        drifts: Vec<Drift>,
    },
}

/// By how much a metric drifted during the run.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// The metric.
    pub metric: SteadyMetric,
    /// Between the highest and the lowest point of its slow waves, as a share of the mean.
    pub drift_share: f64,
    /// What it means.
    pub meaning: DriftMeaning,
}

/// Metrics whose steadiness is judged.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyMetric {
    /// Transactions per second.
    Throughput,
    /// The mean response time.
    MeanResponse,
}

/// What a drift means.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DriftMeaning {
    /// Noise explains it.
    Noise,
    /// It is too small to matter.
    Negligible,
    /// Noise explains it, and would hide a drift that matters.
    Unclear,
    /// It is more than noise explains.
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

/// An interval below this is a rest, and belongs to its neighbour.
const SHORTEST_S: f64 = 0.5;

/// Fills in what the intervals of a run tell of its summary.
pub(crate) fn fill(summary: &mut Summary, intervals: &[Interval]) {
    let whole = Series::of(intervals, None);
    summary.confidence = whole.confidence(summary.tps, summary.response_us, summary.service_us);
    summary.steady_state = Some(whole.steady_state());
    for (index, script) in summary.scripts.iter_mut().enumerate() {
        let series = Series::of(intervals, Some(index));
        script.confidence = series.confidence(script.tps, script.response_us, script.service_us);
    }
}

/// The intervals of a run as series of figures, one value for each.
#[derive(Debug, Default)]
struct Series {
    start_s: Vec<f64>,
    length_s: Vec<f64>,
    succeeded: Vec<f64>,
    /// The times of all that succeeded, added up.
    response_us: Vec<f64>,
    service_us: Vec<f64>,
}

impl Series {
    /// Of one script, or of all together.
    // Counts and sums are far below where f64 begins to matter to an estimate.
    fn of(intervals: &[Interval], script: Option<usize>) -> Series {
        let mut series = Series::default();
        let mut rest = [0.0; 4];
        let mut rest_start_s = None;
        for interval in intervals {
            let scripts =
                interval.scripts.iter().enumerate().filter(|(at, _)| script.is_none_or(|s| s == *at));
            let mut figures = [interval.end_s - interval.start_s, 0.0, 0.0, 0.0];
            for (_, script) in scripts {
                let service = script.service.as_ref().unwrap_or(&script.response);
                figures[1] += script.counts.succeeded as f64;
                figures[2] += script.response.sum_ns as f64 / NANOSECONDS_PER_MICROSECOND;
                figures[3] += service.sum_ns as f64 / NANOSECONDS_PER_MICROSECOND;
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

    fn push(&mut self, start_s: f64, [length_s, succeeded, response_us, service_us]: [f64; 4]) {
        self.start_s.push(start_s);
        self.length_s.push(length_s);
        self.succeeded.push(succeeded);
        self.response_us.push(response_us);
        self.service_us.push(service_us);
    }

    /// False if there is none yet.
    fn add_to_last(&mut self, figures: [f64; 4]) -> bool {
        let columns = [&mut self.length_s, &mut self.succeeded, &mut self.response_us, &mut self.service_us];
        columns
            .into_iter()
            .zip(figures)
            .all(|(column, figure)| column.last_mut().map(|last| *last += figure).is_some())
    }

    /// Around the figures of the summary, which are of exactly the measured time.
    fn confidence(&self, tps: f64, response: Option<Latency>, service: Option<Latency>) -> Confidence {
        let estimate = |figure: Option<f64>, sums: &[f64], of: &[f64]| {
            RatioEstimate::of(sums, of).zip(figure).map(|(ratio, figure)| Estimate::around(figure, &ratio))
        };
        let mean = |latency: Option<Latency>| latency.map(|latency| latency.mean);
        Confidence {
            tps: estimate(Some(tps), &self.succeeded, &self.length_s),
            response_mean_us: estimate(mean(response), &self.response_us, &self.succeeded),
            service_mean_us: estimate(mean(service), &self.service_us, &self.succeeded),
        }
    }

    /// Throughput and mean response time each say something that the other may not: under a rate the one is what was
    /// asked for, and with pauses in the scripts the other hardly matters to it.
    fn steady_state(&self) -> SteadyState {
        let per = |figures: &[f64], of: &[f64]| -> Vec<f64> {
            figures.iter().zip(of).map(|(figure, of)| figure / of).collect()
        };
        let series = [
            (SteadyMetric::Throughput, per(&self.succeeded, &self.length_s)),
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

/// A movement of this share of the mean would matter to anybody; noise that explains it hides it.
const UNCLEAR_DRIFT_MIN: f64 = 0.1;

fn add(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    std::array::from_fn(|at| a[at] + b[at])
}

impl Estimate {
    /// Neither throughput nor latency is ever negative.
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

    /// Seconds with so many transactions each, of a millisecond each, and a last one of 3 ms with one more.
    fn series(counts: impl IntoIterator<Item = u64>) -> Series {
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
                });
            }
            let spare = stats::Interval::new(1);
            Interval::of(&recorder.hand_over(at(start_ms), at(start_ms + length_ms), spare), Timestamp::ZERO)
        };
        let mut intervals: Vec<_> =
            (0..).zip(counts).map(|(second, count)| interval(1000 * second, 1000, count)).collect();
        intervals.push(interval(1000 * intervals.len() as u64, 3, 1));
        Series::of(&intervals, None)
    }

    /// Some noise that needs no generator.
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
        // Blocks of seconds that are alike, in no order.
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
