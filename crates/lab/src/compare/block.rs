//! A block: one side under load for a short time, on its own connections, with its costs. Blocks are independent;
//! `comparison_run` orders them.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use connect::quote::literal;
use connect::{ConnectError, Session, SqlState, Stopwatch, Target};
use engine::{AbortCause, End, Limit, Outcome, Progress, Tracer, WorkerIntro};
use observe::LoadCpu;
use run::{Control, Event, Load, RunError, Runner, VacuumEvent};
use stats::comparison::Block;
use stats::goals::GoalMeter;
use stats::{Completions, Interval, Timestamp};

use super::state::BlockLengths;
use crate::event::Listener;
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
    counters: Counters,
    /// Whether the scripts only read, so that they write WAL only if they change rows, by functions.
    only_reads: bool,
    /// The server of `session`.
    target: Target,
    /// Whether the backends of a block disappear after it; not behind a pooler, which keeps them.
    backends_leave: Cell<bool>,
}

/// The counters that are read before and after a block.
struct Counters {
    /// Query for the WAL position.
    wal_position: Counter,
    /// Query for the number of full-page images, available since PostgreSQL 14.
    full_page_images: Counter,
    /// Query for the number of blocks read, exact since PostgreSQL 15.
    blocks_read: Counter,
    /// Query for the number of rows that this database's sessions have changed; before PostgreSQL 15 it lags behind.
    changed_rows: Counter,
}

impl Counters {
    fn of(version: u32) -> Self {
        let wal_position = match version {
            ..100_000 => "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
            _ => "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
        };
        // Before 15, the statistics collector counts them up to half a second later.
        let blocks_read = (version >= 150_000)
            .then_some("SELECT blks_read FROM pg_stat_database WHERE datname = current_database()");
        let full_page_images = (version >= 140_000).then_some("SELECT wal_fpi FROM pg_stat_wal");
        let changed_rows = "SELECT tup_inserted + tup_updated + tup_deleted FROM pg_stat_database \
                            WHERE datname = current_database()";
        Self {
            wal_position: Counter(Cell::new(Some(wal_position))),
            full_page_images: Counter(Cell::new(full_page_images)),
            blocks_read: Counter(Cell::new(blocks_read)),
            changed_rows: Counter(Cell::new(Some(changed_rows))),
        }
    }

    fn read(&self, session: &RefCell<Session>) -> Counts {
        Counts {
            wal_bytes: self.wal_position.read(session),
            full_page_images: self.full_page_images.read(session),
            blocks_read: self.blocks_read.read(session),
            changed_rows: self.changed_rows.read(session),
        }
    }
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

/// How long a lost server is waited for, and the pause between attempts to connect.
const RECONNECT_S: f64 = 10.0;
const RECONNECT_PAUSE: Duration = Duration::from_millis(250);

/// Result of a block.
pub(super) struct BlockResult {
    /// Without latencies.
    pub(super) block: Block,
    /// Measured, successful transactions.
    pub(super) transactions: u64,
    /// All of its transactions, for the goals and the latencies.
    pub(super) interval: Interval,
    /// Mean response time.
    pub(super) mean_s: f64,
    /// WAL that the server wrote during the block, in bytes, if the scripts cannot have written it.
    pub(super) wal_of_others: Option<f64>,
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
        target: Target,
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
        let (version, only_reads) = (session.server_version_num(), load.plan.only_reads());
        Ok(Self {
            load,
            meter,
            session: RefCell::new(session),
            mark: mark.to_owned(),
            blocks: 0,
            is_in_place,
            is_local,
            counters: Counters::of(version),
            only_reads,
            target,
            backends_leave: Cell::new(true),
        })
    }

    /// Whether its scripts only read.
    pub(super) fn only_reads(&self) -> bool {
        self.only_reads
    }

