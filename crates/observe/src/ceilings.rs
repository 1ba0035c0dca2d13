//! First-order bounds of throughput: the rate if one resource were the only limit. Pure functions of the whole record;
//! each bound is computed only where it applies. docs/observing.md has the formulas and their sources.

use results::{
    Ceiling, CeilingBasis, CommandSummary, CpuOwner, Evidence, FlushSharing, FlushSource, LockEnd, Missing,
    Observation, ObserveLevel, ReadSource, Record, WaitShare, is_block_io,
};

const MICROS_PER_SECOND: f64 = 1e6;
const MICROS_PER_MILLI: f64 = 1e3;
/// Bytes of WAL of the smallest writing transaction: its commit record.
const COMMIT_RECORD_BYTES: f64 = 34.0;

/// The ceilings of a run whose verdict is complete, lowest first; and those that could not be measured.
pub fn ceilings(record: &Record) -> (Vec<Ceiling>, Vec<Missing>) {
    let Some(observation) = &record.observation else { return Default::default() };
    if observation.level == ObserveLevel::Off || record.summary.counts.succeeded == 0 {
        return Default::default();
    }
    let (cpu, missing) = match cpu(record) {
        Some(ceiling) if used_cpus(ceiling.basis, record) < USED_CPUS_MIN => {
            (None, vec![Missing::new(Missing::CPU_CEILING, TOO_LITTLE)])
        }
        ceiling => (ceiling, Vec::new()),
    };
    let found = [hottest_row(record), flush(record), round_trips(record), way(record), reads(record), cpu];
    let mut ceilings: Vec<_> = found.into_iter().flatten().collect();
    ceilings.sort_by(|a, b| a.tps.total_cmp(&b.tps));
    (ceilings, missing)
}

/// With less use of CPUs, a transaction takes a multiple of the CPU time that it takes at the limit: caches are cold, and
/// each wake-up serves one transaction. Measured with select-only transactions: 2.1 times at 0.5 CPUs, 3.2 times at 0.2,
/// and 5 times at 0.06.
const USED_CPUS_MIN: f64 = 0.25;
const TOO_LITTLE: &str = "too little to measure: the load used less than a quarter of a CPU, and then a transaction \
                          takes more CPU time than near the limit; use a higher rate or more clients";

/// Mean number of CPUs that the load used.
fn used_cpus(basis: CeilingBasis, record: &Record) -> f64 {
    match basis {
        CeilingBasis::Cpu { server_us, pgmeter_us, pooler_us, .. } => {
            (server_us + pgmeter_us + pooler_us.unwrap_or(0.0)) * reached_tps(record) / MICROS_PER_SECOND
        }
        _ => f64::INFINITY,
    }
}

/// `None` if the throughput is not finite.
fn ceiling((tps, basis): Bound, record: &Record) -> Option<Ceiling> {
    let reached_share = record.summary.tps / tps;
    (tps.is_finite() && tps > 0.0).then_some(Ceiling { basis, tps, reached_share })
}

/// A throughput and the values that it is computed from.
type Bound = (f64, CeilingBasis);

/// Measurements of one command, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Timed {
    /// Minimum latency.
    min_us: Option<f64>,
    mean_us: Option<f64>,
    executions: f64,
    sends: bool,
    /// The command is part of a pipeline, so its latency is unknown.
    is_in_pipeline: bool,
}

impl Timed {
    fn of_script(commands: &[CommandSummary]) -> Vec<Timed> {
        let mut is_in_pipeline = false;
        let timed = |command: &CommandSummary| {
            let word = command.text.split_whitespace().next().unwrap_or_default();
            if word.eq_ignore_ascii_case("\\startpipeline") {
                is_in_pipeline = true;
            } else if word.eq_ignore_ascii_case("\\endpipeline") {
                is_in_pipeline = false;
            }
            Timed {
                min_us: command.min_us,
                mean_us: command.mean_us,
                executions: command.executions as f64,
                sends: !command.text.starts_with('\\'),
                is_in_pipeline,
            }
        };
        commands.iter().map(timed).collect()
    }
}

