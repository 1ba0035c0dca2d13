//! The rules of a workload's standard in the report of a run, and of several runs side by side: a table of what each rule
//! asks and what the run had. The words are in `wording`.

use results::{Record, RuleResult, RuleVerdict};

use super::Run;
use super::labels::labels;
use crate::document::{Block, Cell, Column, Table, Tone};
use crate::prose::escaped_line;
use crate::wording;

/// `Rules of TPC-B 2.0`; empty without a standard.
pub(super) fn title(record: &Record) -> String {
    record
        .plan
        .standard
        .as_ref()
        .map_or(String::new(), |standard| format!("Rules of {}", escaped_line(standard.as_str())))
}

/// A row for each rule; nothing without a standard.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let (Some(standard), rules) = (&record.plan.standard, &record.summary.rules) else { return Vec::new() };
    if rules.is_empty() {
        return Vec::new();
    }
    let table = Table::of(
        rules,
        &[
            (Column::text("clause"), &|it| clause(it)),
            (Column::text("rule"), &|it| Cell::text(wording::rule(&it.rule))),
            (Column::text("verdict"), &|it| verdict(it)),
            (Column::text("this run"), &|it| Cell::text(wording::rule_finding(it))),
        ],
    );
    let short = wording::rules_in_short(standard.as_str(), rules);
    vec![Block::Paragraph(Tone::Plain, short), Block::Table(table)]
}

fn clause(result: &RuleResult) -> Cell {
    Cell::text(result.clause.as_deref().map(escaped_line).unwrap_or_default())
}

fn verdict(result: &RuleResult) -> Cell {
    let tone = match result.verdict {
        RuleVerdict::Kept => Tone::Good,
        RuleVerdict::Broken => Tone::Bad,
        RuleVerdict::NotMeasured | RuleVerdict::NotChecked | RuleVerdict::NotTestable => Tone::Quiet,
    };
    Cell::text(wording::rule_verdict(result.verdict)).with_tone(tone)
}

/// Runs that have a column.
const COLUMNS_MAX: usize = 12;

/// The rules of the first run, with the verdict of each run; nothing if it has none.
pub(super) fn side_by_side(runs: &[Run<'_>]) -> Vec<Block> {
    let Some(first) = runs.first().filter(|run| !run.record.summary.rules.is_empty()) else {
        return Vec::new();
    };
    let runs = &runs[..runs.len().min(COLUMNS_MAX)];
    let of_run = |run: &Run<'_>, asked: &RuleResult| {
        let found = run.record.summary.rules.iter().find(|result| result.rule == asked.rule);
        found.map_or_else(Cell::default, verdict)
    };
    let row = |asked: &RuleResult| {
        let mut row = vec![clause(asked), Cell::text(wording::rule(&asked.rule))];
        row.extend(runs.iter().map(|run| of_run(run, asked)));
        row
    };
    let labels = labels(runs);
    let titles = ["clause", "rule"].map(str::to_owned).into_iter().chain(labels);
    let mut rows: Vec<Vec<Cell>> = first.record.summary.rules.iter().map(row).collect();
    let mut sum = vec![Cell::default(), Cell::text("kept")];
    sum.extend(runs.iter().map(|run| Cell::text(wording::rules_kept(&run.record.summary.rules))));
    rows.push(sum);
    vec![Block::Table(Table { columns: titles.map(Column::text).collect(), rows, ..Table::default() })]
}
