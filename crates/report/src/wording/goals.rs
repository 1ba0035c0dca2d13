//! The sentences about goals: the first line of a report, the rows of its table, and the message of a command whose
//! goals were not met. `stats::goals` has the verdicts.

use stats::goals::{
    GoalFigure, GoalMethod, GoalResult, GoalStop, GoalTally, GoalVerdict, LatencyStatistic, StopBasis,
};

use super::{counted, share};
use crate::figures::{TIE, latency, measured_seconds, rate};
use crate::prose::{escaped_line, sentence};

/// Goals that the first line names.
const NAMED_MAX: usize = 3;

/// What was measured: the word for it in sentences.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Measurement {
    Run,
    Comparison,
}

impl Measurement {
    fn name(self) -> &'static str {
        match self {
            Measurement::Run => "run",
            Measurement::Comparison => "comparison",
        }
    }
}

/// `GOAL MISSED: p99 is 31.2 ms (28.1 ms to 35.0 ms), not < 20ms.` `None` without goals.
pub(crate) fn goals(results: &[GoalResult], measurement: Measurement) -> Option<(GoalVerdict, String)> {
    let verdict = GoalVerdict::of_all(results)?;
    let of_verdict: Vec<&GoalResult> = results.iter().filter(|result| result.verdict == verdict).collect();
    let word = verdict_name(verdict).to_uppercase();
    let heading = match (of_verdict.len(), results.len()) {
        (1, 1) => format!("GOAL {word}"),
        (2, 2) => format!("BOTH GOALS {word}"),
        (number, all) if number == all => format!("ALL {all} GOALS {word}"),
        (number, all) => format!("{number} OF {all} GOALS {word}"),
    };
    let mut named: Vec<String> =
        of_verdict.iter().take(NAMED_MAX).map(|result| goal(result, measurement)).collect();
    if of_verdict.len() > NAMED_MAX {
        named.push(format!("{} more", of_verdict.len() - NAMED_MAX));
    }
    Some((verdict, format!("{heading}: {}", sentence(&named.join("; ")))))
}

/// `1 of 3 goals missed at 200 tps: p99 is 31.2 ms, not < 20ms`, of the first with the verdict of all. `None` without
/// goals.
pub(crate) fn goals_answer(results: &[GoalResult], load: &str) -> Option<(GoalVerdict, String)> {
    let verdict = GoalVerdict::of_all(results)?;
    let of_verdict = || results.iter().filter(|result| result.verdict == verdict);
    let word = verdict_name(verdict);
    let heading = match (of_verdict().count(), results.len()) {
        (1, 1) => format!("Goal {word}"),
        (number, all) if number == all => format!("All {all} goals {word}"),
        (number, all) => format!("{number} of {all} goals {word}"),
    };
    let first = of_verdict().next()?;
    let stage = first.stage.map_or(String::new(), |stage| format!(" in stage {}", stage + 1));
    let figure = format!("{}{stage} is {}", escaped_line(&first.goal.figure.to_string()), value(first));
    let condition = escaped_line(&first.goal.condition());
    let told = match verdict {
        GoalVerdict::Met => format!("{figure}, {condition}"),
        GoalVerdict::Missed => format!("{figure}, not {condition}"),
        GoalVerdict::Undecided => format!("{figure}, and the goal is {condition}"),
    };
    let open = results.iter().filter(|result| result.verdict == GoalVerdict::Undecided).count();
    let open = if verdict == GoalVerdict::Missed && open > 0 {
        format!("; {open} undecided")
    } else {
        String::new()
    };
    Some((verdict, format!("{heading} at {load}: {told}{open}")))
}

/// In a column of a list: `2/3 goals missed`, `goal met`. `None` without goals.
pub(crate) fn goals_in_short(goals: GoalTally) -> Option<String> {
    let verdict = goals.verdict()?;
    let word = verdict_name(verdict);
    Some(match (goals.count(verdict), goals.total()) {
        (1, 1) => format!("goal {word}"),
        (number, all) if number == all => format!("{all} goals {word}"),
        (number, all) => format!("{number}/{all} goals {word}"),
    })
}

