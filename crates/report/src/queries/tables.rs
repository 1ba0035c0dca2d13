//! Tables of reports of query sets: the queries of one set with their costs, the queries of several sets beside each other,
//! the totals of sets, and streams. Durations at their limit are bounds, `> 300 s`; they are never missing.

use results::{AnswerCheck, StreamResult};

use super::comparison::{Compared, ComparedSet, QueryRatio, Verdict};
use super::figures::{Durations, Figure, QueryFigures};
use super::said;
use crate::document::{Cell, Column, Table, Tone};
use crate::figures::half_width;
use crate::metrics::Quantity;
use crate::prose::{cut, escaped_line};

/// Sets that have a column of durations each; of more, only the base has one.
const DURATIONS_MAX: usize = 3;
/// Queries of a stream's order that a table has.
const ORDER_LEN_MAX: usize = 120;

/// A mean with its interval, or `> 300 s`.
pub(super) fn duration_cell(durations: Option<&Durations>) -> Cell {
    let Some(durations) = durations else { return Cell::default() };
    let mean = durations.mean();
    if mean.is_bound {
        return Cell::text(said::duration(mean)).with_tone(Tone::Caution);
    }
    let interval = durations.interval().filter(|_| mean.value > 0.0);
    let share = interval.map(|(low, high)| half_width(mean.value, low, high) / mean.value);
    Cell::figure_with_interval(Quantity::Microseconds, mean.value, share)
}

pub(super) fn figure_cell(figure: Option<Figure>) -> Cell {
    match figure {
        None => Cell::default(),
        Some(figure) if figure.is_bound => Cell::text(said::duration(figure)).with_tone(Tone::Caution),
        Some(figure) => Cell::figure(Quantity::Microseconds, figure.value),
    }
}

pub(super) fn ratio_cell(ratio: Option<&QueryRatio>) -> Cell {
    let Some(ratio) = ratio else { return Cell::text("-") };
    let tone = match ratio.verdict() {
        Verdict::Slower => Tone::Bad,
        Verdict::Faster => Tone::Good,
        Verdict::NotSlower | Verdict::Inconclusive | Verdict::NotJudged => Tone::Plain,
    };
    Cell::text(said::ratio(ratio)).with_note(said::bounds(ratio)).with_tone(tone)
}

fn answer_cell(query: &QueryFigures) -> Cell {
    match &query.answer {
        None => Cell::default(),
        Some(answer @ AnswerCheck::Different { .. }) => {
            Cell::text(said::answer_name(answer)).with_tone(Tone::Bad)
        }
        Some(answer) => Cell::text(said::answer_name(answer)),
    }
}

