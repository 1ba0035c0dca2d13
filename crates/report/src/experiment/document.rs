//! An experiment's report as a document: its sections in order, and the blocks in each. The writers of `document` give it
//! a format; the charts come from `drawn`, the sentences from `said`.

use results::StoredRun;

use super::cells::{Standing, Trial};
use super::metric::Metric;
use super::overview::{Contrast, Overview};
use super::repeats::{Ratio, Repeated, figure};
use super::said::{
    IF_ANY, OF_EVERY_LOAD, RATIO_TO_BASE, RATIO_TO_PREVIOUS, bounds, difference, is_base, limits_in_words,
    ratio, signs, top_waits,
};
use super::{Quantity, actions, drawn, effect_forest, goals, load_curve, outages, query_sets, searches};
use crate::document::{
    Audience, Banner, Block, Cell, Column, Document, Fact, Section, Table, TableOf, Tone, with_contents,
};
use crate::models;
use crate::prose::{cut, escaped_line};
use crate::queries::ROWS_MAX;
use crate::wording;

/// Trials without figures that a terminal lists; the page has all.
const LOST_SHOWN_MAX: usize = 20;
/// Wait events of a combination in a table.
const WAITS_SHOWN_MAX: usize = 2;
/// Interactions in a list.
const INTERACTIONS_SHOWN_MAX: usize = 6;
/// The longest name of a combination.
const LABEL_LEN_MAX: usize = 48;

/// The whole report.
pub fn document(overview: &Overview) -> Document {
    let sections = [
        Section::new("answer-brief", "", "", Audience::Terminal, answer_in_brief(overview)),
        Section::new("answer", "", "", Audience::Documents, answer(overview)),
        Section::new("faults", "", "", Audience::Page, outages::multiples(overview)),
        Section::annotation(&overview.annotation),
        Section::new("summary", "", "", Audience::Terminal, standing(overview)),
        Section::new("top", "", "", Audience::Documents, below_answer(overview)),
        Section::new("results", "Results", "Results", Audience::All, results(overview)),
        Section::new("warnings", "Warnings", "Warnings", Audience::Documents, warnings(overview)),
        Section::new("lost", "Trials without figures", "", Audience::Documents, lost(overview, usize::MAX)),
        Section::new("charts", "Charts", "Charts", Audience::Page, drawn::charts(overview)),
        Section::new("effects", "Effects", "Effects", Audience::All, effects(overview)),
        Section::new(
            "models",
            "Models",
            "Models",
            Audience::All,
            models::blocks(load_curve::modelled(overview)),
        ),
        Section::new("about", "About this experiment", "", Audience::Documents, about(overview)),
        Section::new("goals", "Goals", "Goals", Audience::All, goals::blocks(overview)),
        Section::new("actions", "Actions", "Actions", Audience::All, actions::blocks(overview)),
        Section::new("outages", "Outages", "Outages", Audience::All, outages::blocks(overview)),
        Section::new("latencies", "Latencies", "Latencies", Audience::All, latencies(overview)),
        Section::new("ratios", "Named ratios", "", Audience::All, ratios(overview)),
        Section::new("differences", "Named differences", "", Audience::All, differences(overview)),
        Section::new("queries-brief", "Queries", "", Audience::Terminal, queries_in_brief(overview)),
        Section::new("queries", "Queries", "Queries", Audience::Documents, queries(overview)),
        Section::new("steps", "Steps", "Steps", steps_audience(overview), steps(overview)),
        Section::new("costs", "Costs and waits", "Costs", Audience::All, costs(overview)),
        Section::new(
            "waits",
            "Wait events and CPU of the backends",
            "Waits",
            Audience::Page,
            drawn::waits(overview),
        ),
        Section::new("cells", "Trials", "Trials", Audience::Page, cells(overview)),
        Section::new("file", "The file", "File", Audience::Page, files(overview)),
        Section::new("repeat", "Repeat this experiment", "Repeat", Audience::Documents, repeat(overview)),
        Section::new("warnings-below", "Warnings", "", Audience::Terminal, warnings(overview)),
        Section::new(
            "lost-below",
            "Trials without figures",
            "",
            Audience::Terminal,
            lost(overview, LOST_SHOWN_MAX),
        ),
        Section::new(
            "page",
            "Page with charts",
            "",
            Audience::Terminal,
            vec![Block::Code(overview.page_command())],
        ),
    ];
    Document {
        title: overview.title.clone(),
        subtitle: format!("({}, {})", overview.name, overview.profile),
        banners: banners(overview),
        sections: with_contents(sections),
    }
}

