//! What the server did during a run: wait events, nearest limits, events, statements, counters, and what could not be
//! observed.

use results::{
    Ceiling, Event, EventKind, LagValue, Record, StaleSession, StatementCounters, WaitMethod, WaitShare,
    Waits,
};

use super::kcache::{self, QUERY_LEN_MAX};
use super::warnings::event_detail;
use crate::document::{Block, Cell, Column, Fact, Table, TableOf};
use crate::figures::{TIE, as_asked, count, counted, latency, measured_seconds, percent, share};
use crate::metrics::Quantity;
use crate::prose::{cut, escaped_line};
use crate::wording;

/// Rarer wait events are folded.
const FREQUENT_MIN: f64 = 0.01;
/// Rows of the list of waits; rarer ones are together in the chart's last colour.
const WAITS_MAX: usize = 12;

/// All of it, for the page and Markdown.
pub(super) fn blocks(record: &Record) -> Vec<Block> {
    let mut blocks = vec![Block::quiet(observed(record))];
    let waits = record.observation.as_ref().and_then(|observation| observation.waits.as_ref());
    if let Some(waits) = waits {
        blocks.push(Block::Heading("Wait events and CPU of the backends".to_owned()));
        blocks.extend(waits_table(&waits.top));
        blocks.push(Block::quiet(sampling(waits)));
        blocks.extend(waits_of_scripts(record, waits));
    }
    let observation = record.observation.as_ref();
    blocks.extend(observation.into_iter().flat_map(|observation| ceilings(&observation.ceilings)));
    blocks.extend(headed("Replication lag of the standbys", standbys(record)));
    blocks.extend(headed("Staleness of the standbys as clients saw it", staleness(record).map(Block::Table)));
    blocks.extend(headed("Events", events(record)));
    blocks.extend(headed("Statements, as pg_stat_statements counts them", statements(record)));
    blocks.extend(kcache::blocks(record));
    let counters = counters(record);
    if !counters.is_empty() {
        blocks.push(Block::Heading("Statistics counters, change during the run".to_owned()));
        blocks.extend(counters);
    }
    let missing = missing(record);
    blocks.extend(headed("Not observed", (!missing.is_empty()).then_some(Block::Facts(missing))));
    blocks
}

fn headed(title: &str, block: Option<Block>) -> Vec<Block> {
    block.map_or_else(Vec::new, |block| vec![Block::Heading(title.to_owned()), block])
}

/// The most frequent wait events, as shares of the backends that were not idle.
pub(crate) fn waits_table(waits: &[WaitShare]) -> Vec<Block> {
    let shown = &waits[..waits.len().min(WAITS_MAX)];
    let (frequent, rare): (Vec<&WaitShare>, Vec<&WaitShare>) =
        shown.iter().partition(|wait| wait.share >= FREQUENT_MIN);
    let has_intervals = waits.iter().any(|wait| wait.interval.is_some());
    let title = if has_intervals { "share ± half of the 95 % interval" } else { "share" };
    let table = |waits: Vec<&WaitShare>| {
        let mut table = TableOf::new(waits);
        table.text("type", |wait| escaped_line(&wait.event_type));
        table.text("event", |wait| escaped_line(&wait.event));
        table.figures(title, |wait| Cell::text(share(wait.share, wait.interval)).with_bar(wait.share));
        table.table.if_any()
    };
    let number = counted(rare.len() as u64, "wait event", "wait events");
    let rare = table(rare).map(|table| Block::folded(format!("{number} below 1{TIE}%"), vec![table]));
    table(frequent).into_iter().chain(rare).collect()
}

/// How the wait events were sampled, and how shares follow from the samples.
fn sampling(waits: &Waits) -> String {
    format!(
        "Sampled in {} at {}{TIE}Hz, {}. Backends were idle, waiting for pgmeter, {} of the time, which is left out. {}",
        escaped_line(&waits.source),
        as_asked(waits.rate_hz),
        counted(waits.looks, "sample", "samples"),
        share(waits.idle_share, waits.idle_interval),
        method(waits),
    )
}

fn method(waits: &Waits) -> String {
    let backends = |mean: f64| as_asked((mean * 100.0).round() / 100.0);
    match (waits.method, waits.running_backends, waits.runnable_backends) {
        (WaitMethod::PostStratified, Some(running), Some(runnable)) => format!(
            "By the kernel's accounting {} backends were running on average and {} were waiting for a CPU (runnable); \
             the samples divide the rest.",
            backends(running),
            backends(runnable)
        ),
        (WaitMethod::PostStratified, Some(running), None) => format!(
            "By their CPU time {} backends were running on average; the samples divide the rest.",
            backends(running)
        ),
        _ => "Shares are those of the samples.".to_owned(),
    }
}

