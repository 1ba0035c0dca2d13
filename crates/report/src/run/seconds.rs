//! The seconds of a run and what is normal for them; and those in which the throughput was far below it, with what the
//! server did then. Also how well the throughput is known. Pure; used by the first screen, the effects of actions and the
//! sentence on the steady state.

use results::{Event, EventKind, Interval, Record};

use crate::figures::{TIE, asked_seconds, counted, half_width, percent};

/// The normal seconds without which nothing is said.
pub(super) const NORMAL_MIN: usize = 5;
/// Deviations from the normal rate that chance explains, in standard deviations.
const DEVIATIONS: f64 = 4.0;
/// The standard deviation of a normal distribution, as a multiple of its median absolute deviation.
const OF_MEDIAN_DEVIATION: f64 = 1.4826;
/// Smaller changes are no effect, however steady the load was.
const SHARE_MIN: f64 = 0.05;
/// A second with more than this share of the normal throughput is no dip.
const DIP_SHARE_MAX: f64 = 0.8;

pub(super) fn seconds_of(record: &Record) -> Vec<Second> {
    record.intervals.iter().filter_map(Second::of).collect()
}

/// Half of the interval of the throughput as a share of it; `None` without an interval.
pub(super) fn precision(record: &Record) -> Option<f64> {
    let tps = record.summary.tps;
    let interval = record.summary.confidence.tps.filter(|_| tps > 0.0)?;
    Some(half_width(tps, interval.low, interval.high) / tps)
}

/// `Throughput fell to 41 % of normal at 34 s, during a checkpoint (4 of 120 seconds below 80 %)`; `None` if chance
/// explains the lowest.
pub(super) fn dips_in_words(record: &Record) -> Option<String> {
    let seconds = seconds_of(record);
    let normal = Normal::of(seconds.iter().map(|it| it.tps).collect())?;
    let is_dip = |it: &&Second| it.tps < DIP_SHARE_MAX * normal.median;
    let dips: Vec<&Second> = seconds.iter().filter(is_dip).collect();
    let lowest = dips.iter().min_by(|a, b| a.tps.total_cmp(&b.tps)).filter(|it| !normal.has(it.tps))?;
    let events = record.observation.iter().flat_map(|observation| &observation.events);
    let during = |event: &&Event| lowest.touches((event.start_s, event.end_s.unwrap_or(f64::INFINITY)));
    let during = events.into_iter().find(during).map(|event| match event.kind {
        EventKind::Checkpoint => ", during a checkpoint",
        EventKind::Autovacuum => ", during an autovacuum",
        EventKind::LockQueue => ", with a queue for a lock",
    });
    Some(format!(
        "Throughput fell to {} of normal at {}{} ({} of {} below {}{TIE}%)",
        percent(lowest.tps, normal.median),
        asked_seconds(lowest.start_s.round()),
        during.unwrap_or_default(),
        dips.len(),
        counted(seconds.len() as u64, "second", "seconds"),
        DIP_SHARE_MAX * 100.0,
    ))
}

/// An interval of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Second {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
    pub(super) tps: f64,
    /// `None` if nothing succeeded.
    pub(super) response_us: Option<f64>,
}

/// A shorter interval is a rest.
const LENGTH_MIN_S: f64 = 0.5;
const NANOSECONDS_PER_MICROSECOND: f64 = 1e3;

impl Second {
    fn of(interval: &Interval) -> Option<Second> {
        let Interval { start_s, end_s, counts, scripts } = interval;
        let length_s = end_s - start_s;
        let responses = scripts.iter().map(|script| &script.response);
        let (count, sum_ns) =
            responses.fold((0, 0), |(count, sum), response| (count + response.count, sum + response.sum_ns));
        (length_s >= LENGTH_MIN_S).then(|| Second {
            start_s: *start_s,
            end_s: *end_s,
            tps: counts.succeeded as f64 / length_s,
            response_us: (count > 0).then(|| sum_ns as f64 / count as f64 / NANOSECONDS_PER_MICROSECOND),
        })
    }

    pub(super) fn overlap_s(&self, (begin_s, end_s): (f64, f64)) -> f64 {
        (self.end_s.min(end_s) - self.start_s.max(begin_s)).max(0.0)
    }

    /// Whether the time is in it, or passes through it.
    pub(super) fn touches(&self, (begin_s, end_s): (f64, f64)) -> bool {
        self.start_s <= end_s && begin_s <= self.end_s
    }
}

/// The values that are normal: around the median.
#[derive(Clone, Copy, Debug)]
pub(super) struct Normal {
    pub(super) median: f64,
    tolerance: f64,
}

impl Normal {
    pub(super) fn of(mut values: Vec<f64>) -> Option<Normal> {
        if values.len() < NORMAL_MIN {
            return None;
        }
        let center = median(&mut values);
        let mut deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
        let deviation = median(&mut deviations) * OF_MEDIAN_DEVIATION;
        Some(Normal { median: center, tolerance: (DEVIATIONS * deviation).max(SHARE_MIN * center) })
    }

    pub(super) fn has(&self, value: f64) -> bool {
        (value - self.median).abs() <= self.tolerance
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
