//! The figures of each stage of a run, from its intervals. A transaction belongs to the stage in which it ended, a skipped
//! one to that in which it was due; those that ended after the measured time belong to the last stage.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::rate::{Intensity, LoadStage, StageLoad};
use stats::{Counts, ScriptStats};

use crate::confidence::Series;
use crate::{Confidence, Interval, Latency, Plan, TimesOfAll, endings};

/// Rounding of the times of intervals.
const TOLERANCE_S: f64 = 1e-3;

/// The statistics of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// Its begin, in seconds since measuring began.
    pub start_s: f64,
    /// Its measured seconds.
    pub duration_s: f64,
    /// Scheduled transactions per second, on average; `null` in a closed loop.
    pub scheduled_tps: Option<f64>,
    /// Its succeeded transactions per second.
    pub tps: f64,
    /// Its transactions by ending.
    pub counts: Counts,
    /// Response time, as for the run.
    pub response_us: Option<Latency>,
    /// Service time, as for the run.
    pub service_us: Option<Latency>,
    /// Times of all its transactions that were due, with any ending; absent if all succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_us: Option<TimesOfAll>,
    /// Share of its transactions that were skipped or exceeded the latency limit; `null` without a limit.
    pub late_or_skipped_share: Option<f64>,
    /// Confidence intervals of its throughput and mean latencies; each is `null` if it was too short, or if its load
    /// changed within it.
    pub confidence: Confidence,
}

impl StageSummary {
    /// The stages of a run that have begun; empty without stages.
    pub(crate) fn all(plan: &Plan, intervals: &[Interval], duration_s: f64) -> Vec<StageSummary> {
        let curve = plan.rate_curve();
        let scheduled = curve.as_ref().map(|curve| Intensity::new(curve, plan.arrivals, 0.0));
        let mut rest = intervals;
        let last = plan.stages.len().saturating_sub(1);
        let stages = LoadStage::with_starts(&plan.stages).enumerate().map(|(number, (start, stage))| {
            let start_s = start.as_secs_f64();
            let planned_end_s = start_s + stage.duration.as_secs_f64();
            let end_s = if number == last { duration_s } else { planned_end_s.min(duration_s) };
            let of_stage = |interval: &Interval| interval.start_s + TOLERANCE_S < planned_end_s;
            let own = if number == last { rest.len() } else { rest.partition_point(of_stage) };
            let (own, later) = rest.split_at(own);
            rest = later;
            let rate = scheduled.as_ref().map(|scheduled| scheduled.between(start_s, end_s));
            let rate = rate.map(|arrivals| arrivals / (end_s - start_s)).or(plan.rate_tps);
            (end_s > start_s).then(|| Self::new(plan, stage, own, [start_s, end_s], rate))
        });
        stages.collect::<Vec<_>>().into_iter().flatten().collect()
    }

    fn new(
        plan: &Plan,
        stage: &LoadStage,
        intervals: &[Interval],
        [start_s, end_s]: [f64; 2],
        scheduled_tps: Option<f64>,
    ) -> StageSummary {
        let mut total = ScriptStats::new();
        for interval in intervals.iter().filter_map(|interval| interval.to_stats().ok()) {
            total.merge(&interval.total());
        }
        let duration_s = end_s - start_s;
        let tps = total.counts.succeeded_in_time() / duration_s;
        let (response_us, service_us) = (Latency::of(&total.response), Latency::of(&total.service));
        let is_steady = match stage.load {
            Some(StageLoad::Rate { from_tps, to_tps }) => from_tps == to_tps,
            Some(StageLoad::Clients { from, to }) => from == to,
            None => plan.curve.is_none(),
        };
        let mut confidence = Confidence::default();
        if is_steady {
            let series = Series::of(intervals, None, end_s);
            confidence = series.confidence(tps, response_us, service_us);
        }
        if let (Some(rate_tps), Some(interval)) = (scheduled_tps, &mut confidence.tps) {
            // No more transactions can succeed than are scheduled.
            interval.high = interval.high.min(rate_tps.max(tps));
        }
        StageSummary {
            start_s,
            duration_s,
            scheduled_tps,
            tps,
            counts: total.counts,
            response_us,
            service_us,
            all_us: TimesOfAll::of(&total),
            late_or_skipped_share: plan.latency_limit_us.map(|_| total.counts.late_or_skipped_share()),
            confidence,
        }
    }

    /// The response times that reports show: of all transactions that were due, however they ended.
    pub fn response_of_all_us(&self) -> Option<Latency> {
        endings::of_all(self.response_us, self.all_us)
    }
}