/// Contention for the rows declared by one of the scripts. In a mix, the script's share of the transactions counts.
fn hottest_row(record: &Record) -> Option<Ceiling> {
    let scripts = record.plan.scripts.iter().zip(&record.summary.scripts);
    let found = scripts.filter_map(|(script, summary)| {
        let contention = script.contention.as_ref()?;
        let rows = contention.rows(&record.plan.variables)? as f64;
        let commands = Timed::of_script(&summary.commands);
        let locking = contention.command as usize;
        let flush = commit_flush(record).and_then(|flushing| flushing.one_us());
        let network_us = record.summary.generator.as_ref().and_then(|it| it.shortest_connect_us);
        let held = Held::of(&commands, locking, network_us, flush)?;
        // Share of all transactions that lock such a row.
        let share = commands[locking].executions / record.summary.counts.succeeded as f64;
        let (tps, basis) = held.bound(rows, share)?;
        let is_measured = commit_flush(record).is_some_and(|flushing| flushing.spent_us.is_some());
        if held.is_one_command && !is_measured && tps < reached_tps(record) {
            return None;
        }
        ceiling((tps, basis), record)
    });
    found.min_by(|a, b| a.tps.total_cmp(&b.tps))
}

/// Minimum time during which a transaction holds a contended row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    us: f64,
    is_one_command: bool,
}

impl Held {
    /// A row is locked from within the locking command until within the last one. The minimum latency of the locking
    /// command is its execution time, since other executions include lock waits. Its own round trip ends before the
    /// lock is taken, or starts after it: `n` commands contain `n` − 1 round trips. A transaction of one command holds
    /// the lock during the flush of its commit; the time before that is unknown. The latency of commands in a pipeline
    /// is unknown too, so the flush is the minimum there as well. The last command releases the lock before the client
    /// gets its response, which waits for a CPU where others have them: its minimum latency counts, or a flush that the
    /// server measured. Conditional commands count by their number of executions.
    fn of(
        commands: &[Timed],
        locking: usize,
        network_us: Option<f64>,
        flush: Option<(f64, FlushSource)>,
    ) -> Option<Held> {
        let later = &commands.get(locking + 1..)?;
        let Timed { executions, is_in_pipeline, .. } = commands[locking];
        if is_in_pipeline || !later.iter().any(|command| command.sends) {
            return Some(Held { us: flush?.0, is_one_command: true });
        }
        let flush_us = flush.filter(|(_, source)| *source == FlushSource::Server).map_or(0.0, |(us, _)| us);
        let last = later.iter().rposition(|command| command.sends);
        let spent_us = |(at, command): (usize, &Timed)| {
            let mean_us = command.mean_us?;
            let until_release_us = command.min_us.map_or(mean_us, |min_us| min_us.max(flush_us).min(mean_us));
            let us = if Some(at) == last { until_release_us } else { mean_us };
            Some(us * (command.executions / executions).min(1.0))
        };
        let later_us: f64 = later.iter().enumerate().filter_map(spent_us).sum();
        let sent = commands.iter().filter(|command| command.sends);
        let shortest_us = sent.filter_map(|command| command.min_us).fold(f64::INFINITY, f64::min);
        // On a single host the network is not measured; a command is hardly shorter than a round trip.
        let round_trip_us = network_us.unwrap_or(shortest_us);
        let work_us = (commands[locking].min_us? - round_trip_us).max(0.0);
        Some(Held { us: work_us + later_us, is_one_command: false })
    }

    /// Rows ÷ lock time ÷ the script's share of the transactions. Utilization law: Jain, The Art of Computer Systems
    /// Performance Analysis (1991), section 33.1.
    fn bound(self, rows: f64, share: f64) -> Option<Bound> {
        let Held { us, is_one_command } = self;
        if us <= 0.0 {
            return None;
        }
        let until = if is_one_command { LockEnd::CommitFlush } else { LockEnd::Transaction };
        let basis = CeilingBasis::HottestRow { rows, locked_us: us, until };
        Some((rows * MICROS_PER_SECOND / us / share, basis))
    }
}

