//! Bounds of the throughput of the first order: what would be reached if one thing alone were the limit. Pure, from the
//! whole record; each only where it applies. docs/observing.md has the formulas and where they come from.

use results::{Ceiling, CeilingKind, ObserveLevel, Record};

const MICROS_PER_SECOND: f64 = 1e6;
const MICROS_PER_MILLI: f64 = 1e3;
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
    ceilings.sort_by(|a, b| a.tps.total_cmp(&b.tps));
    ceilings
}

/// `None` where something was divided by nothing.
fn ceiling(kind: CeilingKind, (tps, explanation): Bound, record: &Record) -> Option<Ceiling> {
    let reached_share = record.summary.tps / tps;
    let is_sound = tps.is_finite() && tps > 0.0;
    is_sound.then(|| Ceiling { kind, tps, reached_share, explanation: explanation.into() })
}

/// A throughput, and in a sentence where it comes from.
type Bound = (f64, String);

/// What is known of one command: its text, its shortest and its mean latency in microseconds.
type Timed<'a> = (&'a str, Option<f64>, Option<f64>);

fn hottest_row(record: &Record) -> Option<Ceiling> {
    let [script] = record.plan.scripts.as_slice() else { return None };
    let rows = record.tables.scale.filter(|_| script.builtin && script.name == CONTENDED.0)?;
    let commands = &record.summary.scripts.first()?.commands;
    let commands: Vec<Timed<'_>> =
        commands.iter().map(|command| (command.text.as_str(), command.min_us, command.mean_us)).collect();
    ceiling(CeilingKind::HottestRow, rows_under_lock(f64::from(rows), &commands)?, record)
}

/// Rows ÷ time under lock. A branch is locked from its update to the end of the transaction: the work of the update
/// itself, for which its shortest execution stands since the others wait for the lock, and all commands after it.
/// Utilization law: Jain, The Art of Computer Systems Performance Analysis (1991), section 33.1.
fn rows_under_lock(rows: f64, commands: &[Timed<'_>]) -> Option<Bound> {
    let locking = commands.iter().position(|(text, ..)| text.starts_with(CONTENDED.1))?;
    let later_us: f64 = commands[locking + 1..].iter().filter_map(|(_, _, mean_us)| *mean_us).sum();
    let held_us = commands[locking].1? + later_us;
    let explanation = format!(
        "{} rows of pgbench_branches, each locked for {} by a transaction that updates it, until its end",
        number(rows),
        duration(held_us)
    );
    Some((rows * MICROS_PER_SECOND / held_us, explanation))
}

/// What bears on flushes.
#[derive(Clone, Copy, Debug)]
struct Flushing {
    transactions: f64,
    clients: f64,
    /// Counted by the server; `None` if it does not.
    flushes: Option<f64>,
    /// All of them together, as the server measured.
    spent_us: Option<f64>,
    /// One of them, as measured before the run.
    on_disk_us: Option<f64>,
}

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
    let spent_ms = of_wal("wal_sync_time_ms").or_else(|| of_io("fsync_time_ms"));
    let bound = flushes(Flushing {
        transactions: transactions(record),
        clients: f64::from(record.plan.clients),
        flushes: of_wal("wal_sync").or_else(|| of_io("fsyncs")).filter(|flushes| *flushes > 0.0),
        spent_us: spent_ms.filter(|ms| *ms > 0.0).map(|ms| ms * MICROS_PER_MILLI),
        on_disk_us: record.environment.disk.as_ref().and_then(|disk| Some(disk.flush_us.as_ref()?.p50)),
    })?;
    ceiling(CeilingKind::Flush, bound, record)
}

/// Commits per flush ÷ time of a flush: flushes of the log come one after the other, and one flush serves all commits
/// that have come meanwhile (PostgreSQL's manual, "WAL Configuration").
fn flushes(known: Flushing) -> Option<Bound> {
    let (flush_us, source) = match known.spent_us.zip(known.flushes) {
        Some((spent_us, flushes)) => (spent_us / flushes, "as the server measured"),
        None => (known.on_disk_us?, "as measured before the run"),
    };
    let (sharing, how) = match known.flushes {
        Some(flushes) if known.transactions >= flushes => (known.transactions / flushes, "on average"),
        Some(_) => (1.0, "at a time, since hardly any two came together"),
        None => (known.clients, "at most, one of each client"),
    };
    let explanation = format!(
        "a flush of the log takes {} ({source}) and serves {} transactions {how}",
        duration(flush_us),
        number(sharing)
    );
    Some((sharing * MICROS_PER_SECOND / flush_us, explanation))
}

