//! A search as a document: the answer in the first line, the pictures of the curve, the loads as a table, the confirmations
//! and the method; and as rows. `lab` searches, the sentences are in `words`.

mod charts;
mod versus;
mod words;

use results::{LoadFigures, LoadVerdict, SearchConfirmation, SearchLoad, SearchRecord};

pub(crate) use words::{goals as goals_in_words, rounded as rounded_rate, search_in_short};

use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Fact, Section, Table, TableOf, Tone, with_contents,
};
use crate::figures::{TIE, asked_seconds, counted, percent, rate};
use crate::metrics::Quantity;
use crate::prose::escaped_line;
use crate::values::{Value, ValueTable};
use crate::wording;

/// Loads that the terminal shows: those whose rates are nearest to the answer.
const LOADS_ON_TERMINAL: usize = 12;

/// The document of a search.
pub fn search(record: &SearchRecord) -> Document {
    if let Some(comparison) = &record.comparison {
        return versus::document(record, comparison);
    }
    let answer = words::answer(record);
    let confirmation = words::confirmation(record);
    let first = std::iter::once(answer.clone()).chain(confirmation.clone()).collect::<Vec<_>>().join("\n");
    let early_end = words::early_end(record).map(|text| Banner::new(Tone::Caution, text));
    let tone = words::tone(record);
    let expected = words::expected(record);
    let of_expected = expected.clone().map(|(tone, text)| Banner::new(tone, text).for_terminal());
    let banners = std::iter::once(Banner::new(tone, first).for_terminal())
        .chain(of_expected)
        .chain(early_end)
        .collect();
    let on_page = |id, title: &str, link, blocks| Section::new(id, title, link, Audience::Documents, blocks);
    let on_terminal = |id, blocks| Section::new(id, "", "", Audience::Terminal, blocks);
    let mut beginning = vec![Block::Answer(tone, answer)];
    beginning.extend(confirmation.map(|text| Block::Paragraph(Tone::Plain, text)));
    beginning.extend(expected.map(|(tone, text)| Block::Paragraph(tone, text)));
    beginning.extend(charts::charts(record).into_iter().map(Block::chart));
    let all: Vec<&SearchLoad> = record.search.loads.iter().collect();
    let server = record.environment.server.as_ref();
    let server = server.map(|server| format!("on PostgreSQL {}", escaped_line(&server.version)));
    let sections = [
        on_page("answer", "", "", beginning),
        on_terminal("facts", vec![Block::Facts(facts(record))]),
        on_terminal("loads", loads(record, &nearest(record)).if_any().into_iter().collect()),
        on_page("loads", "Loads", "Loads", loads(record, &all).if_any().into_iter().collect()),
        on_page(
            "confirmations",
            "Confirmations",
            "Confirmations",
            confirmations(record).if_any().into_iter().collect(),
        ),
        on_page(
            "method",
            "Load and method",
            "Method",
            vec![Block::Facts(facts(record)), Block::quiet(METHOD)],
        ),
        Section::annotation(&record.annotation),
    ];
    Document {
        banners,
        title: format!("{}: highest rate", escaped_line(&record.name())),
        subtitle: server.unwrap_or_default(),
        sections: with_contents(sections),
    }
}

const METHOD: &str = "A load is judged by several short trials, each on fresh connections, at a constant rate. Transactions \
    that failed, were skipped or did not finish count as over the limit. The interval contains the rate at which the \
    share of all transactions over the limit reaches the share that the goal allows.";

fn facts(record: &SearchRecord) -> Vec<Fact> {
    let search = &record.search;
    let trials: usize = search.loads.iter().map(|load| load.trials.len()).sum();
    let how = if search.method.are_clients_given { "given" } else { "found" };
    let best = search.bursts.iter().max_by(|a, b| a.tps.total_cmp(&b.tps));
    let closed = best.map(|burst| {
        let clients = counted(burst.clients.into(), "client", "clients");
        format!("{}{TIE}tps at most, with {clients}", words::rounded(burst.tps))
    });
    let width = percent(search.method.width, 1.0);
    let half = search
        .interval
        .map(|interval| format!("±{TIE}{} (asked for: {width})", percent(interval.half_width(), 1.0)));
    let elapsed =
        format!("{} of {}", asked_seconds(search.elapsed_s.round()), asked_seconds(search.method.budget_s));
    let command = record.plan.command_line.as_ref().map(|command| escaped_line(command.as_str()));
    let mut facts = vec![
        Fact::new("goals", words::goals(&search.goals)),
        Fact::new("clients", format!("{} ({how})", search.clients)),
    ];
    facts.extend(Fact::known([("closed loop", closed), ("interval", half)]));
    facts.push(Fact::new(
        "trials",
        format!("{trials} at {}", counted(search.loads.len() as u64, "rate", "rates")),
    ));
    if search.repeated > 0 {
        let loads = counted(search.repeated.into(), "load", "loads");
        facts.push(Fact::new("repeated", format!("{loads}, because other programs had delayed pgmeter")));
    }
    facts.push(Fact::new("time", elapsed));
    facts.push(Fact::new("seed", search.method.seed.to_string()));
    facts.extend(Fact::known([("command", command)]));
    facts
}