/// Measurements of WAL flushes.
#[derive(Clone, Copy, Debug)]
struct Flushing {
    transactions: f64,
    clients: f64,
    /// Number counted by the server; `None` if it does not count them.
    flushes: Option<f64>,
    /// Total time measured by the server, in microseconds.
    spent_us: Option<f64>,
    /// Time of one flush measured before the run, in microseconds.
    on_disk_us: Option<f64>,
}

impl Flushing {
    /// Time of a flush in microseconds, and its source.
    fn one_us(self) -> Option<(f64, FlushSource)> {
        match self.spent_us.zip(self.flushes) {
            Some((spent_us, flushes)) => Some((spent_us / flushes, FlushSource::Server)),
            None => Some((self.on_disk_us?, FlushSource::BeforeRun)),
        }
    }
}

/// Measurements of the flushes that commits wait for; `None` if commits do not wait.
fn commit_flush(record: &Record) -> Option<Flushing> {
    let observation = record.observation.as_ref()?;
    let settings = &record.environment.server.as_ref()?.non_default_settings;
    let is_off = |name| settings.get(name) == Some("off");
    let writes = observation.per_transaction.wal_bytes? >= COMMIT_RECORD_BYTES;
    if is_off("fsync") || is_off("synchronous_commit") || !writes {
        return None;
    }
    let of_wal = |column| counted(observation, "pg_stat_wal", "", column);
    let of_io = |column| counted(observation, "pg_stat_io", "/wal/", column);
    let spent_ms = of_wal("wal_sync_time_ms").or_else(|| of_io("fsync_time_ms"));
    let known = Flushing {
        transactions: counted_transactions(observation).unwrap_or_else(|| transactions(record)),
        clients: f64::from(record.plan.clients),
        flushes: of_wal("wal_sync").or_else(|| of_io("fsyncs")).filter(|flushes| *flushes > 0.0),
        spent_us: spent_ms.filter(|ms| *ms > 0.0).map(|ms| ms * MICROS_PER_MILLI),
        on_disk_us: record.environment.disk.as_ref().and_then(|disk| Some(disk.flush_us.as_ref()?.p50)),
    };
    // A flush serves at most one commit of each client; a higher ratio means that transactions commit without a flush.
    let is_possible = known.flushes.is_none_or(|flushes| known.transactions <= flushes * known.clients);
    // The disk may have been busy before the run: its flush time is not used if the run itself was faster.
    let is_refuted =
        known.spent_us.is_none() && flushes(known).is_some_and(|(tps, _)| tps < reached_tps(record));
    (is_possible && !is_refuted).then_some(known)
}

/// The sum of a column over the rows of a view whose key contains a text.
fn counted(observation: &Observation, view: &str, part: &str, column: &str) -> Option<f64> {
    let table = observation.counters.iter().find(|table| table.view == view)?;
    let rows = table.rows.iter().filter(|row| row.key.contains(part));
    rows.filter_map(|row| row.values.get(column).copied()).reduce(|sum, value| sum + value)
}

/// The transactions in the server's statistics of WAL. They arrive up to a second late, so they are those of other seconds
/// than the transactions that the clients counted.
fn counted_transactions(observation: &Observation) -> Option<f64> {
    let of_one = observation.per_transaction.wal_records.filter(|records| *records > 0.0)?;
    Some(counted(observation, "pg_stat_wal", "", "wal_records")? / of_one)
}

fn reached_tps(record: &Record) -> f64 {
    record.summary.tps
}

/// The server's own times are the most exact; a flush that was timed before the run says the least.
fn flush(record: &Record) -> Option<Ceiling> {
    let known = commit_flush(record);
    let timed = known.filter(|known| known.spent_us.is_some()).and_then(flushes);
    let bound = timed.or_else(|| flush_waits(record)).or_else(|| known.and_then(flushes))?;
    ceiling(bound, record)
}

/// Samples of the wait events below which they say nothing.
const LOOKS_MIN: u64 = 10;

