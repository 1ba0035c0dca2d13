//! The document of one run, and that of several runs side by side.
//! The parts are in the modules beside this one; charts come from `chart`.

use results::Record;

use super::difference::{self, ComparedRun, DifferenceVerdict, Told, comparison};
use super::{
    Run, actions, answer, brief, costs, environment, errors, goals, labels, latencies, load, load_curve,
    outages, pooler, ranks, relations, rules, server, settings, stages, verification, warnings,
};
use crate::chart::{Chart, RunCharts};
use crate::document::{Audience, Block, Cell, Column, Document, Section, Table, TableOf, Tone};
use crate::figures::{TIE, counted, rate, rate_known_to};
use crate::metrics::{Metric, Quantity};
use crate::models;
use crate::prose::{enumerate, escaped_line};
use crate::ratios;

/// Runs that are described one by one on a page of several.
const DETAILED_MAX: usize = 12;

/// The document of these runs.
pub fn document(runs: &[Run<'_>]) -> Document {
    match runs {
        [only] => one(*only),
        several => side_by_side(several),
    }
}

/// The document of one run for the terminal alone, with the tables of commands if they are wanted.
pub fn summary(record: &Record, has_commands: bool) -> Document {
    let mut sections = brief::sections(record);
    sections.insert(0, Section::annotation(&record.annotation));
    sections.retain(|it| !it.blocks.is_empty() && (has_commands || it.id != brief::COMMANDS));
    let (title, subtitle) = title(record);
    Document { banners: warnings::banners(record), title, subtitle, sections }
}

fn one(run: Run<'_>) -> Document {
    let record = run.record;
    let documents =
        |id, title: &str, link, blocks| Section::new(id, title, link, Audience::Documents, blocks);
    let RunCharts { mut over_time, percentiles, damaged_histograms } = RunCharts::new(&[run]);
    let warnings = warnings::of_run(record, damaged_histograms.iter().sum());
    let warnings_title =
        if matches!(warnings.first(), Some(Block::List(Tone::Caution, _))) { "Warnings" } else { "" };
    let mut first = vec![answer::answer(record)];
    first.extend(picture(&mut over_time, percentiles.as_ref()));
    first.extend(answer::figures(record));
    first.extend(answer::lines(record));
    let mut sections = vec![
        documents("answer", "", "", first),
        documents("warnings", warnings_title, "", warnings),
        Section::annotation(&record.annotation),
    ];
    sections.extend(brief::sections(record));
    sections.extend([
        documents("stages", "Stages", "Stages", stages::blocks(record)),
        documents("goals", "Goals", "Goals", goals::blocks(record)),
        documents("rules", &rules::title(record), "Rules", rules::blocks(record)),
        documents("errors", "Errors", "Errors", errors::blocks(record)),
        documents("verification", "Verification", "Verification", verification::blocks(record)),
        documents("over-time", "Over time", "Over time", over_time),
        documents("actions", "Actions", "Actions", actions::blocks(record)),
        documents("outages", "Outages", "Outages", outages::blocks(record)),
        documents("latency", "Latency", "Latency", latency_blocks(record, percentiles)),
        documents("pooler", "Connection pooler", "Pooler", pooler::blocks(record)),
        documents("server", "Server activity", "Server", server::blocks(record)),
        documents("cost", "Cost per transaction", "", costs::blocks(record)),
        documents("commands", "Commands", "Commands", commands(record)),
        documents("tables", "Tables and indexes", "Tables", relations::blocks(record)),
        documents("ranks", "Load generators", "Generators", ranks::blocks(record)),
        documents("generator", generator_title(record), "", generator(record)),
        documents("settings", "Load, settings and environment", "Settings", environment(run)),
        documents("repeat", "Repeat this run", "Repeat", repeat(record)),
    ]);
    sections.retain(|section| !section.blocks.is_empty());
    let (title, subtitle) = title(record);
    Document { banners: warnings::banners(record), title, subtitle, sections }
}

/// The scripts, then the server.
fn title(record: &Record) -> (String, String) {
    let scripts = &record.plan.scripts;
    let is_weighted = scripts.windows(2).any(|pair| pair[0].weight != pair[1].weight);
    let name = |script: &results::Script| {
        let weight = is_weighted.then(|| format!("weight {}", script.weight));
        let target = script.target.as_ref().map(|target| format!("at {}", escaped_line(target)));
        let details: Vec<String> = weight.into_iter().chain(target).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        escaped_line(&script.name) + &details
    };
    let server = record.environment.server.as_ref();
    let server = server.map(|server| format!("on PostgreSQL {}", escaped_line(&server.version)));
    (enumerate(&scripts.iter().map(name).collect::<Vec<_>>()), server.unwrap_or_default())
}

fn charts(charts: Vec<Chart>) -> Vec<Block> {
    charts.into_iter().map(Block::chart).collect()
}

/// The charts that answer how the run went, small and beside each other: taken out of those over time.
fn picture(over_time: &mut Vec<Block>, percentiles: Option<&Chart>) -> Vec<Block> {
    let is_first =
        |block: &Block| matches!(block, Block::Chart(chart) if FIRST_CHARTS.contains(&chart.title.as_str()));
    let (first, others): (Vec<Block>, Vec<Block>) = std::mem::take(over_time).into_iter().partition(is_first);
    *over_time = others;
    let small = |block: Block| match block {
        Block::Chart(chart) => vec![Block::chart(Chart { is_low: true, ..*chart })],
        other => vec![other],
    };
    let columns: Vec<Vec<Block>> = match first.is_empty() {
        true => percentiles.cloned().map(Block::chart).into_iter().map(small).collect(),
        false => first.into_iter().map(small).collect(),
    };
    if columns.is_empty() { Vec::new() } else { vec![Block::Columns(columns)] }
}

/// The charts of the first screen.
const FIRST_CHARTS: [&str; 2] = ["Throughput", "Response time"];

fn latency_blocks(record: &Record, percentiles: Option<Chart>) -> Vec<Block> {
    let mut blocks = charts(percentiles.into_iter().collect());
    match latencies::latencies(record) {
        Some(table) => blocks.push(Block::Table(table)),
        None => blocks.push(Block::quiet(latencies::NO_LATENCY)),
    }
    let succeeded = record.summary.response_of_succeeded_us();
    blocks.extend(succeeded.map(|_| Block::quiet(latencies::ALL_AND_SUCCEEDED)));
    let with_stalls = latencies::response_with_stalls(record);
    blocks.extend(with_stalls.map(|_| Block::quiet(latencies::WITH_STALLS)));
    blocks.extend([Block::Heading("Transactions".to_owned()), Block::Facts(load::transactions(record))]);
    blocks
}

fn commands(record: &Record) -> Vec<Block> {
    let none = || Block::quiet("The commands were not timed.");
    vec![latencies::commands(record).unwrap_or_else(none)]
}

/// The figures of a distributed run are of all its load generators.
fn generator_title(record: &Record) -> &'static str {
    if record.summary.ranks.is_empty() { "Load generator" } else { "All load generators together" }
}

