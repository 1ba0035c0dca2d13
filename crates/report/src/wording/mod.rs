//! The sentences for what records hold as kinds and numbers: warnings, verdicts, evidence. The only place that makes them,
//! so that all formats agree. Text from outside is escaped here; a sentence ends with a full stop.

mod ceilings;
mod comparison;
mod steady;
mod verdict;
mod warnings;

pub(crate) use ceilings::{ceiling, ceiling_name};
pub(crate) use comparison::{comparison_note, notes_of_method};
pub(crate) use steady::{drifts, steady};
pub(crate) use verdict::evidence;
pub(crate) use warnings::{warning, warnings_by_kind};

use results::Warning;

use crate::figures::{TIE, count, percent, with_ordinary_spaces};
use crate::prose::escaped_line;

/// The sentences of a warning, on one line.
pub fn warning_text(warning: &Warning) -> String {
    with_ordinary_spaces(&warnings::warning(warning))
}

/// `LWLock WALWrite`; a backend that does not wait is `running`, or `waiting for a CPU`.
pub(crate) fn wait_name(event_type: &str, event: &str) -> String {
    match (event_type, event) {
        ("CPU", "runnable") => format!("waiting for a{TIE}CPU"),
        // The sum of rare kinds has no type.
        ("CPU" | "", _) => escaped_line(event),
        _ => format!("{}{TIE}{}", escaped_line(event_type), escaped_line(event)),
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
