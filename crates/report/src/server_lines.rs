//! The lines of the summary that say what the server was doing: waits, cost of a transaction, events, the nearest
//! ceiling. Nothing if nobody looked. Used by `text`; what is stored of it is `results::Observation`.

use results::{Ceiling, CeilingKind, Event, EventKind, Observation, PerTransaction, Record, WaitShare};

use crate::figures::{TIE, as_asked, count, counted, fixed, latency, percent, rate, share};
use crate::prose::{cut, enumerate, escaped_line};
use crate::sections;

/// Wait events that the summary names.
const WAITS_MAX: usize = 4;
/// Below this a wait event is not worth a word.
const SHARE_MIN: f64 = 0.01;

/// Labelled lines, in order.
pub(crate) fn server_lines(record: &Record) -> Vec<(&'static str, String)> {
    let Some(observation) = &record.observation else { return Vec::new() };
    let lines = [
        ("backends", waits(observation)),
        ("server cost", per_transaction(&observation.per_transaction)),
        ("statements", statements(record)),
        ("meanwhile", events(&observation.events)),
        ("ceiling", observation.ceilings.first().map(ceiling)),
    ];
    lines.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
}

/// `41 ± 3 % LWLock WALWrite, 22 ± 2 % IO WalSync, 20 % running; idle 12 % of the time`.
fn waits(observation: &Observation) -> Option<String> {
    let waits = observation.waits.as_ref().filter(|waits| waits.backends_seen > 0)?;
    let named: Vec<String> = waits
        .top
        .iter()
        .filter(|wait| wait.share >= SHARE_MIN)
        .take(WAITS_MAX)
        .map(|wait| format!("{} {}", share(wait.share, wait.interval), event_name(wait)))
        .collect();
    let idle = format!("idle {} of the time", share(waits.idle_share, waits.idle_interval));
    Some(if named.is_empty() { idle } else { format!("{}; {idle}", named.join(", ")) })
}

/// `Lock transactionid`, or `running`, which is no event.
fn event_name(wait: &WaitShare) -> String {
    let (event_type, event) = (escaped_line(&wait.event_type), escaped_line(&wait.event));
    match (event_type.as_str(), event.as_str()) {
        ("CPU", "runnable") => format!("waiting for a{TIE}CPU"),
        ("CPU", _) => event,
        _ => format!("{event_type}{TIE}{event}"),
    }
}

/// Statements that the summary names.
const STATEMENTS_MAX: usize = 3;
/// Characters of each.
const STATEMENT_LEN: usize = 40;

/// `0.512 ms, 4.1 blocks hit, 0.02 read in 35 µs: UPDATE pgbench_accounts SET …; …`: those that took the most time.
fn statements(record: &Record) -> Option<String> {
    let mut rows = sections::statements(record);
    rows.sort_by(|a, b| b.share.total_cmp(&a.share));
    let told = |row: &sections::StatementRow| {
        let read = Some(format!("{}{TIE}read", row.read)).filter(|_| !row.read.is_empty());
        let read = read.map(|read| match row.read_time.as_str() {
            "" => read,
            time => format!("{read} in {time}"),
        });
        let hit = Some(format!("{}{TIE}blocks hit", row.hit)).filter(|_| !row.hit.is_empty());
        let figures: Vec<String> = [Some(row.each.clone()), hit, read].into_iter().flatten().collect();
        format!("{} ({}): {}", cut(&row.query, STATEMENT_LEN), percent(row.share, 1.0), figures.join(", "))
    };
    let named: Vec<String> = rows.iter().take(STATEMENTS_MAX).map(told).collect();
    (!named.is_empty()).then(|| named.join("; "))
}

/// `1,234 bytes of WAL (0.12 full pages), 12.3 blocks hit, 0.4 read, 95 µs of CPU per transaction`.
fn per_transaction(cost: &PerTransaction) -> Option<String> {
    let full_pages = cost.wal_full_page_images.filter(|&images| images >= 0.001);
    let full_pages = full_pages.map_or(String::new(), |images| format!(" ({} full pages)", few(images)));
    let cpu_us = cost.backend_user_cpu_us.map(|user| user + cost.backend_system_cpu_us.unwrap_or(0.0));
    let parts = [
        cost.wal_bytes.map(|bytes| format!("{} of WAL{full_pages}", whole_bytes(bytes, ""))),
        cost.blocks_hit.map(|blocks| format!("{}{TIE}blocks hit", few(blocks))),
        cost.blocks_read.map(|blocks| format!("{}{TIE}read{}", few(blocks), read_time(cost))),
        cost.temp_bytes.filter(|&bytes| bytes >= 1.0).map(|bytes| whole_bytes(bytes, "temporary ")),
        cpu_us.map(|us| format!("{} of CPU", latency(us))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} per transaction", parts.join(", ")))
}

/// ` in 12 µs`, where the server measures that and there was something to read.
fn read_time(cost: &PerTransaction) -> String {
    let time_us = cost.block_read_us.filter(|&us| us > 0.0);
    time_us.map_or(String::new(), |us| format!(" in {}", latency(us)))
}

/// `1 byte`, `1,234 temporary bytes`.
fn whole_bytes(bytes: f64, kind: &str) -> String {
    let number = fixed(bytes, 0);
    let noun = if number == "1" { "byte" } else { "bytes" };
    format!("{number}{TIE}{kind}{noun}")
}

/// A mean of small counts: `12.3`, `0.004`.
fn few(mean: f64) -> String {
    as_asked(if mean >= 10.0 { (mean * 10.0).round() / 10.0 } else { mean })
}

/// `2 checkpoints, autovacuum of pgbench_accounts and pgbench_tellers, 3 queues for locks`.
fn events(events: &[Event]) -> Option<String> {
    let of = |kind: EventKind| events.iter().filter(move |event| event.kind == kind);
    let number = |kind| of(kind).count() as u64;
    let mut vacuumed: Vec<String> =
        of(EventKind::Autovacuum).map(|event| escaped_line(event.detail.as_str())).collect();
    vacuumed.sort_unstable();
    vacuumed.dedup();
    let parts = [
        counted_if(number(EventKind::Checkpoint), "checkpoint", "checkpoints"),
        (!vacuumed.is_empty()).then(|| format!("autovacuum of {}", enumerate(&vacuumed))),
        counted_if(number(EventKind::LockQueue), "queue for a lock", "queues for locks"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn counted_if(number: u64, one: &str, many: &str) -> Option<String> {
    (number > 0)
        .then(|| if number == 1 { counted(1, one, many) } else { format!("{} {many}", count(number)) })
}

/// `3,200 tps by flushes of the log, 78 % reached: …`.
fn ceiling(ceiling: &Ceiling) -> String {
    let what = match ceiling.kind {
        CeilingKind::HottestRow => "the hottest row",
        CeilingKind::Flush => "flushes of the log",
        CeilingKind::RoundTrips => "round trips",
        CeilingKind::Cpu => "processors",
    };
    format!(
        "{}{TIE}tps by {what}, {} reached: {}",
        rate(ceiling.tps),
        percent(ceiling.reached_share, 1.0),
        escaped_line(ceiling.explanation.as_str())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    #[test]
    fn one_byte_is_not_several() {
        assert_eq!(with_ordinary_spaces(&whole_bytes(1.2, "")), "1 byte");
        assert_eq!(with_ordinary_spaces(&whole_bytes(1_234.0, "temporary ")), "1,234 temporary bytes");
    }
}
