//! Whom a statement waits for: one query of another connection. Used by `limits`, and by statements that are tried
//! again.

use super::{CATALOGS_ALONE, Row, Session, WITHOUT_JIT};
use crate::error::ConnectError;
use crate::lock_wait::{AUTOVACUUM, LockHolder, LockWait};

/// Words of a statement shown in messages: the rest may be long, and secret.
const WORDS_SHOWN: usize = 3;
/// Characters shown of each of these words: one may be a literal of any length.
const WORD_SHOWN: usize = 30;

impl LockHolder {
    /// From columns `pid`, `application_name` and `since`.
    pub(crate) fn of(row: &Row) -> Self {
        let text = |at| row.get(at).unwrap_or_default().to_owned();
        Self { pid: text(0), application_name: text(1), since: text(2) }
    }
}

impl LockWait {
    /// Asks on another connection whom the statement of a process waits for; `None` if it waits for no lock.
    pub(crate) fn of(session: &mut Session, pid: u32) -> Result<Option<LockWait>, ConnectError> {
        let rows = session.query_catalogs(&format!(
            "SELECT blocking.holder, CASE WHEN activity.datid IS NOT NULL AND activity.usesysid IS NULL \
             OR activity.query LIKE 'autovacuum: %' THEN '{AUTOVACUUM}' ELSE activity.application_name END, \
             pg_catalog.to_char(coalesce(activity.xact_start, activity.backend_start), 'YYYY-MM-DD HH24:MI:SS'), \
             (SELECT query FROM pg_catalog.pg_stat_activity WHERE pid = {pid}) \
             FROM (SELECT DISTINCT pg_catalog.unnest(pg_catalog.pg_blocking_pids({pid})) AS holder) AS blocking \
             LEFT JOIN pg_catalog.pg_stat_activity AS activity ON activity.pid = blocking.holder ORDER BY 1"
        ))?;
        let Some(first) = rows.first() else { return Ok(None) };
        let statement = first_words(first.get(3).unwrap_or_default());
        Ok(Some(LockWait { statement, holders: rows.iter().map(LockHolder::of).collect() }))
    }
}

/// The first words of a statement, for messages.
pub(super) fn first_words(sql: &str) -> String {
    let mut words = String::new();
    let sql = sql.strip_prefix(CATALOGS_ALONE).unwrap_or(sql);
    let sql = sql.strip_prefix(WITHOUT_JIT).unwrap_or(sql);
    for word in sql.split_whitespace().take(WORDS_SHOWN) {
        let blank = if words.is_empty() { "" } else { " " };
        words.push_str(blank);
        words.extend(word.chars().take(WORD_SHOWN));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_of_a_statement_have_one_blank_between_them() {
        assert_eq!(first_words("vacuum  pgbench_branches"), "vacuum pgbench_branches");
    }
}
