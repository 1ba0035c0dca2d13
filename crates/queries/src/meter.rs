//! Measures the work of a server and one of its backends during a statement: WAL, CPU time, blocks and where they were
//! found, temporary files, and sizes of tables afterwards. Figures that this server version lacks are absent and listed
//! in a note.
//!
//! Manual: "The Cumulative Statistics System", "System Administration Functions".

use std::time::Duration;

use connect::{Row, Session};
use observe::{Backend, BackendCpu};
use results::{SafeText, StepBuffers};

/// `server_version_num` from which a feature exists.
const V10: u32 = 100_000;
const V15: u32 = 150_000;
const V16: u32 = 160_000;
const V18: u32 = 180_000;

/// Before version 15 a backend reports its counters at most every half second, and a reader may see values that are
/// half a second old. Two of these are slightly more than both together.
const UNTIL_TOLD: &str = "SELECT pg_sleep(0.6)";
/// The time of both, for which a measured execution waits.
pub const REPORT_DELAY: Duration = Duration::from_millis(1200);

const SIZES: &str = "SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'";

/// Bytes of temporary files that sessions of this database have closed.
const TEMP_BYTES: &str = "SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()";

/// Beginnings of notes on changed blocks.
const CHANGED_BLOCKS: [&str; 2] = ["not available: blocks dirtied", "not available: blocks written"];

/// Beginning of the note without CPU times.
const NO_CPU: &str = "not available: CPU time";
/// Note on figures of pg_stat_kcache.
const OF_KCACHE: &str = "CPU time is that of the statements by pg_stat_kcache, with parallel workers and some ms of pgmeter's \
                         own statements: the server runs on another host or in a container";

/// Elapsed times up to this that pg_stat_kcache takes for CPU times are not worth a note.
const SHORTEST_MS_MAX: f64 = 0.1;

/// Measures the backend of one session.
#[derive(Debug)]
pub struct Meter {
    backend: Option<Backend>,
    version: u32,
    /// Whether other sessions work too: counters of the whole server then belong to no single statement.
    is_shared: bool,
    /// Whether counters of the whole server are read.
    has_counters: bool,
    /// The view pg_stat_statements if it is available; only it counts dirtied blocks.
    statements: Option<String>,
    disk: DiskReads,
    /// The reading after the last execution.
    last: Option<Reading>,
    notes: Vec<SafeText>,
}

/// Who tells what came from disks.
#[derive(Debug)]
enum DiskReads {
    /// Nobody.
    Unknown,
    /// The kernel, in the backend's `/proc`. The PIDs are those of I/O workers, which read in its place.
    Processes { io_workers: Vec<u32>, block_bytes: f64 },
    /// pg_stat_kcache, with this query. It also has the CPU time.
    Kcache { sums: String },
}

/// Counters at a moment, or their change.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub(crate) cpu: Cpu,
    pub(crate) wal: Option<u64>,
    pub(crate) temp_bytes: Option<u64>,
    pub(crate) buffers: StepBuffers,
    /// I/O workers at the time.
    pub(crate) io_workers: Vec<u32>,
    /// Sums of pg_stat_kcache: user and system CPU time, blocks from disks.
    pub(crate) kcache: Option<KcacheSums>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct KcacheSums {
    cpu: BackendCpu,
    disk_blocks: Option<f64>,
}

/// CPU times and disk reads, read without a query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) backend: Option<BackendCpu>,
    /// Of the server's processes that have exited, such as parallel workers.
    pub(crate) workers: Option<BackendCpu>,
    /// Blocks from disks, of the backend, of processes that have exited, and of I/O workers.
    disk_blocks: Option<f64>,
}

impl Meter {
    /// For a new session that works alone on its server. All queries run once first, so that the measured ones find the
    /// catalogs in the cache.
    pub fn new(session: &mut Session) -> Self {
        let mut meter = Self::bare(session, false);
        meter.prepare(session);
        meter
    }

    /// For a new session beside others: measures only the CPU time of its backend.
    pub fn beside_others(session: &Session) -> Self {
        let mut meter = Self::bare(session, true);
        meter.note(
            "WAL, blocks, temporary files and CPU time of parallel workers: the server counts them for all streams \
             together",
        );
        meter
    }

    /// For a new session that works alone, but whose counters are not read, because reading them takes longer than short
    /// queries: before version 15, counters are known only after a second. Measures only the CPU time of its backend and
    /// of parallel workers, which needs no query.
    pub(crate) fn without_counters(session: &Session) -> Self {
        Self { is_shared: false, ..Self::bare(session, true) }
    }

