//! The goals of a run: whether they fit its load, before it starts, and the meter that evaluates them. `stats` has the
//! goals themselves; the runner calls this.

use std::time::Duration;

use engine::Limit;
use stats::goals::{Goal, GoalFigure, GoalMeter, LatencyKind};
use stats::rate::{GapLaw, Intensity};

use super::RunToCheck;
use super::goal_meters::GoalMeters;
use crate::error::RunError;
use crate::spec::RunSpec;
use crate::spec::scripts::Scripts;

/// Checks that each goal is about a script of the mix and a figure that the load has.
pub(super) fn check(run: &RunToCheck<'_>) -> Result<(), RunError> {
    run.spec.goals.iter().try_for_each(|goal| check_goal(goal, run)).map_err(RunError::Usage)
}

fn check_goal(goal: &Goal, run: &RunToCheck<'_>) -> Result<(), String> {
    let (has_rate, has_limit) = (run.spec.has_rate(), run.spec.latency_limit.is_some());
    let (rate, limit) = (run.surface.name("rate"), run.surface.name("latency_limit"));
    let missing = match goal.figure {
        GoalFigure::Late if !has_limit => Some(format!(
            "transactions can be late only with a latency limit ({limit}): write over(20ms) instead"
        )),
        GoalFigure::Skipped if !has_rate || !has_limit => {
            Some(format!("transactions are skipped only with a rate ({rate}) and a latency limit ({limit})"))
        }
        figure if figure.latency() == Some(LatencyKind::Lag) && !has_rate => {
            Some(format!("transactions can start later than scheduled only with a rate ({rate})"))
        }
        _ => None,
    };
    if let Some(missing) = missing {
        return Err(format!("the goal \"{goal}\" does not apply to this load: {missing}"));
    }
    let (Some(name), Some(scripts)) = (&goal.script, run.scripts) else { return Ok(()) };
    if script(name, scripts).is_some() {
        return Ok(());
    }
    let known: Vec<_> = scripts.texts.iter().map(|text| format!("\"{}\"", text.name)).collect();
    Err(format!("the goal \"{goal}\" names a script that is not in the mix of {}", known.join(", ")))
}

/// Index of the script with this name: as in reports, or a file's name without directory or ending.
pub(super) fn script(name: &str, scripts: &Scripts) -> Option<usize> {
    let names = || scripts.texts.iter().map(|text| text.name.as_str());
    let file = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_stem = |path: &str| file(path).rsplit_once('.').is_some_and(|(stem, _)| stem == name);
    names()
        .position(|known| known == name)
        .or_else(|| names().position(|known| file(known) == name))
        .or_else(|| names().position(is_stem))
}

/// For each goal, the index of its script, if it is about a single one.
pub(crate) fn scripts_of_goals(spec: &RunSpec, scripts: &Scripts) -> Vec<Option<usize>> {
    let index = |goal: &Goal| goal.script.as_ref().and_then(|name| script(name, scripts));
    spec.goals.iter().map(index).collect()
}

/// A meter of the goals that never ends a run.
pub(crate) fn passive_meter(spec: &RunSpec, scripts: &Scripts) -> GoalMeter {
    let goals = spec.goals.iter().cloned().zip(scripts_of_goals(spec, scripts));
    GoalMeter::new(goals).of_rate(spec.mean_rate_tps())
}

/// The meters of the run's goals, with stages one for each.
pub(crate) fn meters(spec: &RunSpec, scripts: &Scripts) -> GoalMeters {
    GoalMeters::new(&spec.stages, |stage| {
        let (start_s, length) = match (stage, spec.limit) {
            (Some((start, stage)), _) => (start.as_secs_f64(), Some(stage.duration)),
            (None, Limit::Duration(duration)) => (0.0, Some(duration)),
            (None, Limit::TransactionsPerClient(_)) => (0.0, None),
        };
        let rate_tps = match (spec.rate_curve(), length) {
            (Some(curve), Some(length)) => {
                let end_s = start_s + length.as_secs_f64();
                let arrivals = Intensity::new(&curve, GapLaw::Poisson, 0.0).between(start_s, end_s);
                Some(arrivals / length.as_secs_f64())
            }
            _ => spec.mean_rate_tps(),
        };
        meter(spec, rate_tps, length, passive_meter(spec, scripts).of_rate(rate_tps))
    })
}

/// A meter that ends the run once a goal is missed, if that is wanted.
fn meter(spec: &RunSpec, rate_tps: Option<f64>, length: Option<Duration>, meter: GoalMeter) -> GoalMeter {
    if !spec.stop_on_miss {
        return meter;
    }
    // Of other gaps, the number of arrivals has another variance.
    match (spec.limit, length, rate_tps.filter(|_| spec.arrivals.is_poisson())) {
        (Limit::TransactionsPerClient(each), _, _) => {
            meter.stopping().of_transactions(each.saturating_mul(u64::from(spec.clients)))
        }
        (Limit::Duration(_), Some(length), Some(rate_tps)) => {
            meter.stopping().of_arrivals(rate_tps, length.as_secs_f64())
        }
        (Limit::Duration(_), _, _) => meter.stopping(),
    }
}