    /// Connects its control session again, after a failed block. A server that has crashed refuses connections until its
    /// recovery is complete.
    pub(super) fn reconnect(&mut self, control: &Control) -> Result<(), RunError> {
        let passed = Stopwatch::start();
        let session = loop {
            match control.connect(&self.target) {
                Err(RunError::Connect(failure)) if is_passing(&failure) && passed.seconds() < RECONNECT_S => {
                    thread::sleep(RECONNECT_PAUSE);
                }
                other => break other?,
            }
        };
        self.session = RefCell::new(session);
        self.counters = Counters::of(self.session.borrow().server_version_num());
        Ok(())
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
        let before = self.counters.read(&self.session);
        if self.session.borrow().is_lost() {
            return Err(RunError::Aborted(
                "the connection that reads the server's counters was lost".to_owned(),
            ));
        }
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
        let counts = self.counters.read(&self.session).since(&before);
        let cpu_s = locked(&reading).as_ref().and_then(LoadCpu::seconds);
        let setup_s = passed.seconds() - lengths.block_s - lengths.warmup_s;
        Ok(figures(outcome, cpu_s, &counts.of_load(self.only_reads), setup_s))
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

/// Whether the server may accept connections soon: it is not there, or not ready yet.
fn is_passing(failure: &ConnectError) -> bool {
    matches!(failure, ConnectError::Failed { .. } | ConnectError::Lost(_))
        || failure.sqlstate() == Some(SqlState::CANNOT_CONNECT_NOW)
}

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

/// Counters of the server, or their growth in a block, including its warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    wal_bytes: Option<f64>,
    full_page_images: Option<f64>,
    blocks_read: Option<f64>,
    changed_rows: Option<f64>,
}

/// The growth in a block, as far as it belongs to the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfLoad {
    counts: Counts,
    wal_of_others: Option<f64>,
}

impl Counts {
    fn since(&self, before: &Counts) -> Counts {
        let growth = |now: Option<f64>, then: Option<f64>| Some(now? - then?);
        Counts {
            wal_bytes: growth(self.wal_bytes, before.wal_bytes),
            full_page_images: growth(self.full_page_images, before.full_page_images),
            blocks_read: growth(self.blocks_read, before.blocks_read),
            changed_rows: growth(self.changed_rows, before.changed_rows),
        }
    }

    /// Without the WAL of scripts that only read, if no row was changed either: a function may write.
    fn of_load(self, only_reads: bool) -> OfLoad {
        if !only_reads || self.changed_rows.is_none_or(|rows| rows > 0.0) {
            return OfLoad { counts: self, wal_of_others: None };
        }
        OfLoad {
            counts: Counts { wal_bytes: None, full_page_images: None, ..self },
            wal_of_others: Some(self.wal_bytes.unwrap_or_default()),
        }
    }
}

/// All figures but the latencies. `cpu_s` is the CPU time of the backends and their parallel workers, from the end of the
/// warm-up to the end of the load.
fn figures(outcome: Outcome, cpu_s: Option<f64>, of_load: &OfLoad, setup_s: f64) -> BlockResult {
    let OfLoad { counts: server, wal_of_others } = *of_load;
    let total = &outcome.summary.total;
    let transactions = total.counts.succeeded;
    // One that failed costs as much as others.
    let ended = transactions + total.counts.failed;
    let each = |sum: f64| (transactions > 0).then(|| sum / ended as f64);
    let all = ended + outcome.warmup_transactions;
    let of_all = |count: Option<f64>| count.filter(|_| all > 0).map(|count| count / all as f64);
    let block = Block {
        tps: Some(outcome.summary.tps()).filter(|tps| *tps > 0.0),
        cpu_ns_per_transaction: cpu_s.and_then(|cpu| each(cpu * NANOS_PER_SECOND)),
        client_cpu_ns_per_transaction: each(outcome.client_cpu.as_secs_f64() * NANOS_PER_SECOND),
        wal_bytes_per_transaction: of_all(server.wal_bytes),
        full_page_images_per_transaction: of_all(server.full_page_images),
        blocks_read_per_transaction: of_all(server.blocks_read),
        ..Block::default()
    };
    let mean_s = total.response.mean_ns().unwrap_or_default() / NANOS_PER_SECOND;
    let interval = Interval {
        start: Timestamp::ZERO,
        end: Timestamp::ZERO + outcome.summary.duration,
        scripts: outcome.summary.scripts,
        completions: Completions::new(),
        due_skips: Vec::new(),
    };
    BlockResult { block, transactions, interval, mean_s, wal_of_others, setup_s }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wal_beside_scripts_that_only_read_is_that_of_others_unless_they_change_rows() {
        let counts = Counts {
            wal_bytes: Some(2090.0),
            full_page_images: Some(1.0),
            blocks_read: Some(3.0),
            changed_rows: Some(0.0),
        };
        let of_others = OfLoad {
            counts: Counts { wal_bytes: None, full_page_images: None, ..counts },
            wal_of_others: Some(2090.0),
        };
        assert_eq!(counts.of_load(true), of_others);
        let own = |counts| OfLoad { counts, wal_of_others: None };
        assert_eq!(counts.of_load(false), own(counts));
        for changed_rows in [None, Some(1.0)] {
            let counts = Counts { changed_rows, ..counts };
            assert_eq!(counts.of_load(true), own(counts), "a function wrote");
        }
    }
}
