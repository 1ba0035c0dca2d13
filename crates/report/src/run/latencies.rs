//! Latencies of runs, their scripts and their commands, as tables of the page and of Markdown.
//! Used by `document` and, for the terminal, by `brief`.

use results::{CommandSummary, Latency, Record, ScriptSummary};

use super::Run;
use super::labels::labels;
use crate::document::{Block, Cell, Column, Table};
use crate::figures::{count, counted};
use crate::metrics::{Metric, Quantity};
use crate::prose::escaped_line;

/// Of a run without a succeeded transaction.
pub(super) const NO_LATENCY: &str = "No transaction succeeded, so there is no latency to show.";
/// What the rows with stalls are.
pub(super) const WITH_STALLS: &str = "With stalls: as if transactions had gone on being started during the stalls, at the \
                                      pace of the rest of the run.";
/// What response and service times are.
pub(super) const RESPONSE_AND_SERVICE: &str =
    "Response counts from when a transaction was due, service from when it began.";

/// The response times with the transactions that stalls kept from starting, if they make a difference.
pub(super) fn response_with_stalls(record: &Record) -> Option<Latency> {
    let plain = record.summary.response_us?;
    record.summary.response_with_stalls_us.filter(|with| plain.differs_from(with))
}

/// The row of the succeeded transactions alone, where the others change a figure.
pub(super) const OF_SUCCEEDED: &str = "succeeded";
/// What that row is.
pub(super) const ALL_AND_SUCCEEDED: &str = "Response is of all transactions that were due, also of those that did not succeed. \
                                             Succeeded is of the succeeded ones alone.";

/// Response times, service times where they differ, and both for each script, where there are several.
pub(super) fn latencies(record: &Record) -> Option<Table> {
    let summary = &record.summary;
    let typical_us = vec![summary.response_us?.p50];
    let service_differs = record.plan.rate_tps.is_some() || summary.response_us != summary.service_us;
    let several = summary.scripts.len() > 1;
    let row = |name: String, tps: f64, figures: &Latency| {
        let of = |metric: Metric| Cell::figure_if(Quantity::Microseconds, metric.of_times(figures));
        let both = Cell::mean_and_deviation(figures.mean, figures.stddev);
        let first = [Cell::text(name), Cell::figure(Quantity::PerSecond, tps)];
        first.into_iter().chain(Metric::FIRST_LATENCIES.map(of)).chain([both]).collect()
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (kind, of_service) in [("response", false), ("service", true)] {
        if of_service && !service_differs {
            continue;
        }
        let pick = |response, service| if of_service { service } else { response };
        let all = pick(summary.response_of_all_us(), summary.service_us);
        rows.extend(all.map(|figures| row(kind.to_owned(), summary.tps, &figures)));
        let succeeded = summary.response_of_succeeded_us().filter(|_| !of_service);
        rows.extend(succeeded.map(|us| row(format!("{kind}, {OF_SUCCEEDED}"), summary.tps, &us)));
        let with_stalls = response_with_stalls(record).filter(|_| !of_service);
        rows.extend(with_stalls.map(|figures| row(format!("{kind}, with stalls"), summary.tps, &figures)));
        for script in summary.scripts.iter().filter(|_| several) {
            let figures = pick(script.response_of_all_us(), script.service_us);
            let name = format!("{kind}, {}", escaped_line(&script.name));
            let succeeded = script.response_of_succeeded_us().filter(|_| !of_service);
            let of_succeeded =
                succeeded.map(|figures| row(format!("{name}, {OF_SUCCEEDED}"), script.tps, &figures));
            rows.extend(figures.map(|figures| row(name, script.tps, &figures)));
            rows.extend(of_succeeded);
        }
    }
    let figures = Metric::FIRST_LATENCIES.map(|metric| Column::figures(metric.row().label));
    let first = [Column::text("latency"), Column::figures("tps")];
    let columns = first.into_iter().chain(figures).chain([Column::figures("mean ± stddev")]).collect();
    Some(Table { columns, rows, typical_us, ..Table::default() })
}

/// The time that a command took in all its executions, in microseconds.
fn time_us(command: &CommandSummary) -> f64 {
    command.executions as f64 * command.mean_us.unwrap_or(0.0)
}

/// Commands that take less than this share of the time of the longest do not decide on the unit of a table.
const SHARE_MIN: f64 = 0.01;

/// The shortest mean of the commands that matter, whose unit tables have, and a tenth of it, for the digits.
fn typical_of_commands<'a>(commands: impl Iterator<Item = &'a CommandSummary> + Clone) -> Vec<f64> {
    let longest_us = commands.clone().map(time_us).fold(0.0, f64::max);
    let matters = |command: &&CommandSummary| time_us(command) >= SHARE_MIN * longest_us;
    let means = commands.filter(matters).filter_map(|command| command.mean_us).filter(|mean| *mean > 0.0);
    means.reduce(f64::min).map_or_else(Vec::new, |mean| vec![mean, mean / 10.0])
}

/// Commands of a script that the terminal shows; a longer script is cut, so that the rest of the report can be found.
const COMMANDS_SHOWN_MAX: usize = 40;

