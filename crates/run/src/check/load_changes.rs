//! Checks of loads that change: curves of rates, gaps between arrivals,
//! stages, and mixes of stages.

use std::time::Duration;

use engine::{EventLoopChoice, Limit, LoadChanges, MixChange};
use stats::ClientCount;
use stats::rate::{LoadStage, RateCurve};

use super::{RunToCheck, goals};
use crate::error::RunError;
use crate::spec::RunSpec;
use crate::spec::scripts::Scripts;
use crate::spec::surface::Surface;

/// Checks that the parts of a load that changes fit each other and the run.
pub(super) fn check(run: &RunToCheck<'_>) -> Result<(), RunError> {
    let problem = curve(run).or_else(|| stages(run)).or_else(|| others(run)).or_else(|| weights(run));
    problem.map_or(Ok(()), |sentence| Err(RunError::Usage(sentence)))
}

fn curve(run: &RunToCheck<'_>) -> Option<String> {
    let RunSpec { curve: Some(curve), limit, .. } = run.spec else { return None };
    let (rate, duration) = (run.surface.name("rate"), run.surface.name("duration"));
    if let Some(problem) = curve.problem() {
        return Some(format!("{rate}: {problem}"));
    }
    if run.place.is_some_and(|place| place.in_turns) {
        return Some(format!(
            "{rate} {curve} is not possible in turns with other runs, because each turn is too short for a rate that changes: use a \
             number, or pgmeter bench"
        ));
    }
    let Limit::Duration(time) = limit else {
        let length = example_length(run.surface);
        return Some(format!(
            "{rate} {curve} requires a duration, because a curve is over time: add {length}"
        ));
    };
    let end_s = curve.end_of_file_s().filter(|end_s| *end_s < time.as_secs_f64())?;
    Some(format!(
        "the curve of {curve} ends at {end_s} s, and the measurement lasts {} s: add rows, or set {duration} to {end_s} s",
        time.as_secs_f64()
    ))
}

fn example_length(surface: Surface) -> &'static str {
    match surface {
        Surface::Flags => "-T 5min",
        Surface::Keys => "duration = \"5min\"",
        Surface::Fields => "a limit",
    }
}

fn stages(run: &RunToCheck<'_>) -> Option<String> {
    let RunSpec { stages, limit, curve, rate_tps, clients, .. } = run.spec;
    if stages.is_empty() {
        return None;
    }
    let name = run.surface.name("stages");
    if let Some(problem) = LoadStage::problem(stages) {
        return Some(format!("{name}: {problem}"));
    }
    let total = LoadStage::total(stages);
    if *limit != Limit::Duration(total) {
        return Some(format!(
            "the stages last {} s, and {} says something else: leave it out",
            total.as_secs_f64(),
            run.surface.name(if matches!(limit, Limit::Duration(_)) { "duration" } else { "transactions" })
        ));
    }
    let has_rate = rate_tps.is_some() || curve.is_some();
    if has_rate && stages.iter().any(|stage| stage.load.is_some()) {
        return Some(format!(
            "{name} and {} both set the load: leave out one of them, or write stages without a load, such as 1min, 2min",
            run.surface.name("rate")
        ));
    }
    let needed = LoadStage::clients_max(stages).filter(|needed| needed > clients)?;
    Some(format!("a stage has {needed} clients, and {} is {clients}: raise it", run.surface.name("clients")))
}

fn others(run: &RunToCheck<'_>) -> Option<String> {
    let RunSpec { arrivals, until, .. } = run.spec;
    let name = |option| run.surface.name(option);
    if !arrivals.is_poisson() && !run.spec.has_rate() {
        return Some(format!(
            "{} requires a rate, because only a rate has arrivals: add {} or {} with rates",
            name("arrivals"),
            name("rate"),
            name("stages")
        ));
    }
    if run.spec.think.is_some() && LoadStage::rate_curve(&run.spec.stages).is_some() {
        return Some(format!(
            "{} cannot be combined with {} that have rates: a rate says when transactions start",
            name("think"),
            name("stages")
        ));
    }
    if let Some(problem) = population(run) {
        return Some(problem);
    }
    (until.is_some() && run.spec.is_changing()).then(|| {
        format!(
            "{} is not possible with a load that changes: a mean over different loads has no precision",
            name("until")
        )
    })
}

