//! A run over time: throughput and quantiles of each stretch, the heat map, and the distribution of all, in one pass
//! over the intervals, since their histograms are large when decoded. A damaged histogram is left out and counted.

use results::{Counts, Interval, Record};
use stats::Distribution;

use super::heat::HeatOverTime;
use super::{LatencyRows, neighbours};

/// All that is drawn of a run's intervals.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// In order.
    pub(crate) points: Vec<TimelinePoint>,
    /// How many transactions took how long, when.
    pub(crate) heat: HeatOverTime,
    /// Response times of the whole run.
    pub(crate) response: Distribution,
    /// Service times, if they are something else.
    pub(crate) service: Option<Distribution>,
    /// Histograms that could not be read.
    pub(crate) damaged: usize,
}

/// A stretch of time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct TimelinePoint {
    pub(crate) start_s: f64,
    pub(crate) end_s: f64,
    /// Succeeded transactions per second.
    pub(crate) tps: f64,
    /// Failed ones per second.
    pub(crate) failed_tps: f64,
    /// Skipped ones that were due then, per second.
    pub(crate) skipped_tps: f64,
    /// Of the response times; `None` if nothing succeeded.
    pub(crate) quantiles: Option<Quantiles>,
}

/// Quantiles in microseconds.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) struct Quantiles {
    pub(crate) p50: f64,
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

impl Timeline {
    /// The intervals of a record as at most `points_max` points; the heat map's rows are those given.
    pub(crate) fn of(record: &Record, points_max: usize, rows: LatencyRows) -> Timeline {
        let intervals = &record.intervals;
        let mut timeline = Timeline {
            points: Vec::new(),
            heat: HeatOverTime::new(rows),
            response: Distribution::new(),
            service: None,
            damaged: 0,
        };
        let has_service =
            intervals.iter().flat_map(|interval| &interval.scripts).any(|script| script.service.is_some());
        let mut service = has_service.then(Distribution::new);
        let mut scratch = Distribution::new();
        for stretch in stretches(intervals, points_max) {
            scratch.clear();
            for script in stretch.iter().flat_map(|interval| &interval.scripts) {
                match script.response.decode() {
                    Ok(response) => scratch.merge(&response),
                    Err(_) => timeline.damaged += 1,
                }
                if let Some(service) = &mut service {
                    match script.service.as_ref().unwrap_or(&script.response).decode() {
                        Ok(times) => service.merge(&times),
                        Err(_) => timeline.damaged += 1,
                    }
                }
            }
            let Some(point) = TimelinePoint::of(stretch, &scratch) else { continue };
            timeline.heat.add(point.start_s, point.end_s, &scratch);
            timeline.response.merge(&scratch);
            timeline.points.push(point);
        }
        timeline.heat.thin_out();
        timeline.service = service;
        timeline
    }
}

/// Neighbours that make a point; a last one that is much shorter than the others goes with the one before it, since a
/// rate over a few milliseconds says nothing.
fn stretches(intervals: &[Interval], points_max: usize) -> Vec<&[Interval]> {
    let together = neighbours(intervals.len(), points_max);
    let span = |stretch: &[Interval]| match (stretch.first(), stretch.last()) {
        (Some(first), Some(last)) => last.end_s - first.start_s,
        _ => 0.0,
    };
    let mut stretches: Vec<&[Interval]> = intervals.chunks(together).collect();
    if let [.., before, last] = stretches[..]
        && span(last) < span(before) / 2.0
    {
        let joined = before.len() + last.len();
        stretches.truncate(stretches.len() - 2);
        stretches.push(&intervals[intervals.len() - joined..]);
    }
    stretches
}

impl TimelinePoint {
    fn of(stretch: &[Interval], response: &Distribution) -> Option<TimelinePoint> {
        let (start_s, end_s) = (stretch.first()?.start_s, stretch.last()?.end_s);
        let seconds = end_s - start_s;
        let sum = |of: fn(&Counts) -> u64| -> f64 {
            stretch.iter().map(|interval| of(&interval.counts) as f64).sum::<f64>() / seconds
        };
        // Also false for what is not a number, which only a damaged file holds.
        (seconds > 0.0 && start_s.is_finite() && end_s.is_finite()).then(|| TimelinePoint {
            start_s,
            end_s,
            tps: sum(|counts| counts.succeeded),
            failed_tps: sum(|counts| counts.failed),
            skipped_tps: sum(|counts| counts.skipped),
            quantiles: Quantiles::of(response),
        })
    }

    /// The middle of the stretch.
    pub(crate) fn time_s(&self) -> f64 {
        f64::midpoint(self.start_s, self.end_s)
    }
}

impl Quantiles {
    fn of(distribution: &Distribution) -> Option<Quantiles> {
        let us = |q: f64| Some(distribution.quantile_ns(q)? as f64 / NANOSECONDS_PER_MICROSECOND);
        Some(Quantiles { p50: us(0.5)?, p95: us(0.95)?, p99: us(0.99)?, p999: us(0.999)?, max: us(1.0)? })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use results::{EncodedDistribution, IntervalScript};

    use super::*;

    fn interval(start_s: f64, end_s: f64, latencies_ms: &[u64]) -> Interval {
        let mut response = Distribution::new();
        latencies_ms.iter().for_each(|&ms| response.record(Duration::from_millis(ms)));
        let succeeded = response.count();
        let counts = Counts { scheduled: succeeded, succeeded, ..Counts::default() };
        let response = EncodedDistribution::of(&response);
        let script = IntervalScript {
            counts,
            response,
            service: None,
            lag_max_ns: 0,
            failed: None,
            skipped: None,
            unfinished: None,
            unknown: None,
        };
        Interval { start_s, end_s, counts, scripts: vec![script] }
    }

    #[test]
    fn neighbours_are_merged_until_there_are_few_enough() {
        let intervals: Vec<_> =
            (0..10u32).map(|second| interval(second.into(), f64::from(second) + 1.0, &[1, 2])).collect();
        let lengths = |most| stretches(&intervals, most).iter().map(|it| it.len()).collect::<Vec<_>>();
        assert_eq!(lengths(600), [1; 10]);
        assert_eq!(lengths(5), [2; 5]);
        assert_eq!(lengths(3), [4, 4, 2]);
    }

    #[test]
    fn a_last_stretch_of_a_moment_is_no_point_of_its_own() {
        let intervals = [interval(0.0, 1.0, &[1]), interval(1.0, 2.0, &[1]), interval(2.0, 2.01, &[1, 1])];
        let stretches = stretches(&intervals, 600);
        assert_eq!(stretches.len(), 2);
        let point = TimelinePoint::of(stretches[1], &Distribution::new()).unwrap();
        assert!((point.tps - 3.0 / 1.01).abs() < 1e-9);
    }

    #[test]
    fn quantiles_of_a_point_are_those_of_its_merged_histograms() {
        let intervals = [interval(0.0, 1.0, &[1, 1, 1]), interval(1.0, 2.0, &[9])];
        let mut merged = Distribution::new();
        for interval in &intervals {
            merged.merge(&interval.scripts[0].response.decode().unwrap());
        }
        let point = TimelinePoint::of(&intervals, &merged).unwrap();
        let quantiles = point.quantiles.unwrap();
        assert!((quantiles.p50 - 1_000.0).abs() < 1.0);
        assert_eq!(quantiles.max, 9_000.0);
        assert_eq!(point.tps, 2.0);
    }

    #[test]
    fn time_that_does_not_pass_makes_no_point() {
        for (start_s, end_s) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert_eq!(TimelinePoint::of(&[interval(start_s, end_s, &[1])], &Distribution::new()), None);
        }
    }
}
