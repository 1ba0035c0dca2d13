//! What a killed comparison leaves in a database, and its undo. Each index that a change creates has a comment with the time
//! and the SQL that drops it, so that it is found without the messages of that comparison; pgmeter drops it by its OID.
//! Other changes are noted in the store, with their undo, until they are undone.

use std::fmt::Display;

use connect::quote::literal;
use connect::{ConnectError, Environment, LockWaits, LockingStatements, Overrides, Patience, Session};
use results::{ChangedDatabase, LeftChange, MadeObject, Store};
use run::{Control, LeftIndex, RunError, StorePlaces};

use super::attempt::{self, Trace};
use super::change::in_words;
use super::identity::{self, Differences};
use super::indexes;
use crate::event::Listener;

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

/// Changes here whose process is not known to have ended, each as a sentence.
fn current_here(places: &StorePlaces, here: &ChangedDatabase) -> Result<Vec<String>, RunError> {
    if !places.store().exists() {
        return Ok(Vec::new());
    }
    let changes = Store::open(places.store())?.current_schema_changes()?;
    let here = changes.iter().filter(|it| it.database == *here);
    Ok(here
        .map(|change| {
            format!(
                "the comparison or experiment of process {}, which changed the schema at {}, seems to be running: end it first, \
                 or, if it runs on another host that has failed, run: {}",
                change.pid.unwrap_or_default(),
                change.began_at,
                in_words(&change.undo)
            )
        })
        .collect())
}

/// Undoes what killed comparisons left in a database: indexes, and changes whose undo is in the store.
///
/// # Errors
/// Another command uses the database, or something is not undone.
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
    let mut kept = current_here(places, &here)?;
    let (found, copies): (Vec<_>, Vec<_>) =
        run::left_indexes(&mut session)?.into_iter().partition(|index| index.is_named);
    copies.iter().for_each(|index| listener.say(index.sentence()));
    if found.is_empty() && changes.is_empty() && kept.is_empty() {
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
    let system = identity::system(&mut session);
    for change in changes {
        let mut locking = LockingStatements::new(patience, &continues, &mut waits);
        let handled = handle(&mut locking, &mut session, &change, system.as_deref(), listener, control)?;
        if handled.forgets {
            places.open()?.forget_schema_change(change.change)?;
        }
        kept.extend(handled.not_undone);
    }
    if kept.is_empty() { Ok(()) } else { Err(RunError::Aborted(kept.join("; "))) }
}

fn not_undone(what: &str, error: &dyn Display, database: &str, undo: &str) -> RunError {
    RunError::Aborted(format!(
        "{what}, left by a comparison, could not be undone: {error}; try again, or run this in the database {database}: {undo};"
    ))
}

/// What became of a change of the store.
struct Handled {
    /// Whether the store need not name it any more.
    forgets: bool,
    /// Why it was not undone.
    not_undone: Option<String>,
}

/// Undoes a change of the store, if the database is the one that was changed and what was made is still there.
fn handle(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    change: &LeftChange,
    system: Option<&str>,
    listener: Listener<'_>,
    control: &Control,
) -> Result<Handled, RunError> {
    let undo = in_words(&change.undo);
    let not_executed = |reason: String, forgets| {
        let what = format!(
            "the undo of the change of {} is not executed: {reason}. The undo is: {undo}",
            change.began_at
        );
        Ok(Handled { forgets, not_undone: Some(what) })
    };
    if let (Some(then), Some(now)) = (change.system.as_deref(), system)
        && then != now
    {
        let reason = format!(
            "another server is at {} now (system identifier {now}, then {then})",
            change.database.server
        );
        return not_executed(reason, false);
    }
    if change.has_only_indexes {
        let left = unmarked(session, &change.undo)?;
        let not_undone = (!left.is_empty()).then(|| left.join("; "));
        return Ok(Handled { forgets: not_undone.is_none(), not_undone });
    }
    if !change.is_made {
        listener.warn(format_args!(
            "the comparison of {} was killed before its change was complete; pgmeter does not undo it, because that could \
             remove what existed before; if you find that the change was made, run: {undo}",
            change.began_at
        ));
        return Ok(Handled { forgets: true, not_undone: None });
    }
    let Some(made) = &change.made else {
        let reason = "the store does not name what the change made, so it is not known whether that is still there; look, \
                      and run the undo yourself";
        return not_executed(reason.to_owned(), true);
    };
    let Differences { sentences, has_renamed } = identity::differences(session, made)?;
    if !sentences.is_empty() {
        let reason = format!("{}, so it could remove what somebody else made", sentences.join("; "));
        // After a name is changed back, the undo is possible.
        return not_executed(reason, !has_renamed);
    }
    undo_change(locking, session, change, made, listener, control)?;
    Ok(Handled { forgets: true, not_undone: None })
}

