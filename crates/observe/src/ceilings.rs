//! Bounds of the throughput of the first order: what would be reached if one thing alone were the limit. Pure, from the
//! whole record; each only where it applies. docs/observing.md has the formulas and where they come from.

use results::{Ceiling, CeilingKind, CommandSummary, ObserveLevel, Record};

const MICROS_PER_SECOND: f64 = 1e6;
/// The built-in script whose transactions all want one of few rows, and the command that locks it.
const CONTENDED: (&str, &str) = ("tpcb-like", "UPDATE pgbench_branches");

/// The ceilings that apply to a run, the lowest first.
pub fn ceilings(record: &Record) -> Vec<Ceiling> {
    let Some(observation) = &record.observation else { return Vec::new() };
    if observation.level == ObserveLevel::Off || record.summary.counts.succeeded == 0 {
        return Vec::new();
    }
    let found = [hottest_row(record), flush(record), round_trips(record), cpu(record)];
    let mut ceilings: Vec<_> = found.into_iter().flatten().collect();
    ceilings.retain(|ceiling| ceiling.tps.is_finite() && ceiling.tps > 0.0);
    ceilings.sort_by(|a, b| a.tps.total_cmp(&b.tps));
    ceilings
}

fn ceiling(kind: CeilingKind, tps: f64, record: &Record, explanation: String) -> Ceiling {
    Ceiling { kind, tps, reached_share: record.summary.tps / tps, explanation: explanation.into() }
}

/// Rows ÷ time under lock. A branch is locked from its update to the end of the transaction: the work of the update
/// itself, for which its shortest execution stands since the others wait for the lock, and all commands after it. Utilization
/// law: Jain, The Art of Computer Systems Performance Analysis (1991), section 33.1.
fn hottest_row(record: &Record) -> Option<Ceiling> {
    let [script] = record.plan.scripts.as_slice() else { return None };
    let rows = f64::from(record.tables.scale.filter(|_| script.builtin && script.name == CONTENDED.0)?);
    let commands = &record.summary.scripts.first()?.commands;
    let locking = commands.iter().position(|command| command.text.starts_with(CONTENDED.1))?;
    let update_us = commands[locking].min_us?;
    let later_us: f64 =
        commands[locking + 1..].iter().filter_map(|command: &CommandSummary| command.mean_us).sum();
    let held_us = update_us + later_us;
    let explanation = format!(
        "{} rows of pgbench_branches, each locked for {} by a transaction that updates it, until its end",
        number(rows),
        duration(held_us)
    );
    Some(ceiling(CeilingKind::HottestRow, rows * MICROS_PER_SECOND / held_us, record, explanation))
}

/// Commits per flush ÷ time of a flush: flushes of the log come one after the other, and one flush serves all commits
/// that have come meanwhile (PostgreSQL's manual, "WAL Configuration").
fn flush(record: &Record) -> Option<Ceiling> {
    let observation = record.observation.as_ref()?;
    let settings = &record.environment.server.as_ref()?.non_default_settings;
    let is_off = |name| settings.get(name) == Some("off");
    let writes = observation.per_transaction.wal_bytes? >= 1.0;
    if is_off("fsync") || is_off("synchronous_commit") || !writes {
        return None;
    }
    let counted = |view: &str, part: &str, column: &str| -> Option<f64> {
        let table = observation.counters.iter().find(|table| table.view == view)?;
        let rows = table.rows.iter().filter(|row| row.key.contains(part));
        rows.filter_map(|row| row.values.get(column).copied()).reduce(|sum, value| sum + value)
    };
    let of_wal = |column| counted("pg_stat_wal", "", column);
    let of_io = |column| counted("pg_stat_io", "/wal/", column);
    let flushes = of_wal("wal_sync").or_else(|| of_io("fsyncs")).filter(|flushes| *flushes > 0.0);
    let spent_ms = of_wal("wal_sync_time_ms").or_else(|| of_io("fsync_time_ms")).filter(|ms| *ms > 0.0);
    let by_server = spent_ms.zip(flushes).map(|(ms, flushes)| ms * 1e3 / flushes);
    let on_disk = || Some(record.environment.disk.as_ref()?.flush_us.as_ref()?.p50);
    let (flush_us, source) = match by_server {
        Some(us) => (us, "as the server measured"),
        None => (on_disk()?, "as measured before the run"),
    };
    let ran = transactions(record);
    let (sharing, how) = match flushes {
        Some(flushes) if ran / flushes >= 1.0 => (ran / flushes, "on average"),
        Some(_) => (1.0, "since hardly any two could share one"),
        None => (f64::from(record.plan.clients), "at most, one of each client"),
    };
    let explanation = format!(
        "a flush of the log takes {} ({source}) and serves {} commits {how}",
        duration(flush_us),
        number(sharing)
    );
    Some(ceiling(CeilingKind::Flush, sharing * MICROS_PER_SECOND / flush_us, record, explanation))
}

/// Clients ÷ (round trips of a transaction × distance): a client that waits for nothing else. Only over a network.
fn round_trips(record: &Record) -> Option<Ceiling> {
    let generator = record.summary.generator.as_ref()?;
    let distance_us = generator.shortest_connect_us.filter(|us| *us > 0.0)?;
    let trips = as_f64(generator.commands.round_trips) / transactions(record);
    let clients = f64::from(record.plan.clients);
    let explanation = format!(
        "{} clients, {} round trips for each transaction, {} each over the network",
        number(clients),
        number(trips),
        duration(distance_us)
    );
    let tps = clients * MICROS_PER_SECOND / (trips * distance_us);
    (trips > 0.0).then(|| ceiling(CeilingKind::RoundTrips, tps, record, explanation))
}

/// Processors ÷ CPU time of a transaction, that of pgmeter included since it runs on the same host. Only there.
fn cpu(record: &Record) -> Option<Ceiling> {
    let cost = &record.observation.as_ref()?.per_transaction;
    let server_us = cost.backend_user_cpu_us? + cost.backend_system_cpu_us?;
    let client_us = record.summary.client_cpu_us_per_transaction.unwrap_or(0.0);
    let processors = f64::from(record.environment.host.cpu_count?);
    let explanation = format!(
        "{} processors; a transaction takes {} of the backends and {} of pgmeter on the same host",
        number(processors),
        duration(server_us),
        duration(client_us)
    );
    let taken_us = server_us + client_us;
    let tps = processors * MICROS_PER_SECOND / taken_us;
    (server_us > 0.0).then(|| ceiling(CeilingKind::Cpu, tps, record, explanation))
}

fn transactions(record: &Record) -> f64 {
    as_f64((record.summary.counts.succeeded + record.summary.counts.failed).max(1))
}

/// Whole numbers without a fraction, others with one digit.
fn number(value: f64) -> String {
    if value.fract().abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn duration(us: f64) -> String {
    const MICROS_PER_MILLI: f64 = 1e3;
    if us < MICROS_PER_MILLI { format!("{us:.0} µs") } else { format!("{:.2} ms", us / MICROS_PER_MILLI) }
}

#[expect(clippy::cast_precision_loss, reason = "transactions of one run are far below 2⁵³")]
fn as_f64(count: u64) -> f64 {
    count as f64
}