fn quiet(sentences: impl IntoIterator<Item = String>) -> Option<Block> {
    let sentences: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    (!sentences.is_empty()).then(|| Block::quiet(sentences.join(" ")))
}

fn standing(overview: &Overview) -> Vec<Block> {
    vec![Block::Paragraph(standing_tone(overview), format!("{}.", overview.standing()))]
}

fn standing_tone(overview: &Overview) -> Tone {
    let is_incomplete = overview.trials.iter().any(|trial| trial.standing != Standing::Complete);
    if is_incomplete { Tone::Caution } else { Tone::Plain }
}

/// `2026-11-21`
fn day(overview: &Overview) -> &str {
    overview.started_at.get(..10).unwrap_or_default()
}

/// The best cell, if that is not the answer, and how many trials there are.
fn below_answer(overview: &Overview) -> Vec<Block> {
    let (_, answer) = sentence(overview);
    let best = best(overview).filter(|best| *best != answer);
    let best = best.map(|sentence| Block::Paragraph(Tone::Strong, sentence));
    let standing = format!("{}. Started {}.", overview.standing(), day(overview));
    best.into_iter().chain([Block::Paragraph(standing_tone(overview), standing)]).collect()
}

/// Where rates have goals, the answer is the highest that met them, and each goal is below.
fn banners(overview: &Overview) -> Vec<Banner> {
    let highest = goals::highest_rate(overview).map(Banner::for_terminal);
    let of_goals = highest.or_else(|| goals::banner(overview));
    query_sets::banners(overview).into_iter().chain(of_goals).collect()
}

/// The times without a write, if connections were lost; otherwise the largest effect in one sentence, and the effects on the
/// main figure as a picture.
fn answer_in_brief(overview: &Overview) -> Vec<Block> {
    if let Some(outages) = outages::answer(overview) {
        return vec![Block::Paragraph(Tone::Strong, outages)];
    }
    let (tone, answer) = match searches::answer(overview) {
        Some(answer) => answer,
        None => match load_curve::answer(overview).or_else(|| effects_answer(overview)) {
            Some(answer) => (Tone::Strong, answer),
            None => return Vec::new(),
        },
    };
    std::iter::once(Block::Paragraph(tone, answer)).chain(pictures(overview)).collect()
}

fn effects_answer(overview: &Overview) -> Option<String> {
    overview.effects.first().map(|main| wording::effects_answer(overview, main))
}

/// The first screen of pages: a short sentence, and a picture or figures of it.
fn answer(overview: &Overview) -> Vec<Block> {
    let (tone, text) = sentence(overview);
    let figures = outages::figures(overview);
    let pictures = if figures.is_some() { Vec::new() } else { pictures(overview) };
    std::iter::once(Block::Answer(tone, text)).chain(figures).chain(pictures).collect()
}

/// The answer of pages, the first of these that is known: the time without a write, the highest rate that met the goals,
/// the load with the highest throughput, the largest effect, the best cell, the number of trials.
fn sentence(overview: &Overview) -> (Tone, String) {
    if let Some(answer) = searches::answer(overview) {
        return answer;
    }
    if let Some(outages) = outages::longest(overview) {
        return (Tone::Strong, outages);
    }
    if let Some(Banner { tone, text, .. }) = goals::highest_rate(overview) {
        return (tone, text);
    }
    let known = load_curve::answer(overview).or_else(|| effects_answer(overview)).or_else(|| best(overview));
    (Tone::Strong, known.unwrap_or_else(|| format!("{}.", overview.standing())))
}

/// Throughput against latency where the load varies, and the effects on the main figure.
fn pictures(overview: &Overview) -> Vec<Block> {
    if let Some(forest) = searches::forest(overview) {
        return vec![Block::forest(forest)];
    }
    let curve = load_curve::chart(overview).map(Block::chart);
    let main = overview.effects.first();
    let forest = main.and_then(|main| effect_forest::forest(overview, main)).map(Block::forest);
    let of_goals = goals::chart(overview).map(Block::chart);
    // Where the load varies, ratios between its levels are what the user asked for: the curve comes first.
    match load_curve::is_first(overview) {
        true => of_goals.into_iter().chain(curve).chain(forest).collect(),
        false => forest.into_iter().chain(curve).collect(),
    }
}

