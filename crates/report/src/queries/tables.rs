//! Tables of reports of query sets: the queries of one set with their costs, the queries of several sets beside each other,
//! the totals of sets, and streams. Durations at their limit are bounds, `> 300 s`; they are never missing.

use results::AnswerCheck;

use super::comparison::{Compared, ComparedSet, QueryRatio, Verdict};
use super::figures::{Durations, Figure, QueryFigures};
use super::said;
use crate::document::{Cell, Column, Table, TableOf, Tone};
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

/// Adds the costs that any query of a set has.
fn add_costs(table: &mut TableOf<&QueryFigures>, set: &ComparedSet<'_>) {
    for (title, quantity, of) in COSTS {
        if set.figures.queries.iter().any(|query| of(query).is_some()) {
            table.figures(title, |query| Cell::figure_if(quantity, of(query)));
        }
    }
}

/// The costs of one set's queries; `None` if no cost of any query is known.
pub(super) fn costs(set: &ComparedSet<'_>) -> Option<Table> {
    let mut table = TableOf::new(&set.figures.queries);
    table.text("query", |query| query.name.clone());
    add_costs(&mut table, set);
    (table.table.columns.len() > 1).then_some(table.table)
}

/// The queries of one set: durations, rows and answers.
pub(super) fn of_one(compared: &Compared<'_>, set: &ComparedSet<'_>) -> Table {
    of_queries(compared, set).table
}

/// The same with the costs behind, as far as there is room.
pub(super) fn of_one_with_costs(compared: &Compared<'_>, set: &ComparedSet<'_>) -> Table {
    let mut table = of_queries(compared, set);
    let needed = table.table.columns.len();
    add_costs(&mut table, set);
    Table { optional_columns: table.table.columns.len() - needed, ..table.table }
}

fn of_queries<'a>(compared: &Compared<'_>, set: &'a ComparedSet<'_>) -> TableOf<&'a QueryFigures> {
    let queries = &set.figures.queries;
    let of_executions = |query: &QueryFigures, number: usize| match number {
        0 => Cell::default(),
        number => Cell::text(format!("{number} of {}", query.executions)).with_tone(Tone::Caution),
    };
    let mut table = TableOf::new(queries);
    table.text("query", |query| query.name.clone());
    table.figures("duration", |query| duration_cell(compared.durations(query)));
    if compared.is_warm {
        table.figures("min", |query| {
            let known = compared.durations(query).filter(|it| it.limited < it.us.values.len());
            Cell::figure_if(Quantity::Microseconds, known.map(|it| it.min_us))
        });
        table.figures("first", |query| figure_cell(query.first.as_ref().map(Durations::mean)));
    }
    if queries.iter().any(|query| query.limited > 0) {
        table.figures("at limit", |query| of_executions(query, query.limited));
    }
    if queries.iter().any(|query| query.failed > 0) {
        table.figures("failed", |query| of_executions(query, query.failed));
    }
    table.figures("rows", |query| rows_cell(query));
    if queries.iter().any(|query| query.answer.is_some()) {
        table.column(Column::text("answer"), |query| answer_cell(query));
    }
    table
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
    let is_pair = sets.len() == 2;
    let mut table = TableOf::new(compared.names.iter().enumerate());
    table.text("query", |(_, name)| (*name).clone());
    for (title, set) in titles.iter().zip(shown) {
        table.figures(title, |(_, name)| {
            duration_cell(set.figures.query(name).and_then(|query| compared.durations(query)))
        });
    }
    for (title, set) in titles.iter().zip(sets).skip(1) {
        let title = if is_pair { "ratio".to_owned() } else { format!("× {title}") };
        table.figures(title, |(at, _)| ratio_cell(set.ratios.get(*at).and_then(Option::as_ref)));
    }
    table.table
}

/// A set in each row: totals and ratios. Names of sets are no longer than this.
pub(super) fn of_sets(compared: &Compared<'_>, title_len_max: usize) -> Table {
    let sets = &compared.sets;
    let titles = titles(compared, title_len_max);
    let mut table = TableOf::new(sets.iter().enumerate());
    table.text("query set", |(at, _)| titles[*at].clone());
    table.figures("total", |(_, set)| figure_cell(set.total));
    table.figures("geometric mean", |(_, set)| figure_cell(set.geometric_mean));
    table.figures("ratio of geometric means", |(at, set)| match at {
        0 => Cell::text("base"),
        _ => ratio_cell(set.ratio.as_ref()),
    });
    /// The number of queries of a set for which something is the case.
    type Number = (&'static str, fn(&QueryFigures) -> bool);
    const NUMBERS: [Number; 3] = [
        ("at limit", |query| query.limited > 0),
        ("failed", |query| query.failed > 0),
        ("other answer", |query| matches!(query.answer, Some(AnswerCheck::Different { .. }))),
    ];
    for (title, is) in NUMBERS {
        let number = |set: &ComparedSet<'_>| set.figures.queries.iter().filter(|query| is(query)).count();
        if sets.iter().any(|set| number(set) > 0) {
            table.figures(title, |(_, set)| {
                let tone = if number(set) > 0 { Tone::Caution } else { Tone::Plain };
                Cell::figure(Quantity::Count, number(set) as f64).with_tone(tone)
            });
        }
    }
    let needed = table.table.columns.len();
    type Rate = (&'static str, fn(&ComparedSet<'_>) -> Option<Figure>);
    const RATES: [Rate; 3] = [
        ("queries per hour", |set| set.figures.queries_per_hour),
        ("power", |set| set.figures.power),
        ("throughput", |set| set.figures.throughput),
    ];
    for (title, of) in RATES {
        if sets.iter().any(|set| of(set).is_some()) {
            table.figures(title, |(_, set)| {
                of(set).map_or_else(Cell::default, |it| Cell::text(said::rate(it)))
            });
        }
    }
    Table { optional_columns: table.table.columns.len() - needed, ..table.table }
}

/// The streams of all sets; `None` if each has a single one.
pub(super) fn streams(compared: &Compared<'_>) -> Option<Table> {
    if compared.sets.iter().all(|set| set.figures.record.streams.len() <= 1) {
        return None;
    }
    let streams = compared
        .sets
        .iter()
        .flat_map(|set| set.figures.record.streams.iter().map(move |stream| (set, stream)));
    let seconds = |us: u64| Cell::figure(Quantity::Seconds, us as f64 / 1e6);
    let mut table = TableOf::new(streams);
    if compared.sets.len() > 1 {
        table.text("query set", |(set, _)| set.label.clone());
    }
    table.text("stream", |(_, it)| {
        it.stream.map_or("refresh functions".to_owned(), |number| number.to_string())
    });
    table.figures("start", |(_, it)| seconds(it.started_us));
    table.figures("elapsed", |(_, it)| seconds(it.duration_us));
    table.text("order", |(_, it)| cut(&escaped_line(&it.order.join(" ")), ORDER_LEN_MAX));
    Some(Table { optional_columns: 1, ..table.table })
}