/// A column of costs, and the figure.
type Cost = (&'static str, Quantity, fn(&QueryFigures) -> Option<f64>);
const COSTS: [Cost; 9] = [
    ("blocks read", Quantity::Count, |it| it.costs.blocks_read),
    ("blocks hit", Quantity::Count, |it| it.costs.blocks_hit),
    ("from disk", Quantity::Count, |it| it.costs.blocks_from_disk.map(f64::round)),
    ("from cache", Quantity::Count, |it| it.costs.blocks_from_system_cache.map(f64::round)),
    ("temp files", Quantity::Bytes, |it| it.costs.temp_bytes),
    // The kernel counts in steps of 10 ms, so decimals would say nothing.
    ("user CPU, ms", Quantity::Count, |it| Some((it.costs.backend_user_us? / 1e3).round())),
    ("system CPU, ms", Quantity::Count, |it| Some((it.costs.backend_system_us? / 1e3).round())),
    ("workers CPU, ms", Quantity::Count, |it| Some((it.costs.workers_cpu_us? / 1e3).round())),
    ("WAL", Quantity::Bytes, |it| it.costs.wal_bytes),
];

/// The costs that any query of a set has.
fn costs_of(set: &ComparedSet<'_>) -> Vec<&'static Cost> {
    let has =
        |of: fn(&QueryFigures) -> Option<f64>| set.figures.queries.iter().any(|query| of(query).is_some());
    COSTS.iter().filter(|(.., of)| has(*of)).collect()
}

/// The costs of one set's queries; `None` if no cost of any query is known.
pub(super) fn costs(set: &ComparedSet<'_>) -> Option<Table> {
    let costs = costs_of(set);
    let columns = std::iter::once(Column::text("query"));
    let columns = columns.chain(costs.iter().map(|(title, ..)| Column::figures(*title))).collect();
    let row = |query: &QueryFigures| {
        let figures = costs.iter().map(|(_, quantity, of)| Cell::figure_if(*quantity, of(query)));
        std::iter::once(Cell::text(&query.name)).chain(figures).collect()
    };
    let rows = set.figures.queries.iter().map(row).collect();
    (!costs.is_empty()).then(|| Table { columns, rows, ..Table::default() })
}

/// The queries of one set: durations, rows and answers.
pub(super) fn of_one(compared: &Compared<'_>, set: &ComparedSet<'_>) -> Table {
    let queries = &set.figures.queries;
    let mut columns = vec![Column::text("query"), Column::figures("duration")];
    let has_later = compared.is_warm;
    columns.extend(has_later.then_some(["min", "first"]).into_iter().flatten().map(Column::figures));
    let has_limited = queries.iter().any(|query| query.limited > 0);
    let has_failed = queries.iter().any(|query| query.failed > 0);
    let has_answers = queries.iter().any(|query| query.answer.is_some());
    let counted = [(has_limited, "at limit"), (has_failed, "failed")];
    columns.extend(counted.into_iter().filter(|(has, _)| *has).map(|(_, title)| Column::figures(title)));
    columns.push(Column::figures("rows"));
    columns.extend(has_answers.then(|| Column::text("answer")));
    let row = |query: &QueryFigures| {
        let durations = compared.durations(query);
        let mut row = vec![Cell::text(&query.name), duration_cell(durations)];
        if has_later {
            let min = durations.filter(|it| it.limited < it.us.values.len()).map(|it| it.min_us);
            row.push(Cell::figure_if(Quantity::Microseconds, min));
            row.push(figure_cell(query.first.as_ref().map(Durations::mean)));
        }
        let of_executions = |number: usize| match number {
            0 => Cell::default(),
            number => Cell::text(format!("{number} of {}", query.executions)).with_tone(Tone::Caution),
        };
        row.extend(has_limited.then(|| of_executions(query.limited)));
        row.extend(has_failed.then(|| of_executions(query.failed)));
        row.push(rows_cell(query));
        row.extend(has_answers.then(|| answer_cell(query)));
        row
    };
    Table { columns, rows: queries.iter().map(row).collect(), ..Table::default() }
}

/// The same with the costs behind, as far as there is room.
pub(super) fn of_one_with_costs(compared: &Compared<'_>, set: &ComparedSet<'_>) -> Table {
    let mut table = of_one(compared, set);
    let costs = costs_of(set);
    table.columns.extend(costs.iter().map(|(title, ..)| Column::figures(*title)));
    for (row, query) in table.rows.iter_mut().zip(&set.figures.queries) {
        row.extend(costs.iter().map(|(_, quantity, of)| Cell::figure_if(*quantity, of(query))));
    }
    Table { optional_columns: costs.len(), ..table }
}

fn rows_cell(query: &QueryFigures) -> Cell {
    match query.rows() {
        Some(rows) => Cell::figure(Quantity::Count, rows as f64),
        None if query.answers.is_empty() => Cell::default(),
        None => Cell::text("varies"),
    }
}

/// Short texts for the sets: their labels, or their names if a label is longer than this.
pub(super) fn titles(compared: &Compared<'_>, len_max: usize) -> Vec<String> {
    let labels = || compared.sets.iter().map(|set| &set.label);
    let has_room = labels().all(|label| label.chars().count() <= len_max);
    let names = compared.sets.iter().map(|set| cut(&set.name, len_max));
    if has_room { labels().cloned().collect() } else { names.collect() }
}

/// The queries of several sets: durations, and ratios to the first. Titles are no longer than this.
pub(super) fn side_by_side(compared: &Compared<'_>, title_len_max: usize) -> Table {
    let sets = &compared.sets;
    let titles = titles(compared, title_len_max);
    let shown = if sets.len() > DURATIONS_MAX { &sets[..1] } else { sets.as_slice() };
    let mut columns = vec![Column::text("query")];
    columns.extend(titles.iter().take(shown.len()).map(Column::figures));
    let is_pair = sets.len() == 2;
    let ratio_title = |title: &String| if is_pair { "ratio".to_owned() } else { format!("× {title}") };
    columns.extend(titles.iter().skip(1).map(|title| Column::figures(ratio_title(title))));
    let row = |(at, name): (usize, &String)| {
        let mut row = vec![Cell::text(name)];
        row.extend(shown.iter().map(|set| {
            let query = set.figures.query(name);
            duration_cell(query.and_then(|query| compared.durations(query)))
        }));
        row.extend(sets.iter().skip(1).map(|set| ratio_cell(set.ratios.get(at).and_then(Option::as_ref))));
        row
    };
    let rows = compared.names.iter().enumerate().map(row).collect();
    Table { columns, rows, ..Table::default() }
}

/// A set in each row: totals and ratios. Names of sets are no longer than this.
pub(super) fn of_sets(compared: &Compared<'_>, title_len_max: usize) -> Table {
    let sets = &compared.sets;
    let titles = titles(compared, title_len_max);
    let mut columns = vec![Column::text("query set")];
    columns.extend(["total", "geometric mean", "ratio of geometric means"].map(Column::figures));
    let has = |of: fn(&QueryFigures) -> bool| sets.iter().any(|set| set.figures.queries.iter().any(of));
    /// The number of queries of a set for which something is the case.
    type Number = (&'static str, fn(&QueryFigures) -> bool);
    const NUMBERS: [Number; 3] = [
        ("at limit", |query| query.limited > 0),
        ("failed", |query| query.failed > 0),
        ("other answer", |query| matches!(query.answer, Some(AnswerCheck::Different { .. }))),
    ];
    let numbers: Vec<&Number> = NUMBERS.iter().filter(|(_, is)| has(*is)).collect();
    columns.extend(numbers.iter().map(|(title, _)| Column::figures(*title)));
    type Rate = (&'static str, fn(&ComparedSet<'_>) -> Option<Figure>);
    const RATES: [Rate; 3] = [
        ("queries per hour", |set| set.figures.queries_per_hour),
        ("power", |set| set.figures.power),
        ("throughput", |set| set.figures.throughput),
    ];
    let rates: Vec<&Rate> = RATES.iter().filter(|(_, of)| sets.iter().any(|set| of(set).is_some())).collect();
    columns.extend(rates.iter().map(|(title, _)| Column::figures(*title)));
    let row = |(at, set): (usize, &ComparedSet<'_>)| {
        let mut row = vec![
            Cell::text(&titles[at]),
            figure_cell(set.total),
            figure_cell(set.geometric_mean),
            if at == 0 { Cell::text("base") } else { ratio_cell(set.ratio.as_ref()) },
        ];
        row.extend(numbers.iter().map(|(_, is)| {
            let number = set.figures.queries.iter().filter(|query| is(query)).count();
            let cell = Cell::figure(Quantity::Count, number as f64);
            if number > 0 { cell.with_tone(Tone::Caution) } else { cell }
        }));
        row.extend(
            rates.iter().map(|(_, of)| of(set).map_or_else(Cell::default, |it| Cell::text(said::rate(it)))),
        );
        row
    };
    let optional_columns = rates.len();
    Table { columns, rows: sets.iter().enumerate().map(row).collect(), optional_columns, ..Table::default() }
}

/// The streams of all sets; `None` if each has a single one.
pub(super) fn streams(compared: &Compared<'_>) -> Option<Table> {
    if compared.sets.iter().all(|set| set.figures.record.streams.len() <= 1) {
        return None;
    }
    let has_several = compared.sets.len() > 1;
    let mut columns = Vec::new();
    columns.extend(has_several.then(|| Column::text("query set")));
    columns.extend([
        Column::text("stream"),
        Column::figures("start"),
        Column::figures("elapsed"),
        Column::text("order"),
    ]);
    let row = |set: &ComparedSet<'_>, stream: &StreamResult| {
        let name = stream.stream.map_or("refresh functions".to_owned(), |number| number.to_string());
        let mut row = Vec::new();
        row.extend(has_several.then(|| Cell::text(&set.label)));
        row.push(Cell::text(name));
        row.extend(
            [stream.started_us, stream.duration_us]
                .map(|us| Cell::figure(Quantity::Seconds, us as f64 / 1e6)),
        );
        row.push(Cell::text(cut(&escaped_line(&stream.order.join(" ")), ORDER_LEN_MAX)));
        row
    };
    let streams = compared
        .sets
        .iter()
        .flat_map(|set| set.figures.record.streams.iter().map(move |stream| (set, stream)));
    let rows = streams.map(|(set, stream)| row(set, stream)).collect();
    Some(Table { columns, rows, optional_columns: 1, ..Table::default() })
}
