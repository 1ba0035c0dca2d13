//! Measures the work of a server and one of its backends during a statement: WAL, CPU time, blocks, temporary files, and
//! sizes of tables afterwards. Figures that this server version lacks are absent and listed in a note.
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
/// half a second old. This is slightly more than both together.
const UNTIL_TOLD: &str = "SELECT pg_sleep(0.6)";

const SIZES: &str = "SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'";

/// Bytes of temporary files that sessions of this database have closed.
const TEMP_BYTES: &str = "SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()";

/// Beginnings of notes on changed blocks.
const CHANGED_BLOCKS: [&str; 2] = ["not available: blocks dirtied", "not available: blocks written"];

/// Measures the backend of one session.
#[derive(Debug)]
pub struct Meter {
    backend: Option<Backend>,
    version: u32,
    /// Whether other sessions work too: counters of the whole server then belong to no single statement.
    is_shared: bool,
    /// The view pg_stat_statements if it is available; only it counts dirtied blocks.
    statements: Option<String>,
    /// The reading after the last execution.
    last: Option<Reading>,
    notes: Vec<SafeText>,
}

/// Counters at a moment, or their change.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    pub(crate) cpu: Cpu,
    pub(crate) wal: Option<u64>,
    pub(crate) temp_bytes: Option<u64>,
    pub(crate) buffers: StepBuffers,
}

/// CPU times, read without a query.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    pub(crate) backend: Option<BackendCpu>,
    /// Of the server's processes that have exited, such as parallel workers.
    pub(crate) workers: Option<BackendCpu>,
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

    fn bare(session: &Session, is_shared: bool) -> Self {
        let backend = Backend::of(session.cancel_key().process_id);
        let version = session.server_version_num();
        let mut meter = Self { backend, version, is_shared, statements: None, last: None, notes: Vec::new() };
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
        meter.wal(session);
        meter.read_buffers(session);
        meter.sizes(session);
    }

    /// Reads the counters before an execution or after its end, except the CPU time.
    pub(crate) fn read(&mut self, session: &mut Session) -> Reading {
        if self.is_shared {
            return Reading::default();
        }
        let (buffers, temp_bytes) = self.buffers(session);
        Reading { cpu: Cpu::default(), wal: self.wal(session), temp_bytes, buffers }
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
        Cpu { backend: backend.cpu(), workers }
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
        let buffers =
            StepBuffers { hit: number(&rows, 0), read: number(&rows, 1), dirtied, written: number(&rows, 2) };
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

impl Reading {
    /// The difference since `then`.
    pub(crate) fn since(&self, then: &Reading) -> Reading {
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let cpu = |now: Option<BackendCpu>, then: Option<BackendCpu>| Some(now?.since(&then?));
        let (now, before) = (&self.buffers, &then.buffers);
        Reading {
            cpu: Cpu {
                backend: cpu(self.cpu.backend, then.cpu.backend),
                workers: cpu(self.cpu.workers, then.cpu.workers),
            },
            wal: more(self.wal, then.wal),
            temp_bytes: more(self.temp_bytes, then.temp_bytes),
            buffers: StepBuffers {
                hit: more(now.hit, before.hit),
                read: more(now.read, before.read),
                dirtied: more(now.dirtied, before.dirtied),
                written: more(now.written, before.written),
            },
        }
    }
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
