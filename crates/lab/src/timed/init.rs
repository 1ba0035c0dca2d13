//! Times each initialization step of a workload, starting with the empty database of a trial. Same as `pgmeter init
//! -I`, one letter after the other, on one connection at a time. `workload` loads the tables.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use connect::Session;
use results::StepResult;
use run::RunError;
use workload::{InitOptions, Tpcb, Workload};

use super::{Trial, result_of};
use crate::steps::Step;

/// Runs the steps in the order of `init_steps`; a repeated step has one result per execution.
pub(super) fn run(trial: &mut Trial<'_>, step: &Step, results: &mut Vec<StepResult>) -> Result<(), RunError> {
    let options = trial.configuration.data.init_options()?;
    for letter in &options.steps {
        let name = free_name(letter.facts().name, results);
        let busy = trial.listener.busy(format!("{} …", letter.facts().doing));
        // Work of further sessions would not be included in the step's figures.
        let one = InitOptions { steps: vec![*letter], jobs: 1, ..options.clone() };
        let (target, stop) = (trial.target, trial.control.stop());
        let mut heed = |_: workload::InitProgress<'_>| match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let work = |session: &mut Session| {
            Tpcb.load(target, session, &one, &mut heed).map(|report| Some(report.total()))
        };
        let time = trial.time(step, &[], false, work);
        drop(busy);
        let mut result = result_of(&name, None, step);
        let time = time.map_err(|failure| RunError::Aborted(format!("step {name}: {failure}")))?;
        let error = time.error.as_ref().map(|error| format!("step {name}: {error}"));
        result.times.push(time);
        results.push(result);
        if let Some(error) = error {
            return Err(RunError::Aborted(error));
        }
    }
    Ok(())
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