/// The effects on the other figures, those that depend on another factor, and the interactions.
fn effects(overview: &Overview) -> Vec<Block> {
    let Some((main, others)) = overview.effects.split_first() else { return Vec::new() };
    if main.is_of_one_repeat() {
        return Vec::new();
    }
    let forests = others.iter().filter_map(|effects| effect_forest::forest(overview, effects));
    let mut blocks: Vec<Block> = forests.map(Block::forest).collect();
    let details = wording::effects_details(overview, main);
    let interactions = (0..main.interactions.len().min(INTERACTIONS_SHOWN_MAX))
        .map(|number| format!("{}.", wording::interaction(overview, main, number)));
    let found: Vec<String> = details.into_iter().chain(interactions).collect();
    if !found.is_empty() {
        blocks.push(Block::List(Tone::Plain, found));
    }
    let more = main.interactions.len().saturating_sub(INTERACTIONS_SHOWN_MAX);
    let more = (more > 0).then(|| format!("{more} smaller interactions are in the JSON."));
    let sentences = more.into_iter().chain(wording::other_interactions(main));
    blocks.extend(quiet(sentences.chain(wording::effects_notes(overview, main))));
    blocks
}

/// The best cell, if its interval excludes all others, and its ratio to the base.
fn best(overview: &Overview) -> Option<String> {
    let main = overview.main();
    // A rate is an input, not a result.
    if overview.has_rate() || overview.cells.len() < 2 {
        return None;
    }
    let (what, is_more_better) = match main {
        Metric::Tps => ("Most transactions per second", true),
        Metric::Operations => ("Most operations per second", true),
        _ => ("Shortest", false),
    };
    let measured: Vec<(usize, &Repeated)> = (overview.cells.iter().enumerate())
        .filter_map(|(number, cell)| Some((number, cell.figure(main)?)))
        .collect();
    let order = |a: &&(usize, &Repeated), b: &&(usize, &Repeated)| a.1.mean.total_cmp(&b.1.mean);
    let (cell, figure) =
        *if is_more_better { measured.iter().max_by(order) } else { measured.iter().min_by(order) }?;
    let is_beyond = |other: usize| {
        let interval = overview.ratio_to(other, cell, main).and_then(|it| it.interval);
        interval.is_some_and(|(low, high)| if is_more_better { low > 1.0 } else { high < 1.0 })
    };
    if !measured.iter().all(|(number, _)| *number == cell || is_beyond(*number)) {
        return None;
    }
    if query_sets::is_bound(overview, cell) {
        return None;
    }
    let is_exact = overview.cells[cell].base.is_none_or(|base| !query_sets::is_bound(overview, base));
    let against = overview.ratio(cell, main).filter(|_| is_exact).map_or(String::new(), |it| {
        let range = if it.interval.is_some() { format!(" {}", bounds(&it)) } else { String::new() };
        format!(", {} of its base{range}", ratio(&it))
    });
    let shown = main.quantity().shown(figure.mean);
    Some(format!("{what}: {shown} with {}{against}.", overview.description_of(cell)))
}

fn about(overview: &Overview) -> Vec<Block> {
    let source = overview.source.as_ref().map(|source| Block::Facts(vec![Fact::new("source", source)]));
    let description = overview.description.iter().map(|text| Block::Paragraph(Tone::Plain, text.clone()));
    source.into_iter().chain(description).collect()
}

fn warnings(overview: &Overview) -> Vec<Block> {
    if overview.concerns.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::List(Tone::Caution, overview.concerns.clone())];
    if !overview.builds.is_empty() {
        blocks.push(Block::folded(
            "How the servers were built".to_owned(),
            vec![Block::List(Tone::Plain, overview.builds.clone())],
        ));
    }
    blocks
}

fn lost(overview: &Overview, shown_max: usize) -> Vec<Block> {
    let mut lost = overview.lost();
    if lost.is_empty() {
        return Vec::new();
    }
    let more = lost.len().saturating_sub(shown_max);
    lost.truncate(shown_max);
    lost.extend((more > 0).then(|| format!("… and {more} more")));
    vec![Block::List(Tone::Plain, lost)]
}

fn ratio_cell(it: Option<Ratio>, if_none: &str) -> Cell {
    it.map_or_else(|| Cell::text(if_none), |it| Cell::text(ratio(&it)).with_note(bounds(&it)))
}