    /// The same for a set of so many queries.
    pub(crate) fn for_many(session: &Session) -> Self {
        let mut meter = Self::without_counters(session);
        meter.note(
            "WAL, blocks and temporary files: they are not read in a set of more than 200 queries, because reading \
             takes longer than short queries",
        );
        meter
    }

    fn bare(session: &Session, is_shared: bool) -> Self {
        let backend = Backend::of(session.cancel_key().process_id);
        let version = session.server_version_num();
        let mut meter = Self {
            backend,
            version,
            is_shared,
            has_counters: !is_shared,
            statements: None,
            disk: DiskReads::Unknown,
            last: None,
            notes: Vec::new(),
        };
        if meter.backend.is_none() {
            meter.note("CPU time: the server runs on another host or in a container");
        }
        meter
    }

    fn prepare(&mut self, session: &mut Session) {
        let meter = self;
        let version = meter.version;
        match observe::extension_schema(session, "pg_stat_statements") {
            Ok(Some(schema)) => meter.statements = Some(format!("{schema}.pg_stat_statements")),
            Ok(None) => {
                meter.note(
                    "blocks dirtied: only pg_stat_statements counts them, and this database does not have it",
                );
            }
            Err(why) => meter.note(&format!("blocks dirtied: {why}")),
        }
        if version < V16 {
            meter.note("blocks written: before PostgreSQL 16, the server counts them too late for a single statement");
        }
        meter.find_disk_reads(session);
        meter.wal(session);
        meter.read_buffers(session);
        meter.kcache(session);
        meter.sizes(session);
    }

    /// On this host the kernel tells what came from disks, elsewhere pg_stat_kcache.
    fn find_disk_reads(&mut self, session: &mut Session) {
        let why = match self.read_processes(session) {
            Ok(disk) => {
                self.disk = disk;
                return;
            }
            Err(why) => why,
        };
        match observe::Kcache::of(session) {
            Ok(Some(kcache)) => {
                self.disk = DiskReads::Kcache { sums: kcache.sums() };
                if self.backend.is_none() {
                    self.notes.retain(|note| !note.as_str().starts_with(NO_CPU));
                    self.notes.push(SafeText::from(OF_KCACHE));
                    let shortest_ms = kcache.shortest_ms();
                    if shortest_ms > SHORTEST_MS_MAX {
                        self.notes.push(SafeText::from(format!(
                            "user CPU time of executions of less than {shortest_ms} ms is their elapsed time \
                             (pg_stat_kcache.linux_hz): set pg_stat_kcache.linux_hz to 1000000"
                        )));
                    }
                }
                if has_io_workers(self.version, session) {
                    self.note("blocks read from disk: I/O workers read for the backend (io_method = worker)");
                }
            }
            Ok(None) => {
                self.note(&format!("blocks read from disk: {why}, and this database has no pg_stat_kcache"))
            }
            Err(of_kcache) => {
                self.note(&format!("blocks read from disk: {why}; pg_stat_kcache: {of_kcache}"))
            }
        }
    }

