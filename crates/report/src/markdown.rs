//! Runs as Markdown, for issues, pull requests and notes: what the page says, without its charts. Whatever comes from
//! users and servers is escaped, so that it is text wherever it is pasted.

use crate::Run;
use crate::figures::{percent, with_ordinary_spaces};
use crate::sections::{self, Fact, Grid};
use crate::wording;

/// One run in full, or several side by side.
pub fn markdown(runs: &[Run<'_>]) -> String {
    let out = match runs {
        [] => String::new(),
        [only] => one(only),
        several => side_by_side(several),
    };
    with_ordinary_spaces(&out)
}

fn one(run: &Run<'_>) -> String {
    let record = run.record;
    let headline = sections::headline(record);
    let mut out = format!("# {} on {}\n\n", escaped(&run.scripts()), escaped(&run.server()));
    for warning in run.trouble().into_iter().chain(record.cautions().map(wording::warning)) {
        out += &format!("> **Warning:** {}\n>\n", escaped(&warning));
    }
    if out.ends_with(">\n") {
        out.truncate(out.len() - 2);
        out.push('\n');
    }
    out += &format!("**{} tps** {}.", headline.tps, escaped(&headline.interval));
    out += &format!(" {} {}", headline.limit, escaped(&headline.evidence));
    out += &headline.steady.map(|steady| format!(" {}", escaped(&steady))).unwrap_or_default();
    out += "\n\n";
    out += &part("Latency", sections::latencies(record).map(|grid| table(&grid, &[])));
    out += &part("Transactions", Some(facts(&sections::transactions(record))));
    out += &part("Waits", waits(run));
    out += &part("Statements", statements(run));
    out += &part("Cost per transaction", Some(facts(&sections::costs(record))));
    out += &part("Ceilings", ceilings(run));
    out += &part("Commands", commands(run));
    out += &part("Load", Some(facts(&sections::plan(record))));
    let environment = [sections::environment(record), sections::build(record)].concat();
    out += &part("Environment", Some(facts(&environment)));
    out += &part("Settings", Some(settings(std::slice::from_ref(run))));
    out += &format!("## Again\n\n{}\n", code_block(&sections::repeat_command(record)));
    out
}

fn side_by_side(runs: &[Run<'_>]) -> String {
    let mut out = format!("# {} runs side by side\n\n", runs.len());
    let compared = sections::comparison(runs);
    out += &sections::builds(runs)
        .map(|builds| format!("> **Warning:** {}\n\n", escaped(&builds)))
        .unwrap_or_default();
    let records: Vec<&results::Record> = runs.iter().map(|run| run.record).collect();
    for warning in results::warnings_of_comparison(&records) {
        out += &format!("> **Warning:** {}\n\n", escaped(&wording::warning(&warning)));
    }
    for (at, run) in runs.iter().enumerate() {
        let warnings = run.record.cautions().map(wording::warning);
        for warning in run.trouble().into_iter().chain(warnings) {
            let whose = crate::run::letter(at);
            out += &format!("> **Warning:** {whose}: {}\n\n", escaped(&warning));
        }
    }
    for told in compared.iter().flat_map(|run| run.tps_difference.iter().chain(&run.mean_difference)) {
        out += &told.sentence.as_ref().map(|it| format!("- {}\n", escaped(it))).unwrap_or_default();
    }
    let columns = [
        "run",
        "what",
        "tps",
        "95 %",
        "difference",
        "mean",
        "median",
        "p95",
        "p99",
        "p99.9",
        "failed",
        "skipped",
        "late or skipped",
    ];
    let row = |run: &sections::ComparedRun| {
        let difference = run.tps_difference.as_ref().map(|told| told.change.clone()).unwrap_or_default();
        let with_change = |latency: &str, change: Option<&str>| match change {
            Some(change) => format!("{latency} ({change})"),
            None => latency.to_owned(),
        };
        let quantiles = run.quantiles.iter().map(|(latency, change)| with_change(latency, change.as_deref()));
        let mean_change = run.mean_difference.as_ref().map(|told| told.change.as_str());
        let name = format!("{} ({})", run.letter, run.name);
        let mut cells = vec![name, run.what.clone(), run.tps.clone(), run.tps_interval.clone(), difference];
        cells.push(with_change(&run.mean, mean_change));
        cells.extend(quantiles);
        cells.extend([&run.failed, &run.skipped, &run.late_or_skipped].map(String::clone));
        cells
    };
    let rows = compared.iter().map(row).collect();
    out += &format!("\n{}\n", table(&Grid { columns: columns.map(str::to_owned).to_vec(), rows }, &["what"]));
    out += &part("Commands", sections::commands_side_by_side(runs).map(|grid| table(&grid, &[])));
    out += &part("Load and settings", Some(settings(runs)));
    out
}

/// A heading and what is below it; nothing if that is nothing.
pub(crate) fn part(title: &str, content: Option<String>) -> String {
    match content {
        Some(content) if !content.is_empty() => format!("## {title}\n\n{content}\n"),
        _ => String::new(),
    }
}

fn waits(run: &Run<'_>) -> Option<String> {
    let (rows, how) = sections::waits(run.record)?;
    let row = |wait: &sections::WaitRow| {
        vec![wait.event_type.clone(), wait.event.clone(), percent(wait.share, 1.0), wait.interval.clone()]
    };
    let columns = ["type", "event", "share", "95 % interval"].map(str::to_owned).to_vec();
    let grid = Grid { columns, rows: rows.iter().map(row).collect() };
    Some(format!("{}\n{}\n", table(&grid, &["event"]), escaped(&how)))
}

fn statements(run: &Run<'_>) -> Option<String> {
    let rows: Vec<_> =
        sections::statements(run.record).iter().map(|statement| statement.cells().to_vec()).collect();
    let columns = sections::STATEMENT_COLUMNS.map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| table(&Grid { columns, rows }, &[]))
}

fn ceilings(run: &Run<'_>) -> Option<String> {
    let rows: Vec<_> = sections::ceilings(run.record)
        .into_iter()
        .map(|it| vec![it.kind.to_owned(), it.tps, percent(it.reached_share, 1.0), it.explanation])
        .collect();
    let columns = ["bound", "tps", "reached", "because"].map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| table(&Grid { columns, rows }, &["because"]))
}