/// A table with a row for each cell.
fn cell_table(overview: &Overview) -> TableOf<usize> {
    let mut table = TableOf::new(0..overview.cells.len());
    table.column(Column::text(factor_names(overview)), |cell| {
        Cell::text(label(overview, *cell)).with_link(format!("cell-{}", cell + 1))
    });
    table
}

/// The title of a column of combinations.
fn factor_names(overview: &Overview) -> String {
    let names: Vec<&str> = overview.factors.iter().map(|factor| factor.name.as_str()).collect();
    let names = if names.is_empty() { "combination".to_owned() } else { escaped_line(&names.join(", ")) };
    cut(&names, LABEL_LEN_MAX)
}

fn label(overview: &Overview, cell: usize) -> String {
    cut(&escaped_line(&overview.label(cell)), LABEL_LEN_MAX)
}

fn add_metric(table: &mut TableOf<usize>, overview: &Overview, metric: Metric, with_interval: bool) {
    table.figures(metric.short(overview.has_steps()), |cell| {
        figure(overview.cells[*cell].figure(metric), metric.quantity(), with_interval)
    });
}

/// The metrics of the results, behind the ratios.
fn of_results(overview: &Overview) -> Vec<Metric> {
    if overview.has_steps() {
        return overview.shown(&[Metric::WalBytes, Metric::ServerCpu]);
    }
    let [mean, stddev, median, p99] = OF_EVERY_LOAD;
    let batches = overview.has_batches().then_some(Metric::Tps);
    overview.shown(&batches.into_iter().chain([mean, p99, stddev, median]).collect::<Vec<_>>())
}

/// The cells: their main figure and ratios.
fn results(overview: &Overview) -> Vec<Block> {
    if searches::is_of_searches(overview) {
        return searches::blocks(overview);
    }
    let main = overview.main();
    let mut table = cell_table(overview);
    if overview.marks_told().is_some() {
        table.text("best", |cell| signs(overview.marks(*cell)));
    }
    let is_duration = main == Metric::Duration;
    table.figures(main.short(overview.has_steps()), |&cell| {
        let bound = if is_duration { query_sets::bound(overview, cell) } else { None };
        bound.unwrap_or_else(|| figure(overview.cells[cell].figure(main), main.quantity(), true))
    });
    // A ratio of rates is what the user asked for.
    let has_ratios = overview.has_ratios() && !overview.has_rate();
    if has_ratios {
        table.figures(RATIO_TO_BASE, |&cell| {
            let bound = if is_duration { query_sets::bound_ratio(overview, cell) } else { None };
            let if_none = if is_base(overview, cell) { "base" } else { "—" };
            bound.unwrap_or_else(|| ratio_cell(overview.ratio(cell, main), if_none))
        });
    }
    if overview.host_factor.is_some() {
        table.figures(format!("ratio to {}", overview.hosts[0].name), |&cell| {
            ratio_cell(overview.ratio_to_first_host(cell, main), "—")
        });
    }
    if overview.has_previous() && !overview.has_rate() {
        table.figures(RATIO_TO_PREVIOUS, |&cell| ratio_cell(overview.ratio_to_previous(cell, main), "—"));
    }
    let ratios = usize::from(has_ratios) + usize::from(overview.host_factor.is_some());
    let needed = table.table.columns.len().min(3 + ratios);
    for metric in of_results(overview).into_iter().filter(|metric| !is_time(overview, *metric)) {
        add_metric(&mut table, overview, metric, overview.is_drawn(metric));
    }
    table.table.optional_columns = table.table.columns.len().saturating_sub(needed);
    let ratios_in_words = (!overview.has_rate()).then(|| overview.ratios_in_words());
    let sentences = [ratios_in_words, overview.intervals_in_words(), overview.marks_told()];
    let sentences = sentences.into_iter().flatten().chain(overview.left_out());
    std::iter::once(Block::Table(table.table)).chain(quiet(sentences)).collect()
}

/// Whether it is a time of transactions, which has a table of its own.
fn is_time(overview: &Overview, metric: Metric) -> bool {
    !overview.has_steps() && metric.quantity() == Quantity::Microseconds && !metric.is_of_transaction()
}

/// Latencies of the cells, and other times of transactions.
fn latencies(overview: &Overview) -> Vec<Block> {
    let mut table = cell_table(overview);
    for metric in of_results(overview).into_iter().filter(|metric| is_time(overview, *metric)) {
        add_metric(&mut table, overview, metric, overview.is_drawn(metric));
    }
    let times = table.table.columns.len() - 1;
    table.table.optional_columns = times.saturating_sub(1);
    if times > 0 { vec![Block::Table(table.table)] } else { Vec::new() }
}

