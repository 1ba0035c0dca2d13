//! Creates the observation at the end of the run. Pure.
//!
//! Backends report statistics up to a second late, and completely on exit. So the reading at the start of measuring
//! lacks a part of the warm-up, which then counts as measured time: transactions as well as blocks. Their ratio is
//! correct if the transactions are counted by the same statistics. The commits per transaction are computed from the
//! whole run, from before its first transaction to after its last.

use std::collections::BTreeMap;

use results::{
    BackendMemory, CounterRow, CounterTable, Missing, Observation, ObserveLevel, ObserverCost,
    PerTransaction, StatementCounters,
};

use crate::backends::{Stretch, Used};
use crate::catalogue;
use crate::difference::{Reading, growths};
use crate::kcache;
use crate::load_cpu::workers_s;
use crate::processes::TICK_S;
use crate::series::{Snapshot, figures, grown};
use crate::statements::{self, Counted, Statements};
use crate::watch::Watch;

const MICROS_PER_SECOND: f64 = 1e6;
const MICROS_PER_MILLI: f64 = 1e3;
/// Reason for incomplete values.
const WAS_RESET: &str = "its statistics were reset during the run: what was counted before that is lost, and what a \
                         transaction cost is not computed from the rest";
/// Views without counters of interest.
const NOT_SHOWN: [&str; 3] = [catalogue::CONTROL_FILE, catalogue::STATEMENTS, kcache::NAME];

/// Results of the run, for the cost of a transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// Measured seconds.
    pub measured_s: f64,
    /// Successful and failed transactions in the measured time.
    pub transactions: u64,
    /// Transactions of the warm-up.
    pub warmup_transactions: u64,
}

/// An empty observation, with the given reasons.
pub fn nothing(level: ObserveLevel, missing: Vec<Missing>) -> Observation {
    Observation { level, missing, ..Observation::default() }
}

/// The complete observation.
pub(crate) fn account(mut watch: Watch, ran: Ran) -> Observation {
    let per_transaction = per_transaction(&watch, ran);
    let counters = counters(&mut watch);
    let found = statements_of(&watch);
    note_kcache(&mut watch, &found);
    let Statements { counters: statements, was_reset, .. } = found;
    // Only pg_stat_statements counts these without delay, for each command.
    let of_statements = |column: &str| sum_per_transaction(&statements, column, ran).filter(|_| !was_reset);
    let is_planning_tracked = of_statements("plans").is_some_and(|plans| plans > 0.0);
    let plan_ms = of_statements("plan_time_ms").filter(|_| is_planning_tracked);
    let per_transaction = PerTransaction {
        blocks_dirtied: of_statements("shared_blks_dirtied"),
        plan_us: plan_ms.map(|ms| ms * MICROS_PER_MILLI),
        execution_us: of_statements("execution_time_ms").map(|ms| ms * MICROS_PER_MILLI),
        ..per_transaction
    };
    if was_reset {
        watch.server.missing.push(Missing::new(catalogue::STATEMENTS, WAS_RESET));
    } else if per_transaction.blocks_dirtied.is_none() && ran.transactions > 0 {
        let why = "only pg_stat_statements counts them, and it has no counts of the scripts' commands: add it to \
                   shared_preload_libraries, and run CREATE EXTENSION pg_stat_statements";
        watch.server.missing.push(Missing::new("blocks_dirtied", why));
    }
    note_cpu(&mut watch, &per_transaction, ran);
    note_blocks(&mut watch, ran);
    let backend_memory = backend_memory(&mut watch);
    let has_waits = watch.server.waits.is_some();
    let waits = has_waits.then(|| watch.waits(ran.measured_s));
    let cost = ObserverCost {
        statements: watch.server.session.statements,
        busy_share: share(watch.server.session.busy.as_secs_f64(), ran.measured_s),
        backend_cpu_s: watch.own_cpu_s,
        samples_missed: watch.looks_missed,
    };
    Observation {
        cost,
        waits,
        per_transaction,
        backend_memory,
        counters,
        statements,
        events: watch.events.into_events(),
        samples: watch.series.into_samples(),
        standbys: watch.lags.into_standbys(),
        server_cpus_allowed: watch.server_cpus_allowed,
        ..nothing(watch.level, watch.server.missing)
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 }
}

