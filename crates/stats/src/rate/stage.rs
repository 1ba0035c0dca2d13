//! Stages of a run: parts with a load,
//! a mix and figures of their own.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::curve::{RateCurve, RatePoint, Seconds};
use crate::load::seconds;

/// A part of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadStage {
    /// Length, in whole seconds.
    #[serde(with = "seconds", rename = "duration_s")]
    #[schemars(with = "f64")]
    pub duration: Duration,
    /// The load; absent if it is that of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<StageLoad>,
    /// Weights of scripts by name, instead of those of the mix; the other scripts keep theirs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, u32>,
}

/// The load of a stage; it changes steadily from the first to the second value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageLoad {
    /// A rate.
    Rate {
        /// At the beginning.
        from_tps: f64,
        /// At the end.
        to_tps: f64,
    },
    /// A number of clients in a closed loop.
    Clients {
        /// At the beginning.
        from: u32,
        /// At the end.
        to: u32,
    },
}

/// More stages are a mistake; each takes space in reports.
const STAGES_MAX: usize = 1_000;
/// Longest stage: a month.
const STAGE_MAX: Duration = Duration::from_secs(31 * 24 * 3600);
const MIXED: &str = "either all stages have rates, or all have clients, or none has either: write 1min@500, 2min@500..2000, or \
                     1min@8c, 2min@8..64c";

impl LoadStage {
    /// A stage with the load of the run.
    pub fn new(duration: Duration) -> LoadStage {
        LoadStage { duration, load: None, weights: BTreeMap::new() }
    }

    /// Length of all stages together.
    pub fn total(stages: &[LoadStage]) -> Duration {
        stages.iter().map(|stage| stage.duration).fold(Duration::ZERO, Duration::saturating_add)
    }

    /// The stages with their beginnings, since measuring began.
    pub fn with_starts(stages: &[LoadStage]) -> impl Iterator<Item = (Duration, &LoadStage)> {
        stages.iter().scan(Duration::ZERO, |next, stage| {
            let start = *next;
            *next = next.saturating_add(stage.duration);
            Some((start, stage))
        })
    }

    /// The rate over all stages; `None` if they have none.
    pub fn rate_curve(stages: &[LoadStage]) -> Option<RateCurve> {
        let points = LoadStage::with_starts(stages).map(|(start, stage)| match stage.load {
            Some(StageLoad::Rate { from_tps, to_tps }) => {
                let (start_s, end_s) = (start.as_secs_f64(), (start + stage.duration).as_secs_f64());
                let point = |at_s: f64, rate_tps: f64| RatePoint { at_s, rate_tps };
                Some([point(start_s, from_tps), point(end_s, to_tps)])
            }
            Some(StageLoad::Clients { .. }) | None => None,
        });
        let points: Option<Vec<_>> = points.collect();
        let points: Vec<RatePoint> = points?.into_iter().flatten().collect();
        (!points.is_empty()).then_some(RateCurve::Points { file: None, points })
    }

    /// The largest number of clients; `None` if the stages do not set it.
    pub fn clients_max(stages: &[LoadStage]) -> Option<u32> {
        let of_stage = |stage: &LoadStage| match stage.load {
            Some(StageLoad::Clients { from, to }) => Some(from.max(to)),
            Some(StageLoad::Rate { .. }) | None => None,
        };
        stages.iter().filter_map(of_stage).max()
    }

    /// What contradicts these stages, as a sentence with the correct form.
    pub fn problem(stages: &[LoadStage]) -> Option<String> {
        if stages.is_empty() || stages.len() > STAGES_MAX {
            return Some(format!("there must be 1 to {STAGES_MAX} stages, such as 1min@500, 2min@500..2000"));
        }
        if let Some(stage) = stages.iter().find(|stage| stage.duration.is_zero()) {
            let corrected = LoadStage { duration: Duration::from_secs(60), ..stage.clone() };
            return Some(format!(
                "the stage {stage} has no length: write a time above 0, such as {corrected}"
            ));
        }
        if let Some(stage) = stages.iter().find(|stage| stage.duration.subsec_nanos() > 0) {
            let whole = Duration::from_secs(stage.duration.as_secs() + 1);
            let corrected = LoadStage { duration: whole, ..stage.clone() };
            return Some(format!(
                "a stage lasts whole seconds, because its figures are counted by the second: write {corrected} instead of \
                 {stage}"
            ));
        }
        if let Some(stage) = stages.iter().find(|stage| stage.duration > STAGE_MAX) {
            return Some(format!("the stage {stage} is longer than a month"));
        }
        let none_of_client = |stage: &&LoadStage| match stage.load {
            Some(StageLoad::Clients { from, to }) => from.min(to) == 0,
            Some(StageLoad::Rate { .. }) | None => false,
        };
        if let Some(stage) = stages.iter().find(none_of_client) {
            return Some(format!("the stage {stage} has a moment without a client: write 1c at least"));
        }
        let kind = |stage: &LoadStage| stage.load.as_ref().map(std::mem::discriminant);
        if stages.windows(2).any(|pair| kind(&pair[0]) != kind(&pair[1])) {
            return Some(MIXED.to_owned());
        }
        LoadStage::rate_curve(stages).and_then(|curve| curve.problem())
    }
}

/// The number of clients of stages at a time since measuring began; `None` if they do not set it. Before the first stage
/// it is that of its beginning, after the last one that of its end.
pub fn clients_at(stages: &[LoadStage], at_s: f64) -> Option<f64> {
    let mut last = None;
    for (start, stage) in LoadStage::with_starts(stages) {
        let Some(StageLoad::Clients { from, to }) = stage.load else { return None };
        let (from, to) = (f64::from(from), f64::from(to));
        let share = (at_s - start.as_secs_f64()) / stage.duration.as_secs_f64();
        if share < 1.0 {
            return Some(from + (to - from) * share.max(0.0));
        }
        last = Some(to);
    }
    last
}

/// The next time from `at_s` on at which a client has work, by its place in the order of clients, from 0: `at_s` itself if
/// it has work now, `None` if it has none any more. A client has work while the number of clients, rounded to the nearest
/// whole number, is above its place.
pub fn client_starts_s(stages: &[LoadStage], place: u32, at_s: f64) -> Option<f64> {
    let needed = f64::from(place) + 0.5;
    if clients_at(stages, at_s)? >= needed {
        return Some(at_s);
    }
    LoadStage::with_starts(stages).find_map(|(start, stage)| {
        let Some(StageLoad::Clients { from, to }) = stage.load else { return None };
        let (from, to, start_s) = (f64::from(from), f64::from(to), start.as_secs_f64());
        let reached_s = if from >= needed {
            start_s
        } else if to >= needed {
            start_s + (needed - from) / (to - from) * stage.duration.as_secs_f64()
        } else {
            return None;
        };
        (reached_s > at_s).then_some(reached_s)
    })
}

impl fmt::Display for StageLoad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StageLoad::Rate { from_tps, to_tps } if from_tps == to_tps => write!(out, "{from_tps}"),
            StageLoad::Rate { from_tps, to_tps } => write!(out, "{from_tps}..{to_tps}"),
            StageLoad::Clients { from, to } if from == to => write!(out, "{from}c"),
            StageLoad::Clients { from, to } => write!(out, "{from}..{to}c"),
        }
    }
}

impl fmt::Display for LoadStage {
    /// As on the command line, without weights.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Seconds(self.duration.as_secs_f64()))?;
        self.load.map_or(Ok(()), |load| write!(out, "@{load}"))
    }
}
