//! What a killed comparison left in a database: each index that a change creates has a comment with the time and the SQL that
//! drops it, so that it is found without the messages of that comparison. The comment's SQL is for readers: pgmeter never
//! executes it, because others can write comments too, but drops the index by its OID. The comment has this OID and that of
//! the database, because CREATE TABLE LIKE, CREATE DATABASE and restored dumps copy comments to other indexes. REINDEX
//! CONCURRENTLY gives an index another OID, so such an index is named and not dropped.

use connect::quote::literal;
use connect::{ConnectError, Environment, LockWaits, LockingStatements, Overrides, Patience, Session};
use run::{Control, RunError};

use super::indexes::{self, CreatedIndex};
use crate::event::Listener;

/// Begin of the comments.
const PREFIX: &str = "pgmeter compare: ";

/// Writes the comment of an index that was created.
pub(super) fn mark(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    created: &CreatedIndex,
) -> Result<(), ConnectError> {
    let rows = session.query_catalogs(
        "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), pg_backend_pid(), oid FROM pg_database \
         WHERE datname = current_database()",
    )?;
    let text = |at| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    let comment = format!(
        "{PREFIX}index {} of database {}, made at {} UTC by server process {}, only for the time of a comparison. Undo: {};",
        created.oid.unwrap_or_default(),
        text(2),
        text(0),
        text(1),
        created.undo
    );
    let sql = format!("COMMENT ON INDEX {} IS {}", created.name, literal(&comment));
    // Fails, and so rolls back, if the name belongs to another index by now.
    let check = format!(
        "SELECT 1 OPERATOR(pg_catalog./) (pg_catalog.count(*) OPERATOR(pg_catalog.=) 1)::pg_catalog.int4 \
         FROM pg_catalog.pg_description WHERE objoid OPERATOR(pg_catalog.=) {} \
         AND description OPERATOR(pg_catalog.=) {}",
        created.oid.unwrap_or_default(),
        literal(&comment)
    );
    locking.execute_in_transaction(session, &[sql, check]).map_err(|failure| *failure.error)
}

/// An index with the comment of a comparison that has ended or was killed.
pub(crate) struct LeftIndex {
    oid: u32,
    name: String,
    comment: String,
    /// Whether the comment names this index; otherwise it is a copy, or was rebuilt.
    is_named: bool,
}

/// Those in the session's database that the role may drop.
fn left(session: &mut Session) -> Result<Vec<LeftIndex>, ConnectError> {
    let rows = session.query_catalogs(&format!(
        "SELECT c.oid, format('%I.%I', nspname, relname), description, \
         strpos(description, format('%sindex %s of database %s,', {prefix}, c.oid, b.oid)) = 1 FROM pg_description AS d \
         JOIN pg_class AS c ON c.oid = d.objoid JOIN pg_namespace AS n ON n.oid = relnamespace \
         JOIN pg_database AS b ON datname = current_database() WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND relkind IN ('i', 'I') \
         AND strpos(description, {prefix}) = 1 AND pg_has_role(relowner, 'USAGE') ORDER BY 1",
        prefix = literal(PREFIX)
    ))?;
    let text = |row: &connect::Row, at| row.get(at).unwrap_or_default().to_owned();
    let left = |row| LeftIndex {
        oid: text(row, 0).parse().unwrap_or(0),
        name: text(row, 1),
        comment: text(row, 2),
        is_named: text(row, 3) == "t",
    };
    Ok(rows.iter().map(left).collect())
}

/// Warns of what a killed comparison left. The session has the lock of the database, so no other comparison uses it.
pub(crate) fn warn_of_left(session: &mut Session, listener: Listener<'_>) -> Result<(), ConnectError> {
    for LeftIndex { oid, name, comment, is_named } in left(session)? {
        let undo = indexes::undo_by_oid(session, oid)?.unwrap_or_default();
        if !is_named {
            listener.warn(format_args!("{}", kept(&name, &undo)));
            continue;
        }
        listener.warn(format_args!(
            "a comparison that did not end left the index {name} in this database (its comment: {comment:?}); drop it with \
             pgmeter compare --undo and the same --dsn, or with: {undo};"
        ));
    }
    Ok(())
}

/// The sentence about an index that only looks like one of a comparison.
fn kept(name: &str, undo: &str) -> String {
    format!(
        "the index {name} has the comment of an index that a comparison made, but is a copy of it or was rebuilt, so pgmeter \
         keeps it; if nobody needs it, drop it with: {undo};"
    )
}

/// Drops what killed comparisons left in a database.
///
/// # Errors
/// Another command uses the database, or an index cannot be dropped.
pub fn undo_left(
    dsn: Option<&str>,
    patience: Patience,
    listener: Listener<'_>,
    control: &Control,
) -> Result<(), RunError> {
    let target = connect::resolve(dsn, &Overrides::default(), &Environment::of_process())?;
    let mut session = control.connect(&target)?;
    run::use_alone(&mut session)?;
    let (found, copies): (Vec<_>, Vec<_>) = left(&mut session)?.into_iter().partition(|index| index.is_named);
    for LeftIndex { oid, name, .. } in copies {
        let undo = indexes::undo_by_oid(&mut session, oid)?.unwrap_or_default();
        listener.say(format_args!("{}", kept(&name, &undo)));
    }
    if found.is_empty() {
        listener.say(format_args!("no index of a comparison is left in the database {}", target.database));
    }
    let (mut waits, continues) = (LockWaits::default(), || control.check().is_ok());
    for LeftIndex { oid, name, .. } in found {
        let mut locking = LockingStatements::new(patience, &continues, &mut waits);
        let dropped = control.guard(&mut session, |session| {
            session.patiently(|session| indexes::drop_by_oid(&mut locking, session, oid))
        });
        control.check()?;
        dropped.map_err(|error| {
            RunError::Usage(format!(
                "the index {name}, left by a comparison, could not be dropped: {error}; try again, or run this in the \
                 database {}: DROP INDEX {name};",
                target.database
            ))
        })?;
        listener.say(format_args!("dropped the index {name}, left by a comparison that did not end"));
    }
    Ok(())
}