/// Growth of each view over the measured time.
fn counters(watch: &mut Watch) -> Vec<CounterTable> {
    let Some(origin) = &watch.at_origin else { return Vec::new() };
    let (mut tables, mut resets) = (Vec::new(), Vec::new());
    for question in watch.server.questions.iter().filter(|question| !NOT_SHOWN.contains(&question.view)) {
        let Some(after) = watch.at_end.get(question.view) else { continue };
        let nothing = Reading::new();
        let rows = growths(origin.get(question.view).unwrap_or(&nothing), after, &question.columns);
        if rows.values().any(|row| row.was_reset) {
            resets.push(question.view);
        }
        let grown = rows.into_iter().filter(|(_, row)| !row.is_nothing(&question.columns));
        let mut rows: Vec<_> = grown
            .map(|(key, row)| CounterRow {
                key: if question.is_by_relation {
                    watch.server.session.name_of(&key).to_owned()
                } else {
                    key
                },
                values: question
                    .columns
                    .iter()
                    .zip(row.values)
                    .filter_map(|(column, value)| Some((column.name.to_owned(), value?)))
                    .filter(|(_, value)| value.is_finite())
                    .collect(),
            })
            .collect();
        rows.sort_by(|one, other| one.key.cmp(&other.key));
        if !rows.is_empty() {
            tables.push(CounterTable { view: question.view.to_owned(), rows });
        }
    }
    for view in resets {
        watch.server.missing.push(Missing::new(view, WAS_RESET));
    }
    tables
}

/// Counts of pg_stat_statements for the scripts' commands over the measured time, with those of pg_stat_kcache.
fn statements_of(watch: &Watch) -> Statements {
    let counted = |view: &str| {
        let question = catalogue::find(&watch.server.questions, view)?;
        let (before, after) = (watch.at_origin.as_ref()?.get(view)?, watch.at_end.get(view)?);
        Some(Counted { before, after, question })
    };
    let Some(statements) = counted(catalogue::STATEMENTS) else { return Statements::default() };
    let kcache = counted(kcache::NAME).zip(watch.server.kcache.as_ref().map(|kcache| kcache.shortest_ms));
    statements::statements(statements, kcache, &watch.matcher)
}

/// Names the counts of pg_stat_kcache that were left out.
fn note_kcache(watch: &mut Watch, statements: &Statements) {
    if statements.kcache_was_reset {
        watch.server.missing.push(Missing::new(kcache::NAME, WAS_RESET));
    }
    let shortest_ms = watch.server.kcache.as_ref().map(|kcache| kcache.shortest_ms);
    if let Some(ms) = shortest_ms.filter(|_| statements.has_short) {
        let why = format!(
            "pg_stat_kcache takes the elapsed time of executions of less than {ms} ms for user CPU time \
             (pg_stat_kcache.linux_hz), so the CPU time of shorter statements is left out: set pg_stat_kcache.linux_hz \
             to 1000000"
        );
        watch.server.missing.push(Missing::new("CPU time of short statements", why));
    }
}

/// The mean of a column of the scripts' statements.
fn sum_per_transaction(statements: &[StatementCounters], column: &str, ran: Ran) -> Option<f64> {
    let values = statements.iter().filter_map(|statement| statement.values.get(column));
    let sum = values.copied().reduce(|sum, more| sum + more)?;
    (ran.transactions > 0).then(|| sum / ran.transactions as f64)
}

