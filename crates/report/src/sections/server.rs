//! What the server was doing: waits, statements, events, ceilings, and what could not be seen of it.
//! Used by the page and by Markdown.

use results::{CeilingKind, Event, EventKind, Record, StatementCounters, WaitMethod, Waits};

use super::Fact;
use super::cost::number;
use crate::figures::{
    TIE, as_asked, count, counted, latency, measured_seconds, percent, rate, share, share_interval,
};
use crate::prose::{cut, escaped_line};

/// One kind of waiting, or of running.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WaitRow {
    /// `Lock`, `IO`, `CPU`.
    pub(crate) event_type: String,
    pub(crate) event: String,
    /// From 0 to 1, of all that were not idle.
    pub(crate) share: f64,
    /// Its 95 % confidence interval in words; empty if there is none.
    pub(crate) interval: String,
}

/// Rows of the list of waits; what is rarer is in the chart's last colour.
const WAITS_MAX: usize = 12;

/// The most frequent ones, and a sentence on how they were seen.
pub(crate) fn waits(record: &Record) -> Option<(Vec<WaitRow>, String)> {
    let waits = record.observation.as_ref()?.waits.as_ref()?;
    let how = format!(
        "Sampled in {} at {}{TIE}Hz, {}. Backends were idle, waiting for pgmeter, {} of the time, which is left out. {}",
        escaped_line(&waits.source),
        as_asked(waits.rate_hz),
        counted(waits.looks, "look", "looks"),
        share(waits.idle_share, waits.idle_interval),
        method(waits),
    );
    Some((waits.top.iter().take(WAITS_MAX).map(wait_row).collect(), how))
}

/// How shares follow from the samples.
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

/// The most frequent ones of each script, if there are several.
pub(crate) fn waits_of_scripts(record: &Record) -> Vec<(String, Vec<WaitRow>)> {
    let Some(waits) = record.observation.as_ref().and_then(|observation| observation.waits.as_ref()) else {
        return Vec::new();
    };
    let of_script = |(script, waits): (&results::Script, &Vec<results::WaitShare>)| {
        let rows: Vec<WaitRow> = waits.iter().take(WAITS_MAX).map(wait_row).collect();
        (!rows.is_empty()).then(|| (escaped_line(&script.name), rows))
    };
    match &record.plan.scripts[..] {
        [] | [_] => Vec::new(),
        several => several.iter().zip(&waits.scripts).filter_map(of_script).collect(),
    }
}

fn wait_row(wait: &results::WaitShare) -> WaitRow {
    WaitRow {
        event_type: escaped_line(&wait.event_type),
        event: escaped_line(&wait.event),
        share: wait.share,
        interval: share_interval(wait.interval),
    }
}

/// Rows of one view that are shown.
const COUNTERS_MAX: usize = 500;

/// By how much the counters of each view grew: which table, index or kind, which counter, by how much.
pub(crate) fn counters(record: &Record) -> Vec<(String, Vec<[String; 3]>)> {
    let of_view = |table: &results::CounterTable| {
        let rows = table.rows.iter().flat_map(|row| {
            let grown = row.values.iter().filter(|(_, value)| **value != 0.0);
            grown.map(|(name, value)| [escaped_line(&row.key), escaped_line(name), as_asked(*value)])
        });
        (escaped_line(&table.view), rows.take(COUNTERS_MAX).collect())
    };
    record.observation.iter().flat_map(|observation| &observation.counters).map(of_view).collect()
}

/// Something that happened on the server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EventRow {
    pub(crate) kind: EventKind,
    pub(crate) when: String,
    pub(crate) detail: String,
}

/// Checkpoints, vacuums and queues for locks.
pub(crate) fn events(record: &Record) -> Vec<EventRow> {
    let row = |event: &Event| EventRow {
        kind: event.kind,
        when: match event.end_s {
            Some(end_s) if end_s <= event.start_s => format!("at {}", moment(end_s)),
            Some(end_s) => format!("{} to {}", moment(event.start_s), moment(end_s)),
            None => format!("from {} on", moment(event.start_s)),
        },
        detail: escaped_line(event.detail.as_str()),
    };
    record.observation.iter().flat_map(|observation| &observation.events).map(row).collect()
}

/// With a minus sign before measuring began.
fn moment(at_s: f64) -> String {
    let sign = if at_s < 0.0 { "−" } else { "" };
    format!("{sign}{}", measured_seconds(at_s.abs()))
}

/// As it is shown.
pub(crate) fn event_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Checkpoint => "checkpoint",
        EventKind::Autovacuum => "autovacuum",
        EventKind::LockQueue => "lock queue",
    }
}

/// What would bound the throughput.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CeilingRow {
    pub(crate) kind: &'static str,
    pub(crate) tps: String,
    /// May be above 1.
    pub(crate) reached_share: f64,
    pub(crate) explanation: String,
}

