//! The single commands of each script, for whoever asks where the time goes. Not part of the summary: `cli` shows it
//! below on request. How a table is laid out is `table`'s.

use std::ops::RangeInclusive;

use results::{CommandSummary, Record, ScriptSummary};

use crate::TextStyle;
use crate::figures::{Unit, count, counted, fixed, with_ordinary_spaces};
use crate::prose::{cut, escaped_line};
use crate::table::{Cells, Side, fitted, padded, points_under_points, titled};

/// Blanks before each line.
const INDENT: usize = 2;

/// Commands of a script that are shown; a longer script is cut, so that the rest of the report can be found.
const COMMANDS_SHOWN_MAX: usize = 40;

/// Characters of a command that are shown: what the figures leave, within these.
const TEXT_LEN: RangeInclusive<usize> = 20..=60;

/// What the figures take beside it, in a usual run.
const FIGURES_LEN: usize = 56;

/// Means above this are shown in larger units than microseconds, in which the figures of most commands lie.
const LARGE_US: f64 = 1e5;

/// Digits after the point.
const DECIMALS: usize = 1;

/// A table for each script whose commands were looked at, each after an empty line; nothing if none was.
pub fn command_table(record: &Record, style: &TextStyle) -> String {
    let several = record.summary.scripts.len() > 1;
    let tables = record.summary.scripts.iter().map(|script| {
        let title = if several {
            format!("commands of {}", escaped_line(&script.name))
        } else {
            "command".to_owned()
        };
        table(&title, script, style)
    });
    with_ordinary_spaces(&tables.collect::<String>())
}

fn table(title: &str, script: &ScriptSummary, style: &TextStyle) -> String {
    let shown = &script.commands[..script.commands.len().min(COMMANDS_SHOWN_MAX)];
    let means = || script.commands.iter().filter_map(|command| command.mean_us);
    let Some(slowest) = means().reduce(f64::max) else {
        return String::new();
    };
    let unit = if slowest < LARGE_US { Unit::Microseconds } else { Unit::for_typical(slowest) };
    let total_us: f64 = script.commands.iter().map(time_us).sum();
    let text_len = style.width.saturating_sub(FIGURES_LEN).clamp(*TEXT_LEN.start(), *TEXT_LEN.end());
    let labels: Vec<String> = std::iter::once(format!("{title}, {}", unit.symbol()))
        .chain(shown.iter().map(|command| cut(&escaped_line(&command.text), text_len)))
        .collect();
    let columns = |decimals| {
        let mut columns = vec![padded(labels.clone(), Side::Left)];
        columns.extend(figures(shown, unit, total_us, decimals));
        columns
    };
    let mut out = format!("\n{}", fitted(columns, DECIMALS, INDENT, style));
    let left_out = script.commands.len() - shown.len();
    if left_out > 0 {
        let more = counted(left_out as u64, "more command", "more commands");
        out += &format!("{}and {more}\n", " ".repeat(INDENT));
    }
    out
}

/// All the time that a command took.
fn time_us(command: &CommandSummary) -> f64 {
    command.mean_us.unwrap_or(0.0) * command.executions as f64
}

/// A column of counts: its title and its figure.
type CountColumn = (&'static str, fn(&CommandSummary) -> u64);

/// What is shown only if it happened.
const COUNTS: [CountColumn; 2] =
    [("failed", |command| command.failures), ("retried", |command| command.retries)];

/// The columns beside the commands.
fn figures(commands: &[CommandSummary], unit: Unit, total_us: f64, decimals: usize) -> Vec<Cells> {
    let latencies = |of: fn(&CommandSummary) -> Option<f64>| {
        let figures: Vec<Option<f64>> =
            commands.iter().map(|command| of(command).map(|us| unit.of(us))).collect();
        points_under_points(&figures, decimals)
    };
    let (means, deviations) = (latencies(|command| command.mean_us), latencies(|command| command.stddev_us));
    let both = means.iter().zip(&deviations).map(|(mean, deviation)| format!("{mean} ± {deviation}"));
    let share =
        |command: &CommandSummary| if total_us > 0.0 { time_us(command) / total_us * 100.0 } else { 0.0 };
    let shares = commands.iter().map(|command| format!("{} %", fixed(share(command), 1)));
    let mut columns = vec![
        titled("time", shares.collect()),
        titled("mean ± stddev", both.collect()),
        titled("max", latencies(|command| command.max_us)),
    ];
    for (title, of) in COUNTS {
        if commands.iter().any(|command| of(command) > 0) {
            columns.push(titled(title, commands.iter().map(|command| count(of(command))).collect()));
        }
    }
    columns
}
