//! A block: one side under load for a short time, on its own connections, with its costs. Blocks are independent;
//! `comparison_run` orders them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use connect::quote::literal;
use connect::{ConnectError, Session, SqlState};
use engine::{AbortCause, End, Limit, Outcome, Progress, Tracer, WorkerIntro};
use observe::LoadCpu;
use results::ComparedBlock;
use run::{Control, Event, Load, RunError, Runner, VacuumEvent};
use stats::comparison::Block;
use stats::goals::GoalMeter;
use stats::{Completions, Interval, Timestamp};

use crate::event::Listener;
use crate::stopwatch::Stopwatch;
use crate::trial::with_advice;

const NANOS_PER_SECOND: f64 = 1e9;

/// A side of the comparison, ready for load.
pub(super) struct Side {
    load: Load,
    /// For the goals, before any block.
    meter: GoalMeter,
    session: RefCell<Session>,
    /// Application name of its sessions, unique to the comparison; each block appends its number.
    mark: String,
    blocks: u64,
    /// Whether it runs on a database as it is.
    is_in_place: bool,
    /// Whether the CPU time of its backends can be read here.
    is_local: bool,
    /// Query for the WAL position.
    wal_position: Counter,
    /// Query for the number of full-page images, available since PostgreSQL 14.
    full_page_images: Counter,
    /// Query for the number of blocks read, exact since PostgreSQL 15.
    blocks_read: Counter,
    /// Whether the backends of a block disappear after it; not behind a pooler, which keeps them.
    backends_leave: Cell<bool>,
}

/// A query for a counter; `None` after its first error: a standby writes no WAL, and other roles may lack the
/// privilege.
struct Counter(Cell<Option<&'static str>>);

impl Counter {
    fn read(&self, session: &RefCell<Session>) -> Option<f64> {
        let sql = self.0.get()?;
        let rows = session.borrow_mut().query_catalogs(sql);
        let number = rows.ok().and_then(|rows| first(rows.first()?)?.parse().ok());
        if number.is_none() {
            self.0.set(None);
        }
        number
    }
}

/// Number of checks for backends that are about to exit, at intervals of 2 ms.
const LEAVING_LOOKS: usize = 200;

/// Times of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockLengths {
    pub(super) block_s: f64,
    pub(super) warmup_s: f64,
}

/// Result of a block.
pub(super) struct BlockResult {
    pub(super) block: Block,
    /// Measured, successful transactions.
    pub(super) transactions: u64,
    /// All of its transactions, for the goals.
    pub(super) interval: Interval,
    /// Mean response time.
    pub(super) mean_s: f64,
    /// Additional time of the block: checkpoint, connecting, and waiting for the backends to exit.
    pub(super) setup_s: f64,
}

/// Whether a block begins with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockStart {
    AfterCheckpoint,
    AtOnce,
}

impl Side {
    /// Queries the server and vacuums its tables. `mark` is the application name of the load's sessions.
    pub(super) fn prepare(
        runner: Runner,
        session: Session,
        mark: &str,
        is_in_place: bool,
        listener: Listener<'_>,
        control: &Control,
    ) -> Result<Self, RunError> {
        let mut session = session;
        let meter = runner.goal_meter();
        let load = runner.load(control, &mut |event| {
            if let Event::Vacuum(VacuumEvent::Failed(failure)) = event {
                listener.warn(failure);
            }
        });
        let load = load.map_err(|error| with_advice(error, is_in_place, YOUR_TABLES))?;
        let is_local = is_local(&mut session);
        let version = session.server_version_num();
        let wal_position = match version {
            ..100_000 => "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
            _ => "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
        };
        // Before 15, the statistics collector counts them up to half a second later.
        let blocks_read = (version >= 150_000)
            .then_some("SELECT blks_read FROM pg_stat_database WHERE datname = current_database()");
        let full_page_images = (version >= 140_000).then_some("SELECT wal_fpi FROM pg_stat_wal");
        Ok(Self {
            load,
            meter,
            session: RefCell::new(session),
            mark: mark.to_owned(),
            blocks: 0,
            is_in_place,
            is_local,
            wal_position: Counter(Cell::new(Some(wal_position))),
            full_page_images: Counter(Cell::new(full_page_images)),
            blocks_read: Counter(Cell::new(blocks_read)),
            backends_leave: Cell::new(true),
        })
    }