/// A column of counts, which is shown if any is above zero.
type CountColumn = (&'static str, fn(&CommandSummary) -> u64);
const COUNTS: [CountColumn; 2] =
    [("failed", |command| command.failures), ("retried", |command| command.retries)];

/// The commands of each script for the terminal, which has a table for each.
pub(super) fn commands_of_scripts(record: &Record) -> Vec<Vec<Block>> {
    let scripts = &record.summary.scripts;
    let of_script = |script: &ScriptSummary| {
        let commands = &script.commands;
        let typical_us = typical_of_commands(commands.iter());
        if typical_us.is_empty() {
            return None;
        }
        let total_us: f64 = commands.iter().map(time_us).sum();
        let title = match scripts.len() {
            1 => "command".to_owned(),
            _ => format!("commands of {}", escaped_line(&script.name)),
        };
        let counts = COUNTS.into_iter().filter(|(_, of)| commands.iter().any(|command| of(command) > 0));
        let counts: Vec<_> = counts.collect();
        let row = |command: &CommandSummary| {
            let both = command.mean_us.zip(command.stddev_us);
            let mut cells = vec![
                Cell::code(escaped_line(&command.text)),
                Cell::figure(Quantity::Share, if total_us > 0.0 { time_us(command) / total_us } else { 0.0 }),
                both.map_or_else(Cell::default, |(mean, deviation)| {
                    Cell::mean_and_deviation(mean, deviation)
                }),
                Cell::figure_if(Quantity::Microseconds, command.max_us),
            ];
            cells.extend(counts.iter().map(|(_, of)| Cell::text(count(of(command)))));
            cells
        };
        let titles =
            ["time", "mean ± stddev", "max"].into_iter().chain(counts.iter().map(|(title, _)| *title));
        let columns = std::iter::once(Column::text(title)).chain(titles.map(Column::figures)).collect();
        let rows = commands.iter().take(COMMANDS_SHOWN_MAX).map(row).collect();
        let mut blocks = vec![Block::Table(Table { columns, rows, typical_us, ..Table::default() })];
        if commands.len() > COMMANDS_SHOWN_MAX {
            let more = (commands.len() - COMMANDS_SHOWN_MAX) as u64;
            let more = format!("and {}", counted(more, "more command", "more commands"));
            blocks.push(Block::quiet(more));
        }
        Some(blocks)
    };
    scripts.iter().filter_map(of_script).collect()
}

/// The commands of all scripts that took time or failed.
pub(super) fn commands(record: &Record) -> Option<Block> {
    let scripts = &record.summary.scripts;
    let all = || scripts.iter().flat_map(|script| script.commands.iter().map(move |it| (script, it)));
    let total_us: f64 = all().map(|(_, command)| time_us(command)).sum();
    let place = |script: &ScriptSummary, line: u32| match scripts.as_slice() {
        [_] => format!("line {line}"),
        _ => format!("{}, line {line}", escaped_line(&script.name)),
    };
    let share = |command| if total_us > 0.0 { time_us(command) / total_us } else { 0.0 };
    let time = |us| Cell::figure_if(Quantity::Microseconds, us);
    let number = |number: u64| Cell::text(count(number));
    let shown = all().filter(|(_, it)| time_us(it) > 0.0 || it.failures > 0);
    let table = Table::of(
        shown,
        &[
            (Column::text("command"), &|(script, it)| {
                Cell::code(escaped_line(&it.text)).with_note(place(script, it.line))
            }),
            (Column::figures("share of time"), &|(_, it)| {
                Cell::figure(Quantity::Share, share(it)).with_bar(share(it))
            }),
            (Column::figures("mean"), &|(_, it)| time(it.mean_us)),
            (Column::figures("p99"), &|(_, it)| time(it.latency_us.map(|figures| figures.p99))),
            (Column::figures("max"), &|(_, it)| time(it.max_us)),
            (Column::figures("executions"), &|(_, it)| number(it.executions)),
            (Column::figures("failures"), &|(_, it)| number(it.failures)),
            (Column::figures("retries"), &|(_, it)| number(it.retries)),
        ],
    );
    Table { typical_us: typical_of_commands(all().map(|(_, command)| command)), ..table }.if_any()
}

/// The commands of runs of the same scripts side by side: mean latencies, and their differences from the first run.
pub(super) fn commands_side_by_side(runs: &[Run<'_>]) -> Option<Block> {
    let scripts = |run: &Run<'_>| -> Vec<String> {
        run.record.plan.scripts.iter().map(|script| script.text.clone()).collect()
    };
    let (first, others) = runs.split_first()?;
    if others.iter().any(|run| scripts(run) != scripts(first)) {
        return None;
    }
    let of_run = |run: &Run<'_>| -> Vec<CommandSummary> {
        run.record.summary.scripts.iter().flat_map(|script| script.commands.clone()).collect()
    };
    let each: Vec<_> = runs.iter().map(of_run).collect();
    let typical_us = typical_of_commands(each.iter().flatten());
    let row = |(at, command): (usize, &CommandSummary)| {
        let means: Option<Vec<f64>> = each.iter().map(|commands| commands.get(at)?.mean_us).collect();
        let means = means.filter(|means| means.iter().any(|mean| *mean > 0.0))?;
        let mut cells =
            vec![Cell::code(escaped_line(&command.text)), Cell::figure(Quantity::Microseconds, means[0])];
        for mean in &means[1..] {
            let change = crate::ratios::value(mean / means[0], None);
            cells.extend([Cell::figure(Quantity::Microseconds, *mean), Cell::text(change)]);
        }
        Some(cells)
    };
    let rows: Vec<_> = each[0].iter().enumerate().filter_map(row).collect();
    let labels = labels(runs);
    let mean_of = |label: &String| Column::figures(format!("mean of {label}"));
    let of_other = |label: &String| [mean_of(label), Column::figures("difference")];
    let columns = [Column::text("command"), mean_of(&labels[0])];
    let columns = columns.into_iter().chain(labels[1..].iter().flat_map(of_other)).collect();
    let table = Table { columns, rows, typical_us, ..Table::default() };
    (!table.rows.is_empty()).then_some(Block::Table(table))
}
