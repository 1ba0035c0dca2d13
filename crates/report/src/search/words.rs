//! The sentences about a search: its answer, the limit, the confirmation.
//! The same on the terminal, on the page and in lists.

use results::{NearestLimit, SearchAnswer, SearchConfirmation, SearchGoal, SearchLine, SearchRecord, Status};
use stats::goals::GoalFigure;

use crate::document::Tone;
use crate::figures::{TIE, as_asked, asked_latency, asked_seconds, counted, percent};
use crate::prose::{enumerate, escaped_line};
use crate::ratios;
use crate::wording;

/// Use from which a resource is called the limit. Below it, it is only nearer to its limit than others.
const LIMITING: f64 = 0.8;
const NANOS_PER_MICRO: f64 = 1e3;

/// A rate that is known to three digits at most: `4,150`.
pub(crate) fn rounded(tps: f64) -> String {
    // As text and back: rounded to significant digits.
    as_asked(format!("{tps:.2e}").parse().unwrap_or(tps))
}

fn tps(value: f64) -> String {
    format!("{}{TIE}tps", rounded(value))
}

/// `p99 < 20 ms and failed < 1%`.
pub(crate) fn goals(goals: &[SearchGoal]) -> String {
    enumerate(&goals.iter().map(goal).collect::<Vec<_>>())
}

pub(super) fn goal(goal: &SearchGoal) -> String {
    let goal = &goal.goal;
    let script = goal.script.as_ref().map(|name| format!("{}: ", escaped_line(name))).unwrap_or_default();
    match goal.figure {
        GoalFigure::Latency(..) => {
            format!("{script}{} <{TIE}{}", goal.figure, asked_latency(goal.limit / NANOS_PER_MICRO))
        }
        GoalFigure::Over(..)
        | GoalFigure::Failed
        | GoalFigure::Skipped
        | GoalFigure::Late
        | GoalFigure::Tps => escaped_line(&goal.to_string()),
    }
}

/// `EXPECTED more than 3,000 tps: missed.`
pub(super) fn expected(record: &SearchRecord) -> Option<(Tone, String)> {
    let expected = record.search.expected?;
    let verdict = wording::verdict_name(expected.verdict);
    Some((
        crate::goals::tone(expected.verdict),
        format!("Expected: more than {}; {verdict}.", tps(expected.rate_tps)),
    ))
}

/// How the answer is shown.
pub(super) fn tone(record: &SearchRecord) -> Tone {
    match record.search.answer {
        SearchAnswer::Sustains | SearchAnswer::Corrected | SearchAnswer::KeptAtHighest => Tone::Good,
        SearchAnswer::BrokenAtLowest => Tone::Bad,
        SearchAnswer::Unconfirmed
        | SearchAnswer::Between
        | SearchAnswer::GeneratorLimited
        | SearchAnswer::Nothing => Tone::Caution,
    }
}

/// `SUSTAINS 4,150 tps with p99 < 20 ms (95 %: 4,000 … 4,280). Limit: server CPU (96 %).`
pub(super) fn answer(record: &SearchRecord) -> String {
    // If pgmeter was the limit, the answer says so.
    let nearest = record.search.nearest.filter(|_| record.search.answer != SearchAnswer::GeneratorLimited);
    let limit = nearest.map(|nearest| format!(" {}", limit(nearest))).unwrap_or_default();
    format!("{}{limit}", finding(record))
}

fn finding(record: &SearchRecord) -> String {
    let search = &record.search;
    let with = format!("with {}", goals(&search.goals));
    let rate_tps = search.rate_tps.map(tps);
    let broken = search.broken_tps.map(tps);
    let longer = if record.status == Status::Complete { " Increase --budget." } else { "" };
    match (search.answer, rate_tps, broken) {
        (SearchAnswer::Sustains, Some(rate), _) => {
            let interval = search.interval.map(|interval| {
                format!(" (95{TIE}%: {} … {})", rounded(interval.low), rounded(interval.high))
            });
            format!("SUSTAINS {rate} {with}{}.", interval.unwrap_or_default())
        }
        (SearchAnswer::Corrected, Some(rate), Some(broken)) => {
            format!("SUSTAINS {rate} {with}; {broken} broke it in a longer load.")
        }
        (SearchAnswer::KeptAtHighest, Some(rate), _) => {
            format!("SUSTAINS {rate} {with}, the highest rate that --max-rate allows.")
        }
        (SearchAnswer::Between, Some(rate), Some(broken)) => {
            format!("BETWEEN {rate} and {broken} {with}: too few trials for an interval.{longer}")
        }
        (SearchAnswer::Between, Some(rate), None) => {
            format!("AT LEAST {rate} {with}: no higher rate broke it yet.{longer}")
        }
        (SearchAnswer::Between, None, Some(broken)) => {
            format!("LESS THAN {broken} {with}: no lower rate kept it yet.{longer}")
        }
        (SearchAnswer::GeneratorLimited, Some(rate), _) => format!(
            "AT LEAST {rate} {with}: above it, pgmeter or its machine was the limit, so the server may sustain more."
        ),
        (SearchAnswer::GeneratorLimited, None, _) => format!(
            "NO ANSWER {with}: pgmeter or its machine was the limit at each rate, so nothing is known about the server."
        ),
        (SearchAnswer::BrokenAtLowest, _, Some(broken)) => {
            format!("NOT KEPT: {} is broken even at {broken}, the lowest rate.", goals(&search.goals))
        }
        (SearchAnswer::Unconfirmed, _, Some(broken)) => {
            format!("NOT CONFIRMED: a longer load at {broken} broke {}.{longer}", goals(&search.goals))
        }
        // A rate that an answer of its kind always has is missing: nothing can be said of it.
        _ => format!("NO ANSWER {with}: there were too few trials.{longer}"),
    }
}