fn generator(record: &Record) -> Vec<Block> {
    let facts = load::generator(record);
    match facts.is_empty() {
        true => {
            let none = "This record has no figures of the load generator.";
            vec![Block::quiet(none)]
        }
        false => vec![Block::Facts(facts)],
    }
}

fn environment(run: Run<'_>) -> Vec<Block> {
    let headed = |title: &str, facts| vec![Block::Heading(title.to_owned()), Block::Facts(facts)];
    let mut blocks = vec![Block::Columns(vec![
        headed("Load", load::plan(run.record)),
        headed("Environment", environment::environment(run.record)),
    ])];
    let build = environment::build(run.record);
    if !build.is_empty() {
        let title = "Build of the server".to_owned();
        let blocks_of_build = vec![Block::Facts(build)];
        blocks.push(Block::folded(title, blocks_of_build));
    }
    blocks
        .extend([Block::Heading("Settings that are not at their default".to_owned()), settings::of_run(run)]);
    blocks
}

/// Lines of a script that stand on the page without being asked for.
const SCRIPT_LINES_MAX: usize = 40;

/// The command that repeats the run, and the texts of its scripts.
fn repeat(record: &Record) -> Vec<Block> {
    let mut blocks = vec![Block::Code(load::repeat_command(record))];
    for script in record.plan.scripts.iter().filter(|script| !script.builtin) {
        let name = escaped_line(&script.name);
        let text = Block::Code(script.text.clone());
        if script.text.lines().count() <= SCRIPT_LINES_MAX {
            blocks.extend([Block::Heading(name), text]);
        } else {
            blocks.push(Block::folded(name, vec![text]));
        }
    }
    blocks
}

