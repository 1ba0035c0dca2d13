//! What a server and one of its backends did while a step was timed: its log, CPU time, blocks, and what tables hold
//! afterwards. What this server, or this version of it, does not tell is absent, and named in a note.
//!
//! Manual: "The Cumulative Statistics System", "System Administration Functions".

use std::time::Duration;

use connect::{Row, Session};
use observe::{Backend, BackendCpu};
use results::{SafeText, StepBuffers};

/// Where `server_version_num` begins to count for a feature.
const V10: u32 = 100_000;
const V15: u32 = 150_000;
const V16: u32 = 160_000;
const V18: u32 = 180_000;

/// Before version 15 a backend tells its figures half a second after the last time at the earliest, and whoever asks may
/// be told what was known half a second ago: twice a little longer, and both are over.
const UNTIL_TOLD: &str = "SELECT pg_sleep(0.6)";

const SIZES: &str = "SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint, coalesce(sum(pg_indexes_size(c.oid)), 0)::bigint \
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'm') AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'";

/// Looks at the backend of one session.
pub(super) struct Meter {
    backend: Option<Backend>,
    version: u32,
    /// The view pg_stat_statements where it can be asked, which alone counts blocks that became dirty.
    statements: Option<String>,
    notes: Vec<SafeText>,
}

/// What was counted, up to a moment or meanwhile.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    pub(super) cpu: Option<BackendCpu>,
    pub(super) wal: Option<u64>,
    pub(super) buffers: StepBuffers,
}

impl Meter {
    /// For a session that was just made. Everything is asked once: the second time finds the catalogues read.
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

    /// Looks before a time begins, or after its end, at all but the CPU time.
    pub(super) fn read(&mut self, session: &mut Session) -> Reading {
        let buffers = self.buffers(session);
        Reading { cpu: None, wal: self.wal(session), buffers }
    }

    /// The CPU time up to now, without asking the server.
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

    /// What could not be seen, and why.
    pub(super) fn into_notes(self) -> Vec<SafeText> {
        self.notes
    }

    fn note(&mut self, what: &str) {
        let note = SafeText::from(format!("not seen: {what}"));
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The server's position in the WAL.
    fn wal(&mut self, session: &mut Session) -> Option<u64> {
        let sql = match self.version {
            ..V10 => "SELECT pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')",
            _ => "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
        };
        let rows = self.asked(session, "WAL", sql)?;
        number(&rows, 0)
    }

    /// What was done to blocks up to now, once the backend has told.
    fn buffers(&mut self, session: &mut Session) -> StepBuffers {
        let telling: &[&str] = if self.version < V15 {
            &[UNTIL_TOLD, UNTIL_TOLD]
        } else {
            &["SELECT pg_stat_force_next_flush()"]
        };
        for sql in telling {
            // What is not told now is told later, and then counts for what comes next.
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

/// Blocks found, read, and written or added, by sessions and their parallel workers. From 16 on the server's I/O by kind
/// of process; 18 counts operations, of several blocks each, and their bytes. Before, the database's figures; blocks that
/// backends wrote are told by the checkpointer alone then, at its own time, which is too late to be theirs.
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
    /// What was counted from `then` on.
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

/// As records have times.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