    /// # Errors
    /// Why the kernel does not tell.
    fn read_processes(&self, session: &mut Session) -> Result<DiskReads, &'static str> {
        let Some(backend) = &self.backend else {
            return Err("the server runs on another host or in a container");
        };
        backend
            .read_bytes(&[])
            .ok_or("the kernel shows bytes read by processes to the server's own user and to root only")?;
        let mut io_workers = Vec::new();
        if has_io_workers(self.version, session) {
            io_workers = self::io_workers(session);
            if io_workers.is_empty() {
                return Err(
                    "I/O workers read for the backend, and this role does not see them: GRANT pg_monitor to it",
                );
            }
        }
        let rows = session.query_catalogs("SELECT current_setting('block_size')").unwrap_or_default();
        let block_bytes = value(&rows, 0).and_then(|bytes| bytes.parse().ok());
        let block_bytes = block_bytes.ok_or("the server does not tell the size of its blocks")?;
        Ok(DiskReads::Processes { io_workers, block_bytes })
    }

    /// Reads the counters before an execution or after its end, except the CPU time.
    pub(crate) fn read(&mut self, session: &mut Session) -> Reading {
        if !self.has_counters {
            return Reading::default();
        }
        // First, so that as few of the statements below as possible are among the sums.
        let kcache = self.kcache(session);
        let (buffers, temp_bytes) = self.buffers(session);
        let io_workers = self.find_io_workers_again(session);
        Reading { cpu: Cpu::default(), wal: self.wal(session), temp_bytes, buffers, io_workers, kcache }
    }

    /// Their number may change from version 19 on.
    fn find_io_workers_again(&mut self, session: &mut Session) -> Vec<u32> {
        match &mut self.disk {
            DiskReads::Processes { io_workers: known, .. } if !known.is_empty() => {
                *known = io_workers(session);
                known.clone()
            }
            DiskReads::Processes { .. } | DiskReads::Kcache { .. } | DiskReads::Unknown => Vec::new(),
        }
    }

    fn kcache(&mut self, session: &mut Session) -> Option<KcacheSums> {
        let DiskReads::Kcache { sums } = &self.disk else { return None };
        let sums = sums.clone();
        let rows = self.asked(session, "counts of pg_stat_kcache", &sums)?;
        let time = |column| {
            let ms: f64 = value(&rows, column)?.parse().ok()?;
            Duration::try_from_secs_f64(ms / 1e3).ok()
        };
        let cpu = BackendCpu { user: time(0)?, system: time(1)? };
        let reads_itself = !has_io_workers(self.version, session);
        let disk_blocks = value(&rows, 2).and_then(|blocks| blocks.parse().ok()).filter(|_| reads_itself);
        Some(KcacheSums { cpu, disk_blocks })
    }

    /// The reading after the last execution, once.
    pub(crate) fn take_last(&mut self) -> Option<Reading> {
        self.last.take()
    }

    /// Keeps the reading after an execution as the one before the next.
    pub(crate) fn set_last(&mut self, reading: Reading) {
        self.last = Some(reading);
    }

    /// The CPU times so far, without a query.
    pub(crate) fn cpu(&self) -> Cpu {
        let Some(backend) = &self.backend else { return Cpu::default() };
        let workers = if self.is_shared { None } else { backend.ended_siblings() };
        let disk_blocks = match &self.disk {
            DiskReads::Processes { io_workers, block_bytes } => {
                backend.read_bytes(io_workers).map(|bytes| bytes / block_bytes)
            }
            DiskReads::Kcache { .. } | DiskReads::Unknown => None,
        };
        Cpu { backend: backend.cpu(), workers, disk_blocks }
    }

    /// Bytes of all user tables, and of their indexes.
    pub fn sizes(&mut self, session: &mut Session) -> (Option<u64>, Option<u64>) {
        match session.query_catalogs(SIZES) {
            Ok(rows) => (number(&rows, 0), number(&rows, 1)),
            Err(error) => {
                self.note(&format!("sizes: {error}"));
                (None, None)
            }
        }
    }

    /// Notes on figures that are not available, with the reason.
    pub fn into_notes(self) -> Vec<SafeText> {
        self.notes
    }

    /// The same without those on blocks dirtied and written, which reports of query sets do not show.
    pub(crate) fn into_notes_of_queries(mut self) -> Vec<SafeText> {
        let is_shown = |note: &SafeText| CHANGED_BLOCKS.iter().all(|what| !note.as_str().starts_with(what));
        self.notes.retain(is_shown);
        self.notes
    }

    /// `what` is the figure and the reason.
    fn note(&mut self, what: &str) {
        let note = SafeText::from(format!("not available: {what}"));
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The current WAL position.
    fn wal(&mut self, session: &mut Session) -> Option<u64> {
        let sql = match self.version {
            ..V10 => "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
            _ => "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
        };
        let rows = self.asked(session, "WAL", sql)?;
        number(&rows, 0)
    }

    /// Block counters and bytes of temporary files, after the backend has reported them.
    fn buffers(&mut self, session: &mut Session) -> (StepBuffers, Option<u64>) {
        let telling: &[&str] = if self.version < V15 {
            &[UNTIL_TOLD, UNTIL_TOLD]
        } else {
            &["SELECT pg_stat_force_next_flush()"]
        };
        for sql in telling {
            // Counters that are not reported now would count for the next execution.
            let _ = session.query_catalogs(sql);
        }
        self.read_buffers(session)
    }

    fn read_buffers(&mut self, session: &mut Session) -> (StepBuffers, Option<u64>) {
        let dirtied = self.statements.as_ref().map(|statements| {
            format!("SELECT sum(shared_blks_dirtied + local_blks_dirtied) FROM {statements}")
        });
        let dirtied = dirtied
            .and_then(|sql| self.asked(session, "blocks dirtied", &sql))
            .and_then(|rows| number(&rows, 0));
        let rows = self.asked(session, "blocks", buffers_sql(self.version)).unwrap_or_default();
        let temp = self.asked(session, "temporary files", TEMP_BYTES).unwrap_or_default();
        let (hit, read, written) = (number(&rows, 0), number(&rows, 1), number(&rows, 2));
        let buffers = StepBuffers { hit, read, disk: None, dirtied, written };
        (buffers, number(&temp, 0))
    }

    fn asked(&mut self, session: &mut Session, what: &str, sql: &str) -> Option<Vec<Row>> {
        session.query_catalogs(sql).map_err(|error| self.note(&format!("{what}: {error}"))).ok()
    }
}