/// Named ratios of the file.
fn ratios(overview: &Overview) -> Vec<Block> {
    contrasts(overview, &overview.ratios, "ratio", |_, it| Cell::text(ratio(it)).with_note(bounds(it)))
}

/// Named differences of the file.
fn differences(overview: &Overview) -> Vec<Block> {
    contrasts(overview, &overview.differences, "difference", |metric, it| {
        let (shown, bounds) = difference(metric.quantity(), it);
        Cell::text(shown).with_note(bounds)
    })
}

fn contrasts<T>(
    overview: &Overview,
    contrasts: &[Contrast<T>],
    title: &str,
    shown: impl Fn(Metric, &T) -> Cell,
) -> Vec<Block> {
    let all = contrasts.iter().flat_map(|contrast| contrast.cells.iter().map(move |it| (contrast, it)));
    let mut table = TableOf::new(all);
    table.text("name", |(contrast, _)| contrast.name.clone());
    if contrasts.iter().any(|contrast| contrast.cells.len() > 1) {
        table.text("combination", |(_, it)| label(overview, it.cell));
    }
    table.text("metric", |(contrast, _)| overview.title_of(contrast.metric).to_owned());
    table.figures(title, |(contrast, it)| shown(contrast.metric, &it.value));
    table.table.if_any().into_iter().collect()
}

/// Failures, costs and waits of the cells.
fn costs(overview: &Overview) -> Vec<Block> {
    if overview.has_steps() {
        return Vec::new();
    }
    let told = of_results(overview);
    let mut table = cell_table(overview);
    for metric in IF_ANY.into_iter().filter(|metric| overview.has(*metric) && !told.contains(metric)) {
        add_metric(&mut table, overview, metric, false);
    }
    if overview.cells.iter().any(|cell| !cell.waits.is_empty()) {
        table.text("wait events and CPU", |cell| top_waits(&overview.cells[*cell], WAITS_SHOWN_MAX));
        table.table.optional_columns = 1;
    }
    if table.table.columns.len() > 1 { vec![Block::Table(table.table)] } else { Vec::new() }
}

/// The durations of a query set's queries by cells.
fn queries(overview: &Overview) -> Vec<Block> {
    if !query_sets::is_of_query_sets(overview) {
        return Vec::new();
    }
    query_sets::tables(overview)
}

fn queries_in_brief(overview: &Overview) -> Vec<Block> {
    if query_sets::is_of_query_sets(overview) { query_sets::first_table(overview) } else { Vec::new() }
}

/// Of a query set, the table of all figures of all cells is long.
fn steps_audience(overview: &Overview) -> Audience {
    if query_sets::is_of_query_sets(overview) { Audience::Page } else { Audience::All }
}

/// The steps of the cells.
fn steps(overview: &Overview) -> Vec<Block> {
    // Of many queries, the tables of their classes are enough.
    let is_large = overview.cells.iter().any(|cell| cell.steps.len() > ROWS_MAX);
    if is_large || overview.cells.iter().all(|cell| cell.steps.is_empty()) {
        return Vec::new();
    }
    const RATIOS: [(Metric, &str); 3] =
        [(Metric::Duration, "× duration"), (Metric::WalBytes, "× WAL"), (Metric::ServerCpu, "× CPU")];
    let cells = overview.cells.iter().enumerate();
    let mut table =
        TableOf::new(cells.flat_map(|(number, cell)| cell.steps.iter().map(move |step| (number, step))));
    table.text(factor_names(overview), |(cell, _)| label(overview, *cell));
    table.text("step", |(_, step)| format!("{}{}", step.name, if step.limited > 0 { "*" } else { "" }));
    for (metric, title) in RATIOS {
        let is_duration = metric == Metric::Duration;
        table.figures(metric.title_of_steps(), |(_, step)| {
            figure(step.figure(metric), metric.quantity(), is_duration)
        });
        if overview.has_ratios() {
            table.figures(title, |(cell, step)| {
                let of_base = overview.step_ratio(*cell, step, metric);
                Cell::text(of_base.map_or(String::new(), |it| ratio(&it)))
            });
        }
    }
    table.figures("tables", |(_, step)| figure(step.table_bytes.as_ref(), Quantity::Bytes, false));
    table.figures("indexes", |(_, step)| figure(step.index_bytes.as_ref(), Quantity::Bytes, false));
    let table = Table { optional_columns: 2, ..table.table };
    let sentences = overview.step_ratios_in_words().into_iter().chain(limits_in_words(overview));
    let blocks = std::iter::once(Block::Table(table)).chain(quiet(sentences)).collect();
    if !query_sets::is_of_query_sets(overview) {
        return blocks;
    }
    let title = "Duration, WAL, CPU and sizes of each query and combination".to_owned();
    vec![Block::folded(title, blocks)]
}

