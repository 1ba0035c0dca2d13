//! The actions of a run: when they ran, how they ended, and what they changed in the tables.
//! Used by `document`, `brief`, the charts and CSV.

use results::{ActionOutcome, ActionResult, ActionWork, IndexState, Missing, Record, TableState, TablesAt};

use crate::document::{Block, Cell, Column, Table, Tone};
use crate::figures::{asked_seconds, latency, measured_seconds};
use crate::metrics::Quantity;
use crate::prose::{cut, enumerate, escaped_line};

/// Characters of an action that are shown.
const DETAIL_LEN_MAX: usize = 100;

/// The server does not count WAL and blocks apart for each session.
const COSTS: &str = "Costs per transaction that the server counts for all sessions, such as WAL and blocks hit, read and \
                     written, include those of the actions.";

/// All actions, and every table of which the state is known.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    of(record, |_| true)
}

/// The same for the terminal, with the tables and indexes that changed.
pub(super) fn brief(record: &Record) -> Vec<Block> {
    of(record, |row| row.changed)
}

fn of(record: &Record, is_shown: impl Fn(&StateRow) -> bool) -> Vec<Block> {
    if record.summary.actions.is_empty() {
        return Vec::new();
    }
    let mut actions: Vec<&ActionResult> = record.summary.actions.iter().collect();
    actions.sort_by(|one, other| one.action.at_s.total_cmp(&other.action.at_s));
    let columns =
        [Column::text("action"), Column::figures("at"), Column::figures("took"), Column::text("ended")];
    let rows = actions.iter().map(|action| action_row(action)).collect();
    let mut blocks = vec![Block::Table(Table { columns: columns.to_vec(), rows, ..Table::default() })];
    for action in actions {
        let rows: Vec<StateRow> = state_rows(action).into_iter().filter(|row| is_shown(row)).collect();
        if !rows.is_empty() {
            blocks.push(Block::Heading(format!("Before and after {}", described(action))));
            blocks.push(Block::Table(state_table(&rows)));
        }
        let missing = action.before.iter().chain(&action.after).flat_map(|tables| &tables.missing);
        let mut missing: Vec<String> = missing.map(reason).collect();
        missing.dedup();
        if !missing.is_empty() {
            let text = format!(
                "Not all of the state around {} is known: {}.",
                described(action),
                enumerate(&missing)
            );
            blocks.push(Block::quiet(text));
        }
    }
    if record.observation.is_some() {
        blocks.push(Block::quiet(COSTS));
    }
    blocks
}

fn reason(missing: &Missing) -> String {
    format!("{} ({})", escaped_line(&missing.what), escaped_line(missing.why.as_str()))
}

/// The statement or the fault, in one line.
pub(crate) fn detail(work: &ActionWork) -> String {
    let title = work.title();
    let words: Vec<&str> = title.as_str().split_whitespace().collect();
    cut(&escaped_line(&words.join(" ")), DETAIL_LEN_MAX)
}

/// `REFRESH MATERIALIZED VIEW v at 30 s`
fn described(result: &ActionResult) -> String {
    format!("{} at {}", detail(&result.action.work), asked_seconds(result.action.at_s))
}

/// `succeeded`, `failed (42P01)`
pub(crate) fn outcome(outcome: &ActionOutcome) -> String {
    match outcome {
        ActionOutcome::Succeeded => "succeeded".to_owned(),
        ActionOutcome::Failed { sqlstate: Some(sqlstate), .. } => {
            format!("failed ({})", escaped_line(sqlstate))
        }
        ActionOutcome::Failed { sqlstate: None, .. } => "failed".to_owned(),
        ActionOutcome::CutOff => "cut off".to_owned(),
        ActionOutcome::NotStarted => "not started".to_owned(),
    }
}

/// What an action did, summed over the tables and their indexes.
#[derive(Debug)]
pub(crate) struct Effect {
    /// Its duration.
    pub(crate) took_us: Option<f64>,
    /// Rows inserted, updated and deleted between the states before and after.
    pub(crate) written_rows: Option<f64>,
    pub(crate) dead_rows: Option<f64>,
    /// Size of the tables and their indexes after it.
    pub(crate) bytes: Option<f64>,
}

impl Effect {
    pub(crate) fn new(result: &ActionResult) -> Effect {
        let took_s = result.begin_s.zip(result.end_s).map(|(begin_s, end_s)| end_s - begin_s);
        let is_known = |tables: &Option<TablesAt>| tables.as_ref().is_some_and(TablesAt::is_read);
        let rows =
            if is_known(&result.before) && is_known(&result.after) { state_rows(result) } else { Vec::new() };
        let sum =
            |of: fn(&StateRow) -> Option<f64>| rows.iter().filter_map(of).reduce(|sum, figure| sum + figure);
        Effect {
            took_us: took_s.map(|took_s| took_s * 1e6),
            written_rows: sum(|row| row.written.iter().copied().flatten().reduce(|sum, rows| sum + rows)),
            dead_rows: sum(|row| row.dead_rows[1]),
            bytes: sum(|row| row.bytes[1]),
        }
    }
}

fn action_row(result: &ActionResult) -> Vec<Cell> {
    let ActionResult { action, begin_s, end_s, outcome: ended, .. } = result;
    let took = begin_s.zip(*end_s).map(|(begin_s, end_s)| latency((end_s - begin_s) * 1e6));
    let tone = if *ended == ActionOutcome::Succeeded { Tone::Plain } else { Tone::Bad };
    vec![
        Cell::code(detail(&action.work)),
        Cell::text(begin_s.map_or_else(|| asked_seconds(action.at_s), measured_seconds)),
        Cell::text(took.unwrap_or_else(|| "—".to_owned())),
        Cell::text(outcome(ended)).with_tone(tone),
    ]
}

