//! Latencies of a run, its scripts and their commands, as tables.
//! Used by the page and by Markdown.

use results::{CommandSummary, Latency, Record};

use super::Grid;
use super::comparison::signed_percent;
use crate::figures::{count, latency, rate};
use crate::metrics::Metric;
use crate::prose::escaped_line;
use crate::run::{Run, letter};

/// Response times of the run and of each script; service times below them where they are something else.
pub(crate) fn latencies(record: &Record) -> Option<Grid> {
    let summary = &record.summary;
    summary.response_us?;
    let service_differs = record.plan.rate_tps.is_some() || summary.response_us != summary.service_us;
    let several = summary.scripts.len() > 1;
    let row = |name: String, tps: f64, figures: &Latency| {
        let figures = Metric::of_latency().map(|(_, of)| latency(of(figures)));
        [name, rate(tps)].into_iter().chain(figures).collect::<Vec<String>>()
    };
    let mut rows = Vec::new();
    for (kind, of_service) in [("response", false), ("service", true)] {
        if of_service && !service_differs {
            continue;
        }
        let pick = |response, service| if of_service { service } else { response };
        let all = pick(summary.response_us, summary.service_us);
        rows.extend(all.map(|figures| row(kind.to_owned(), summary.tps, &figures)));
        let with_stalls = super::response_with_stalls(record).filter(|_| !of_service);
        rows.extend(with_stalls.map(|figures| row(format!("{kind}, with stalls"), summary.tps, &figures)));
        for script in summary.scripts.iter().filter(|_| several) {
            let figures = pick(script.response_us, script.service_us);
            let name = format!("{kind}, {}", escaped_line(&script.name));
            rows.extend(figures.map(|figures| row(name, script.tps, &figures)));
        }
    }
    let columns = ["latency", "tps"].into_iter().chain(Metric::of_latency().map(|(row, _)| row.label));
    Some(Grid { columns: columns.map(str::to_owned).collect(), rows })
}

/// One command of a script.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CommandRow {
    pub(crate) script: String,
    pub(crate) line: u32,
    pub(crate) text: String,
    pub(crate) executions: String,
    pub(crate) mean: String,
    /// Empty if it was not kept.
    pub(crate) p99: String,
    pub(crate) max: String,
    pub(crate) failures: u64,
    pub(crate) retries: u64,
    /// Of the time in all commands of all scripts, from 0 to 1.
    pub(crate) share: f64,
}

/// The commands of runs of the same scripts: mean times side by side, and the change against the first run. `None` if the
/// scripts differ, or no run has timed commands.
pub(crate) fn commands_side_by_side(runs: &[Run<'_>]) -> Option<Grid> {
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
    let row = |(at, command): (usize, &CommandSummary)| {
        let means: Option<Vec<f64>> = each.iter().map(|commands| commands.get(at)?.mean_us).collect();
        let means = means.filter(|means| means.iter().any(|mean| *mean > 0.0))?;
        let mut cells = vec![escaped_line(&command.text), latency(means[0])];
        for mean in &means[1..] {
            cells.extend([latency(*mean), signed_percent((mean - means[0]) / means[0])]);
        }
        Some(cells)
    };
    let rows: Vec<_> = each[0].iter().enumerate().filter_map(row).collect();
    let of_other = |at: usize| [format!("mean of {}", letter(at)), "difference".to_owned()];
    let columns = ["command".to_owned(), format!("mean of {}", letter(0))];
    let columns = columns.into_iter().chain((1..runs.len()).flat_map(of_other)).collect();
    (!rows.is_empty()).then_some(Grid { columns, rows })
}

/// All commands that took time; those that never do (`\set`) are left out.
pub(crate) fn commands(record: &Record) -> Vec<CommandRow> {
    let time_us = |command: &CommandSummary| command.executions as f64 * command.mean_us.unwrap_or(0.0);
    let scripts = &record.summary.scripts;
    let total_us: f64 = scripts.iter().flat_map(|script| &script.commands).map(time_us).sum();
    let mut rows = Vec::new();
    for script in scripts {
        let with_time = script.commands.iter().filter(|it| time_us(it) > 0.0 || it.failures > 0);
        rows.extend(with_time.map(|command| CommandRow {
            script: escaped_line(&script.name),
            line: command.line,
            text: escaped_line(&command.text),
            executions: count(command.executions),
            mean: command.mean_us.map(latency).unwrap_or_default(),
            p99: command.latency_us.map(|figures| latency(figures.p99)).unwrap_or_default(),
            max: command.max_us.map(latency).unwrap_or_default(),
            failures: command.failures,
            retries: command.retries,
            share: if total_us > 0.0 { time_us(command) / total_us } else { 0.0 },
        }));
    }
    rows
}
