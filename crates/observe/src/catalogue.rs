//! Views of the statistics system as data: their columns, and the versions that have each. A column of a new version is
//! one line. `probe` determines which views a server allows to read.
//!
//! Sources: PostgreSQL's manual, chapter "The Cumulative Statistics System", of each major version.

/// Versions of the catalogue: `server_version_num / 100`.
pub(crate) const V9_6: u32 = 906;
pub(crate) const V10: u32 = 1000;
pub(crate) const V12: u32 = 1200;
pub(crate) const V13: u32 = 1300;
pub(crate) const V14: u32 = 1400;
pub(crate) const V15: u32 = 1500;
pub(crate) const V16: u32 = 1600;
pub(crate) const V17: u32 = 1700;
pub(crate) const V18: u32 = 1800;
pub(crate) const V19: u32 = 1900;
const FOREVER: u32 = u32::MAX;

/// How often a view is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Once a second.
    EachSecond,
    /// At the start and end of measuring.
    Ends,
}

/// Kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Cumulative; its growth is shown.
    Counter,
    /// Its last value is shown.
    AtEnd,
}

/// A column of a view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Name in the record.
    pub(crate) name: &'static str,
    /// SQL expression.
    sql: &'static str,
    since: u32,
    before: u32,
    pub(crate) kind: Kind,
    /// Requires track_io_timing.
    is_timed: bool,
}

/// A view, or a query with the same use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Name in the record.
    pub(crate) name: &'static str,
    since: u32,
    pub(crate) pace: Pace,
    /// SQL expression of the row's key; empty for a single row.
    key: &'static str,
    /// SQL expression of the time of the last reset.
    reset: &'static str,
    /// Text after `from`; `{tables}` stands for the tables in use.
    from: &'static str,
    columns: &'static [Column],
}

/// A counter of all versions.
pub(crate) const fn column(name: &'static str) -> Column {
    Column { name, sql: name, since: V9_6, before: FOREVER, kind: Kind::Counter, is_timed: false }
}

impl Column {
    const fn is(self, sql: &'static str) -> Column {
        Column { sql, ..self }
    }

    const fn since(self, since: u32) -> Column {
        Column { since, ..self }
    }

    const fn before(self, before: u32) -> Column {
        Column { before, ..self }
    }

    const fn timed(self) -> Column {
        Column { is_timed: true, ..self }
    }

    const fn at_end(self) -> Column {
        Column { kind: Kind::AtEnd, ..self }
    }
}

const ONE_ROW: &str = "''";
const NO_RESET: &str = "null";
const RESET: &str = "extract(epoch from stats_reset)";

const fn view(name: &'static str, from: &'static str, columns: &'static [Column]) -> View {
    let (key, reset) = (ONE_ROW, NO_RESET);
    View { name, since: V9_6, pace: Pace::Ends, key, reset, from, columns }
}

impl View {
    const fn since(self, since: u32) -> View {
        View { since, ..self }
    }

    const fn each_second(self) -> View {
        View { pace: Pace::EachSecond, ..self }
    }

    const fn key(self, key: &'static str) -> View {
        View { key, ..self }
    }

    const fn resets(self) -> View {
        View { reset: RESET, ..self }
    }

    /// Whether it is restricted to the tables in use.
    pub(crate) fn is_of_tables(&self) -> bool {
        self.from.contains("{tables}")
    }

    /// Whether it has a row for each of several relations, with the OID as key.
    pub(crate) fn is_by_relation(&self) -> bool {
        self.key == TABLE_KEY || self.key == INDEX_KEY
    }

    fn exists_in(&self, version: u32) -> bool {
        version >= self.since
    }

    /// Its columns in this version.
    fn columns_of(&self, version: u32, io_is_timed: bool) -> Vec<Column> {
        let exists = |column: &&Column| {
            (column.since..column.before).contains(&version) && (io_is_timed || !column.is_timed)
        };
        self.columns.iter().filter(exists).copied().collect()
    }
}

/// Names of [`VIEWS`] with columns that other modules read.
pub(crate) const DATABASE: &str = "pg_stat_database";
pub(crate) const LOG_POSITION: &str = "wal_position";
pub(crate) const WAL: &str = "pg_stat_wal";
pub(crate) const BGWRITER: &str = "pg_stat_bgwriter";
pub(crate) const CHECKPOINTER: &str = "pg_stat_checkpointer";
pub(crate) const CONTROL_FILE: &str = "pg_control_checkpoint";
pub(crate) const IO: &str = "pg_stat_io";
pub(crate) const TABLES: &str = "pg_stat_user_tables";
pub(crate) const STATEMENTS: &str = "pg_stat_statements";