/// The lowest first.
pub(crate) fn ceilings(record: &Record) -> Vec<CeilingRow> {
    record.observation.as_ref().map_or(Vec::new(), |observation| ceiling_rows(&observation.ceilings))
}

/// The same of a run of which the record is not at hand.
pub(crate) fn ceiling_rows(ceilings: &[results::Ceiling]) -> Vec<CeilingRow> {
    let row = |ceiling: &results::Ceiling| CeilingRow {
        kind: match ceiling.kind {
            CeilingKind::HottestRow => "the hottest rows",
            CeilingKind::Flush => "flushing the log",
            CeilingKind::RoundTrips => "round trips",
            CeilingKind::Cpu => "processors",
        },
        tps: rate(ceiling.tps),
        reached_share: ceiling.reached_share,
        explanation: escaped_line(ceiling.explanation.as_str()),
    };
    ceilings.iter().map(row).collect()
}

/// Characters of a statement that are shown.
const QUERY_LEN_MAX: usize = 160;

/// A statement as pg_stat_statements counted it; figures are for each call, empty where they are not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatementRow {
    pub(crate) query: String,
    pub(crate) calls: String,
    /// Of the execution time of all these statements, from 0 to 1.
    pub(crate) share: f64,
    pub(crate) each: String,
    pub(crate) rows: String,
    /// Blocks of shared buffers.
    pub(crate) hit: String,
    pub(crate) read: String,
    pub(crate) read_time: String,
}

/// What [`StatementRow::cells`] are called.
pub(crate) const STATEMENT_COLUMNS: [&str; 8] = [
    "statement",
    "calls",
    "share of time",
    "time each",
    "rows each",
    "blocks hit each",
    "blocks read each",
    "read time each",
];

impl StatementRow {
    /// In the order of [`STATEMENT_COLUMNS`].
    pub(crate) fn cells(&self) -> [String; 8] {
        let StatementRow { query, calls, share, each, rows, hit, read, read_time } = self.clone();
        [query, calls, percent(share, 1.0), each, rows, hit, read, read_time]
    }
}

/// The scripts' statements, in the scripts' order.
pub(crate) fn statements(record: &Record) -> Vec<StatementRow> {
    const MICROSECONDS_PER_MILLISECOND: f64 = 1e3;
    let statements = || record.observation.iter().flat_map(|observation| &observation.statements);
    let time_ms = |statement: &StatementCounters| statement.values.get("execution_time_ms").copied();
    let all_ms: f64 = statements().filter_map(time_ms).sum();
    let row = |statement: &StatementCounters| {
        let calls = statement.values.get("calls").copied().filter(|calls| *calls > 0.0);
        let each = |name: &str| Some(statement.values.get(name)? / calls?);
        let time = |name: &str| each(name).map(|ms| latency(ms * MICROSECONDS_PER_MILLISECOND));
        let mean = |name: &str| {
            each(name).map(|mean| number(mean).replace(' ', &TIE.to_string())).unwrap_or_default()
        };
        let read_time = time("blk_read_time_ms").filter(|_| each("shared_blks_read") > Some(0.0));
        StatementRow {
            query: cut(&escaped_line(statement.query.as_str()), QUERY_LEN_MAX),
            calls: calls.map(|calls| as_asked(calls.round())).unwrap_or_default(),
            share: time_ms(statement).filter(|_| all_ms > 0.0).map_or(0.0, |ms| ms / all_ms),
            each: time("execution_time_ms").unwrap_or_default(),
            rows: mean("rows"),
            hit: mean("shared_blks_hit"),
            read: mean("shared_blks_read"),
            read_time: read_time.unwrap_or_default(),
        }
    };
    statements().map(row).collect()
}

/// What could not be seen, and why.
pub(crate) fn missing(record: &Record) -> Vec<Fact> {
    let missing = record.observation.iter().flat_map(|observation| &observation.missing);
    missing
        .map(|missing| Fact::new(escaped_line(&missing.what), escaped_line(missing.why.as_str())))
        .collect()
}

/// How closely the server was looked at, and what that cost, in a sentence.
pub(crate) fn observed(record: &Record) -> String {
    let Some(observation) = &record.observation else {
        return "The server was not observed during this run.".to_owned();
    };
    let cost = &observation.cost;
    let cpu = cost.backend_cpu_s.map(|seconds| format!(", {} of the server's CPU", latency(seconds * 1e6)));
    let missed = match cost.samples_missed {
        0 => String::new(),
        missed => format!(", {} samples came too late", count(missed)),
    };
    format!(
        "Looked at with --observe {}: {}, busy {} of the time{}{missed}.",
        observation.level.name(),
        counted(cost.statements, "statement", "statements"),
        percent(cost.busy_share, 1.0),
        cpu.unwrap_or_default()
    )
}