/// Parts of a population that do not fit the run.
fn population(run: &RunToCheck<'_>) -> Option<String> {
    let RunSpec { population, clients, limit, event_loop, .. } = run.spec;
    let name = |option| run.surface.name(option);
    let count = |count: ClientCount| Some(count.of(*clients)).filter(|number| number > clients);
    let active = population.active.and_then(|active| count(active.clients)).map(|n| (n, "active_clients"));
    let slow = population.slow_readers.and_then(|slow| count(slow.clients)).map(|n| (n, "slow_readers"));
    if let Some((number, option)) = active.or(slow) {
        return Some(format!(
            "{} is {number}, and {} is {clients}: raise the latter",
            name(option),
            name("clients")
        ));
    }
    if population.active.is_some() && run.spec.has_client_stages() {
        return Some(format!(
            "{} cannot be combined with {} that have clients: both say how many clients work",
            name("active_clients"),
            name("stages")
        ));
    }
    if population.slow_readers.is_some() && *event_loop == EventLoopChoice::IoUring {
        return Some(format!(
            "{} requires the event loop epoll, because io_uring reads data when it arrives: leave out the choice of io_uring",
            name("slow_readers")
        ));
    }
    let end = if let Limit::Duration(time) = limit { *time } else { Duration::MAX };
    let late = population.storms.iter().find(|storm| storm.at >= end)?;
    Some(format!(
        "{}: the storm at {} s is after the end of the measurement, which lasts {} s",
        name("reconnect_storm"),
        late.at.as_secs_f64(),
        end.as_secs_f64()
    ))
}

/// Weights of scripts that are there, and not only zeros.
fn weights(run: &RunToCheck<'_>) -> Option<String> {
    let scripts = run.scripts?;
    let weighted = run.spec.stages.iter().zip(1_usize..).filter(|(stage, _)| !stage.weights.is_empty());
    for (stage, number) in weighted {
        for (name, weight) in &stage.weights {
            let Some(at) = goals::script(name, scripts) else {
                let known: Vec<_> = scripts.texts.iter().map(|text| format!("\"{}\"", text.name)).collect();
                return Some(format!(
                    "the weights of stage {number} name the script \"{name}\", which is not in the mix of {}",
                    known.join(", ")
                ));
            };
            if scripts.texts[at].weight == 0 && *weight > 0 {
                return Some(format!(
                    "the script \"{name}\" has the weight 0 in the mix and {weight} in stage {number}: give it a weight above 0 in \
                     the mix, and 0 in the stages without it"
                ));
            }
        }
        if mix(stage, scripts).iter().all(|weight| *weight == 0) {
            return Some(format!(
                "in stage {number} all scripts have the weight 0: give one a weight above 0"
            ));
        }
    }
    None
}

/// The weights of all scripts in a stage.
fn mix(stage: &LoadStage, scripts: &Scripts) -> Vec<u32> {
    let mut weights: Vec<u32> = scripts.texts.iter().map(|text| text.weight).collect();
    for (name, weight) in &stage.weights {
        if let Some(at) = goals::script(name, scripts) {
            weights[at] = *weight;
        }
    }
    weights
}

/// The changes of the load for the engine.
pub(crate) fn load_changes(spec: &RunSpec, scripts: &Scripts) -> LoadChanges {
    let has_mixes = spec.stages.iter().any(|stage| !stage.weights.is_empty());
    let mixes = LoadStage::with_starts(&spec.stages).filter(|_| has_mixes);
    let rate: Option<RateCurve> = spec.rate_curve();
    LoadChanges {
        rate,
        law: spec.arrivals,
        clients: if spec.has_client_stages() { spec.stages.clone() } else { Vec::new() },
        mixes: mixes.map(|(from, stage)| MixChange { from, weights: mix(stage, scripts) }).collect(),
    }
}
