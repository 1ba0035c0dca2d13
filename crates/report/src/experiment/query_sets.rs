//! Experiments whose trials are passes of a query set: the notice, answers that differ between combinations, the sorted
//! ratios of each combination, and a table of queries by combinations. `steps` has the figures, `queries` draws.

use results::{AnswerCheck, QuerySetPlan, StepsRecord};

use super::cells::Trial;
use super::metric::Metric;
use super::overview::Overview;
use super::repeats::{self, Repeated};
use super::steps::{self, StepFigures};
use crate::document::{Banner, Block, Cell, Column, Table, Tone};
use crate::figures::{TIE, counted};
use crate::metrics::Quantity;
use crate::prose::{cut, enumerate, escaped_line, sentence};
use crate::queries::{
    Certainty, QueryFigures, QueryRatio, ROWS_MAX, Verdict, answer_difference, answers_in_short, class_of,
    named, ratio_chart, ratio_text,
};
use crate::ratios;

/// Combinations beside each other in a table.
const CELLS_MAX: usize = 6;
/// The longest name of a combination above a column: on the terminal, and where it can be wrapped.
const TITLE_LEN_MAX: usize = 20;
const TITLE_LEN_MAX_WRAPPED: usize = 60;
/// Combinations with other answers that are named, and their queries.
const ANSWERS_MAX: usize = 6;
const QUERIES_MAX: usize = 8;

/// Whether its trials are passes of a query set.
pub(super) fn is_of_query_sets(overview: &Overview) -> bool {
    records(overview).any(|(record, _)| record.query_set.is_some())
}

fn records(overview: &Overview) -> impl Iterator<Item = (&StepsRecord, &Trial)> {
    overview.trials.iter().filter_map(|trial| Some((trial.complete_steps()?, trial)))
}

/// The notices of the workloads, each once, then answers that are not what they should be.
pub(super) fn banners(overview: &Overview) -> Vec<Banner> {
    let mut notices: Vec<String> = Vec::new();
    for plan in records(overview).filter_map(|(record, _)| record.query_set.as_ref()) {
        if let Some(notice) = plan.notice.as_deref().map(|notice| sentence(&escaped_line(notice)))
            && !notices.contains(&notice)
        {
            notices.push(notice);
        }
    }
    let unexpected = unexpected(overview);
    let expected = if unexpected.is_none() { expected(overview) } else { None };
    let wrong = unexpected.into_iter().chain(different(overview));
    let notices = notices.into_iter().chain(expected).map(|text| Banner::new(Tone::Plain, text));
    notices.chain(wrong.map(|text| Banner::new(Tone::Bad, text))).collect()
}