/// `Limit: server CPU (96 %).`
fn limit(nearest: NearestLimit) -> String {
    let NearestLimit { resource, share } = nearest;
    let word = if share >= LIMITING { "Limit" } else { "Nearest to its limit" };
    format!("{word}: {} ({}).", resource.name(), percent(share, 1.0))
}

/// `Confirmed for 60 s at 4,000 tps, a checkpoint included.`
pub(super) fn confirmation(record: &SearchRecord) -> Option<String> {
    if let Some(confirmation) = record.confirmation() {
        let SearchConfirmation { trial, .. } = confirmation;
        let seconds = asked_seconds(trial.duration_s.round());
        let rate = tps(trial.figures.rate_tps);
        return Some(format!("Confirmed for {seconds} at {rate}{}.", included(confirmation)));
    }
    if record.search.confirmations.is_empty() {
        let is_open = record.search.answer == SearchAnswer::Sustains;
        return is_open.then(|| "Not confirmed by a longer load.".to_owned());
    }
    None
}

/// `, a checkpoint and 2 autovacuums included`; that there was none, if the server was observed.
fn included(confirmation: &SearchConfirmation) -> String {
    let (Some(checkpoints), Some(autovacuums)) = (confirmation.checkpoints, confirmation.autovacuums) else {
        return String::new();
    };
    let named = |number: u32, one: &str, single: &str, many: &str| match number {
        0 => None,
        1 => Some(one.to_owned()),
        several => Some(counted(several.into(), single, many)),
    };
    let inside: Vec<String> = named(checkpoints, "a checkpoint", "checkpoint", "checkpoints")
        .into_iter()
        .chain(named(autovacuums, "an autovacuum", "autovacuum", "autovacuums"))
        .collect();
    match inside.is_empty() {
        true => ", without a checkpoint or an autovacuum".to_owned(),
        false => format!(", {} included", enumerate(&inside)),
    }
}

/// Why it ended before it was done.
pub(super) fn early_end(record: &SearchRecord) -> Option<String> {
    match &record.status {
        Status::Complete => None,
        Status::Interrupted => Some("Interrupted: the answer is what is known so far.".to_owned()),
        Status::Failed { reason } => Some(format!(
            "Ended early: {}. The answer is what is known so far.",
            escaped_line(reason.as_str())
        )),
    }
}

/// In a list: `4,150 tps (4,000 … 4,280) with p99 < 20ms`.
pub(crate) fn search_in_short(line: &SearchLine) -> String {
    let goals = escaped_line(&line.goals);
    if let Some(decision) = line.decision {
        let interval = line.ratio_low.zip(line.ratio_high);
        let ratio = line.ratio.map_or("unknown".to_owned(), |ratio| ratios::ratio(ratio, interval));
        return format!("{}: rate {ratio} with {goals}", wording::decision_in_short(decision));
    }
    let rate = line.rate_tps.map(tps);
    let answer = match (line.answer, rate, line.rate_low.zip(line.rate_high)) {
        (Some(SearchAnswer::Sustains), Some(rate), Some((low, high))) => {
            format!("{rate} ({} … {}) with {goals}", rounded(low), rounded(high))
        }
        (Some(SearchAnswer::Between | SearchAnswer::GeneratorLimited), Some(rate), _) => {
            format!("at least {rate} with {goals}")
        }
        (Some(SearchAnswer::BrokenAtLowest), ..) => format!("{goals} broken at the lowest rate"),
        (Some(SearchAnswer::Unconfirmed), ..) => format!("not confirmed: {goals}"),
        (Some(_), Some(rate), _) => format!("{rate} with {goals}"),
        (_, None, _) | (None, ..) => "no answer".to_owned(),
    };
    if line.status == "complete" { answer } else { format!("{}: {answer}", escaped_line(&line.status)) }
}
