//! What a report of one or more runs says, part by part, before it has a format: labels, figures and sentences that
//! the page and Markdown both show. Numbers are written here, once; nothing is escaped or laid out yet.

mod comparison;
mod cost;
mod environment;
mod headline;
mod latencies;
mod load;
mod server;
mod settings;

pub(crate) use comparison::{ComparedRun, Told, Verdict as ComparisonVerdict, comparison};
pub(crate) use cost::{bytes, costs, number};
pub(crate) use environment::{build, builds, environment};
pub(crate) use headline::{Headline, capitalised, headline};
pub(crate) use latencies::{commands, commands_side_by_side, latencies};
pub(crate) use load::{
    STALL, WITH_STALLS, generator, late_or_skipped, late_or_skipped_share, plan, precision, repeat_command,
    response_with_stalls, stalls, transactions,
};
pub(crate) use server::{
    CeilingRow, STATEMENT_COLUMNS, StatementRow, WaitRow, ceiling_rows, ceilings, counters, event_name,
    events, missing, observed, statements, waits, waits_of_scripts,
};
pub(crate) use settings::{Setting, settings};

/// A label and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) value: String,
}

impl Fact {
    pub(crate) fn new(label: impl Into<String>, value: impl Into<String>) -> Fact {
        Fact { label: label.into(), value: value.into() }
    }
}

/// A table: the first column names the row, the others are figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}
