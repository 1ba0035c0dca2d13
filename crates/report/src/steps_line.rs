//! How a trial of timed steps went, in a line: for `pgmeter lab`, which has many. The whole is in the store.
//! What is told of a load is `trial_line`'s affair.

use results::{StepResult, StepsRecord};

use crate::figures::{count, latency, with_ordinary_spaces};

/// Steps that are told one by one.
const STEPS_SHOWN_MAX: usize = 8;

/// `update 1.23 s (3 times), vacuum 310 ms, at its limit; 1.54 s in all`.
pub fn steps_line(record: &StepsRecord) -> String {
    let mut parts: Vec<String> = record.steps.iter().take(STEPS_SHOWN_MAX).map(step).collect();
    if record.steps.len() > STEPS_SHOWN_MAX {
        parts.push(format!("and {} more", record.steps.len() - STEPS_SHOWN_MAX));
    }
    let mut line = parts.join(", ");
    if record.steps.len() > 1 {
        let all: f64 = record.steps.iter().filter_map(StepResult::mean_us).sum();
        line += &format!("; {} in all", latency(all));
    }
    with_ordinary_spaces(&line)
}

fn step(step: &StepResult) -> String {
    let Some(mean) = step.mean_us() else { return step.name.clone() };
    let mut words = format!("{} {}", step.name, latency(mean));
    let times = step.times.len();
    match (times, step.limited()) {
        (1, 0) => {}
        (1, _) => words += " (at its limit)",
        (_, 0) => words += &format!(" ({} times)", count(times as u64)),
        (_, limited) => {
            words += &format!(" ({} times, {} at the limit)", count(times as u64), count(limited as u64))
        }
    }
    words
}