/// Each cell with its trials.
fn cells(overview: &Overview) -> Vec<Block> {
    let of_cell = |cell: usize| {
        let mut blocks = vec![Block::Table(trials(overview, cell))];
        blocks.extend(waits(overview, cell));
        blocks.extend(limits(overview, cell));
        let title = escaped_line(&overview.description_of(cell));
        Block::Folded { id: Some(format!("cell-{}", cell + 1)), title, is_open: false, blocks }
    };
    (0..overview.cells.len()).map(of_cell).collect()
}

fn trials(overview: &Overview, cell: usize) -> Table {
    let metrics: &[Metric] = if overview.has_steps() {
        &[Metric::Duration, Metric::WalBytes, Metric::ServerCpu]
    } else {
        &[Metric::Tps, Metric::Mean, Metric::P99]
    };
    let trials = overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]);
    let run = |trial: &Trial| trial.run.as_ref().map(|run| run.run.to_string());
    let mut table = TableOf::new(trials);
    table.figures("repeat", |trial| Cell::text(trial.repeat.to_string()));
    if !overview.has_steps() {
        table.figures("run", |trial| Cell::text(run(trial).unwrap_or_else(|| "—".to_owned())));
    }
    for metric in metrics {
        table.figures(metric.short(overview.has_steps()), |trial| match trial.figure(*metric) {
            Some(figure) => Cell::figure(metric.quantity(), figure),
            None => Cell::text("—"),
        });
    }
    table.text("outcome", |trial| outcome(trial));
    if !overview.has_steps() {
        table.column(Column::text("command for its page"), |trial| {
            let store = &overview.hosts[trial.host].option;
            let command = |run| format!("pgmeter report{store} {run} --format html -o run-{run}.html");
            run(trial).map_or_else(Cell::default, |run| Cell::code(command(run)))
        });
    }
    table.table
}

/// `failed: deadlock detected`, or for a complete run its limit.
fn outcome(trial: &Trial) -> String {
    let limit = trial.complete_run().and_then(StoredRun::limited_by);
    match (&trial.standing, limit) {
        (Standing::Failed(reason), _) => format!("failed: {reason}"),
        (Standing::Complete, Some(limit)) => format!("limited by {}", limit.name()),
        (Standing::Complete | Standing::Running | Standing::Planned, _) => trial.standing.name().to_owned(),
    }
}

fn waits(overview: &Overview, cell: usize) -> Vec<Block> {
    let mut blocks = crate::run::waits_table(&overview.cells[cell].waits);
    if !blocks.is_empty() {
        blocks.insert(0, Block::Heading("Wait events and CPU of the backends".to_owned()));
    }
    blocks
}

/// Of the first complete trial: they are estimates, and hardly differ between repeats.
fn limits(overview: &Overview, cell: usize) -> Vec<Block> {
    overview.complete(cell).next().map_or_else(Vec::new, |(_, run)| crate::run::ceilings(&run.ceilings))
}

/// The experiment's file, and those beside it.
fn files(overview: &Overview) -> Vec<Block> {
    if overview.files.is_empty() {
        return vec![Block::quiet("The store does not have the experiment's file.")];
    }
    let own = overview.file_name();
    let file = |(name, text): (&String, &String)| Block::Folded {
        id: None,
        title: escaped_line(name),
        is_open: Some(name.as_str()) == own,
        blocks: vec![Block::Code(text.clone())],
    };
    overview.files.iter().map(file).collect()
}

fn repeat(overview: &Overview) -> Vec<Block> {
    let paragraph = |text: &str| Block::quiet(text);
    vec![
        paragraph("In the directory of the experiment's file:"),
        Block::Code(overview.repeat_command()),
        paragraph("The figures of all trials as CSV:"),
        Block::Code(overview.export_command()),
    ]
}