/// Throughput ÷ share of the time in which WAL is flushed: the utilization law, as for rows. One backend at a time
/// flushes, and while it does, at most all others wait for the lock.
fn flush_waits(record: &Record) -> Option<Bound> {
    let waits = record.observation.as_ref()?.waits.as_ref().filter(|waits| waits.looks >= LOOKS_MIN)?;
    let clients = waits.backends_seen as f64 / waits.looks as f64;
    let busy_clients = clients * (1.0 - waits.idle_share);
    let in_wait = |event_type: &str, names: &[&str]| {
        let is_it = |wait: &&WaitShare| {
            wait.event_type == event_type && names.iter().any(|name| wait.event.eq_ignore_ascii_case(name))
        };
        waits.top.iter().filter(is_it).map(|wait| wait.share).sum::<f64>() * busy_clients
    };
    let flushing = in_wait("IO", &["WALSync"]);
    let queued = in_wait("LWLock", &["WALWrite", "WALWriteLock"]);
    let by_queue = if clients > 1.0 { queued / (clients - 1.0) } else { 0.0 };
    let busy_share = flushing.max(by_queue).min(1.0);
    (busy_share > 0.0).then(|| (record.summary.tps / busy_share, CeilingBasis::FlushWaits { busy_share }))
}

/// Commits per flush ÷ time of a flush: WAL flushes are sequential, and one flush serves all commits that arrived
/// during the previous one (PostgreSQL's manual, "WAL Configuration").
fn flushes(known: Flushing) -> Option<Bound> {
    let (flush_us, source) = known.one_us()?;
    let (transactions_per_flush, sharing) = match known.flushes {
        Some(flushes) if known.transactions >= flushes => {
            (known.transactions / flushes, FlushSharing::Average)
        }
        Some(_) => (1.0, FlushSharing::One),
        None => (known.clients, FlushSharing::AllClients),
    };
    let tps = transactions_per_flush * MICROS_PER_SECOND / flush_us;
    Some((tps, CeilingBasis::Flush { flush_us, source, transactions_per_flush, sharing }))
}

/// Applies only over a network.
fn round_trips(record: &Record) -> Option<Ceiling> {
    let generator = record.summary.generator.as_ref()?;
    let trips = generator.commands.round_trips as f64 / transactions(record);
    let bound = distance(f64::from(record.plan.clients), trips, generator.shortest_connect_us?);
    ceiling(bound, record)
}

/// Clients ÷ (round trips of a transaction × network round-trip time): clients that wait for nothing else.
fn distance(clients: f64, trips: f64, distance_us: f64) -> Bound {
    let basis =
        CeilingBasis::RoundTrips { clients, round_trips_per_transaction: trips, round_trip_us: distance_us };
    (clients * MICROS_PER_SECOND / (trips * distance_us), basis)
}

/// Applies if the verdict found that the time is on the way.
fn way(record: &Record) -> Option<Ceiling> {
    let generator = record.summary.generator.as_ref()?;
    let Evidence::OnTheWay { way_us, .. } = generator.verdict.evidence else { return None };
    let round_trips_per_transaction = generator.commands.round_trips as f64 / transactions(record);
    let clients = f64::from(record.plan.clients);
    let tps = clients * MICROS_PER_SECOND / (round_trips_per_transaction * way_us);
    ceiling((tps, CeilingBasis::OnTheWay { clients, round_trips_per_transaction, way_us }), record)
}

/// Share of the clients' time in reads below which they are no limit.
const READS_SHARE_MIN: f64 = 0.05;

/// Clients ÷ time in which a transaction waits for reads: clients that wait for nothing else. The server's own time is
/// more exact than the samples of wait events.
fn reads(record: &Record) -> Option<Ceiling> {
    let observation = record.observation.as_ref()?;
    let of_server = observation.per_transaction.block_read_us.filter(|us| *us > 0.0);
    let (read_us, source) = match of_server {
        Some(us) => (us, ReadSource::Server),
        None => (reads_seen_us(record)?, ReadSource::Waits),
    };
    let clients = f64::from(record.plan.clients);
    let blocks_per_transaction = observation.per_transaction.blocks_read.filter(|blocks| *blocks > 0.0);
    let basis = CeilingBasis::Reads { clients, read_us, blocks_per_transaction, source };
    // Parallel workers read in addition to the clients' backends, which refutes the bound.
    ceiling((clients * MICROS_PER_SECOND / read_us, basis), record)
        .filter(|ceiling| (READS_SHARE_MIN..1.0).contains(&ceiling.reached_share))
}