/// `p99 is 31.2 ms (28.1 ms to 35.0 ms), not < 20ms`
pub(crate) fn goal(result: &GoalResult, measurement: Measurement) -> String {
    let goal = &result.goal;
    // Percentiles and shares are of all transactions.
    let is_of_some = is_mean(result) && result.uncompleted > 0 && result.value.is_some();
    let of = if is_of_some { " of the succeeded transactions" } else { "" };
    let script = goal.script.as_ref().map(|script| format!(" of script {}", escaped_line(script)));
    let stage = result.stage.map(|stage| format!(" in stage {}", stage + 1));
    let figure = format!("{}{of}{}{}", goal.figure, script.unwrap_or_default(), stage.unwrap_or_default());
    let interval = interval(result).map_or(String::new(), |interval| format!(" ({interval})"));
    let is = format!("{figure} is {}{interval}", value(result));
    let condition = goal.condition();
    let without_value = if result.value.is_none() { beyond(result) } else { None };
    match (result.verdict, without_value) {
        (GoalVerdict::Met, None) => format!("{is}, {condition}"),
        (GoalVerdict::Missed, None) => format!("{is}, not {condition}"),
        (GoalVerdict::Undecided, None) => {
            format!("{is}, and the goal is {condition}; {}", remedy(result, measurement))
        }
        (GoalVerdict::Met, Some(reason)) => format!("{figure} {condition} is met, because {reason}"),
        (GoalVerdict::Missed, Some(reason)) => {
            format!("{figure} {condition} cannot be met, because {reason}")
        }
        (GoalVerdict::Undecided, Some(reason)) => format!(
            "{figure} has no value, because {reason}, and the goal is {condition}; {}",
            remedy(result, measurement)
        ),
    }
}

/// `p99 < 20ms in stage 2`
pub(crate) fn named(result: &GoalResult) -> String {
    let stage = result.stage.map(|stage| format!(" in stage {}", stage + 1));
    escaped_line(&result.goal.to_string()) + &stage.unwrap_or_default()
}

/// `met`
pub(crate) fn verdict_name(verdict: GoalVerdict) -> &'static str {
    match verdict {
        GoalVerdict::Met => "met",
        GoalVerdict::Missed => "missed",
        GoalVerdict::Undecided => "undecided",
    }
}

/// The figure with its unit.
pub(crate) fn value(result: &GoalResult) -> String {
    match result.value {
        Some(value) => shown(result, value),
        None if result.transactions == 0 => "unknown, because no transaction was scheduled".to_owned(),
        None => beyond(result).unwrap_or_else(|| "unknown".to_owned()),
    }
}

/// Why a percentile is infinite: the share of transactions that did not succeed, if there are any.
fn beyond(result: &GoalResult) -> Option<String> {
    let share = || share(result.uncompleted as f64 / result.transactions as f64);
    (result.uncompleted > 0).then(|| format!("{} of the transactions did not succeed", share()))
}

/// `28.1 ms to 35.0 ms`, if there is an interval.
pub(crate) fn interval(result: &GoalResult) -> Option<String> {
    let low = result.low.filter(|_| result.value.is_some())?;
    Some(match result.high {
        Some(high) => format!("{} to {}", shown(result, low), shown(result, high)),
        None => format!("{} or more", shown(result, low)),
    })
}

fn shown(result: &GoalResult, value: f64) -> String {
    match result.goal.figure {
        GoalFigure::Latency(..) => latency(value),
        GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => share(value),
        GoalFigure::Tps => format!("{}{TIE}tps", rate(value)),
    }
}

/// How to decide an undecided goal.
fn remedy(result: &GoalResult, measurement: Measurement) -> String {
    let measurement = if result.stage.is_some() { "stage" } else { measurement.name() };
    match result.needed_s {
        Some(needed_s) => {
            let length = measured_seconds(needed_s.ceil());
            format!("a {measurement} of about {length} would probably decide it")
        }
        None if result.transactions == 0 => format!("a longer {measurement} is needed"),
        None if is_mean(result) && succeeded(result) == 0 => {
            format!("a {measurement} with succeeded transactions is needed")
        }
        None if is_too_few(result) => {
            let number = if is_mean(result) { succeeded(result) } else { result.transactions };
            let are = if number == 1 { "is" } else { "are" };
            let number = counted([number], "transaction", "transactions");
            format!("{number} {are} too few to decide it, so a longer {measurement} is needed")
        }
        None if result.value.is_none() => {
            format!("a {measurement} in which more transactions succeed is needed")
        }
        None => format!("the figure is too close to the limit for a longer {measurement} to decide"),
    }
}

/// Expected transactions on the rarer side of a percentile or of a share below which the 95 % interval is open on that
/// side: with fewer than −ln 0.025, none of them is there with a probability of more than 2.5 %.
const RARER_MIN: f64 = 3.7;

/// Whether no verdict was possible with so few transactions, whatever their latencies.
fn is_too_few(result: &GoalResult) -> bool {
    let rarer = |share: f64| result.transactions as f64 * share.min(1.0 - share) < RARER_MIN;
    match result.goal.figure {
        GoalFigure::Latency(_, LatencyStatistic::Percentile(percent)) => rarer(percent / 100.0),
        // A variance needs two.
        GoalFigure::Latency(_, LatencyStatistic::Mean) => succeeded(result) < 2,
        GoalFigure::Latency(_, LatencyStatistic::Max) | GoalFigure::Tps => false,
        GoalFigure::Over(..) | GoalFigure::Failed | GoalFigure::Skipped | GoalFigure::Late => {
            rarer(result.goal.limit)
        }
    }
}

fn succeeded(result: &GoalResult) -> u64 {
    result.transactions.saturating_sub(result.uncompleted)
}