/// Those near the answer, from the lowest rate to the highest.
fn nearest(record: &SearchRecord) -> Vec<&SearchLoad> {
    let search = &record.search;
    let mut loads: Vec<&SearchLoad> = search.loads.iter().collect();
    if let Some(at) = search.rate_tps.or(search.broken_tps).filter(|at| *at > 0.0) {
        let distance = |load: &SearchLoad| (load.figures.rate_tps / at).ln().abs();
        loads.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    }
    loads.truncate(LOADS_ON_TERMINAL);
    loads.sort_by(|a, b| a.figures.rate_tps.total_cmp(&b.figures.rate_tps));
    loads
}

fn loads(record: &SearchRecord, shown: &[&SearchLoad]) -> Table {
    let mut table = TableOf::new(shown.iter().copied());
    table.column(Column::text("rate, tps"), |load| Cell::text(rate(load.figures.rate_tps)));
    table.text("verdict", |load| load.figures.verdict.name().to_owned());
    figures_of(record, &mut table, |load| &load.figures);
    table.figures("trials", |load| Cell::figure(Quantity::Count, load.trials.len() as f64));
    table.text("nearest limit", |load| nearest_limit(&load.figures));
    let top = |load: &&SearchLoad| {
        load.waits.first().map_or(String::new(), |wait| {
            format!("{} {}", wording::wait_name(&wait.event_type, &wait.event), percent(wait.share, 1.0))
        })
    };
    table.text("most of the time", top);
    Table { optional_columns: 1, ..table.table }
}

/// The columns of figures.
fn figures_of<T>(record: &SearchRecord, table: &mut TableOf<T>, of: impl Fn(&T) -> &LoadFigures) {
    table.figures("achieved", |it| Cell::figure(Quantity::PerSecond, of(it).achieved_tps));
    let is_only = record.search.goals.len() == 1;
    for (number, goal) in record.search.goals.iter().enumerate() {
        let title = if is_only { "over".to_owned() } else { format!("over {}", words::goal(goal)) };
        let share =
            |it: &T| of(it).goals.get(number).filter(|count| count.of > 0.0).map(|count| count.share());
        table.figures(title, |it| Cell::figure_if(Quantity::Share, share(it)));
    }
    table.figures("p50", |it| Cell::figure_if(Quantity::Microseconds, of(it).p50_us));
    table.figures("p99", |it| Cell::figure_if(Quantity::Microseconds, of(it).p99_us));
    table.figures("p99.9", |it| Cell::figure_if(Quantity::Microseconds, of(it).p999_us));
}

fn nearest_limit(figures: &LoadFigures) -> String {
    let nearest = figures.nearest.map(|it| format!("{} {}", it.resource.name(), percent(it.share, 1.0)));
    nearest.unwrap_or_default()
}

fn confirmations(record: &SearchRecord) -> Table {
    let mut table = TableOf::new(&record.search.confirmations);
    table.column(Column::text("rate, tps"), |it| Cell::text(rate(it.trial.figures.rate_tps)));
    table.column(Column::text("verdict"), |it| {
        let verdict = it.trial.figures.verdict;
        let tone = if verdict == LoadVerdict::Kept { Tone::Good } else { Tone::Bad };
        Cell::text(verdict.name()).with_tone(tone)
    });
    table.figures("length", |it| Cell::figure(Quantity::Seconds, it.trial.duration_s));
    figures_of(record, &mut table, |it: &&SearchConfirmation| &it.trial.figures);
    let known = |number: Option<u32>| Cell::figure_if(Quantity::Count, number.map(f64::from));
    table.figures("checkpoints", |it| known(it.checkpoints));
    table.figures("autovacuums", |it| known(it.autovacuums));
    table.text("nearest limit", |it| nearest_limit(&it.trial.figures));
    table.table
}

/// A row for each load.
pub(crate) fn search_rows(record: &SearchRecord) -> ValueTable<'_> {
    if let Some(comparison) = &record.comparison {
        return versus::rows(record, comparison);
    }
    let rows = record.search.loads.iter().map(|load| load_values(record, load)).collect();
    ValueTable::new(COLUMNS, rows)
}

const COLUMNS: &str = "rate_tps,verdict,achieved_tps,over_share,allowed_share,p50_us,p99_us,p999_us,nearest_limit,nearest_share,trials";

/// The values of a load, in the order of the columns.
fn load_values<'a>(record: &'a SearchRecord, load: &'a SearchLoad) -> Vec<Value<'a>> {
    let LoadFigures { rate_tps, verdict, goals, achieved_tps, p50_us, p99_us, p999_us, nearest } =
        &load.figures;
    let excess =
        |(count, goal): (&results::OverCount, &results::SearchGoal)| (count.share(), goal.allowed_share);
    let shares = goals.iter().zip(&record.search.goals).map(excess);
    // Of several goals, the one that is nearest to being broken.
    let worst = shares.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    vec![
        (*rate_tps).into(),
        verdict.name().into(),
        (*achieved_tps).into(),
        worst.map(|(share, _)| share).into(),
        worst.map(|(_, allowed)| allowed).into(),
        (*p50_us).into(),
        (*p99_us).into(),
        (*p999_us).into(),
        nearest.map(|it| it.resource.name()).into(),
        nearest.map(|it| it.share).into(),
        load.trials.len().into(),
    ]
}

/// The answer without the limit, for continuous integration.
pub(crate) fn search_sentence(record: &SearchRecord) -> String {
    match &record.comparison {
        Some(comparison) => versus::answer(record, comparison).1,
        None => words::answer(record),
    }
}

#[cfg(test)]
mod tests;