/// The wait events of each script, if there are several.
fn waits_of_scripts(record: &Record, waits: &Waits) -> Vec<Block> {
    let scripts = &record.plan.scripts;
    if scripts.len() < 2 {
        return Vec::new();
    }
    let of_script = |(script, waits): (&results::Script, &Vec<WaitShare>)| {
        let title = format!("Wait events of {}", escaped_line(&script.name));
        let table = waits_table(waits);
        (!table.is_empty()).then(|| Block::folded(title, table))
    };
    scripts.iter().zip(&waits.scripts).filter_map(of_script).collect()
}

/// The lag of each standby, as the mean and the maximum of one sample a second.
fn standbys(record: &Record) -> Option<Block> {
    const VALUES: [(&str, LagValue, Quantity); 6] = [
        ("write lag", |sample| sample.write_us, Quantity::Microseconds),
        ("flush lag", |sample| sample.flush_us, Quantity::Microseconds),
        ("replay lag", |sample| sample.replay_us, Quantity::Microseconds),
        ("WAL not written", |sample| sample.write_bytes, Quantity::Bytes),
        ("not flushed", |sample| sample.flush_bytes, Quantity::Bytes),
        ("not replayed", |sample| sample.replay_bytes, Quantity::Bytes),
    ];
    let mut table = TableOf::new(&record.observation.as_ref()?.standbys);
    table.text("standby", |standby| escaped_line(standby.name.as_str()));
    table.text("state", |standby| escaped_line(standby.sync_state.as_str()));
    for (title, of, quantity) in VALUES {
        table.figures(format!("{title}, mean / max"), |standby| match standby.mean_and_max(of) {
            Some((mean, max)) => Cell::text(format!("{} / {}", quantity.shown(mean), quantity.shown(max))),
            None => Cell::text("unknown"),
        });
    }
    table.table.if_any()
}

/// What the probe's sessions read from standbys.
fn staleness(record: &Record) -> Option<Table> {
    let time = |session: &StaleSession, of: fn(&results::Latency) -> f64| {
        let us = session.staleness_us.as_ref().map(of);
        us.map_or_else(|| Cell::text("unknown"), |us| Cell::figure(Quantity::Microseconds, us))
    };
    let number = |number: u64| Cell::text(count(number));
    Some(Table::of(
        &record.observation.as_ref()?.staleness.as_ref()?.sessions,
        &[
            (Column::text("reads from"), &|it| Cell::text(escaped_line(it.reads_from.as_str()))),
            (Column::figures("reads"), &|it| number(it.reads)),
            (Column::figures("stale"), &|it| number(it.stale_reads)),
            (Column::figures("backward"), &|it| number(it.backward_reads)),
            (Column::figures("commits behind, max"), &|it| number(it.commits_behind_max)),
            (Column::grouped("staleness", "mean"), &|it| time(it, |us| us.mean)),
            (Column::grouped("staleness", "p99"), &|it| time(it, |us| us.p99)),
            (Column::grouped("staleness", "max"), &|it| time(it, |us| us.max)),
        ],
    ))
}

/// Rows of one view that are shown.
const COUNTERS_MAX: usize = 500;

/// By how much the counters of each view grew: by table, index or kind.
fn counters(record: &Record) -> Vec<Block> {
    let of_view = |view: &results::CounterTable| {
        let rows = view.rows.iter().flat_map(|row| {
            let grown = row.values.iter().filter(|(_, value)| **value != 0.0);
            grown.map(|(name, value)| {
                let texts = [escaped_line(&row.key), escaped_line(name), as_asked(*value)];
                texts.map(Cell::text).to_vec()
            })
        });
        let columns = vec![Column::text("object"), Column::text("counter"), Column::figures("change")];
        let table = Table { columns, rows: rows.take(COUNTERS_MAX).collect(), ..Table::default() };
        let title = escaped_line(&view.view);
        Block::folded(title, vec![Block::Table(table)])
    };
    record.observation.iter().flat_map(|observation| &observation.counters).map(of_view).collect()
}

/// Checkpoints, autovacuums and lock queues.
fn events(record: &Record) -> Option<Block> {
    let when = |event: &Event| match event.end_s {
        Some(end_s) if end_s <= event.start_s => format!("at {}", moment(end_s)),
        Some(end_s) => format!("{} to {}", moment(event.start_s), moment(end_s)),
        None => format!("from {} on", moment(event.start_s)),
    };
    let events = record.observation.iter().flat_map(|observation| &observation.events);
    let table = Table::of(
        events,
        &[
            (Column::text("event"), &|event| Cell::text(event_name(event.kind))),
            (Column::text("when"), &|event| Cell::text(when(event))),
            (Column::text("details"), &|event| Cell::text(event_detail(event))),
        ],
    );
    table.if_any()
}

/// With a minus sign before measuring began.
fn moment(at_s: f64) -> String {
    let sign = if at_s < 0.0 { "−" } else { "" };
    format!("{sign}{}", measured_seconds(at_s.abs()))
}

/// In lists, charts and CSV.
pub(crate) fn event_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Checkpoint => "checkpoint",
        EventKind::Autovacuum => "autovacuum",
        EventKind::LockQueue => "lock queue",
    }
}