fn is_mean(result: &GoalResult) -> bool {
    matches!(result.goal.figure, GoalFigure::Latency(_, LatencyStatistic::Mean))
}

/// How the intervals were computed, and why the run ended early.
pub(crate) fn method<'a>(
    results: impl IntoIterator<Item = &'a GoalResult>,
    measurement: Measurement,
) -> String {
    let results: Vec<&GoalResult> = results.into_iter().collect();
    let is = |method| results.iter().any(|result| result.method == method);
    let mut text =
        "Intervals are of 95 %. Failed, skipped, unfinished and unknown transactions count as over each limit."
            .to_owned();
    if is(GoalMethod::Independent) {
        text += match measurement {
            Measurement::Run if results.iter().any(|result| result.stage.is_some()) => {
                " Of stages shorter than 20 s, transactions are taken as independent."
            }
            Measurement::Run => " The run was shorter than 20 s, so transactions are taken as independent.",
            Measurement::Comparison => {
                " A side was measured for less than 20 s, so transactions are taken as independent."
            }
        };
    }
    if results.iter().any(|result| is_mean(result)) {
        text += " The mean is that of the succeeded transactions.";
    }
    text
}

/// That the run ended early because of a goal.
pub(crate) fn stopped(results: &[GoalResult], stop: GoalStop) -> Option<String> {
    let goal = results.get(usize::try_from(stop.goal).ok()?)?;
    let why = match stop.basis {
        StopBasis::Exact => "could not be met any more, whatever the remaining transactions did",
        StopBasis::Sequential => {
            "would almost certainly have been missed (sequential test with an error of 1 %)"
        }
    };
    let goal = named(goal);
    Some(format!("The run was ended after {}: the goal {goal} {why}.", measured_seconds(stop.after_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    /// A goal without an interval; `value` in microseconds or as a share.
    fn result(
        goal: &str,
        verdict: GoalVerdict,
        value: Option<f64>,
        transactions: u64,
        uncompleted: u64,
    ) -> GoalResult {
        let (low, high, needed_s, method) = (None, None, None, GoalMethod::Independent);
        let goal = goal.parse().expect("it is a goal");
        GoalResult {
            stage: None,
            goal,
            verdict,
            value,
            low,
            high,
            method,
            transactions,
            uncompleted,
            needed_s,
        }
    }

    #[track_caller]
    fn check(result: &GoalResult, expected: &str) {
        assert_eq!(with_ordinary_spaces(&goal(result, Measurement::Run)), expected);
    }

    #[test]
    fn an_undecided_goal_without_a_value_names_the_reason_and_what_would_decide_it() {
        use GoalVerdict::{Met, Missed, Undecided};
        let p99 = |verdict| result("p99 < 1s", verdict, None, 1000, 30);
        check(&p99(Missed), "p99 < 1s cannot be met, because 3.0 % of the transactions did not succeed");
        check(
            &p99(Undecided),
            "p99 has no value, because 3.0 % of the transactions did not succeed, and the goal is < 1s; a run in which \
             more transactions succeed is needed",
        );
        check(
            &GoalResult { needed_s: Some(40.0), ..p99(Undecided) },
            "p99 has no value, because 3.0 % of the transactions did not succeed, and the goal is < 1s; a run of about \
             40.0 s would probably decide it",
        );
        check(
            &result("mean < 1s", Undecided, None, 1000, 1000),
            "mean has no value, because 100 % of the transactions did not succeed, and the goal is < 1s; a run with \
             succeeded transactions is needed",
        );
        check(
            &result("mean < 1s", Met, Some(3e3), 1000, 30),
            "mean of the succeeded transactions is 3.00 ms, < 1s",
        );
        check(
            &result("p99 > 1s", Met, None, 1000, 30),
            "p99 > 1s is met, because 3.0 % of the transactions did not succeed",
        );
    }

    #[test]
    fn too_few_transactions_are_not_called_too_close_to_the_limit() {
        let undecided =
            |goal: &str, value, transactions| result(goal, GoalVerdict::Undecided, value, transactions, 0);
        check(
            &undecided("p99 < 1s", None, 0),
            "p99 is unknown, because no transaction was scheduled, and the goal is < 1s; a longer run is needed",
        );
        check(
            &undecided("mean < 1s", Some(3e3), 1),
            "mean is 3.00 ms, and the goal is < 1s; 1 transaction is too few to decide it, so a longer run is needed",
        );
        check(
            &undecided("p99.999999 < 1s", Some(3e3), 5),
            "p99.999999 is 3.00 ms, and the goal is < 1s; 5 transactions are too few to decide it, so a longer run is \
             needed",
        );
        check(
            &undecided("failed < 0.001%", Some(0.0), 5),
            "failed is 0 %, and the goal is < 0.001%; 5 transactions are too few to decide it, so a longer run is needed",
        );
        check(
            &undecided("p50 < 3ms", Some(3e3), 1000),
            "p50 is 3.00 ms, and the goal is < 3ms; the figure is too close to the limit for a longer run to decide",
        );
    }
}