/// Time in which a transaction waits for reads, by the samples of wait events.
fn reads_seen_us(record: &Record) -> Option<f64> {
    let waits = record.observation.as_ref()?.waits.as_ref().filter(|waits| waits.looks >= LOOKS_MIN)?;
    let reads = waits.top.iter().filter(|wait| is_block_io(wait) && !wait.event.contains("Write"));
    let backends = waits.backends_seen as f64 / waits.looks as f64 * (1.0 - waits.idle_share);
    let reading: f64 = backends * reads.map(|wait| wait.share).sum::<f64>();
    (reading > 0.0).then(|| reading * MICROS_PER_SECOND / reached_tps(record))
}

/// Applies only if the server's host is observed.
fn cpu(record: &Record) -> Option<Ceiling> {
    let observation = record.observation.as_ref()?;
    let cost = &observation.per_transaction;
    let host = &record.environment.host;
    let bound = Processors {
        of_host: f64::from(host.cpu_count?),
        of_server: observation.server_cpus_allowed,
        of_pgmeter: host.cpus_allowed.or(host.cpu_available.map(f64::from)),
        server_us: cost.cpu_us().or_else(|| running_us(record))?,
        pgmeter_us: record.summary.client_cpu_us_per_transaction.unwrap_or(0.0),
        pooler_us: record
            .summary
            .pooler
            .as_ref()
            .and_then(|pooler| pooler.figures.as_ref()?.cpu_us_per_transaction),
    }
    .bound();
    ceiling(bound, record)
}

/// CPU time of a transaction by the mean number of running backends, which has no least value.
fn running_us(record: &Record) -> Option<f64> {
    let running = record.observation.as_ref()?.waits.as_ref()?.running_backends?;
    Some(running * MICROS_PER_SECOND / reached_tps(record))
}

/// Number of CPUs, and CPU time of a transaction.
#[derive(Clone, Copy, Debug)]
struct Processors {
    of_host: f64,
    /// CPUs available to each under affinity and quotas; `None` if unknown.
    of_server: Option<f64>,
    of_pgmeter: Option<f64>,
    server_us: f64,
    pgmeter_us: f64,
    /// The pooler that pgmeter started is on this host.
    pooler_us: Option<f64>,
}

impl Processors {
    /// CPUs ÷ CPU time of a transaction: for the host with client and server together, and for each of them with its
    /// own limit.
    fn bound(self) -> Bound {
        let Self { of_host, of_server, of_pgmeter, server_us, pgmeter_us, pooler_us } = self;
        let per_second = |cpus: f64, us: f64| cpus * MICROS_PER_SECOND / us;
        let bound = |of, cpus: f64, us: f64| {
            (per_second(cpus, us), CeilingBasis::Cpu { cpus, of, server_us, pgmeter_us, pooler_us })
        };
        let server = of_server.filter(|&cpus| cpus < of_host);
        let pgmeter = of_pgmeter.filter(|&cpus| cpus < of_host && pgmeter_us > 0.0);
        let candidates = [
            Some(bound(CpuOwner::Host, of_host, server_us + pgmeter_us + pooler_us.unwrap_or(0.0))),
            server.map(|cpus| bound(CpuOwner::Server, cpus, server_us)),
            pgmeter.map(|cpus| bound(CpuOwner::Pgmeter, cpus, pgmeter_us)),
        ];
        let lowest = candidates.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
        lowest.expect("the host's processors are always among them")
    }
}

fn transactions(record: &Record) -> f64 {
    (record.summary.counts.succeeded + record.summary.counts.failed).max(1) as f64
}

#[cfg(test)]
mod tests;