    /// A meter of its goals, before any block.
    pub(super) fn goal_meter(&self) -> GoalMeter {
        self.meter.clone()
    }

    /// Version string of the server.
    pub(super) fn server_version(&self) -> String {
        self.session.borrow().parameter("server_version").unwrap_or("unknown").to_owned()
    }

    /// Whether the role may request a checkpoint (superusers and, since PostgreSQL 15, members of pg_checkpoint);
    /// runs one if so.
    pub(super) fn may_checkpoint(&self, control: &Control) -> Result<bool, RunError> {
        match self.checkpoint(control) {
            Ok(()) => Ok(true),
            Err(error) if error.sqlstate() == Some(SqlState::INSUFFICIENT_PRIVILEGE) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn checkpoint(&self, control: &Control) -> Result<(), ConnectError> {
        let mut session = self.session.borrow_mut();
        let checkpoint = |session: &mut Session| session.patiently(|session| session.execute("CHECKPOINT"));
        control.guard(&mut session, checkpoint).map(|_| ())
    }

    /// Runs one block.
    pub(super) fn run(
        &mut self,
        lengths: BlockLengths,
        seed: u64,
        start: BlockStart,
        control: &Control,
    ) -> Result<BlockResult, RunError> {
        let passed = Stopwatch::start();
        self.load.plan.limit = Limit::Duration(Duration::from_secs_f64(lengths.block_s));
        self.load.plan.warmup = Duration::from_secs_f64(lengths.warmup_s);
        self.load.plan.seed = seed;
        self.blocks += 1;
        let name = self.name();
        for host in self.load.plan.targets.iter_mut().flat_map(|target| &mut target.hosts) {
            host.startup.application_name = Some(name.clone());
        }
        let made = match start {
            BlockStart::AfterCheckpoint => self.checkpoint(control),
            BlockStart::AtOnce => Ok(()),
        };
        if control.stop().load(Ordering::Relaxed) {
            return Err(INTERRUPTED);
        }
        made?;
        let counters = [&self.wal_position, &self.full_page_images, &self.blocks_read];
        let before = counters.map(|counter| counter.read(&self.session));
        let reading = Mutex::new(None);
        let mut interval = |progress: &Progress<'_>| {
            if progress.warmup {
                locked(&reading).iter_mut().for_each(LoadCpu::begin);
            }
        };
        let introduce = |_: WorkerIntro| -> Box<dyn Tracer + '_> {
            let mut known = locked(&reading);
            if self.is_local && known.is_none() {
                *known = LoadCpu::of(&self.backends());
            }
            Box::new(CpuAtEnd(&reading))
        };
        let ran = self.load.run(control, control.stop().into(), &mut interval, &introduce);
        // Clients of a run that was stopped may have been aborted too.
        if control.stop().load(Ordering::Relaxed) {
            return Err(INTERRUPTED);
        }
        let (outcome, _) = ran?;
        if let Some(first) = outcome.aborted.first() {
            let hint = if is_missing_table(&first.cause) && !self.is_in_place { YOUR_TABLES } else { "" };
            return Err(RunError::Aborted(format!("a client was aborted: {first}{hint}")));
        }
        if let End::CutOff(cut_off) = outcome.end {
            return Err(RunError::Aborted(format!("a block did not end: {cut_off}")));
        }
        // Backends add their counters when they exit (manual, The Cumulative Statistics System).
        self.wait_until_backends_left();
        let counter = |counter: &Counter, before: Option<f64>| Some(counter.read(&self.session)? - before?);
        let wal_bytes = counter(&self.wal_position, before[0]);
        let full_page_images = counter(&self.full_page_images, before[1]);
        let blocks_read = counter(&self.blocks_read, before[2]);
        let setup_s = passed.seconds() - lengths.block_s - lengths.warmup_s;
        Ok(figures(
            outcome,
            &Server {
                cpu_s: locked(&reading).as_ref().and_then(LoadCpu::seconds),
                wal_bytes,
                full_page_images,
                blocks_read,
            },
            setup_s,
        ))
    }

    /// Waits for the backends of this block to exit, so that the next block has the server to itself.
    fn wait_until_backends_left(&self) {
        if !self.backends_leave.get() {
            return;
        }
        let sql = format!(
            "SELECT count(*), pg_sleep(0.002) FROM pg_stat_activity WHERE application_name = {}",
            literal(&self.name())
        );
        for _ in 0..LEAVING_LOOKS {
            let rows = self.session.borrow_mut().query_catalogs(&sql).unwrap_or_default();
            if rows.first().and_then(first).is_none_or(|count| count == "0") {
                return;
            }
        }
        self.backends_leave.set(false);
    }

