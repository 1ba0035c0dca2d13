//! Executes all statements of a schema in a transaction, reads from the catalogs what they have made, and rolls it back.
//! So the server reads the schema: no text is interpreted.

use connect::{LockTry, Session};
use datagen::Description;

use super::left_out::LeftOut;
use super::obstacles::Obstacles;
use super::preparation::{drop_obstacles, limit_statements, refuse_transaction_control, tables_of_role};
use super::table_set::TableSet;
use crate::WorkloadError;
use crate::contract::load::{InitOptions, Progress, begin_own, execute, failed, query_catalogs, with_locks};
use crate::contract::marks::{self, MarkedObject};
use crate::loader::catalogs;
use crate::loader::protection::foreign_objects::{self, begin_counting};
use crate::loader::protection::sequences::{self, Sequences};
use crate::loader::protection::step_guard::rolled_back;

/// What the statements of `set` make. They are all in its `schema`, in their order. Nothing is changed.
///
/// # Errors
/// A table exists that `init` did not make; the server refuses a statement; `progress` asked to stop.
pub(crate) fn describe(
    session: &mut Session,
    set: &TableSet,
    options: &InitOptions,
    progress: &mut Progress<'_>,
) -> Result<(Description, LeftOut), WorkloadError> {
    refuse_transaction_control(set)?;
    // On the caller's session, whose statements a signal cancels: one of the schema may be endless. The settings that the schema
    // makes end with the rollback.
    with_locks(session, progress, |own, locking, _| {
        locking.repeat(own, |own, lock_try| {
            let described = described(own, set, options, lock_try);
            let described = described.map_err(|error| rolled_back(own, error, "the schema"))?;
            own.rollback().map_err(failed("rollback"))?;
            Ok(described)
        })
    })
}

fn described(
    session: &mut Session,
    set: &TableSet,
    options: &InitOptions,
    lock_try: &LockTry,
) -> Result<(Description, LeftOut), WorkloadError> {
    let marked = marks::find(session, &set.workload)?;
    let sequences = if options.drops { Sequences::new() } else { sequences_of_others(session, &marked)? };
    // Nothing is dropped for good: what users have added to the tables of an interrupted loading stays.
    let options = &InitOptions { drops: options.drops || options.resumes, ..options.clone() };
    let obstacles = Obstacles::find(session, set, options, marked)?;
    let own_tables = tables_of_role(session, &obstacles.objects)?;
    let cascade = if options.resumes { " cascade" } else { "" };
    let drops: Vec<String> =
        obstacles.drop_statements().iter().map(|drop| format!("{drop}{cascade}")).collect();
    let before = catalogs::table_oids(session)?;
    begin_own(session)?;
    drop_obstacles(session, &own_tables, &drops, lock_try)?;
    begin_counting(session)?;
    limit_statements(session, options)?;
    let left_out = LeftOut::execute(session, set, options)?;
    // The search path is still that of the schema.
    let description = catalogs::describe(session, &before, &set.names)?;
    foreign_objects::check_sequences(session, &sequences, &set.workload)?;
    deallocate_own(session)?;
    Ok((description, left_out))
}

/// The values of the sequences that the workload has not made: no rollback restores them.
fn sequences_of_others(session: &mut Session, marked: &[MarkedObject]) -> Result<Sequences, WorkloadError> {
    let all = query_catalogs(session, "select oid from pg_class where relkind = 'S'")?;
    let is_own = |oid: &&str| marked.iter().any(|own| own.is_own && own.object.oid == *oid);
    sequences::read(session, all.iter().filter_map(|row| row.get(0)).filter(|oid| !is_own(oid)))
}

/// Removes the statements that the schema has prepared: a rollback keeps them, and the schema is executed again.
fn deallocate_own(session: &mut Session) -> Result<(), WorkloadError> {
    let prepared = query_catalogs(
        session,
        "select quote_ident(name) from pg_prepared_statements where from_sql and prepare_time >= transaction_timestamp()",
    )?;
    let mut names = prepared.iter().filter_map(|row| row.get(0));
    names.try_for_each(|name| execute(session, &format!("deallocate {name}")))
}
