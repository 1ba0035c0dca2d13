//! What a killed comparison leaves in a database, and its undo. Each index that a change creates has a comment with the time
//! and the SQL that drops it, so that it is found without the messages of that comparison; pgmeter drops it by its OID.
//! Other changes are noted in the store, with their undo, until they are undone.

use std::fmt::Display;

use connect::quote::literal;
use connect::{ConnectError, Environment, LockWaits, LockingStatements, Overrides, Patience, Session};
use results::{ChangedDatabase, LeftChange, Store};
use run::{COMPARISON_COMMENT, Control, LeftIndex, RunError, StorePlaces};

use super::indexes::{self, CreatedIndex};
use super::{UNDEFINED, has_state};
use crate::event::Listener;

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
        "{COMPARISON_COMMENT}index {} of database {}, made at {} UTC by server process {}, only for the time of a comparison. Undo: {};",
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

/// Warns of what a killed comparison left: indexes in the database, and the changes that the store names. The session has the
/// lock of the database, so no other comparison uses it.
pub(crate) fn warn_of_left(
    session: &mut Session,
    places: &StorePlaces,
    listener: Listener<'_>,
) -> Result<(), RunError> {
    run::left_indexes(session)?.iter().for_each(|index| listener.warn(index.sentence()));
    let here = changed_database(session)?;
    for change in left_changes(places)?.iter().filter(|it| it.database == here && !it.has_only_indexes) {
        listener.warn(change.sentence());
    }
    Ok(())
}

/// Those of the store; none if there is no store.
fn left_changes(places: &StorePlaces) -> Result<Vec<LeftChange>, RunError> {
    if !places.store().exists() {
        return Ok(Vec::new());
    }
    Ok(Store::open(places.store())?.left_schema_changes()?)
}

/// Those of a database whose undo is to be executed.
///
/// # Errors
/// As root: another user could have written the undo.
fn left_here(places: &StorePlaces, here: &ChangedDatabase) -> Result<Vec<LeftChange>, RunError> {
    let changes: Vec<_> = left_changes(places)?.into_iter().filter(|it| it.database == *here).collect();
    let environment = server::Environment::of_process();
    match StorePlaces::distrust(places.store(), &environment).filter(|_| !changes.is_empty()) {
        None => Ok(changes),
        Some(reason) => Err(RunError::Usage(format!(
            "the undo in the store {} is not executed: {reason}; run it yourself: {}",
            places.store().display(),
            changes.iter().map(LeftChange::sentence).collect::<Vec<_>>().join("; ")
        ))),
    }
}

/// How the store names the session's database.
pub(super) fn changed_database(session: &mut Session) -> Result<ChangedDatabase, ConnectError> {
    let server = session.address().to_string();
    let rows =
        session.query_catalogs("SELECT datname, oid FROM pg_database WHERE datname = current_database()")?;
    let text = |at| rows.first().and_then(|row| row.get(at)).unwrap_or_default();
    Ok(ChangedDatabase { server, name: text(0).to_owned(), oid: text(1).parse().unwrap_or(0) })
}

/// Undoes what killed comparisons left in a database: indexes, and changes whose undo is in the store.
///
/// # Errors
/// Another command uses the database, or something cannot be undone.
pub fn undo_left(
    dsn: Option<&str>,
    places: &StorePlaces,
    patience: Patience,
    listener: Listener<'_>,
    control: &Control,
) -> Result<(), RunError> {
    let target = connect::resolve(dsn, &Overrides::default(), &Environment::of_process())?;
    let mut session = control.connect(&target)?;
    if session.is_pooled() {
        return Err(RunError::Usage(format!(
            "the connection to the database {} goes through a connection pooler, so pgmeter cannot see whether a comparison \
             still runs there; connect to the server itself",
            target.database
        )));
    }
    run::use_alone(&mut session)?;
    let here = changed_database(&mut session)?;
    let changes = left_here(places, &here)?;
    let (found, copies): (Vec<_>, Vec<_>) =
        run::left_indexes(&mut session)?.into_iter().partition(|index| index.is_named);
    copies.iter().for_each(|index| listener.say(index.sentence()));
    if found.is_empty() && changes.is_empty() {
        listener.say(format_args!("no change of a comparison is left in the database {}", target.database));
    }
    let (mut waits, continues) = (LockWaits::default(), || control.check().is_ok());
    for LeftIndex { oid, name, undo, .. } in found {
        let mut locking = LockingStatements::new(patience, &continues, &mut waits);
        let dropped = control.guard(&mut session, |session| {
            session.patiently(|session| indexes::drop_by_oid(&mut locking, session, oid))
        });
        control.check()?;
        dropped.map_err(|error| not_undone(&format!("the index {name}"), &error, &target.database, &undo))?;
        listener.say(format_args!("dropped the index {name}, left by a comparison that did not end"));
    }
    for change in changes {
        let mut locking = LockingStatements::new(patience, &continues, &mut waits);
        if change.has_only_indexes {
            warn_of_unmarked(&mut session, &change.undo, listener)?;
        } else if change.is_made {
            undo_change(&mut locking, &mut session, &change, listener, control)?;
        } else {
            listener.warn(format_args!(
                "the comparison of {} was killed before its change was complete; pgmeter does not undo it, because that could \
                 remove what existed before; if you find that the change was made, run: {};",
                change.began_at,
                change.undo.join("; ")
            ));
        }
        places.open()?.forget_schema_change(change.change)?;
    }
    Ok(())
}

fn not_undone(what: &str, error: &dyn Display, database: &str, undo: &str) -> RunError {
    RunError::Usage(format!(
        "{what}, left by a comparison, could not be undone: {error}; try again, or run this in the database {database}: {undo};"
    ))
}

/// Executes the undo of a change; a statement whose object does not exist has nothing to undo.
fn undo_change(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    change: &LeftChange,
    listener: Listener<'_>,
    control: &Control,
) -> Result<(), RunError> {
    for sql in &change.undo {
        let done = control
            .guard(session, |session| session.patiently(|session| locking.execute_alone(session, sql)));
        control.check()?;
        match done {
            Ok(()) => listener.say(format_args!("done: {sql};")),
            Err(error) if has_state(&error, &UNDEFINED) => {
                listener.say(format_args!("nothing to undo: {sql}; ({error})"));
            }
            Err(error) => {
                let what = format!("the change of {}", change.began_at);
                return Err(not_undone(&what, &error, &change.database.name, &change.undo.join("; ")));
            }
        }
    }
    Ok(())
}

/// A comparison that was killed between the creation of an index and its comment leaves an index that is not known to be its
/// own: its name may be that of another one by now.
fn warn_of_unmarked(session: &mut Session, undo: &[String], listener: Listener<'_>) -> Result<(), RunError> {
    for sql in undo {
        let Some(name) = indexes::dropped_by(sql) else { continue };
        let found = session.query(&format!("SELECT pg_catalog.to_regclass({})", literal(name)))?;
        if found.first().is_some_and(|row| row.get(0).is_some()) {
            listener.warn(format_args!(
                "an index {name} exists, and a comparison that did not end was about to create one of this name; pgmeter does \
                 not drop it, because it has no comment that says whose it is; if nobody needs it, drop it with: {sql};"
            ));
        }
    }
    Ok(())
}