/// How many answers of all trials are the expected ones; `None` if none were compared.
fn expected(overview: &Overview) -> Option<String> {
    let of_trial =
        |(record, _): (&'_ StepsRecord, &Trial)| Some(record.query_set.as_ref()?.scale.to_string());
    let mut scales: Vec<String> = records(overview).filter_map(of_trial).collect();
    scales.dedup();
    let answers = records(overview).flat_map(|(record, _)| &record.steps);
    let answers = answers.filter_map(|step| Some((step.name.as_str(), step.answer.as_ref()?)));
    let told = answers_in_short(&answers.collect::<Vec<_>>(), &enumerate(&scales))?;
    let trials = counted(records(overview).count() as u64, "trial", "trials");
    Some(format!("Answers of {trials}: {told}."))
}

/// Answers that differ from the expected ones: queries, and in how many trials.
fn unexpected(overview: &Overview) -> Option<String> {
    let mut queries: Vec<(&str, usize)> = Vec::new();
    for step in records(overview).flat_map(|(record, _)| &record.steps) {
        if !matches!(step.answer, Some(AnswerCheck::Different { .. })) {
            continue;
        }
        match queries.iter_mut().find(|(name, _)| *name == step.name) {
            Some((_, trials)) => *trials += 1,
            None => queries.push((&step.name, 1)),
        }
    }
    let all = records(overview).count();
    let told: Vec<String> = (queries.iter().take(QUERIES_MAX))
        .map(|(name, trials)| format!("{} in {trials} of {all} trials", escaped_line(name)))
        .collect();
    (!told.is_empty()).then(|| {
        let more = queries.len().saturating_sub(QUERIES_MAX);
        let more = if more > 0 { format!(", and {more} more queries") } else { String::new() };
        format!("Answers that differ from the expected ones: {}{more}.", enumerate(&told))
    })
}

/// Combinations whose answers differ from those of their base.
fn different(overview: &Overview) -> Vec<String> {
    let first = |cell: usize| {
        let trials = overview.cells[cell].trials.iter().map(|trial| &overview.trials[*trial]);
        trials.filter_map(Trial::complete_steps).find(|record| record.query_set.is_some())
    };
    let of_cell = |(number, cell): (usize, &super::ExperimentCell)| {
        let base = cell.base?;
        let (before, after) = (first(base)?, first(number)?);
        if !have_same_answers(before.query_set.as_ref()?, after.query_set.as_ref()?) {
            return None;
        }
        let difference = |(place, step): (usize, &results::StepResult)| {
            let other = after.step(&step.name, place)?;
            let [a, b] = [step, other].map(|step| QueryFigures::new(step, false));
            answer_difference(&a, &b).map(|how| format!("{} ({how})", escaped_line(&step.name)))
        };
        let mut queries: Vec<String> = before.steps.iter().enumerate().filter_map(difference).collect();
        let more = queries.len().saturating_sub(QUERIES_MAX);
        queries.truncate(QUERIES_MAX);
        queries.extend((more > 0).then(|| format!("{more} more")));
        let [base, cell] = [base, number].map(|cell| escaped_line(&overview.description_of(cell)));
        (!queries.is_empty())
            .then(|| format!("Answers with {cell} differ from those with {base}: {}.", enumerate(&queries)))
    };
    let mut told: Vec<String> = overview.cells.iter().enumerate().filter_map(of_cell).collect();
    let more = told.len().saturating_sub(ANSWERS_MAX);
    told.truncate(ANSWERS_MAX);
    told.extend((more > 0).then(|| format!("Answers of {more} more combinations differ.")));
    told
}

fn have_same_answers(a: &QuerySetPlan, b: &QuerySetPlan) -> bool {
    let key = |plan: &QuerySetPlan| (plan.workload.clone(), plan.scale.to_string(), plan.seed);
    !a.refreshes && !b.refreshes && key(a) == key(b)
}

/// Queries that reached the limit; `None` of other experiments.
pub(super) fn limited(overview: &Overview) -> Option<String> {
    if !is_of_query_sets(overview) {
        return None;
    }
    let mut queries: Vec<(&str, usize)> = Vec::new();
    for step in overview.cells.iter().flat_map(|cell| &cell.steps).filter(|step| step.limited > 0) {
        match queries.iter_mut().find(|(name, _)| *name == step.name) {
            Some((_, cells)) => *cells += 1,
            None => queries.push((&step.name, 1)),
        }
    }
    let all = overview.cells.len();
    let told: Vec<String> =
        queries.iter().map(|(name, cells)| format!("{name} in {cells} of {all} combinations")).collect();
    (!told.is_empty()).then(|| {
        format!(
            "Executions were cancelled at the limit: {}. They count with the limit, so durations, totals and ratios \
             with them are bounds.",
            named(&told)
        )
    })
}

/// The ratio of a query to the same one of the base.
fn query_ratio(overview: &Overview, cell: usize, step: &StepFigures) -> Option<QueryRatio> {
    let base = &overview.cells[overview.cells[cell].base?];
    let of_base = steps::same(&base.steps, step)?;
    let certainty = Certainty::of(of_base.is_bound, step.is_bound)?;
    let ratio = overview.step_ratio(cell, step, Metric::Duration)?;
    let interval = ratio.interval.filter(|_| certainty == Certainty::Exact);
    Some(QueryRatio { value: ratio.value, interval, certainty, regression: None })
}

/// Whether the total duration of a combination is a lower bound, because an execution of a query reached the limit.
pub(super) fn is_bound(overview: &Overview, cell: usize) -> bool {
    is_of_query_sets(overview) && overview.cells[cell].steps.iter().any(|step| step.is_bound)
}

/// A total duration that is a lower bound; `None` of other figures.
pub(super) fn bound(overview: &Overview, cell: usize) -> Option<Cell> {
    let figure = overview.cells[cell].figure(Metric::Duration).filter(|_| is_bound(overview, cell))?;
    Some(Cell::text(at_least(figure.mean)).with_tone(Tone::Caution))
}

/// The ratio of total durations of which one is a lower bound; `None` if neither is. Of two bounds, nothing is known.
pub(super) fn bound_ratio(overview: &Overview, cell: usize) -> Option<Cell> {
    let base = overview.cells[cell].base?;
    let is_bound = |cell| is_bound(overview, cell);
    let certainty = Certainty::of(is_bound(base), is_bound(cell));
    if certainty == Some(Certainty::Exact) {
        return None;
    }
    let told = certainty.zip(overview.ratio(cell, Metric::Duration)).map(|(certainty, ratio)| {
        ratio_text(&QueryRatio { value: ratio.value, interval: None, certainty, regression: None })
    });
    Some(Cell::text(told.unwrap_or_else(|| "—".to_owned())))
}

/// The sorted ratios of each combination: the first one in sight, the others on request.
pub(super) fn ratio_charts(overview: &Overview) -> Vec<Block> {
    if !is_of_query_sets(overview) {
        return Vec::new();
    }
    let chart = |(number, cell): (usize, &super::ExperimentCell)| {
        let [of, base] = [number, cell.base?].map(|cell| escaped_line(&overview.label(cell)));
        let ratios = cell
            .steps
            .iter()
            .filter_map(|step| Some((step.name.clone(), query_ratio(overview, number, step)?)));
        let chart = ratio_chart(&of, &base, ratios.collect())?;
        Some((format!("{of} ÷ {base}"), chart))
    };
    let charts = overview.cells.iter().enumerate().filter_map(chart);
    let block = |(number, (title, chart)): (usize, (String, Block))| match number {
        0 => chart,
        _ => Block::folded(title, vec![chart]),
    };
    charts.enumerate().map(block).collect()
}

/// A row for each query and a column for each combination, in tables of a few combinations each.
pub(super) fn tables(overview: &Overview) -> Vec<Block> {
    let cells: Vec<usize> =
        (0..overview.cells.len()).filter(|cell| !overview.cells[*cell].steps.is_empty()).collect();
    let tables =
        cells.chunks(CELLS_MAX).map(|cells| Block::Table(table(overview, cells, TITLE_LEN_MAX_WRAPPED)));
    tables.chain(Some(Block::quiet(ratios_in_words(overview)))).collect()
}

fn ratios_in_words(overview: &Overview) -> String {
    let ratios = match overview.has_ratios() {
        true => format!(
            " × is the ratio to the same query of {}; ≈ is such a ratio whose 95{TIE}% confidence interval contains 1.",
            overview.base_named()
        ),
        false => String::new(),
    };
    format!("Durations are means of the later executions, if there are any, else of the first ones.{ratios}")
}

/// The first combinations, for the terminal, which shows as many as it has room for.
pub(super) fn first_table(overview: &Overview) -> Vec<Block> {
    let cells = (0..overview.cells.len()).filter(|cell| !overview.cells[*cell].steps.is_empty());
    let cells: Vec<usize> = cells.take(CELLS_MAX).collect();
    let words = format!("{} The page has all combinations.", ratios_in_words(overview));
    let table = table(overview, &cells, TITLE_LEN_MAX);
    vec![Block::Table(table), Block::quiet(words)]
}

fn table(overview: &Overview, cells: &[usize], title_len_max: usize) -> Table {
    let title = |cell: &usize| Column::figures(cut(&escaped_line(&overview.label(*cell)), title_len_max));
    let columns = std::iter::once(Column::text("query")).chain(cells.iter().map(title)).collect();
    let names = cells.iter().flat_map(|cell| &overview.cells[*cell].steps).map(|step| step.name.as_str());
    let names = steps::distinct(names);
    if names.len() > ROWS_MAX {
        return classes(overview, cells, columns, &names);
    }
    let cell = |name: &str, cell: usize| {
        let step = overview.cells[cell].steps.iter().find(|step| step.name == name)?;
        let figure = step.figure(Metric::Duration)?;
        let shown = duration(step, figure);
        let note = query_ratio(overview, cell, step).map_or(String::new(), |ratio| match ratio.verdict() {
            Verdict::Inconclusive => ratio_text(&ratio).replacen('×', "≈", 1),
            Verdict::Slower | Verdict::Faster | Verdict::NotSlower | Verdict::NotJudged => ratio_text(&ratio),
        });
        Some(shown.with_note(note))
    };
    let row = |name: &&str| {
        let figures = cells.iter().map(|number| cell(name, *number).unwrap_or_default());
        std::iter::once(Cell::text(*name)).chain(figures).collect()
    };
    let rows = names.iter().map(row).collect();
    Table { columns, rows, optional_columns: cells.len().saturating_sub(1), ..Table::default() }
}

/// Of many queries, a row for each class, with the sum of its durations and the ratio to that of the base.
fn classes(overview: &Overview, cells: &[usize], mut columns: Vec<Column>, names: &[&str]) -> Table {
    columns[0] = Column::text("class");
    columns.insert(1, Column::figures("queries"));
    let sum = |cell: usize, class: &str| {
        let steps = overview.cells[cell].steps.iter().filter(|step| class_of(&step.name) == class);
        steps.filter_map(|step| Some(step.figure(Metric::Duration)?.mean)).sum::<f64>()
    };
    // Of the queries that both have measured: the sum of one that lacks a query would be smaller.
    let ratio = |cell: usize, class: &str| {
        let base = &overview.cells[overview.cells[cell].base?];
        let pair = |step: &StepFigures| {
            let of_base = steps::same(&base.steps, step)?.figure(Metric::Duration)?.mean;
            Some((step.figure(Metric::Duration)?.mean, of_base))
        };
        let of_class = overview.cells[cell].steps.iter().filter(|step| class_of(&step.name) == class);
        let (own, of_base) =
            of_class.filter_map(pair).fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
        (of_base > 0.0).then(|| own / of_base)
    };
    let row = |class: &&str| {
        let queries = names.iter().filter(|name| class_of(name) == *class).count();
        let figures = cells.iter().map(|cell| {
            let note = ratio(*cell, class).map_or(String::new(), |ratio| ratios::value(ratio, None));
            Cell::figure(Quantity::Microseconds, sum(*cell, class)).with_note(note)
        });
        [Cell::text(*class), Cell::figure(Quantity::Count, queries as f64)]
            .into_iter()
            .chain(figures)
            .collect()
    };
    let rows = steps::distinct(names.iter().map(|name| class_of(name))).iter().map(row).collect();
    Table { columns, rows, optional_columns: cells.len().saturating_sub(1), ..Table::default() }
}

fn at_least(us: f64) -> String {
    format!("> {}", Quantity::Microseconds.shown(us))
}

/// With its interval over the repeats; a bound if executions reached the limit.
fn duration(step: &StepFigures, figure: &Repeated) -> Cell {
    if step.is_bound {
        return Cell::text(at_least(figure.mean)).with_tone(Tone::Caution);
    }
    repeats::figure(Some(figure), Quantity::Microseconds, true)
}