/// A table or an index before and after an action.
struct StateRow {
    name: String,
    kind: &'static str,
    bytes: Pair,
    dead_rows: Pair,
    /// Rows inserted, updated and deleted in between.
    written: [Option<f64>; 3],
    cached_bytes: Pair,
    /// Whether its size, its dead rows or its rows did.
    changed: bool,
}

type Pair = [Option<f64>; 2];

/// Tables in the order of the state after, each followed by its indexes; dropped ones at the end.
fn state_rows(result: &ActionResult) -> Vec<StateRow> {
    let empty = TablesAt::default();
    let (before, after) = (result.before.as_ref().unwrap_or(&empty), result.after.as_ref().unwrap_or(&empty));
    let dropped = before.tables.iter().filter(|table| after.table(&table.name).is_none());
    let is_known = before.is_read() && after.is_read();
    let mut rows = Vec::new();
    for table in after.tables.iter().chain(dropped) {
        let pair = [before.table(&table.name), after.table(&table.name)];
        rows.push(table_row(table, pair));
        let indexes =
            |state: Option<&'_ TableState>| state.map(|state| state.indexes.clone()).unwrap_or_default();
        let [earlier, later] = pair.map(indexes);
        let is_gone = |index: &&IndexState| later.iter().all(|known| known.name != index.name);
        for index in later.iter().chain(earlier.iter().filter(is_gone)) {
            rows.push(index_row(index, pair.map(|state| state?.index(&index.name))));
        }
    }
    rows.iter_mut().for_each(|row| row.changed &= is_known);
    rows
}

fn table_row(table: &TableState, pair: [Option<&TableState>; 2]) -> StateRow {
    let of = |of: fn(&TableState) -> Option<u64>| pair.map(|state| state.and_then(of).map(figure));
    let change = |field: fn(&TableState) -> Option<u64>| {
        let [before, after] = of(field);
        Some(after? - before?).filter(|change| *change >= 0.0)
    };
    let row = StateRow {
        name: escaped_line(table.name.as_str()),
        kind: table.kind.name(),
        bytes: of(|state| state.bytes),
        dead_rows: of(|state| state.dead_rows),
        written: [
            change(|state| state.inserted_rows),
            change(|state| state.updated_rows),
            change(|state| state.deleted_rows),
        ],
        cached_bytes: of(|state| state.cached_bytes),
        changed: false,
    };
    let is_written = row.written.iter().flatten().any(|rows| *rows > 0.0);
    StateRow { changed: is_written || differs(row.bytes) || differs(row.dead_rows), ..row }
}

fn index_row(index: &IndexState, pair: [Option<&IndexState>; 2]) -> StateRow {
    let bytes = pair.map(|state| state.and_then(|state| state.bytes).map(figure));
    StateRow {
        name: escaped_line(index.name.as_str()),
        kind: "index",
        bytes,
        dead_rows: [None; 2],
        written: [None; 3],
        cached_bytes: pair.map(|state| state.and_then(|state| state.cached_bytes).map(figure)),
        changed: differs(bytes),
    }
}

fn figure(number: u64) -> f64 {
    number as f64
}

fn differs([before, after]: Pair) -> bool {
    before != after
}

/// A column for what is known of a row; only the sizes are always there.
/// Above it stands the name of its group.
type StateColumn = ([&'static str; 2], Quantity, fn(&StateRow) -> Option<f64>);
const STATE_COLUMNS: [StateColumn; 9] = [
    (["size", "before"], Quantity::Bytes, |row| row.bytes[0]),
    (["size", "after"], Quantity::Bytes, |row| row.bytes[1]),
    (["dead rows", "before"], Quantity::Count, |row| row.dead_rows[0]),
    (["dead rows", "after"], Quantity::Count, |row| row.dead_rows[1]),
    (["", "inserted"], Quantity::Count, |row| row.written[0]),
    (["", "updated"], Quantity::Count, |row| row.written[1]),
    (["", "deleted"], Quantity::Count, |row| row.written[2]),
    (["cached", "before"], Quantity::Bytes, |row| row.cached_bytes[0]),
    (["cached", "after"], Quantity::Bytes, |row| row.cached_bytes[1]),
];
/// Columns that stand together.
const STATE_GROUPS: [std::ops::Range<usize>; 6] = [0..2, 2..4, 4..5, 5..6, 6..7, 7..9];

fn state_table(rows: &[StateRow]) -> Table {
    let is_shown = |group: &std::ops::Range<usize>| {
        let columns = &STATE_COLUMNS[group.clone()];
        let mut figures = columns.iter().flat_map(|(_, _, of)| rows.iter().filter_map(of));
        group.start == 0 || figures.any(|figure| figure > 0.0)
    };
    let shown: Vec<&StateColumn> =
        STATE_GROUPS.into_iter().filter(is_shown).flat_map(|group| &STATE_COLUMNS[group]).collect();
    let titles = shown.iter().map(|([group, title], _, _)| Column::grouped(group, *title));
    let cells = |row: &StateRow| {
        let name = Cell::text(row.name.clone()).with_note(row.kind);
        let figures = shown.iter().map(|(_, quantity, of)| match of(row) {
            Some(figure) => Cell::figure(*quantity, figure),
            None => Cell::default(),
        });
        std::iter::once(name).chain(figures).collect()
    };
    let columns = std::iter::once(Column::text("table or index")).chain(titles).collect();
    Table { columns, rows: rows.iter().map(cells).collect(), ..Table::default() }
}