/// All views. `{schema}` is the schema of the extension pg_stat_statements; its rows with the same text are summed.
pub(crate) const VIEWS: &[View] = &[
    view(DATABASE, "pg_stat_database where datname = current_database()", DATABASE_COLUMNS)
        .resets()
        .each_second(),
    view(LOG_POSITION, "(select 1) one", LOG_POSITION_COLUMNS).each_second(),
    view(WAL, "pg_stat_wal", WAL_COLUMNS).since(V14).resets().each_second(),
    view(BGWRITER, "pg_stat_bgwriter", BGWRITER_COLUMNS).resets().each_second(),
    view(CHECKPOINTER, "pg_stat_checkpointer", CHECKPOINTER_COLUMNS).since(V17).resets().each_second(),
    view(CONTROL_FILE, "pg_control_checkpoint()", CONTROL_FILE_COLUMNS).each_second(),
    view(IO, "pg_stat_io", IO_COLUMNS)
        .since(V16)
        .resets()
        .key("backend_type || '/' || object || '/' || context"),
    view("pg_stat_lock", "pg_stat_lock", LOCK_COLUMNS).since(V19).resets().key("locktype"),
    view("pg_stat_recovery", "pg_stat_recovery", RECOVERY_COLUMNS).since(V19),
    view(TABLES, "pg_stat_user_tables where relid in ({tables})", TABLE_COLUMNS).key(TABLE_KEY),
    view("pg_statio_user_tables", "pg_statio_user_tables where relid in ({tables})", TABLE_IO_COLUMNS)
        .key(TABLE_KEY),
    view(STATEMENTS, STATEMENTS_FROM, STATEMENT_COLUMNS).key("left(query, 1000)"),
    view("pg_stat_user_indexes", "pg_stat_user_indexes where relid in ({tables})", INDEX_COLUMNS)
        .key(INDEX_KEY),
    view("pg_statio_user_indexes", "pg_statio_user_indexes where relid in ({tables})", INDEX_IO_COLUMNS)
        .key(INDEX_KEY),
];

const STATEMENTS_FROM: &str = "{schema}.pg_stat_statements where userid = (select oid from pg_roles where rolname = \
     current_user) and dbid = (select oid from pg_database where datname = current_database()) group by 1";

const STATEMENT_COLUMNS: &[Column] = &[
    column("calls").is("sum(calls)"),
    column("rows").is("sum(rows)"),
    column("plans").is("sum(plans)").since(V13),
    column("plan_time_ms").is("sum(total_plan_time)").since(V13),
    column("execution_time_ms").is("sum(total_time)").before(V13),
    column("execution_time_ms").is("sum(total_exec_time)").since(V13),
    column("shared_blks_hit").is("sum(shared_blks_hit)"),
    column("shared_blks_read").is("sum(shared_blks_read)"),
    column("shared_blks_dirtied").is("sum(shared_blks_dirtied)"),
    column("shared_blks_written").is("sum(shared_blks_written)"),
    column("temp_blks_read").is("sum(temp_blks_read)"),
    column("temp_blks_written").is("sum(temp_blks_written)"),
    column("blk_read_time_ms").is("sum(blk_read_time)").before(V17).timed(),
    column("blk_read_time_ms").is("sum(shared_blk_read_time)").since(V17).timed(),
    column("blk_write_time_ms").is("sum(blk_write_time)").before(V17).timed(),
    column("blk_write_time_ms").is("sum(shared_blk_write_time)").since(V17).timed(),
    column("wal_records").is("sum(wal_records)").since(V13),
    column("wal_fpi").is("sum(wal_fpi)").since(V13),
    column("wal_bytes").is("sum(wal_bytes)").since(V13),
    column("jit_functions").is("sum(jit_functions)").since(V15),
    column("wal_buffers_full").is("sum(wal_buffers_full)").since(V18),
    column("parallel_workers_launched").is("sum(parallel_workers_launched)").since(V18),
    column("generic_plan_calls").is("sum(generic_plan_calls)").since(V19),
    column("custom_plan_calls").is("sum(custom_plan_calls)").since(V19),
];

/// OIDs; `account` shows names.
const TABLE_KEY: &str = "relid";
const INDEX_KEY: &str = "indexrelid";

const DATABASE_COLUMNS: &[Column] = &[
    column("xact_commit"),
    column("xact_rollback"),
    column("blks_read"),
    column("blks_hit"),
    column("tup_returned"),
    column("tup_fetched"),
    column("tup_inserted"),
    column("tup_updated"),
    column("tup_deleted"),
    column("conflicts"),
    column("temp_files"),
    column("temp_bytes"),
    column("deadlocks"),
    column("checksum_failures").since(V12),
    column("blk_read_time_ms").is("blk_read_time").timed(),
    column("blk_write_time_ms").is("blk_write_time").timed(),
    column("active_time_ms").is("active_time").since(V14),
    column("idle_in_transaction_time_ms").is("idle_in_transaction_time").since(V14),
    column("sessions").since(V14),
    column("sessions_abandoned").since(V14),
    column("sessions_fatal").since(V14),
    column("parallel_workers_to_launch").since(V18),
    column("parallel_workers_launched").since(V18),
];