/// Upper bounds of the throughput, the lowest first.
pub(crate) fn ceilings(ceilings: &[Ceiling]) -> Vec<Block> {
    let share = |share| Cell::figure(Quantity::Share, share).with_bar(share);
    let table = Table::of(
        ceilings,
        &[
            (Column::text("limited by"), &|it| Cell::text(wording::ceiling_name(&it.basis))),
            (Column::figures("at most, tps"), &|it| Cell::figure(Quantity::PerSecond, it.tps)),
            (Column::figures("reached"), &|it| share(it.reached_share)),
            (Column::text("explanation"), &|it| Cell::text(wording::ceiling(&it.basis))),
        ],
    );
    headed("Nearest limits", table.if_any())
}

/// A statement as pg_stat_statements counted it; figures are means of a call.
pub(super) struct StatementFigures {
    pub(super) query: String,
    pub(super) calls: Option<f64>,
    /// Of the execution time of all these statements, from 0 to 1.
    pub(super) share: f64,
    pub(super) each_us: Option<f64>,
    pub(super) rows: Option<f64>,
    /// Blocks of shared buffers.
    pub(super) hit: Option<f64>,
    pub(super) read: Option<f64>,
    pub(super) read_time_us: Option<f64>,
    /// CPU time, user and system, if pg_stat_kcache counts it.
    pub(super) cpu_us: Option<[f64; 2]>,
    /// Of the blocks read, from 0 to 1, if pg_stat_kcache counts it.
    pub(super) disk_share_of_reads: Option<f64>,
}

/// The scripts' statements, in the scripts' order.
pub(super) fn statement_figures(record: &Record) -> Vec<StatementFigures> {
    const MICROSECONDS_PER_MILLISECOND: f64 = 1e3;
    let statements = || record.observation.iter().flat_map(|observation| &observation.statements);
    let time_ms = |statement: &StatementCounters| statement.values.get("execution_time_ms").copied();
    let all_ms: f64 = statements().filter_map(time_ms).sum();
    let figures = |statement: &StatementCounters| {
        let calls = statement.values.get("calls").copied().filter(|calls| *calls > 0.0);
        let each = |name: &str| Some(statement.values.get(name)? / calls?);
        let time_us = |name: &str| each(name).map(|ms| ms * MICROSECONDS_PER_MILLISECOND);
        let read = each("shared_blks_read");
        StatementFigures {
            query: cut(&escaped_line(statement.query.as_str()), QUERY_LEN_MAX),
            calls,
            share: time_ms(statement).filter(|_| all_ms > 0.0).map_or(0.0, |ms| ms / all_ms),
            each_us: time_us("execution_time_ms"),
            rows: each("rows"),
            hit: each("shared_blks_hit"),
            read,
            read_time_us: time_us("blk_read_time_ms").filter(|_| read > Some(0.0)),
            cpu_us: time_us("user_cpu_ms").zip(time_us("system_cpu_ms")).map(|(user, system)| [user, system]),
            disk_share_of_reads: statement.block_sources().and_then(|sources| sources.disk_share_of_reads()),
        }
    };
    statements().map(figures).collect()
}

fn statements(record: &Record) -> Option<Block> {
    let number = |value| Cell::figure_if(Quantity::Number, value);
    let time = |value| Cell::figure_if(Quantity::Microseconds, value);
    let table = Table::of(
        statement_figures(record),
        &[
            (Column::text("statement"), &|it| Cell::code(it.query.clone())),
            (Column::figures("calls"), &|it| Cell::figure_if(Quantity::Count, it.calls)),
            (Column::figures("share of time"), &|it| {
                Cell::figure(Quantity::Share, it.share).with_bar(it.share)
            }),
            (Column::figures("time each"), &|it| time(it.each_us)),
            (Column::figures("rows each"), &|it| number(it.rows)),
            (Column::figures("blocks hit each"), &|it| number(it.hit)),
            (Column::figures("blocks read each"), &|it| number(it.read)),
            (Column::figures("read time each"), &|it| time(it.read_time_us)),
        ],
    );
    table.if_any()
}

/// What could not be observed, and why.
fn missing(record: &Record) -> Vec<Fact> {
    let missing = record.observation.iter().flat_map(|observation| &observation.missing);
    missing
        .map(|missing| Fact::new(escaped_line(&missing.what), escaped_line(missing.why.as_str())))
        .collect()
}

/// The level of observation and its cost.
fn observed(record: &Record) -> String {
    let Some(observation) = &record.observation else {
        return "The server was not observed during this run.".to_owned();
    };
    let cost = &observation.cost;
    let cpu =
        cost.backend_cpu_s.map(|seconds| format!(", {} of the server's CPU time", latency(seconds * 1e6)));
    let missed = match cost.samples_missed {
        0 => String::new(),
        missed => format!(", {} samples came too late", count(missed)),
    };
    format!(
        "Observed with --observe {}: {}, busy {} of the time{}{missed}.",
        observation.level.name(),
        counted(cost.statements, "statement", "statements"),
        percent(cost.busy_share, 1.0),
        cpu.unwrap_or_default()
    )
}
