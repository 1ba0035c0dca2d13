//! Times each step of loading a workload, starting with the empty database of a trial. For pgbench's tables these are
//! the initialization steps, one letter after the other. `workload` loads the tables, over one connection.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use connect::Session;
use experiment::Step;
use queries::micros;
use results::{StepResult, StepTime};
use run::RunError;
use workload::{InitOptions, InitProgress, InitReport, Workload, WorkloadName};

use super::{Trial, result_of};

/// Runs the steps in their order; a repeated step has one result per execution.
pub(super) fn run(trial: &mut Trial<'_>, step: &Step, results: &mut Vec<StepResult>) -> Result<(), RunError> {
    // Work of further sessions would not be included in the step's figures.
    let options = InitOptions { jobs: 1, ..trial.configuration.data.init_options()? };
    let name = trial.configuration.loaded_by_step.clone().unwrap_or_default();
    let workload = name.open()?;
    if name != WorkloadName::default() {
        return run_whole(trial, step, &*workload, &options, results);
    }
    for letter in &options.steps {
        let name = free_name(letter.facts().name, results);
        let busy = trial.listener.busy(format!("{} …", letter.facts().doing));
        let one = InitOptions { steps: vec![*letter], ..options.clone() };
        let (time, _) = load(trial, step, &*workload, &one)?;
        drop(busy);
        push(name, time, step, results)?;
    }
    Ok(())
}

/// Loads in one go; the loader times its steps. Only the time of a step is known, and the sizes at the end.
fn run_whole(
    trial: &mut Trial<'_>,
    step: &Step,
    workload: &dyn Workload,
    options: &InitOptions,
    results: &mut Vec<StepResult>,
) -> Result<(), RunError> {
    let busy = trial.listener.busy(format!("loading {} …", workload.name()));
    let (total, report) = load(trial, step, workload, options)?;
    drop(busy);
    let Some(report) = report.filter(|_| total.error.is_none() && !total.limited) else {
        return push(free_name("load", results), total, step, results);
    };
    for of_step in report.steps {
        let took = micros(of_step.took);
        let time = StepTime { duration_us: took, measured_us: took, ..StepTime::default() };
        push(free_name(&of_step.name, results), time, step, results)?;
    }
    if let Some(last) = results.last_mut().and_then(|result| result.times.last_mut()) {
        (last.table_bytes, last.index_bytes) = (total.table_bytes, total.index_bytes);
    }
    Ok(())
}

/// One timed execution of the loader, and its report if it came to its end.
fn load(
    trial: &mut Trial<'_>,
    step: &Step,
    workload: &dyn Workload,
    options: &InitOptions,
) -> Result<(StepTime, Option<InitReport>), RunError> {
    let (target, stop) = (trial.target, trial.control.stop());
    let mut heed = |_: InitProgress<'_>| match stop.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let mut report = None;
    let work = |session: &mut Session| {
        let done = workload.load(target, session, options, &mut heed)?;
        let total = done.total();
        report = Some(done);
        Ok::<_, workload::WorkloadError>(Some(total))
    };
    let time = trial.time(step, &[], false, work);
    let time =
        time.map_err(|failure| RunError::Aborted(format!("loading {}: {failure}", workload.name())))?;
    Ok((time, report))
}

/// Keeps the result of a step; its error ends the trial.
fn push(name: String, time: StepTime, step: &Step, results: &mut Vec<StepResult>) -> Result<(), RunError> {
    let error = time.error.as_ref().map(|error| RunError::Aborted(format!("step {name}: {error}")));
    let mut result = result_of(&name, None, step);
    result.times.push(time);
    results.push(result);
    error.map_or(Ok(()), Err)
}

/// `vacuum`, and `vacuum 2` for the second one.
fn free_name(name: &str, results: &[StepResult]) -> String {
    let before = results.iter().filter(|result| {
        result.name == name
            || result.name.strip_prefix(name).is_some_and(|rest| rest.trim().parse::<u32>().is_ok())
    });
    match before.count() {
        0 => name.to_owned(),
        count => format!("{name} {}", count + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_that_comes_again_has_a_name_of_its_own() {
        let mut results = Vec::new();
        for expected in ["vacuum", "vacuum 2", "vacuum 3"] {
            let name = free_name("vacuum", &results);
            assert_eq!(name, expected);
            results.push(StepResult::new(name, None));
        }
        assert_eq!(free_name("drop tables", &results), "drop tables");
    }
}