const LOG_POSITION_COLUMNS: &[Column] = &[
    column("bytes")
        .is("pg_xlog_location_diff(case when pg_is_in_recovery() then pg_last_xlog_replay_location() \
             else pg_current_xlog_insert_location() end, '0/0')")
        .before(V10),
    column("bytes")
        .is("pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() \
             else pg_current_wal_insert_lsn() end, '0/0')")
        .since(V10),
];

const WAL_COLUMNS: &[Column] = &[
    column("wal_records"),
    column("wal_fpi"),
    column("wal_bytes"),
    column("wal_fpi_bytes").since(V19),
    column("wal_buffers_full"),
    column("wal_write").before(V18),
    column("wal_sync").before(V18),
    column("wal_write_time_ms").is("wal_write_time").before(V18),
    column("wal_sync_time_ms").is("wal_sync_time").before(V18),
];

const BGWRITER_COLUMNS: &[Column] = &[
    column("checkpoints_timed").before(V17),
    column("checkpoints_req").before(V17),
    column("checkpoint_write_time_ms").is("checkpoint_write_time").before(V17),
    column("checkpoint_sync_time_ms").is("checkpoint_sync_time").before(V17),
    column("buffers_checkpoint").before(V17),
    column("buffers_clean"),
    column("maxwritten_clean"),
    column("buffers_backend").before(V17),
    column("buffers_backend_fsync").before(V17),
    column("buffers_alloc"),
];

const CHECKPOINTER_COLUMNS: &[Column] = &[
    column("num_timed"),
    column("num_requested"),
    column("num_done").since(V18),
    column("restartpoints_timed"),
    column("restartpoints_req"),
    column("restartpoints_done"),
    column("write_time_ms").is("write_time"),
    column("sync_time_ms").is("sync_time"),
    column("buffers_written"),
    column("slru_written").since(V18),
];

/// Changes at the end of a checkpoint; its start has a resolution of a second.
const CONTROL_FILE_COLUMNS: &[Column] = &[
    column("bytes_up_to_checkpoint").is("pg_xlog_location_diff(checkpoint_location, '0/0')").before(V10),
    column("bytes_up_to_checkpoint").is("pg_wal_lsn_diff(checkpoint_lsn, '0/0')").since(V10),
    column("begun_s_ago").is("extract(epoch from clock_timestamp() - checkpoint_time)").at_end(),
];

const IO_COLUMNS: &[Column] = &[
    column("reads"),
    column("read_bytes").is("reads * op_bytes").before(V18),
    column("read_bytes").since(V18),
    column("read_time_ms").is("read_time"),
    column("writes"),
    column("write_bytes").is("writes * op_bytes").before(V18),
    column("write_bytes").since(V18),
    column("write_time_ms").is("write_time"),
    column("writebacks"),
    column("writeback_time_ms").is("writeback_time"),
    column("extends"),
    column("extend_bytes").is("extends * op_bytes").before(V18),
    column("extend_bytes").since(V18),
    column("extend_time_ms").is("extend_time"),
    column("hits"),
    column("evictions"),
    column("reuses"),
    column("fsyncs"),
    column("fsync_time_ms").is("fsync_time"),
];

/// Waits for heavyweight locks, in versions that count them.
const LOCK_COLUMNS: &[Column] =
    &[column("waits"), column("wait_time_ms").is("wait_time"), column("fastpath_exceeded")];

/// WAL replay on a standby; no row on a primary.
const RECOVERY_COLUMNS: &[Column] = &[
    column("replayed_bytes").is("pg_wal_lsn_diff(last_replayed_end_lsn, '0/0')"),
    column("paused_at_end").is("case when pause_state = 'not paused' then 0 else 1 end").at_end(),
    column("chunk_age_s_at_end")
        .is("extract(epoch from clock_timestamp() - current_chunk_start_time)")
        .at_end(),
];

