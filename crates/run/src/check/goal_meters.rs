//! The goals of a run while it lasts: one meter, or one for each stage, since a percentile over different loads says little.
//! A transaction belongs to the stage in which it ended.

use std::time::Duration;

use stats::goals::{GoalMeter, GoalResult, GoalStop};
use stats::rate::LoadStage;
use stats::{Interval, Timestamp};

/// Rounding of the times of intervals.
const TOLERANCE: Duration = Duration::from_millis(1);

/// The meters of a run's goals.
pub(crate) struct GoalMeters {
    /// With their begin and end since measuring began.
    meters: Vec<StageMeter>,
    has_stages: bool,
    origin: Option<Timestamp>,
}

struct StageMeter {
    start: Duration,
    /// `None`: that of the run.
    end: Option<Duration>,
    meter: GoalMeter,
}

impl GoalMeters {
    /// One meter for the whole run, or one for each stage.
    pub(crate) fn new(
        stages: &[LoadStage],
        meter: impl Fn(Option<(Duration, &LoadStage)>) -> GoalMeter,
    ) -> Self {
        let last = stages.len().saturating_sub(1);
        let of_stage = |(number, (start, stage)): (usize, (Duration, &LoadStage))| StageMeter {
            start,
            end: (number < last).then_some(start + stage.duration),
            meter: meter(Some((start, stage))),
        };
        let meters = match stages.is_empty() {
            true => vec![StageMeter { start: Duration::ZERO, end: None, meter: meter(None) }],
            false => LoadStage::with_starts(stages).enumerate().map(of_stage).collect(),
        };
        Self { meters, has_stages: !stages.is_empty(), origin: None }
    }

    /// Adds the next measured interval; true if the run should end.
    pub(crate) fn take(&mut self, interval: &Interval) -> bool {
        let origin = *self.origin.get_or_insert(interval.start);
        let at = interval.start.since(origin) + TOLERANCE;
        let of_interval = self.meters.iter_mut().find(|stage| stage.end.is_none_or(|end| at < end));
        of_interval.is_some_and(|stage| stage.meter.take(interval))
    }

    /// The run is over and has this length.
    pub(crate) fn close(&mut self, duration: Duration) {
        self.meters.retain(|stage| stage.start < duration || stage.start.is_zero());
        for stage in &mut self.meters {
            let end = stage.end.unwrap_or(duration).min(duration);
            stage.meter.close(end.saturating_sub(stage.start));
        }
    }

    /// The goals with their verdicts; with stages, those of each stage.
    pub(crate) fn evaluate(&self) -> Vec<GoalResult> {
        let of_stage = |(number, stage): (u32, &StageMeter)| {
            let number = self.has_stages.then_some(number);
            stage.meter.evaluate().into_iter().map(move |result| GoalResult { stage: number, ..result })
        };
        (0_u32..).zip(&self.meters).flat_map(of_stage).collect()
    }

    /// Why the run was ended early, if it was; the goal is numbered as in [`GoalMeters::evaluate`].
    pub(crate) fn stop(&self) -> Option<GoalStop> {
        let mut before = 0;
        self.meters.iter().find_map(|stage| {
            let earlier = before;
            before += u32::try_from(stage.meter.evaluate().len()).unwrap_or(0);
            let GoalStop { goal, basis, after_s } = stage.meter.stop()?;
            Some(GoalStop { goal: earlier + goal, basis, after_s: stage.start.as_secs_f64() + after_s })
        })
    }
}