/// Executes the undo of a change.
fn undo_change(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    change: &LeftChange,
    made: &[MadeObject],
    listener: Listener<'_>,
    control: &Control,
) -> Result<(), RunError> {
    let continues = || control.check().is_ok();
    let done = control.guard(session, |session| {
        session.patiently(|session| {
            attempt::execute_undo(locking, session, &change.undo, made, &continues, &mut Trace::default())
                .map_err(|failure| *failure.error)
        })
    });
    control.check()?;
    if let Err(error) = done {
        let what = format!("the change of {}", change.began_at);
        return Err(not_undone(&what, &error, &change.database.name, &change.undo.join("; ")));
    }
    change.undo.iter().for_each(|sql| listener.say(format_args!("done: {sql};")));
    Ok(())
}

/// A comparison that was killed between the creation of an index and its comment leaves an index that is not known to be its
/// own: its name may be that of another one by now. The server may still be building it.
fn unmarked(session: &mut Session, undo: &[String]) -> Result<Vec<String>, RunError> {
    let mut left = Vec::new();
    for sql in undo {
        let Some(name) = indexes::dropped_by(sql) else { continue };
        let building = indexes::builders(session, name)?;
        let found = session.query(&format!("SELECT pg_catalog.to_regclass({})", literal(name)))?;
        if let Some(pid) = building.first() {
            left.push(format!(
                "server process {pid} is still building the index {name} of a comparison that was killed; run pgmeter compare \
                 --undo again when it has ended, or end it with SELECT pg_terminate_backend({pid})"
            ));
        } else if found.first().is_some_and(|row| row.get(0).is_some()) {
            left.push(format!(
                "an index {name} exists, and a comparison that did not end was about to create one of this name; pgmeter does \
                 not drop it, because it has no comment that says whose it is; if nobody needs it, drop it with: {sql};"
            ));
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use testkit::cluster::Cluster;

    use super::*;
    use crate::schema_change::attempt::Ending;

    #[test]
    fn an_undo_is_not_executed_on_another_server_or_after_what_was_made_is_gone() {
        let dsn = Cluster::shared("18").database("marks");
        let mut session = Cluster::session(&dsn);
        session.execute("CREATE TABLE users_own (id int)").unwrap();
        let (mut waits, continues) = (LockWaits::default(), || true);
        let mut locking = LockingStatements::new(Patience::default(), &continues, &mut waits);
        let mut trace = Trace::default();
        let statements = ["CREATE TABLE x (id int)".to_owned(), "CREATE INDEX x_id ON x (id)".to_owned()];
        attempt::execute(&mut locking, &mut session, &statements, &continues, &mut trace).unwrap();
        let target = connect::resolve(Some(&dsn), &Overrides::default(), &Environment::of_process()).unwrap();
        assert_eq!(trace.ending(&target), Ending::Committed);
        let made = trace.made.clone().unwrap();
        let names: Vec<&str> = made.iter().map(|object| object.name.as_str()).collect();
        assert!(names.contains(&"x") && names.contains(&"x_id") && names.contains(&"id"), "{made:?}");
        assert!(!names.contains(&"users_own"), "{made:?}");
        let system = identity::system(&mut session);
        let change = LeftChange {
            change: 1,
            database: changed_database(&mut session).unwrap(),
            undo: vec!["DROP TABLE x".to_owned()],
            has_only_indexes: false,
            is_made: true,
            began_at: "2026-01-01".to_owned(),
            system: system.clone(),
            made: trace.made,
            pid: None,
        };
        let (listener, control) = (Listener::new(&|_| {}), Control::default());
        let other = Some("1");
        let handled = handle(&mut locking, &mut session, &change, other, listener, &control).unwrap();
        assert!(!handled.forgets && handled.not_undone.unwrap().contains("another server is at "));
        session.execute("DROP TABLE x; CREATE TABLE x (id int)").unwrap();
        let now = system.as_deref();
        assert!(now.is_some(), "every role may ask for it");
        let handled = handle(&mut locking, &mut session, &change, now, listener, &control).unwrap();
        assert!(handled.forgets && handled.not_undone.unwrap().contains("\"x\" (OID "));
        session.execute("SELECT FROM x").unwrap();
        let change = LeftChange { made: Some(Vec::new()), ..change };
        let handled = handle(&mut locking, &mut session, &change, now, listener, &control).unwrap();
        assert!(handled.forgets && handled.not_undone.is_none());
        assert!(session.execute("SELECT FROM x").is_err());
    }
}