/// Blocks hit, read, and written or extended, by sessions and their parallel workers. From version 16 on from
/// pg_stat_io; version 18 counts operations of several blocks each, and their bytes. Before, from the database's
/// counters; blocks written by backends are then reported only by the checkpointer, too late to be assigned to an
/// execution.
fn buffers_sql(version: u32) -> &'static str {
    match version {
        ..V16 => "SELECT blks_hit, blks_read, NULL FROM pg_stat_database WHERE datname = current_database()",
        V16..V18 => {
            "SELECT sum(hits)::bigint, sum(reads)::bigint, (sum(writes) + sum(extends))::bigint FROM pg_stat_io \
             WHERE backend_type IN ('client backend', 'background worker')"
        }
        _ => {
            "SELECT sum(hits)::bigint, (sum(read_bytes) / b.size)::bigint, \
             ((sum(write_bytes) + sum(extend_bytes)) / b.size)::bigint \
             FROM pg_stat_io, (SELECT current_setting('block_size')::bigint AS size) b \
             WHERE backend_type IN ('client backend', 'background worker') AND object <> 'wal' GROUP BY b.size"
        }
    }
}

/// Whether the server has processes that read in place of backends.
fn has_io_workers(version: u32, session: &mut Session) -> bool {
    let io_method = |session: &mut Session| {
        let rows = session.query_catalogs("SELECT current_setting('io_method', true)").ok()?;
        Some(value(&rows, 0)? == "worker")
    };
    version >= V18 && io_method(session).unwrap_or(true)
}

/// Their PIDs, in order; none if this role does not see them.
fn io_workers(session: &mut Session) -> Vec<u32> {
    let sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'io worker' ORDER BY pid";
    let rows = session.query_catalogs(sql).unwrap_or_default();
    rows.iter().filter_map(|row| row.get(0)?.parse().ok()).collect()
}

impl Reading {
    /// The difference since `then`.
    pub(crate) fn since(&self, then: &Reading) -> Reading {
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let cpu = |now: Option<BackendCpu>, then: Option<BackendCpu>| Some(now?.since(&then?));
        let blocks = |now: Option<f64>, then: Option<f64>| Some((now? - then?).max(0.0));
        let (now, before) = (&self.buffers, &then.buffers);
        let kcache = self.kcache.zip(then.kcache).map(|(now, then)| KcacheSums {
            cpu: now.cpu.since(&then.cpu),
            disk_blocks: blocks(now.disk_blocks, then.disk_blocks),
        });
        // A worker that came or went would bring all that it has read in its life.
        let is_complete = self.io_workers == then.io_workers;
        let of_processes = blocks(self.cpu.disk_blocks, then.cpu.disk_blocks).filter(|_| is_complete);
        let disk = of_processes.or(kcache.and_then(|kcache| kcache.disk_blocks));
        Reading {
            cpu: Cpu {
                backend: cpu(self.cpu.backend, then.cpu.backend).or(kcache.map(|kcache| kcache.cpu)),
                workers: cpu(self.cpu.workers, then.cpu.workers),
                disk_blocks: disk,
            },
            wal: more(self.wal, then.wal),
            temp_bytes: more(self.temp_bytes, then.temp_bytes),
            buffers: StepBuffers {
                hit: more(now.hit, before.hit),
                read: more(now.read, before.read),
                disk: disk.map(whole_blocks),
                dirtied: more(now.dirtied, before.dirtied),
                written: more(now.written, before.written),
            },
            io_workers: Vec::new(),
            kcache,
        }
    }
}

/// The kernel reads whole pages, which may be smaller than a block.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and is not negative")]
fn whole_blocks(blocks: f64) -> u64 {
    blocks.round() as u64
}

fn value(rows: &[Row], column: usize) -> Option<&str> {
    rows.first()?.get(column)
}

fn number(rows: &[Row], column: usize) -> Option<u64> {
    value(rows, column)?.parse().ok()
}

/// Time in the format of records.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
