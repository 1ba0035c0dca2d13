//! The sentences for what records hold as kinds and numbers: warnings, verdicts, evidence. The only place that makes them,
//! so that all formats agree. Text from outside is escaped here; a sentence ends with a full stop.

mod ceilings;
mod comparison;
mod effects;
mod goals;
mod interruption;
mod rules;
mod service_level;
mod steady;
mod verdict;
mod warnings;

pub(crate) use ceilings::{ceiling, ceiling_name};
pub(crate) use comparison::{comparison_in_short, comparison_note, decision_in_short, notes_of_method};
pub(crate) use effects::{
    effects_answer, effects_details, effects_notes, factor_name, interaction, not_measurable,
    other_interactions,
};
pub(crate) use goals::{
    Measurement, goal, goals, goals_answer, goals_in_short, interval as goal_interval,
    method as method_of_goals, named as named_goal, stopped, value as goal_value, verdict_name,
};
pub(crate) use interruption::{interruption, longest_interruption_s};
pub(crate) use rules::{rule, rule_finding, rule_verdict, rules_in_short, rules_kept};
pub(crate) use service_level::{scheduled, service_level};
pub(crate) use steady::{drifts, steady};
pub(crate) use verdict::{evidence, evidence_of_run, limit};
pub(crate) use warnings::{warning, warnings_by_kind};

use results::{Counts, ExperimentLine, QuerySetLine, RunLine, RunStatus, Warning};

use crate::figures::{TIE, count, measured_seconds, percent, with_ordinary_spaces};
use crate::prose::escaped_line;

/// The sentences of a warning, on one line.
pub fn warning_text(warning: &Warning) -> String {
    with_ordinary_spaces(&warnings::warning(warning))
}

/// The answer of a run in a list: how it ended and, if it is complete, whether it kept its rate and its latency limit and
/// met its goals: `KEPT, goal met`, `NOT KEPT, 2/3 goals missed: 159 of 300 per second; 47 % skipped`. An outage or a
/// long stall comes first: `stall of 3.00 s, KEPT`.
pub(crate) fn short_answer(run: &RunLine) -> String {
    match (run.status, &run.reason) {
        (RunStatus::Complete, _) => {}
        (RunStatus::Killed, None) => {
            let alive_at = run.alive_at.as_deref().map(last_sign_of_life).unwrap_or_default();
            return format!("{}{alive_at}", run.status.name());
        }
        (status, Some(reason)) => return format!("{}: {}", status.name(), escaped_line(reason)),
        (status, None) => return status.name().to_owned(),
    }
    let interrupted = run.summary.as_deref().and_then(interruption::interruption_in_short);
    let kept = run.kept.map(|kept| service_level::kept_in_short(kept).to_owned());
    let answers: Vec<String> = interrupted.into_iter().chain(kept).chain(goals_in_short(run.goals)).collect();
    let is_failure = |counts: &Counts| counts.failed > 0 && counts.succeeded == 0;
    let reason = match (&run.plan, &run.summary) {
        (_, Some(summary)) if is_failure(&summary.counts) => Some("all transactions failed".to_owned()),
        (Some(plan), Some(summary)) => {
            let level = summary.service_level.filter(|level| !level.kept);
            level.map(|level| service_level::reason(level, plan, summary)).filter(|reason| !reason.is_empty())
        }
        _ => None,
    };
    match (answers.join(", "), reason) {
        (answers, Some(reason)) if answers.is_empty() => reason,
        (answers, Some(reason)) => format!("{answers}: {reason}"),
        (answers, None) if answers.is_empty() => run.status.name().to_owned(),
        (answers, None) => answers,
    }
}

/// `: broken off, last sign of life at 2026-11-21 12:03:01 UTC`
fn last_sign_of_life(alive_at: &str) -> String {
    let second: String = escaped_line(alive_at).chars().take(SECOND_LEN).collect();
    format!(": broken off, last sign of life at {} UTC", second.replacen('T', " ", 1))
}