/// Only over a network.
fn round_trips(record: &Record) -> Option<Ceiling> {
    let generator = record.summary.generator.as_ref()?;
    let trips = as_f64(generator.commands.round_trips) / transactions(record);
    let bound = distance(f64::from(record.plan.clients), trips, generator.shortest_connect_us?);
    ceiling(CeilingKind::RoundTrips, bound, record)
}

/// Clients ÷ (round trips of a transaction × distance): clients that wait for nothing else.
fn distance(clients: f64, trips: f64, distance_us: f64) -> Bound {
    let explanation = format!(
        "{} clients, {} round trips for each transaction, {} each over the network",
        number(clients),
        number(trips),
        duration(distance_us)
    );
    (clients * MICROS_PER_SECOND / (trips * distance_us), explanation)
}

/// Only on the server's host.
fn cpu(record: &Record) -> Option<Ceiling> {
    let cost = &record.observation.as_ref()?.per_transaction;
    let server_us = cost.backend_user_cpu_us? + cost.backend_system_cpu_us?;
    let client_us = record.summary.client_cpu_us_per_transaction.unwrap_or(0.0);
    let bound = processors(f64::from(record.environment.host.cpu_count?), server_us, client_us);
    ceiling(CeilingKind::Cpu, bound, record)
}

/// Processors ÷ CPU time of a transaction, that of pgmeter included since it runs on the same host.
fn processors(processors: f64, server_us: f64, client_us: f64) -> Bound {
    let explanation = format!(
        "{} processors; a transaction takes {} of the backends and {} of pgmeter on the same host",
        number(processors),
        duration(server_us),
        duration(client_us)
    );
    (processors * MICROS_PER_SECOND / (server_us + client_us), explanation)
}

fn transactions(record: &Record) -> f64 {
    as_f64((record.summary.counts.succeeded + record.summary.counts.failed).max(1))
}

/// Whole numbers without a fraction, others with one digit.
fn number(value: f64) -> String {
    if value.fract().abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn duration(us: f64) -> String {
    if us < MICROS_PER_MILLI { format!("{us:.0} µs") } else { format!("{:.2} ms", us / MICROS_PER_MILLI) }
}

#[expect(clippy::cast_precision_loss, reason = "transactions of one run are far below 2⁵³")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check((tps, sentence): Bound, expected_tps: f64, expected_sentence: &str) {
        assert!((tps - expected_tps).abs() < 0.5, "{tps}");
        assert_eq!(sentence, expected_sentence);
    }

    #[test]
    fn a_branch_is_locked_from_its_update_to_the_end() {
        let commands = [
            ("\\set bid …", Some(1.0), Some(1.0)),
            ("UPDATE pgbench_branches SET …", Some(100.0), Some(9_000.0)),
            ("INSERT INTO pgbench_history …", Some(50.0), Some(150.0)),
            ("END;", Some(900.0), Some(1_750.0)),
        ];
        let sentence = "10 rows of pgbench_branches, each locked for 2.00 ms by a transaction that updates it, until \
                        its end";
        check(rows_under_lock(10.0, &commands).unwrap(), 5_000.0, sentence);
        assert_eq!(rows_under_lock(10.0, &commands[2..]), None);
    }

    #[test]
    fn a_flush_serves_as_many_commits_as_were_counted() {
        let known = Flushing {
            transactions: 3_000.0,
            clients: 8.0,
            flushes: Some(1_000.0),
            spent_us: Some(2_000_000.0),
            on_disk_us: Some(500.0),
        };
        let sentence =
            "a flush of the log takes 2.00 ms (as the server measured) and serves 3 transactions on average";
        check(flushes(known).unwrap(), 1_500.0, sentence);
        let unmeasured = Flushing { spent_us: None, ..known };
        check(
            flushes(unmeasured).unwrap(),
            6_000.0,
            "a flush of the log takes 500 µs (as measured before the run) and serves 3 transactions on average",
        );
        let uncounted = Flushing { flushes: None, ..known };
        check(
            flushes(uncounted).unwrap(),
            16_000.0,
            "a flush of the log takes 500 µs (as measured before the run) and serves 8 transactions at most, one of \
             each client",
        );
        assert_eq!(flushes(Flushing { on_disk_us: None, ..uncounted }), None);
    }

    #[test]
    fn clients_far_away_wait_for_their_round_trips() {
        let sentence = "8 clients, 7 round trips for each transaction, 1.00 ms each over the network";
        check(distance(8.0, 7.0, 1_000.0), 1_142.9, sentence);
    }

    #[test]
    fn processors_are_shared_by_server_and_client() {
        let sentence =
            "2 processors; a transaction takes 150 µs of the backends and 50 µs of pgmeter on the same host";
        check(processors(2.0, 150.0, 50.0), 10_000.0, sentence);
    }
}