const TABLE_COLUMNS: &[Column] = &[
    column("seq_scan"),
    column("seq_tup_read"),
    column("idx_scan"),
    column("idx_tup_fetch"),
    column("n_tup_ins"),
    column("n_tup_upd"),
    column("n_tup_del"),
    column("n_tup_hot_upd"),
    column("n_tup_newpage_upd").since(V16),
    column("n_ins_since_vacuum_at_end").is("n_ins_since_vacuum").since(V13).at_end(),
    column("n_live_tup_at_end").is("n_live_tup").at_end(),
    column("n_dead_tup_at_end").is("n_dead_tup").at_end(),
    column("vacuum_count"),
    column("autovacuum_count"),
    column("analyze_count"),
    column("autoanalyze_count"),
    column("total_vacuum_time_ms").is("total_vacuum_time").since(V18),
    column("total_autovacuum_time_ms").is("total_autovacuum_time").since(V18),
    column("autovacuum_s_ago_at_end").is("extract(epoch from clock_timestamp() - last_autovacuum)").at_end(),
    column("autoanalyze_s_ago_at_end")
        .is("extract(epoch from clock_timestamp() - last_autoanalyze)")
        .at_end(),
    column("table_bytes_at_end").is("pg_table_size(relid)").at_end(),
    column("indexes_bytes_at_end").is("pg_indexes_size(relid)").at_end(),
];

const TABLE_IO_COLUMNS: &[Column] = &[
    column("heap_blks_read"),
    column("heap_blks_hit"),
    column("idx_blks_read"),
    column("idx_blks_hit"),
    column("toast_blks_read"),
    column("toast_blks_hit"),
    column("tidx_blks_read"),
    column("tidx_blks_hit"),
];

const INDEX_COLUMNS: &[Column] = &[
    column("idx_scan"),
    column("idx_tup_read"),
    column("idx_tup_fetch"),
    column("index_bytes_at_end").is("pg_relation_size(indexrelid)").at_end(),
];

const INDEX_IO_COLUMNS: &[Column] = &[column("idx_blks_read"), column("idx_blks_hit")];

/// The query for a view on one server.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) view: &'static str,
    pub(crate) pace: Pace,
    /// The keys of its rows are OIDs of relations.
    pub(crate) is_by_relation: bool,
    pub(crate) columns: Vec<Column>,
    /// Returns the row's key, the time of its last reset, and the columns in order.
    pub(crate) sql: String,
}

impl Question {
    /// Index of a column among its columns.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// The query for a view, if the server supports it.
pub(crate) fn find<'a>(questions: &'a [Question], view: &str) -> Option<&'a Question> {
    questions.iter().find(|question| question.view == view)
}

/// Properties of a server that determine the queries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked<'a> {
    /// OIDs of the tables in use.
    pub(crate) tables: &'a [u32],
    /// Schema of pg_stat_statements, quoted.
    pub(crate) schema: Option<&'a str>,
    /// Whether track_io_timing is on.
    pub(crate) io_is_timed: bool,
}

/// The queries for a server of this version, without views that it does not have.
pub(crate) fn questions(version: u32, server: &Asked<'_>) -> Vec<Question> {
    let Asked { tables, schema, io_is_timed } = *server;
    let list = tables.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let asked = |view: &&View| {
        let has_tables = !view.is_of_tables() || !tables.is_empty();
        view.exists_in(version) && has_tables && (view.name != STATEMENTS || schema.is_some())
    };
    let question = |view: &View| {
        let columns = view.columns_of(version, io_is_timed);
        let listed = columns.iter().map(|column| column.sql).collect::<Vec<_>>().join(", ");
        let (key, reset, from) = (
            view.key,
            view.reset,
            view.from.replace("{tables}", &list).replace("{schema}", schema.unwrap_or_default()),
        );
        let sql = format!("select {key}, {reset}, {listed} from {from}");
        Question { view: view.name, pace: view.pace, is_by_relation: view.is_by_relation(), columns, sql }
    };
    VIEWS.iter().filter(asked).map(question).collect()
}

/// Query for autovacuum workers that process these tables: PID, OID of the table, activity.
pub(crate) fn vacuums(version: u32, tables: &[u32]) -> Option<String> {
    if tables.is_empty() {
        return None;
    }
    let list = tables.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let is_worker = match version {
        ..V10 => "a.query like 'autovacuum:%'",
        _ => "a.backend_type = 'autovacuum worker'",
    };
    let of = |what: &str| {
        format!(
            "select p.pid, p.relid, '{what}' from pg_stat_progress_{what} p join pg_stat_activity a on \
             a.pid = p.pid where p.relid in ({list}) and {is_worker}"
        )
    };
    Some(if version < V13 { of("vacuum") } else { format!("{} union all {}", of("vacuum"), of("analyze")) })
}

/// Query for the rows that backends queue for, longest queues first: a backend that waits for a row lock holds or
/// requests the lock on its tuple. Returns the row, the relation's OID, and the number of backends.
pub(crate) const QUEUES: &str = "select 'row (' || page || ',' || tuple || ') of ', relation, count(*) from \
     pg_locks where locktype = 'tuple' and database = (select oid from pg_database where datname = \
     current_database()) group by relation, page, tuple order by 3 desc limit 5";

#[cfg(test)]
mod tests;
