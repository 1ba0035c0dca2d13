//! Sequences of others, whose values no rollback restores. Locks and earlier values show which of them a transaction
//! changed by `setval` or `nextval`; an error has the earlier values.

use std::collections::BTreeMap;

use connect::quote::literal;
use connect::{ConnectError, Row, Session};

use crate::WorkloadError;
use crate::contract::load::{query_catalogs, text};

/// With more sequences, the values before are not read: each is a query, and a lock of the server.
const SEQUENCES_MAX: usize = 500;
/// Wait for the lock of a sequence that another session alters.
const LOCK_TIMEOUT_MS: u32 = 100;

/// A sequence of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// With its schema, quoted.
    identity: String,
    last_value: String,
    is_called: bool,
    /// The number of its file: ALTER SEQUENCE and TRUNCATE … RESTART IDENTITY make a new one, which a rollback takes back.
    file: String,
}

/// By OID.
pub(crate) type Sequences = BTreeMap<String, Sequence>;

/// The values of the sequences with these OIDs, as far as the role may read them.
pub(crate) fn read<'a>(
    session: &mut Session,
    oids: impl Iterator<Item = &'a str>,
) -> Result<Sequences, WorkloadError> {
    let oids: Vec<String> = oids.map(literal).collect();
    if oids.is_empty() || oids.len() > SEQUENCES_MAX {
        return Ok(Sequences::new());
    }
    let sql = format!(
        "select c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relfilenode from pg_class c \
         join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S' and has_table_privilege(c.oid, 'select') \
         and has_schema_privilege(n.oid, 'usage') and c.oid = any (array[{}]::oid[])",
        oids.join(", ")
    );
    let select = |row: &Row| {
        let (oid, identity, file) = (text(row, 0), text(row, 1), text(row, 2));
        format!("select '{oid}', {}, last_value, is_called, '{file}' from {identity}", literal(&identity))
    };
    let selects: Vec<String> = query_catalogs(session, &sql)?.iter().map(select).collect();
    if selects.is_empty() {
        return Ok(Sequences::new());
    }
    let sequence = |row: &Row| {
        let [oid, identity, last_value, is_called, file] = [0, 1, 2, 3, 4].map(|column| text(row, column));
        (oid, Sequence { identity, last_value, is_called: is_called == "t", file })
    };
    let values = selects.join(" union all ");
    if session.is_in_transaction() {
        // It has locked them.
        return Ok(query_catalogs(session, &values)?.iter().map(sequence).collect());
    }
    match query_catalogs(session, &format!("set local lock_timeout = {LOCK_TIMEOUT_MS}; {values}")) {
        Ok(rows) => Ok(rows.iter().map(sequence).collect()),
        // Another session alters or drops one, so the values are not known.
        Err(WorkloadError::Query { source: ConnectError::Server(_), .. }) => Ok(Sequences::new()),
        Err(error) => Err(error),
    }
}

/// A sequence whose value a transaction has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChangedSequence {
    pub(crate) identity: String,
    /// SQL that gives it its value back.
    pub(crate) restore: String,
}

/// The sequences that the current transaction has used, and whose values differ. Other transactions may change the values of
/// the others at any time.
pub(crate) fn changed(
    session: &mut Session,
    before: &Sequences,
) -> Result<Vec<ChangedSequence>, WorkloadError> {
    if before.is_empty() {
        return Ok(Vec::new());
    }
    // The oldest version changes values under a lock as that of readers.
    let sql = "select distinct relation from pg_locks where pid = pg_backend_pid() and locktype = 'relation' and granted \
               and database = (select oid from pg_database where datname = current_database())";
    let locked = query_catalogs(session, sql)?;
    let used = locked.iter().filter_map(|row| row.get(0)).filter(|oid| before.contains_key(*oid));
    let now = read(session, used)?;
    let changed = |(oid, now): (&String, &Sequence)| {
        let is_changed = |before: &&Sequence| *before != now && before.file == now.file;
        let Sequence { identity, last_value, is_called, .. } = before.get(oid).filter(is_changed)?;
        let restore = format!("select setval({}, {last_value}, {is_called})", literal(identity));
        Some(ChangedSequence { identity: identity.clone(), restore })
    };
    Ok(now.iter().filter_map(changed).collect())
}