/// Cost of one transaction.
fn per_transaction(watch: &Watch, ran: Ran) -> PerTransaction {
    let Some(origin) = &watch.at_origin else { return PerTransaction::default() };
    if watch.at_end.is_empty() || ran.transactions == 0 {
        return PerTransaction::default();
    }
    let figures = figures(origin, &watch.at_end, &watch.server.questions);
    let exact = ran.transactions as f64;
    let counted = counted_transactions(watch, origin, ran).unwrap_or(exact);
    let per = |name: &str, transactions: f64| Some(figures.get(name)? / transactions);
    let waited_us = |name: &str| per(name, counted).map(|ms| ms * MICROS_PER_MILLI);
    let cpu = backend_usage(watch, ran);
    let least_s = cpu_least_s(watch);
    let of_cpu = |seconds: fn(&Used) -> f64| {
        let seconds = cpu.map(|used| seconds(&used)).filter(|seconds| *seconds >= least_s)?;
        Some(seconds * MICROS_PER_SECOND / exact)
    };
    let has_blocks = has_enough_blocks(watch, &figures);
    let of_blocks = |name: &str| per(name, counted).filter(|_| has_blocks);
    let of_io_workers = watch.io_workers.measured().and_then(|stretch| over_all(stretch, ran));
    let read_bytes = cpu.and_then(|used| watch.server.io_workers.read_bytes(&used, of_io_workers));
    let read_bytes = read_bytes.map(|bytes| bytes / exact);
    PerTransaction {
        wal_bytes: per("wal_bytes", exact),
        wal_records: per("wal_records", counted),
        wal_full_page_images: per("wal_full_page_images", counted),
        wal_full_page_image_bytes: per("wal_full_page_image_bytes", counted),
        blocks_hit: of_blocks("blocks_hit"),
        blocks_read: of_blocks("blocks_read"),
        block_read_us: waited_us("block_read_time_ms"),
        block_write_us: waited_us("block_write_time_ms"),
        blocks_dirtied: None,
        plan_us: None,
        execution_us: None,
        blocks_written: per("blocks_written", counted),
        temp_bytes: per("temp_bytes", counted),
        server_cpu_us: of_cpu(|used| used.cpu_s),
        backend_user_cpu_us: of_cpu(|used| used.user_s),
        backend_system_cpu_us: of_cpu(|used| used.system_s),
        backend_read_bytes: read_bytes,
        disk_blocks_read: read_bytes.zip(watch.server.block_bytes).map(|(bytes, block)| bytes / block),
        backend_written_bytes: cpu.and_then(|cpu| cpu.written_bytes).map(|bytes| bytes / exact),
    }
}

/// CPU time of the backends below which nothing is said of a transaction: the resolution of user and system time for
/// each of them. The first use of tables costs each backend 1 to 2 ms of CPU time, which has no part in a transaction.
fn cpu_least_s(watch: &Watch) -> f64 {
    TICK_S * watch.clients.known().count().max(1) as f64
}

/// Names the CPU times that are left out.
fn note_cpu(watch: &mut Watch, costs: &PerTransaction, ran: Ran) {
    let parts = [
        ("server_cpu_us", costs.server_cpu_us),
        ("backend_user_cpu_us", costs.backend_user_cpu_us),
        ("backend_system_cpu_us", costs.backend_system_cpu_us),
    ];
    let absent = parts.iter().filter(|(_, value)| value.is_none()).map(|(name, _)| *name);
    let absent = absent.collect::<Vec<_>>().join(", ");
    let is_measured = watch.reconnects || watch.backends.is_measured();
    if absent.is_empty() || !is_measured || watch.server.session.is_lost() || ran.transactions == 0 {
        return;
    }
    let why = match backend_usage(watch, ran) {
        None => "the backends were observed during less than half of the measured time: run for 2 s or more",
        Some(_) => {
            "too little to measure: less than 10 ms of CPU time for each backend, which is the resolution of the \
             kernel's times; run for longer or at a higher rate"
        }
    };
    watch.server.missing.push(Missing::new(&absent, why));
}

/// Blocks that a new session accesses in the catalogs, for connecting and for its first transactions. Measured with
/// PostgreSQL 18: 800.
const START_BLOCKS: f64 = 1_000.0;
/// Multiple of the blocks of all starts from which on they are a small part of what was counted.
const START_BLOCKS_MULTIPLE: f64 = 5.0;
/// Warm-up after which the statistics of the starts have been reported.
const START_REPORTED_S: f64 = 2.0;

/// Whether the starts of the sessions are a small part of the blocks that were counted. With a connection for each
/// transaction, a start is a part of each transaction.
fn has_enough_blocks(watch: &Watch, figures: &BTreeMap<String, f64>) -> bool {
    let of = |name: &str| figures.get(name).copied().unwrap_or(0.0);
    let starts = START_BLOCKS * watch.clients.known().count() as f64;
    let is_reported = watch.since_s() <= -START_REPORTED_S;
    watch.reconnects || is_reported || of("blocks_hit") + of("blocks_read") >= START_BLOCKS_MULTIPLE * starts
}

