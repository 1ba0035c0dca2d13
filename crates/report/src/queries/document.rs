//! A report of query sets as a document: the notice first, totals, warnings, charts, a row for each query, streams, plans of
//! slower queries. The figures are of `figures` and `comparison`, the sentences of `said`.

use results::{Annotation, QuerySetPlan};

use super::QueryRun;
use super::comparison::{Compared, ComparedSet, version};
use super::figures::Durations;
use super::{answer, charts, classes, plans, regressions, said, tables};
use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Fact, Section, Table, Tone, with_contents,
};
use crate::figures::{TIE, asked_latency, counted};
use crate::prose::{enumerate, escaped_line};
use crate::run::{Setting, of_servers};

/// The longest name of a query set above a column: on the terminal, and where it can be wrapped.
const TITLE_LEN_MAX: usize = 24;
const TITLE_LEN_MAX_WRAPPED: usize = 80;

/// The report of one query set, or of several of which the first is the base.
pub fn queries_document(runs: &[QueryRun<'_>]) -> Document {
    let compared = Compared::new(runs);
    let few = classes::with_few_queries(&compared);
    let rows = few.as_ref().unwrap_or(&compared);
    let wrong = said::wrong_answers(&compared);
    let notices = said::notices(&compared).into_iter().map(|text| Banner::new(Tone::Plain, text));
    let regression = compared.regressions.as_ref().map(|it| regressions::answer(it).for_terminal());
    let banners =
        notices.chain(regression).chain(wrong.iter().map(|text| Banner::new(Tone::Bad, text))).collect();
    // Those are above everything else.
    let warnings = said::warnings(&compared).split_off(wrong.len());
    let mut charts = charts::charts(&compared);
    // The first chart, with those that are alternatives to it.
    let is_alternative = |block: &Block| {
        let Block::Chart(chart) = block else { return false };
        chart.choice.is_some_and(|choice| !choice.is_first)
    };
    let is_picture = matches!(charts.first(), Some(Block::Chart(_) | Block::Forest(_)));
    let alternatives = charts.iter().skip(1).take_while(|block| is_alternative(block)).count();
    let picture: Vec<Block> = charts.drain(..if is_picture { 1 + alternatives } else { 0 }).collect();
    let sections = [
        Section::new("top-brief", "", "", Audience::Terminal, top(&compared, None, TITLE_LEN_MAX)),
        Section::new(
            "top",
            "",
            "",
            Audience::Documents,
            top(&compared, Some(picture), TITLE_LEN_MAX_WRAPPED),
        ),
        annotation(&compared),
        Section::new("warnings", "Warnings", "Warnings", Audience::All, list(Tone::Caution, warnings)),
        Section::new(
            "regressions",
            "Slower queries",
            "Slower queries",
            Audience::All,
            regressions::section(&compared),
        ),
        Section::new("about", "About these queries", "", Audience::All, about(&compared)),
        Section::new("charts", "Charts", "Charts", Audience::Page, charts),
        Section::new("queries-brief", "Queries", "", Audience::Terminal, queries_in_brief(&compared, rows)),
        Section::new("queries", "Queries", "Queries", Audience::Documents, queries(&compared, rows)),
        Section::new("slower", "Plans of slower queries", "", Audience::Terminal, plans::summaries(rows)),
        Section::new("plans", "Plans of slower queries", "Plans", Audience::Documents, of_plans(rows)),
        Section::new("streams", "Streams", "Streams", Audience::All, streams(&compared)),
        Section::new("details", "Each query set", "Details", Audience::Documents, details(rows)),
        Section::new("settings-brief", "", "", Audience::Terminal, settings_in_brief(&compared)),
        Section::new("settings", "Settings that differ", "", Audience::Documents, settings(&compared)),
        Section::new("notes", "", "", Audience::All, list(Tone::Quiet, notes(&compared))),
        Section::new("repeat", "Repeat these queries", "Repeat", Audience::Documents, repeat(&compared)),
    ];
    Document {
        banners,
        title: title(&compared),
        subtitle: subtitle(&compared),
        sections: with_contents(sections),
    }
}

fn list(tone: Tone, items: Vec<String>) -> Vec<Block> {
    if items.is_empty() { Vec::new() } else { vec![Block::List(tone, items)] }
}

/// Of a single set; of several, the labels are in their names.
fn annotation(compared: &Compared<'_>) -> Section {
    let only = match compared.sets.as_slice() {
        [only] => only.figures.record.annotation.clone(),
        _ => Annotation::default(),
    };
    Section::annotation(&only)
}

fn plans_of<'c>(compared: &'c Compared<'_>) -> impl Iterator<Item = &'c QuerySetPlan> {
    compared.sets.iter().filter_map(|set| set.figures.record.query_set.as_ref())
}

/// Values of the plans, each once: `given and rewritten`.
fn each(compared: &Compared<'_>, of: impl Fn(&QuerySetPlan) -> Option<String>) -> Option<String> {
    distinct(plans_of(compared).filter_map(of))
}

fn distinct(all: impl Iterator<Item = String>) -> Option<String> {
    let mut values: Vec<String> = Vec::new();
    for value in all {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    (!values.is_empty()).then(|| enumerate(&values))
}

fn title(compared: &Compared<'_>) -> String {
    let workload = each(compared, |plan| Some(escaped_line(&plan.workload)));
    format!("Queries of {}", workload.unwrap_or_else(|| "an unknown workload".to_owned()))
}

fn subtitle(compared: &Compared<'_>) -> String {
    match compared.sets.as_slice() {
        [] => String::new(),
        [only] => version(only.figures.record).map_or(String::new(), |version| format!("on {version}")),
        [first, others @ ..] => {
            let others: Vec<String> = others.iter().map(|set| set.label.clone()).collect();
            format!("({}; base: {})", enumerate(&others), first.label)
        }
    }
}

/// What durations are.
fn basis(compared: &Compared<'_>) -> &'static str {
    if compared.regressions.is_some() {
        return "estimated from B ÷ A and the geometric mean of all executions but the first";
    }
    if compared.is_warm { "means of the later executions" } else { "of the first execution of each" }
}

/// The answer, its picture on pages, and the first figures. On the terminal, the verdict on queries in turns is above all.
fn top(compared: &Compared<'_>, of_page: Option<Vec<Block>>, title_len_max: usize) -> Vec<Block> {
    let is_told_above = of_page.is_none() && compared.regressions.is_some();
    let answer = answer::answer(compared).filter(|_| !is_told_above);
    let picture = of_page.unwrap_or_default();
    let figures: Vec<Block> = match compared.sets.as_slice() {
        [] => return Vec::new(),
        // The picture has a row for each query, and may be long.
        [only] => std::iter::once(answer::figures(compared, only, basis(compared))).chain(picture).collect(),
        _ => {
            let table = Block::Table(tables::of_sets(compared, title_len_max));
            picture.into_iter().chain([table, Block::quiet(ratios_in_words(compared))]).collect()
        }
    };
    answer.into_iter().chain(figures).collect()
}

fn ratios_in_words(compared: &Compared<'_>) -> String {
    let base = compared.sets.first().map_or("", |set| set.label.as_str());
    let mut told = format!(
        "Durations are {}. The ratio of a query is its duration ÷ that of {base}; the ratio of \
         geometric means is that of a query set ÷ that of {base}, so each query has the same weight.",
        basis(compared)
    );
    if compared.sets.iter().any(|set| set.ratios.iter().flatten().any(|ratio| ratio.interval.is_some())) {
        told += &format!(" Ranges are 95{TIE}% confidence intervals.");
    } else if compared.is_warm && compared.regressions.is_none() {
        told += " Confidence intervals need --repeat 4 or more.";
    }
    let without: Vec<String> = (compared.sets.iter())
        .filter(|set| set.is_without_limited && set.ratio.is_some())
        .map(|set| set.label.clone())
        .collect();
    if !without.is_empty() {
        told += &format!(
            " The ratio of {} leaves out the queries that reached the limit, because each of both sets has some.",
            said::named(&without)
        );
    }
    told
}

fn about(compared: &Compared<'_>) -> Vec<Block> {
    let streams = |plan: &QuerySetPlan| {
        let streams = counted(plan.streams.into(), "stream", "streams");
        let times = counted(plan.repeats.into(), "execution", "executions");
        Some(format!("{streams} × {times} of each query"))
    };
    let names = || {
        let name = |set: &ComparedSet<'_>| match set.label == set.name {
            true => set.name.clone(),
            false => format!("{} ({})", set.label, set.name),
        };
        enumerate(&compared.sets.iter().map(name).collect::<Vec<_>>())
    };
    let versions = compared.sets.iter().filter_map(|set| version(set.figures.record));
    let limit = |plan: &QuerySetPlan| {
        Some(plan.limit_us.map_or("none".to_owned(), |us| format!("{} each", asked_latency(us as f64))))
    };
    let refreshes = |plan: &QuerySetPlan| plan.refreshes.then(|| "with the queries".to_owned());
    let facts = [
        ("query sets", (compared.sets.len() > 1).then(names)),
        ("server", distinct(versions)),
        ("scale", each(compared, |plan| Some(plan.scale.to_string()))),
        ("indexes", each(compared, |plan| plan.indexes.as_deref().map(escaped_line))),
        ("text", each(compared, |plan| plan.text.as_deref().map(escaped_line))),
        ("parameters", each(compared, said::shown_parameters)),
        ("executed", each(compared, streams)),
        ("refresh", each(compared, refreshes)),
        ("limit", each(compared, limit)),
    ];
    let facts: Vec<Fact> = Fact::known(facts).collect();
    let notes = figures_in_words(compared);
    let notes = (!notes.is_empty()).then_some(Block::quiet(notes));
    std::iter::once(Block::Facts(facts)).chain(notes).collect()
}

/// What the named figures are.
fn figures_in_words(compared: &Compared<'_>) -> String {
    let has = |of: fn(&ComparedSet<'_>) -> bool| compared.sets.iter().any(of);
    let power = "Power is 3600 × scale ÷ the geometric mean of the first executions, in seconds, of the queries and \
                 refresh functions.";
    let throughput = "Throughput is queries per hour × scale.";
    let own = "Such figures of pgmeter are not results of a TPC benchmark.";
    let has_power = has(|set| set.figures.power.is_some());
    let has_throughput = has(|set| set.figures.throughput.is_some());
    let told = [(has_power, power), (has_throughput, throughput), (has_power || has_throughput, own)];
    told.into_iter().filter(|(is, _)| *is).map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

/// The terminal has one table, with as many costs as it has room for.
fn queries_in_brief(all: &Compared<'_>, rows: &Compared<'_>) -> Vec<Block> {
    let mut blocks = classes::tables(all, rows, TITLE_LEN_MAX);
    match rows.sets.as_slice() {
        [only] => {
            blocks.push(Block::Table(tables::of_one_with_costs(rows, only)));
            let words = means_in_words(rows).into_iter().chain(said::cpu_times(only));
            let words = words.collect::<Vec<_>>().join(" ");
            blocks.extend((!words.is_empty()).then_some(Block::quiet(words)));
        }
        [] => {}
        // The table of slower queries has the same durations.
        _ if all.regressions.is_some() => {}
        _ => blocks.push(Block::Table(tables::side_by_side(rows, TITLE_LEN_MAX))),
    }
    blocks
}

fn costs(set: &ComparedSet<'_>) -> Vec<Block> {
    let Some(table) = tables::costs(set) else { return Vec::new() };
    let mut blocks = vec![Block::Heading("Costs, means of an execution".to_owned()), Block::Table(table)];
    blocks.extend(said::cpu_times(set).map(Block::quiet));
    blocks
}

fn queries(all: &Compared<'_>, rows: &Compared<'_>) -> Vec<Block> {
    let mut blocks = classes::tables(all, rows, TITLE_LEN_MAX_WRAPPED);
    match rows.sets.as_slice() {
        [] => {}
        [only] => {
            blocks.push(Block::Table(tables::of_one(rows, only)));
            blocks.extend(means_in_words(rows).map(Block::quiet));
            blocks.extend(costs(only));
        }
        _ => blocks.push(Block::Table(tables::side_by_side(rows, TITLE_LEN_MAX_WRAPPED))),
    }
    blocks
}

fn means_in_words(compared: &Compared<'_>) -> Option<String> {
    let mut queries = compared.sets.iter().flat_map(|set| &set.figures.queries);
    let has_intervals = queries.any(|query| compared.durations(query).is_some_and(Durations::has_interval));
    let interval = match has_intervals {
        true => format!("± is its 95{TIE}% confidence interval (Student's t), which needs three of them"),
        false => format!("its 95{TIE}% confidence interval needs --repeat 4 or more"),
    };
    compared.is_warm.then(|| {
        format!(
            "The duration is the mean of the later executions; {interval}. The first execution, which may find cold \
             caches, is apart."
        )
    })
}

fn streams(compared: &Compared<'_>) -> Vec<Block> {
    tables::streams(compared).map(Block::Table).into_iter().collect()
}

/// The page has the plans, Markdown the sentences alone.
fn of_plans(compared: &Compared<'_>) -> Vec<Block> {
    plans::summaries(compared).into_iter().chain(plans::side_by_side(compared)).collect()
}

/// Of several sets, the tables of each set with its costs.
fn details(compared: &Compared<'_>) -> Vec<Block> {
    let of_set = |set: &ComparedSet<'_>| {
        let facts = said::rates(set);
        let mut blocks = if facts.is_empty() { Vec::new() } else { vec![Block::Facts(facts)] };
        blocks.push(Block::Table(tables::of_one(compared, set)));
        blocks.extend(costs(set));
        Block::folded(set.label.clone(), blocks)
    };
    let sets: &[ComparedSet<'_>] = &compared.sets;
    if sets.len() > 1 { sets.iter().map(of_set).collect() } else { Vec::new() }
}

fn differing_settings(compared: &Compared<'_>) -> Vec<Setting> {
    let environments: Vec<_> = compared.sets.iter().map(|set| &set.figures.record.environment).collect();
    of_servers(&environments).into_iter().filter(|setting| setting.differs).collect()
}

/// The number of settings that differ.
fn settings_in_brief(compared: &Compared<'_>) -> Vec<Block> {
    let number = differing_settings(compared).len();
    if number == 0 {
        return Vec::new();
    }
    let settings = counted(number as u64, "setting of the servers differs", "settings of the servers differ");
    let text = format!("{settings}; a page (-o page.html) lists the values.");
    vec![Block::quiet(text)]
}

fn settings(compared: &Compared<'_>) -> Vec<Block> {
    let differing = differing_settings(compared);
    if differing.is_empty() {
        return Vec::new();
    }
    let labels = compared.sets.iter().map(|set| Column::text(&set.label));
    let row = |setting: Setting| {
        let value = |value: Option<String>| Cell::text(value.unwrap_or_else(|| "default".to_owned()));
        std::iter::once(Cell::text(setting.name)).chain(setting.values.into_iter().map(value)).collect()
    };
    let columns = std::iter::once(Column::text("setting")).chain(labels).collect();
    vec![Block::Table(Table { columns, rows: differing.into_iter().map(row).collect(), ..Table::default() })]
}

fn notes(compared: &Compared<'_>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in compared.sets.iter().flat_map(|set| &set.figures.record.notes) {
        let note = escaped_line(note.as_str());
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn repeat(compared: &Compared<'_>) -> Vec<Block> {
    let mut commands: Vec<&str> =
        plans_of(compared).filter_map(|plan| Some(plan.command_line.as_ref()?.as_str())).collect();
    commands.dedup();
    if commands.is_empty() { Vec::new() } else { vec![Block::Code(commands.join("\n"))] }
}
