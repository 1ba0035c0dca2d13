//! Indexes that a killed comparison left in a database, found by their comments, so that every command that measures or
//! loads there can name them. The comment has the OIDs of the index and of the database, because CREATE TABLE LIKE, CREATE
//! DATABASE and restored dumps copy comments to other indexes. REINDEX CONCURRENTLY gives an index another OID, so such an
//! index is named and not dropped. The comment's SQL is for readers: pgmeter never executes it.

use connect::quote::literal;
use connect::{ConnectError, Row, Session};
use results::{LeftChange, Store, Warning};
pub use workload::COMPARISON_COMMENT;

use crate::error::RunError;
use crate::execution::verification;
use crate::store_places::StorePlaces;
use crate::tables::database_use;

/// An index with the comment of a comparison that has ended or was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftIndex {
    /// Its OID.
    pub oid: u32,
    /// Its name, quoted and with its schema.
    pub name: String,
    /// SQL that drops it.
    pub undo: String,
    /// Its comment.
    pub comment: String,
    /// Whether the comment names this index; otherwise it is a copy, or was rebuilt.
    pub is_named: bool,
}

impl LeftIndex {
    /// The sentence that tells of it.
    pub fn sentence(&self) -> String {
        let Self { name, undo, comment, is_named, .. } = self;
        if *is_named {
            format!(
                "a comparison that did not end left the index {name} in this database (its comment: {comment:?}); drop it \
                 with pgmeter compare --undo and the same connection, or with: {undo};"
            )
        } else {
            format!(
                "the index {name} has the comment of an index that a comparison made, but is a copy of it or was rebuilt, so \
                 pgmeter keeps it; if nobody needs it, drop it with: {undo};"
            )
        }
    }
}

impl LeftIndex {
    pub(crate) fn warning(&self) -> Warning {
        Warning::IndexLeft { index: self.name.as_str().into(), undo: self.undo.as_str().into() }
    }
}

/// Those in the session's database that the role may drop.
///
/// # Errors
/// The catalogs cannot be read.
pub fn left_indexes(session: &mut Session) -> Result<Vec<LeftIndex>, ConnectError> {
    let rows = session.query_catalogs(&format!(
        "SELECT c.oid, format('%I.%I', nspname, relname), \
         format('DROP INDEX %s%I.%I', CASE WHEN relkind = 'i' THEN 'CONCURRENTLY ' ELSE '' END, nspname, relname), \
         description, strpos(description, format('%sindex %s of database %s,', {prefix}, c.oid, b.oid)) = 1 \
         FROM pg_description AS d JOIN pg_class AS c ON c.oid = d.objoid JOIN pg_namespace AS n ON n.oid = relnamespace \
         JOIN pg_database AS b ON datname = current_database() \
         WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND relkind IN ('i', 'I') \
         AND strpos(description, {prefix}) = 1 AND pg_has_role(relowner, 'USAGE') ORDER BY 1",
        prefix = literal(COMPARISON_COMMENT)
    ))?;
    let text = |row: &Row, at| row.get(at).unwrap_or_default().to_owned();
    let left = |row: &Row| {
        Some(LeftIndex {
            oid: row.get(0)?.parse().ok()?,
            name: text(row, 1),
            undo: text(row, 2),
            comment: text(row, 3),
            is_named: row.get(4) == Some("t"),
        })
    };
    Ok(rows.iter().filter_map(left).collect())
}

/// What killed commands left, as the store and its journals know it, each in a sentence.
///
/// # Errors
/// The store or a journal cannot be read.
pub fn left_by_killed(store: &Store, places: &StorePlaces) -> Result<Vec<String>, RunError> {
    let mut left: Vec<String> = store.left_schema_changes()?.iter().map(LeftChange::sentence).collect();
    left.extend(store.left_executions()?);
    left.extend(verification::left_verifications(places.records())?);
    Ok(left)
}

/// As [`left_indexes`], for commands that do not compare: nothing while another command has the lock of the
/// database, such as a comparison with indexes of its own there, behind a pooler, where that is not known, and nothing if
/// the catalogs cannot be read.
pub(crate) fn indexes_left_by_killed(session: &mut Session) -> Vec<LeftIndex> {
    let left = left_indexes(session).unwrap_or_default();
    if left.is_empty() || session.is_pooled() || database_use::is_used(session) { Vec::new() } else { left }
}