/// Names the blocks if they are left out.
fn note_blocks(watch: &mut Watch, ran: Ran) {
    let Some(origin) = watch.at_origin.as_ref().filter(|_| !watch.at_end.is_empty()) else { return };
    let figures = figures(origin, &watch.at_end, &watch.server.questions);
    if ran.transactions == 0 || !figures.contains_key("blocks_hit") || has_enough_blocks(watch, &figures) {
        return;
    }
    let why = "too little to measure: the starts of the sessions are a large part of the blocks that were counted; run \
               for longer or at a higher rate, or with a warm-up of 2 s or more";
    watch.server.missing.push(Missing::new("blocks_hit, blocks_read", why));
}

/// Memory of the backends. If it could be read, and no backend was there long enough, the reason is named.
fn backend_memory(watch: &mut Watch) -> Option<BackendMemory> {
    let figures = watch.server.memory.as_ref()?.figures();
    if figures.is_none() && !watch.server.session.is_lost() {
        let why = if watch.reconnects {
            "with a connection for each transaction no backend exists long enough to be read"
        } else {
            "no backend was read: run for 1 s or more"
        };
        watch.server.missing.push(Missing::new("backend_memory", why));
    }
    figures
}

/// Number of transactions in the statistics of the measured time, see the module.
fn counted_transactions(watch: &Watch, origin: &Snapshot, ran: Ran) -> Option<f64> {
    let ended = |before: &Snapshot| {
        let of =
            |column| grown(before, &watch.at_end, &watch.server.questions, catalogue::DATABASE, "", column);
        Some(of("xact_commit")? + of("xact_rollback")?)
    };
    let (whole, measured) = (ended(&watch.at_start)?, ended(origin)?);
    let all = (ran.transactions + ran.warmup_transactions) as f64;
    (whole > 0.0 && measured > 0.0).then(|| all * measured / whole)
}

/// CPU time and I/O of the benchmark's backends in the measured time. The stretch between the last reading and their
/// exit is extrapolated.
fn backend_usage(watch: &Watch, ran: Ran) -> Option<Used> {
    if watch.reconnects {
        return Some(watch.ended_at_end?.since(&watch.ended_at_origin?));
    }
    let of_backends = watch.backends.measured()?;
    over_all(with_workers(watch, &of_backends).unwrap_or(of_backends), ran)
}

/// Extrapolates from more than half of the measured time to all of it.
fn over_all(Stretch { seconds, used }: Stretch, ran: Ran) -> Option<Used> {
    (seconds > 0.5 * ran.measured_s).then(|| used.scaled(ran.measured_s / seconds))
}

/// With the CPU time and I/O of parallel workers, if some were seen: that of the server's processes that exited while the
/// benchmark's backends existed, and of workers that were running at the last reading. It includes autovacuum workers and
/// other sessions that ended then. `None` without workers.
fn with_workers(watch: &Watch, of_backends: &Stretch) -> Option<Stretch> {
    let of_clients = watch.clients.measured().filter(|_| watch.has_workers)?;
    let exited = watch.ended_beside_clients?.since(&watch.ended_at_origin?);
    let (before, running) = (watch.workers_at_origin, watch.workers_beside_clients);
    let worked = |of: fn(&Used) -> f64| workers_s(of(&exited), of(&before), of(&running)).max(0.0);
    let bytes = |of: fn(&Used) -> Option<f64>| {
        let worked = workers_s(of(&exited)?, of(&before).unwrap_or(0.0), of(&running).unwrap_or(0.0));
        Some(of(&of_clients.used)? + worked.max(0.0))
    };
    let used = Used {
        user_s: of_clients.used.user_s + worked(|used| used.user_s),
        system_s: of_clients.used.system_s + worked(|used| used.system_s),
        cpu_s: of_clients.used.cpu_s + worked(|used| used.cpu_s),
        read_bytes: bytes(|used| used.read_bytes),
        written_bytes: bytes(|used| used.written_bytes),
        ..of_backends.used
    };
    Some(Stretch { seconds: of_clients.seconds, used })
}
