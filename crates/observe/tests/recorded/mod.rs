//! The parts of a server's catalogue that the observer uses: a line for each view with its columns, and one with
//! functions. The example `record_catalogue` writes them; a test compares them with real servers.

use connect::Session;

const VIEWS: &str = "'pg_stat_activity', 'pg_stat_database', 'pg_stat_wal', 'pg_stat_bgwriter', 'pg_stat_checkpointer', \
     'pg_stat_io', 'pg_stat_lock', 'pg_stat_recovery', 'pg_stat_user_tables', 'pg_statio_user_tables', \
     'pg_stat_user_indexes', 'pg_statio_user_indexes', 'pg_stat_progress_vacuum', 'pg_stat_progress_analyze', \
     'pg_stat_statements', 'pg_locks', 'pg_roles', 'pg_database'";

/// The catalogue as text.
pub fn catalogue(session: &mut Session) -> String {
    session.execute("create extension if not exists pg_stat_statements").unwrap();
    let views = format!(
        "select c.relname::text || ': ' || string_agg(a.attname, ' ' order by a.attnum) from pg_class c join pg_attribute a \
         on a.attrelid = c.oid where a.attnum > 0 and not a.attisdropped and c.relname in ({VIEWS}) \
         group by c.relname order by c.relname::text collate \"C\""
    );
    let others = "select 'pg_control_checkpoint: ' || array_to_string(proargnames, ' ') from pg_proc \
                  where proname = 'pg_control_checkpoint' union all \
                  select 'functions: ' || string_agg(distinct proname::text, ' ' order by proname::text) from pg_proc \
                  where proname ~ '^pg_(.*(xlog|wal)_.*(location|lsn).*|is_in_recovery|\
                  (table|indexes|relation)_size|control_checkpoint)$'";
    let mut text = String::new();
    for sql in [views.as_str(), others] {
        for row in session.query(sql).unwrap() {
            text += &format!("{}\n", row.get(0).unwrap_or_default());
        }
    }
    text
}