    /// Application name of this block's sessions; sessions of the previous block may still exist.
    fn name(&self) -> String {
        format!("{} {}", self.mark, self.blocks)
    }

    /// Process IDs of the backends under load.
    fn backends(&self) -> Vec<u32> {
        let sql =
            format!("SELECT pid FROM pg_stat_activity WHERE application_name = {}", literal(&self.name()));
        let rows = self.session.borrow_mut().query_catalogs(&sql).unwrap_or_default();
        rows.iter().filter_map(|row| first(row)?.parse().ok()).collect()
    }
}

/// Added to the error of a script that needs other tables than those of the comparison.
const YOUR_TABLES: &str = "; the comparison runs in a database of its own: --in-place (in_place = true) runs it on the \
    tables of your database, and --key workload=DIR loads tables of yours";

fn is_missing_table(cause: &AbortCause) -> bool {
    matches!(cause, AbortCause::Sql { error, .. } if error.sqlstate == SqlState::UNDEFINED_TABLE)
}

/// Why a block has no result.
pub(super) const INTERRUPTED: RunError = RunError::Interrupted(Cow::Borrowed("interrupted"));

/// The first column of a row, as text.
fn first(row: &connect::Row) -> Option<&str> {
    row.get(0)
}

/// Whether the server's processes run on this host: the answering process must be named like a PostgreSQL backend.
fn is_local(session: &mut Session) -> bool {
    let Ok(rows) = session.query_catalogs("SELECT pg_backend_pid()") else { return false };
    let Some(pid) = rows.first().and_then(|row| first(row)?.parse::<u32>().ok()) else { return false };
    let called = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    called.starts_with("postgres: ") && observe::cpu_s(pid).is_some()
}

/// Resources used by the server in a block: CPU time of the backends and their parallel workers, from the end of the
/// warm-up to the end of the load; the other counters
/// include the warm-up.
struct Server {
    cpu_s: Option<f64>,
    wal_bytes: Option<f64>,
    full_page_images: Option<f64>,
    blocks_read: Option<f64>,
}

fn figures(outcome: Outcome, server: &Server, setup_s: f64) -> BlockResult {
    let total = &outcome.summary.total;
    let transactions = total.counts.succeeded;
    let each = |sum: f64| (transactions > 0).then(|| sum / transactions as f64);
    let quantile = |share| total.response.quantile_ns(share).map(|ns| ns as f64);
    let all = transactions + total.counts.failed + outcome.warmup_transactions;
    let of_all = |count: Option<f64>| count.filter(|_| all > 0).map(|count| count / all as f64);
    let block = Block {
        tps: Some(outcome.summary.tps()).filter(|tps| *tps > 0.0),
        p50_ns: quantile(0.5),
        p99_ns: quantile(0.99).filter(|_| transactions >= ComparedBlock::TRANSACTIONS_FOR_P99),
        cpu_ns_per_transaction: server.cpu_s.and_then(|cpu| each(cpu * NANOS_PER_SECOND)),
        client_cpu_ns_per_transaction: each(outcome.client_cpu.as_secs_f64() * NANOS_PER_SECOND),
        wal_bytes_per_transaction: of_all(server.wal_bytes),
        full_page_images_per_transaction: of_all(server.full_page_images),
        blocks_read_per_transaction: of_all(server.blocks_read),
    };
    let mean_s = total.response.mean_ns().unwrap_or_default() / NANOS_PER_SECOND;
    let interval = Interval {
        start: Timestamp::ZERO,
        end: Timestamp::ZERO + outcome.summary.duration,
        scripts: outcome.summary.scripts,
        completions: Completions::new(),
    };
    BlockResult { block, transactions, interval, mean_s, setup_s }
}

/// Reads the CPU time when a worker's clients have finished and are still connected.
struct CpuAtEnd<'a>(&'a Mutex<Option<LoadCpu>>);

impl Tracer for CpuAtEnd<'_> {
    fn wants_transactions(&self) -> bool {
        false
    }

    fn end(&mut self, _now: Timestamp) {
        locked(self.0).iter_mut().for_each(LoadCpu::end);
    }
}

fn locked(reading: &Mutex<Option<LoadCpu>>) -> MutexGuard<'_, Option<LoadCpu>> {
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}