/// Differences that are told as sentences on a page; of more runs the table tells.
const SENTENCES_MAX: usize = 4;

fn side_by_side(runs: &[Run<'_>]) -> Document {
    let compared = comparison(runs);
    let terminal = |id, title: &str, blocks| Section::new(id, title, "", Audience::Terminal, blocks);
    let documents =
        |id, title: &str, link, blocks| Section::new(id, title, link, Audience::Documents, blocks);
    let name = |run: &ComparedRun| match run.label == run.name {
        true => format!("{}: {}", run.label, run.description),
        false => format!("{} ({}): {}", run.label, run.name, run.description),
    };
    let names = vec![Block::List(Tone::Plain, compared.iter().map(name).collect())];
    let (of_compared, told) = answer_of_runs(&compared);
    let of_loads = load_curve::answer(runs).map(|sentence| Block::Answer(Tone::Strong, sentence));
    let is_ladder = of_loads.is_some();
    let answer = of_loads.or(of_compared);
    // The forest plot shows the same.
    let told = if difference::forest(&compared).is_some() { Vec::new() } else { told };
    let picture = || difference::forest(&compared).map(Block::forest);
    let curve = || load_curve::chart(runs).map(Block::chart);
    let mut sections = vec![
        terminal("answer", "", answer.iter().cloned().chain(picture()).collect()),
        terminal("names", "", names),
    ];
    if let Some((first, others)) = compared.split_first() {
        sections.extend(others.iter().map(|run| terminal("pair", "", vec![Block::Table(pair(first, run))])));
    }
    let RunCharts { over_time, percentiles, damaged_histograms } = RunCharts::new(runs);
    let warnings = warnings::of_runs(runs, &damaged_histograms);
    let rules_title = runs.first().map_or(String::new(), |first| rules::title(first.record));
    let rules = rules::side_by_side(runs);
    sections.push(terminal("differences", "", vec![Block::List(Tone::Plain, told.clone())]));
    sections.push(terminal("terminal-warnings", "", warnings.clone()));
    sections.push(terminal("terminal-rules", &rules_title, rules.clone()));
    sections.push(terminal("terminal-models", "models", models::blocks(load_curve::modelled(runs))));
    sections.push(terminal("differing", "differing load and settings", settings::of_terminal(runs)));
    // A ratio between loads is what the user asked for: the curve says more.
    let of_pairs = if is_ladder { None } else { picture() };
    let mut top: Vec<Block> = answer.into_iter().chain(curve()).chain(of_pairs).collect();
    if !told.is_empty() {
        top.push(Block::List(Tone::Plain, told.into_iter().take(2 * SENTENCES_MAX).collect()));
    }
    let note = match load_curve::has_repeats(runs) {
        true => {
            "The intervals of the table are of single runs; those of the answer and the chart are of the repeats."
        }
        false => "The intervals do not include the variation from run to run: repeat the runs to see that.",
    };
    top.push(Block::quiet(note));
    top.push(Block::Table(table(&compared)));
    let commands = latencies::commands_side_by_side(runs).into_iter().collect();
    let detailed = if runs.len() > DETAILED_MAX { Vec::new() } else { details(runs) };
    let warnings_title = if warnings.is_empty() { "" } else { "Warnings" };
    sections.extend([
        documents("comparison", "", "", top),
        documents("warnings", warnings_title, "", warnings),
        documents("models", "Models", "Models", models::blocks(load_curve::modelled(runs))),
        documents("over-time", "Over time", "Over time", over_time),
        documents("latency", "Latency", "Latency", charts(percentiles.into_iter().collect())),
        documents("commands", "Commands", "Commands", commands),
        documents("rules", &rules_title, "Rules", rules),
        documents("settings", "Load and settings", "Settings", settings::of_runs(runs)),
        Section::new("runs", "Each run", "Runs", Audience::Page, detailed),
    ]);
    sections.retain(|section| !section.blocks.is_empty());
    Document {
        banners: warnings::banners_of_runs(runs),
        title: labels::title(runs),
        subtitle: String::new(),
        sections,
    }
}

/// The answer in a sentence, and the other sentences.
fn answer_of_runs(compared: &[ComparedRun]) -> (Option<Block>, Vec<String>) {
    let mut sentences: Vec<String> = compared.iter().flat_map(sentences).collect();
    if let [_, _] = compared {
        let first = (!sentences.is_empty()).then(|| sentences.remove(0));
        // Not in a colour of a verdict: the variation from run to run is unknown.
        return (first.map(|sentence| Block::Answer(Tone::Strong, sentence)), sentences);
    }
    let is_judged = |run: &&ComparedRun| {
        run.tps_difference.as_ref().is_some_and(|told| told.verdict != DifferenceVerdict::Unknown)
    };
    let best = compared.iter().skip(1).filter(is_judged).max_by(|a, b| a.tps.total_cmp(&b.tps));
    let best = best.zip(compared.first()).map(|(best, first)| {
        let told = best.tps_difference.as_ref();
        match told.filter(|told| told.verdict == DifferenceVerdict::Better) {
            Some(told) => {
                let ratio = told.ratio.map_or(String::new(), |ratio| ratios::ratio(ratio, told.bounds));
                format!(
                    "Highest throughput: {} with {} tps, {ratio} of {}.",
                    best.label,
                    rate(best.tps),
                    first.label
                )
            }
            None => format!("No run has a higher throughput than {}, {} tps.", first.label, rate(first.tps)),
        }
    });
    // Other scripts, or a rate that was asked for: the sentences below say why.
    let unjudged = || {
        let (first, others) = compared.split_first()?;
        let others = counted(others.len() as u64, "other run", "other runs");
        Some(format!("The throughput of {others} is not judged against that of {}.", first.label))
    };
    (best.or_else(unjudged).map(|sentence| Block::Answer(Tone::Strong, sentence)), sentences)
}

fn sentences(run: &ComparedRun) -> Vec<String> {
    run.tps_difference.iter().chain(&run.mean_difference).filter_map(|told| told.sentence.clone()).collect()
}

/// Two runs with a line for each metric: both figures, the change and its interval.
fn pair(first: &ComparedRun, other: &ComparedRun) -> Table {
    let change = |told: &Option<Told>| {
        // The reason of an unknown interval is in the sentence below.
        let interval = |told: &Told| match told.verdict {
            DifferenceVerdict::Unknown => "—".to_owned(),
            DifferenceVerdict::Better | DifferenceVerdict::Worse | DifferenceVerdict::CannotTell => {
                told.interval.clone()
            }
        };
        told.as_ref().map_or_else(Default::default, |told| (told.change.clone(), interval(told)))
    };
    let row = |label: &str, [a, b]: [String; 2], (change, interval): (String, String)| {
        [label.to_owned(), a, b, change, interval].map(Cell::text).to_vec()
    };
    let tps = |run: &ComparedRun| {
        let sure = run.plus_minus.map(crate::document::plus_minus).unwrap_or_default();
        format!("{} {sure}", rate_known_to(run.tps, run.plus_minus.unwrap_or(0.0))).trim_end().to_owned()
    };
    let time = |us: Option<f64>| us.map_or("—".to_owned(), |us| Quantity::Microseconds.shown(us));
    let mut rows = vec![
        row("tps", [tps(first), tps(other)], change(&other.tps_difference)),
        row("mean", [time(first.mean_us), time(other.mean_us)], change(&other.mean_difference)),
    ];
    for (at, metric) in Metric::FIRST_LATENCIES.iter().enumerate() {
        let ((a, _), (b, change)) = (&first.quantiles[at], &other.quantiles[at]);
        rows.push(row(metric.row().label, [time(*a), time(*b)], (change.clone(), String::new())));
    }
    let both = |of: fn(&ComparedRun) -> &String| [of(first).clone(), of(other).clone()];
    rows.push(row("failed", both(|run| &run.failed), Default::default()));
    rows.push(row("skipped", both(|run| &run.skipped), Default::default()));
    rows.push(row("late or skipped", both(|run| &run.late_or_skipped), Default::default()));
    let columns = vec![
        Column::text(""),
        Column::figures(&*first.label),
        Column::figures(&*other.label),
        Column::figures("ratio"),
        Column::text(format!("95{TIE}% interval")),
    ];
    Table { columns, rows, ..Table::default() }
}

/// A line for each run.
fn table(compared: &[ComparedRun]) -> Table {
    let change = |told: Option<&Told>| match told {
        None => Cell::text("—"),
        Some(told) => {
            let (word, tone) = match told.verdict {
                DifferenceVerdict::Better => ("better, ", Tone::Good),
                DifferenceVerdict::Worse => ("worse, ", Tone::Bad),
                DifferenceVerdict::CannotTell => ("inconclusive, ", Tone::Plain),
                DifferenceVerdict::Unknown => ("", Tone::Plain),
            };
            Cell::text(&*told.change).with_note(format!("{word}{}", told.interval)).with_tone(tone)
        }
    };
    let time = |us: Option<f64>| Cell::figure_if(Quantity::Microseconds, us);
    let mut table = TableOf::new(compared);
    table.column(Column::text("run"), |run| {
        let name = if run.label == run.name { String::new() } else { format!("{}: ", run.name) };
        Cell::text(&*run.label).with_note(format!("{name}{}", run.description))
    });
    table.figures("tps", |run| Cell::figure_with_interval(Quantity::PerSecond, run.tps, run.plus_minus));
    table.figures("difference", |run| change(run.tps_difference.as_ref()));
    table.figures("mean", |run| {
        time(run.mean_us).with_note(run.mean_difference.as_ref().map_or("", |told| told.change.as_str()))
    });
    for (at, metric) in Metric::FIRST_LATENCIES.iter().enumerate() {
        table.figures(metric.row().label, |run| {
            let (us, change) = &run.quantiles[at];
            time(*us).with_note(&**change)
        });
    }
    table.figures("failed", |run| Cell::text(&*run.failed));
    table.figures("skipped", |run| Cell::text(&*run.skipped));
    table.figures("late or skipped", |run| Cell::text(&*run.late_or_skipped));
    table.table
}

/// Each run in full, on request.
fn details(runs: &[Run<'_>]) -> Vec<Block> {
    let labels = labels(runs);
    let of_run = |(at, run): (usize, &Run<'_>)| {
        let record = run.record;
        let mut blocks: Vec<Block> = latencies::latencies(record).map(Block::Table).into_iter().collect();
        let mut part = |title: &str, of_part: Vec<Block>| {
            blocks.push(Block::Heading(title.to_owned()));
            blocks.extend(of_part);
        };
        part("Transactions", vec![Block::Facts(load::transactions(record))]);
        let errors = errors::blocks(record);
        if !errors.is_empty() {
            part("Errors", errors);
        }
        part("Server activity", server::blocks(record));
        part("Cost per transaction", costs::blocks(record));
        part("Commands", commands(record));
        part("Load generator", generator(record));
        part("Load and environment", environment(*run));
        part("Repeat this run", repeat(record));
        let title =
            format!("{}: {} on {}, {}", labels[at], run.scripts(), run.server(), escaped_line(run.name));
        Block::folded(title, blocks)
    };
    runs.iter().enumerate().map(of_run).collect()
}