fn commands(run: &Run<'_>) -> Option<String> {
    let rows: Vec<_> = sections::commands(run.record)
        .into_iter()
        .map(|it| {
            let failures = it.failures.to_string();
            vec![it.text, it.script, it.executions, it.mean, it.p99, it.max, failures, percent(it.share, 1.0)]
        })
        .collect();
    let columns = ["command", "script", "executions", "mean", "p99", "max", "failures", "share of time"];
    (!rows.is_empty())
        .then(|| table(&Grid { columns: columns.map(str::to_owned).to_vec(), rows }, &["script"]))
}

fn settings(runs: &[Run<'_>]) -> String {
    let settings = sections::settings(runs);
    if settings.is_empty() {
        return String::new();
    }
    let names = (0..runs.len()).map(crate::run::letter);
    let values: Vec<String> = if runs.len() == 1 { vec!["value".to_owned()] } else { names.collect() };
    let row = |setting: sections::Setting| {
        let name = if setting.differs { format!("{} (differs)", setting.name) } else { setting.name };
        let values = setting.values.into_iter().map(|value| value.unwrap_or_else(|| "default".to_owned()));
        [name].into_iter().chain(values).collect()
    };
    let columns: Vec<String> = ["setting".to_owned()].into_iter().chain(values).collect();
    let grid = Grid { columns, rows: settings.into_iter().map(row).collect() };
    table(&grid, &grid.columns.iter().map(String::as_str).collect::<Vec<_>>())
}

pub(crate) fn facts(facts: &[Fact]) -> String {
    facts.iter().map(|fact| format!("- {}: {}\n", escaped(&fact.label), escaped(&fact.value))).collect()
}

/// The first column and those named hold words, which stand at the left; all others hold figures.
pub(crate) fn table(grid: &Grid, words: &[&str]) -> String {
    let line = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|it| escaped(it)).collect::<Vec<_>>().join(" | "))
    };
    let is_words = |at: usize, column: &str| at == 0 || words.contains(&column);
    let rule = grid.columns.iter().enumerate();
    let rule = rule.map(|(at, column)| if is_words(at, column) { "---" } else { "---:" });
    let rule = format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
    line(&grid.columns) + &rule + &grid.rows.iter().map(|row| line(row)).collect::<String>()
}

/// A fence longer than any run of backticks in it.
pub(crate) fn code_block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{text}\n{fence}\n")
}

/// Text on one line that no Markdown reader takes for markup (CommonMark, §2.4: any punctuation may be escaped).
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in crate::prose::escaped_line(text).chars() {
        match character {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '@' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out
}
