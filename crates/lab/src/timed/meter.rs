//! Measures the work of a server and one of its backends during a step: WAL, CPU time, blocks, and sizes of tables
//! afterwards. Figures that this server version lacks are absent and listed in a note.
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

/// Measures the backend of one session.
pub(super) struct Meter {
    backend: Option<Backend>,
    version: u32,
    /// The view pg_stat_statements if it is available; only it counts dirtied blocks.
    statements: Option<String>,
    notes: Vec<SafeText>,
}

/// Counters at a moment, or their change.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) cpu: Option<BackendCpu>,
    pub(super) wal: Option<u64>,
    pub(super) buffers: StepBuffers,
}

impl Meter {
    /// For a new session. All queries run once first, so that the measured ones find the catalogs in the cache.
    pub(super) fn of(session: &mut Session) -> Self {
        let backend = Backend::of(session.cancel_key().process_id);
        let version = session.server_version_num();
        let mut meter = Self { backend, version, statements: None, notes: Vec::new() };
        if meter.backend.is_none() {
            meter.note("CPU time: the server is not on this host, or in a container of its own");
        }
        match observe::extension_schema(session, "pg_stat_statements") {
            Ok(Some(schema)) => meter.statements = Some(format!("{schema}.pg_stat_statements")),
            Ok(None) => {
                meter.note(
                    "blocks dirtied: pg_stat_statements alone counts them, and is not in this database",
                );
            }
            Err(why) => meter.note(&format!("blocks dirtied: {why}")),
        }
        if version < V16 {
            meter.note("blocks written: before PostgreSQL 16 no process tells its own");
        }
        meter.wal(session);
        meter.read_buffers(session);
        meter.sizes(session);
        meter
    }

    /// Reads the counters before an execution or after its end, except the CPU time.
    pub(super) fn read(&mut self, session: &mut Session) -> Reading {
        let buffers = self.buffers(session);
        Reading { cpu: None, wal: self.wal(session), buffers }
    }

    /// The CPU time so far, without a query.
    pub(super) fn cpu(&self) -> Option<BackendCpu> {
        self.backend.as_ref()?.cpu()
    }

    /// Bytes of all user tables, and of their indexes.
    pub(super) fn sizes(&mut self, session: &mut Session) -> (Option<u64>, Option<u64>) {
        match session.query_catalogs(SIZES) {
            Ok(rows) => (number(&rows, 0), number(&rows, 1)),
            Err(error) => {
                self.note(&format!("sizes: {error}"));
                (None, None)
            }
        }
    }

    /// Notes on figures that are not available, with the reason.
    pub(super) fn into_notes(self) -> Vec<SafeText> {
        self.notes
    }

    fn note(&mut self, what: &str) {
        let note = SafeText::from(format!("not seen: {what}"));
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

    /// Block counters, after the backend has reported them.
    fn buffers(&mut self, session: &mut Session) -> StepBuffers {
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

    fn read_buffers(&mut self, session: &mut Session) -> StepBuffers {
        let dirtied = self.statements.as_ref().map(|statements| {
            format!("SELECT sum(shared_blks_dirtied + local_blks_dirtied) FROM {statements}")
        });
        let dirtied = dirtied
            .and_then(|sql| self.asked(session, "blocks dirtied", &sql))
            .and_then(|rows| number(&rows, 0));
        let rows = self.asked(session, "blocks", buffers_sql(self.version)).unwrap_or_default();
        StepBuffers { hit: number(&rows, 0), read: number(&rows, 1), dirtied, written: number(&rows, 2) }
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
    pub(super) fn since(&self, then: &Reading) -> Reading {
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let (now, before) = (&self.buffers, &then.buffers);
        Reading {
            cpu: self.cpu.zip(then.cpu).map(|(now, then)| now.since(&then)),
            wal: more(self.wal, then.wal),
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
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