/// Characters of `2026-11-21 12:03:01`.
const SECOND_LEN: usize = 19;

/// The answer of an experiment in a list: `goals missed in 2 of 8 trials; 8 of 12 trials complete, 1 failed`.
pub(crate) fn experiment_in_short(experiment: &ExperimentLine) -> String {
    let &ExperimentLine { trials, complete, failed, running, goals, .. } = experiment;
    let of_goals = goals.verdict().map(|verdict| {
        let (number, all) = (goals.count(verdict), goals.total());
        format!("goals {} in {number} of {all} trials; ", verdict_name(verdict))
    });
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let running = if running { ", one running" } else { "" };
    format!("{}{complete} of {trials} trials complete{failed}{running}", of_goals.unwrap_or_default())
}

/// The answer of a query set in a list: `3 answers differ; 22 queries, 1 failed, 2 limited, 64.2 s`, or
/// `interrupted; 4 of 22 queries, 9.1 s`.
pub(crate) fn query_set_in_short(line: &QuerySetLine) -> String {
    let &QuerySetLine { queries, executed, failed, limited, different, elapsed_us, .. } = line;
    let number = |number: u32, word: &str| {
        (number > 0).then(|| format!("{} {word}", count(u64::from(number)))).into_iter()
    };
    let answers = match different {
        0 => String::new(),
        different => format!("{}; ", counted([u64::from(different)], "answer differs", "answers differ")),
    };
    let status = match line.status.as_str() {
        "complete" => String::new(),
        other => format!("{}; ", escaped_line(other)),
    };
    #[expect(clippy::cast_precision_loss, reason = "microseconds of a query set are far below 2⁵³")]
    let elapsed = elapsed_us.map(|elapsed| measured_seconds(elapsed as f64 / 1e6));
    let queries = counted([u64::from(queries)], "query", "queries");
    let executed = match executed < line.queries {
        true => format!("{} of {queries}", count(u64::from(executed))),
        false => queries,
    };
    let parts: Vec<String> = std::iter::once(executed)
        .chain(number(failed, "failed"))
        .chain(number(limited, "limited"))
        .chain(elapsed)
        .collect();
    format!("{answers}{status}{}", parts.join(", "))
}

/// `LWLock WALWrite`; a backend that does not wait is `running`, or `waiting for a CPU`.
pub fn wait_name(event_type: &str, event: &str) -> String {
    match (event_type, event) {
        ("CPU", "runnable") => format!("waiting for a{TIE}CPU"),
        // The sum of rare kinds has no type.
        ("CPU" | "", _) => escaped_line(event),
        _ => format!("{}{TIE}{}", escaped_line(event_type), escaped_line(event)),
    }
}

/// That no transaction of a run succeeded.
pub fn everything_failed(failed: u64) -> String {
    match failed {
        1 => "EVERYTHING FAILED: the only transaction that ended failed.".to_owned(),
        failed => format!("EVERYTHING FAILED: all {} transactions that ended failed.", count(failed)),
    }
}

/// A share of a whole: `12 %`.
fn share(share: f64) -> String {
    percent(share, 1.0)
}

/// What several figures range over: `5 % to 70 %`; `5 %` if they are written alike.
fn range(values: impl IntoIterator<Item = f64>, write: impl Fn(f64) -> String) -> String {
    let (low, high) = values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    let (low, high) = (write(low), write(high));
    if low == high { high } else { format!("{low} to {high}") }
}

/// A number of things: `3 rows`, `1 row`, `3 to 7 rows`.
fn counted(numbers: impl IntoIterator<Item = u64>, one: &str, many: &str) -> String {
    // What is counted is far below 2⁵³.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let write = |number: f64| count(number as u64);
    let numbers = range(numbers.into_iter().map(|number| number as f64), write);
    let noun = if numbers == "1" { one } else { many };
    format!("{numbers}{TIE}{noun}")
}

/// A number of the order of one: `0.83`, `12.5`.
fn small(value: f64) -> String {
    crate::figures::fixed(value, 2)
}
