//! Changes of the schema of a user's own database, such as an index, for the time in which they are measured: the SQL of a
//! side, its undo, and the switch between them. The undo runs at the end in any case.

mod attempt;
mod change;
mod cost;
mod definitions;
mod identity;
mod indexes;
mod marks;

use std::collections::BTreeMap;
use std::time::Duration;

use connect::{
    ConnectError, LockingStatements, Patience, Remains, Session, SqlState, StatementFailure, Stopwatch,
    Target,
};
use experiment::Configuration;
use results::MadeObject;
use run::{Control, RunError, StorePlaces};

use crate::event::Listener;
use attempt::{Ending, Trace};
use change::{concurrent_drop, has_word, in_words};
use definitions::Definitions;
use indexes::CreatedIndex;

pub(crate) use change::SchemaChange;
pub(crate) use cost::SchemaCost;
pub use marks::undo_left;

/// Maximum wait for a lock.
const LOCK_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
pub(crate) use marks::warn_of_left;

/// A statement that needs a transaction of its own.
const ACTIVE_SQL_TRANSACTION: &str = "25001";
/// Beginning of a warning; the reason follows.
const NOT_COMPARED: &str = "pgmeter cannot say whether the schema is as before after the last undo, because the catalogs cannot be read";

/// The schema of a database in use, which is switched between changes. Dropping this undoes the current change.
pub(crate) struct SchemaSwitch<'a> {
    target: Target,
    listener: Listener<'a>,
    /// The change that is in effect, possibly only in part.
    current: Option<SchemaChange>,
    /// Whether the current change was not completed: only its `created` indexes may exist.
    is_partial: bool,
    /// What the current change made or altered; `None` if that is not known.
    made: Option<Vec<MadeObject>>,
    /// The indexes of the current change, the last one first.
    created: Vec<CreatedIndex>,
    /// Statements of the user's own undo of the current change that were executed already.
    undone: usize,
    is_announced: bool,
    has_given_up: bool,
    patience: Patience,
    cost: SchemaCost,
    places: StorePlaces,
    /// The current change in the store.
    noted: Option<i64>,
    /// The database before the first change.
    before: Option<Before>,
}

/// What is compared with the state after the last undo.
struct Before {
    /// Number of dropped columns.
    dropped_columns: u64,
    /// `None`: they could not be read.
    definitions: Option<Definitions>,
}

impl<'a> SchemaSwitch<'a> {
    pub(crate) fn new(
        target: Target,
        patience: Patience,
        places: StorePlaces,
        listener: Listener<'a>,
    ) -> Self {
        Self {
            target,
            listener,
            current: None,
            is_partial: false,
            made: None,
            created: Vec::new(),
            undone: 0,
            is_announced: false,
            has_given_up: false,
            patience,
            cost: SchemaCost::default(),
            places,
            noted: None,
            before: None,
        }
    }

    pub(crate) fn cost(&self) -> SchemaCost {
        self.cost
    }

    /// Undoes the current change and makes the wanted one.
    pub(crate) fn switch_to(
        &mut self,
        wanted: Option<SchemaChange>,
        control: &Control,
    ) -> Result<(), RunError> {
        if self.current == wanted && !self.is_partial {
            return Ok(());
        }
        let _busy = self.listener.busy("changing the schema …");
        let stopwatch = Stopwatch::start();
        let mut session = control.connect(&self.target)?;
        let changed = control.guard(&mut session, |session| {
            session.patiently(|session| {
                self.undo(session, control)?;
                wanted.map_or(Ok(()), |wanted| self.make(session, wanted, control))
            })
        });
        // An interruption cancels the statement, which is then not an error of its own.
        control.check()?;
        changed?;
        self.cost.switches += 1;
        self.cost.seconds += stopwatch.seconds();
        Ok(())
    }

    fn make(
        &mut self,
        session: &mut Session,
        mut wanted: SchemaChange,
        control: &Control,
    ) -> Result<(), RunError> {
        for index in &mut wanted.indexes {
            indexes::find_schema(session, index)?;
            if indexes::exists(session, index)? {
                let index = index.qualified();
                return Err(RunError::Usage(format!(
                    "the index {index} exists already, so the database cannot be measured without it: DROP INDEX \
                     {index}, or give the new index another name"
                )));
            }
            if wanted.undo.is_none() && indexes::is_partitioned(session, index)? {
                let (table, index) = (&index.table, index.qualified());
                return Err(RunError::Usage(format!(
                    "{table} is partitioned, so PostgreSQL cannot make the index {index} CONCURRENTLY, and all writers would \
                     wait until it is made. Compare on a copy of the database; or allow this by giving the undo yourself: \
                     --b-undo 'DROP INDEX {index}' (or --a-undo; ddl_undo in a file)"
                )));
            }
        }
        if !self.is_announced {
            self.listener
                .say(format_args!("changing the schema in place; at the end: {}", wanted.undo_in_words()));
            self.is_announced = true;
        }
        if self.before.is_none() {
            let definitions = self.definitions(session);
            self.before = Some(Before { dropped_columns: dropped_columns(session)?, definitions });
        }
        let before = to_analyze(session)?;
        self.note(session, &wanted)?;
        self.execute(session, wanted, control)?;
        // New expressions, statistics objects and tables have no statistics yet (manual, ANALYZE).
        let new: Vec<String> = to_analyze(session)?
            .into_iter()
            .filter(|it| !before.contains_key(&it.0))
            .map(|it| it.1)
            .collect();
        let continues = || control.check().is_ok();
        let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
        for table in new {
            locking.execute_alone(session, &format!("ANALYZE {table}"))?;
        }
        Ok(())
    }

    /// Executes the statements of a change, which is then the current one.
    fn execute(
        &mut self,
        session: &mut Session,
        wanted: SchemaChange,
        control: &Control,
    ) -> Result<(), RunError> {
        let (statements, new_indexes) = (wanted.statements.clone(), wanted.indexes.clone());
        (self.current, self.is_partial, self.made, self.undone) = (Some(wanted), true, None, 0);
        let continues = || control.check().is_ok();
        let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
        let mut trace = Trace::default();
        let executed = if new_indexes.is_empty() {
            attempt::execute(&mut locking, session, &statements, &continues, &mut trace)
        } else {
            new_indexes.iter().zip(&statements).try_for_each(|(index, sql)| {
                let (created, done) = indexes::create(&mut locking, session, index, sql);
                created.into_iter().for_each(|created| self.created.insert(0, created));
                done.map_err(|error| StatementFailure { error: Box::new(error), remains: Remains::Nothing })
            })
        };
        if let Err(failure) = executed {
            return Err(self.not_made(failure, trace, control));
        }
        let oids: Vec<u32> = self.created.iter().filter_map(|index| index.oid).collect();
        self.made = trace.made.or_else(|| identity::of_relations(session, &oids));
        self.is_partial = false;
        self.confirm()
    }

    /// Notes in the store that this change is about to be made: if this process is killed, its undo is known.
    fn note(&mut self, session: &mut Session, wanted: &SchemaChange) -> Result<(), RunError> {
        let here = marks::changed_database(session)?;
        let system = identity::system(session);
        let has_only_indexes = !wanted.indexes.is_empty();
        let noted = self.places.open()?.note_schema_change(
            &here,
            system.as_deref(),
            &wanted.undo_statements(),
            has_only_indexes,
        )?;
        self.noted = Some(noted);
        Ok(())
    }

    /// Notes in the store that the change was made as a whole.
    fn confirm(&mut self) -> Result<(), RunError> {
        let Some(noted) = self.noted else { return Ok(()) };
        Ok(self.places.open()?.confirm_schema_change(noted, self.made.as_deref())?)
    }

    /// Nothing is left of the change, or the user was told what.
    fn forget(&mut self) {
        let Some(noted) = self.noted.take() else { return };
        let forgotten = self.places.open().and_then(|mut store| Ok(store.forget_schema_change(noted)?));
        if let Err(error) = forgotten {
            self.listener.warn(format_args!(
                "the change of the schema was undone, but the store still names it: {error}"
            ));
        }
    }

    /// After a failure of the current change: notes what must be undone, which is only what it is known to have made.
    fn not_made(&mut self, failure: StatementFailure, trace: Trace, control: &Control) -> RunError {
        let StatementFailure { error, remains } = failure;
        let ending = match remains {
            Remains::Nothing | Remains::PartAfter(0) => Ending::RolledBack,
            Remains::PartAfter(_) => Ending::Unknown,
            Remains::Unknown => trace.ending(&self.target),
        };
        match ending {
            // The indexes before a failed one are dropped.
            Ending::RolledBack if !self.created.is_empty() => {}
            Ending::RolledBack => {
                self.warn_of_invalid_index();
                (self.current, self.is_partial) = (None, false);
                self.forget();
            }
            Ending::Committed => {
                (self.made, self.is_partial) = (trace.made, false);
                if let Err(error) = self.confirm() {
                    self.listener.warn(error);
                }
            }
            Ending::Unknown => {
                let undo = self.undo_in_words();
                self.listener.warn(format_args!(
                    "it is not known whether the change of the schema was made before the connection was lost, so it is not \
                     undone: the undo could remove what existed before. Look whether the change was made in the database \
                     {}; if it was, run: {undo}",
                    self.target.database
                ));
                // The store still names it, as a change that may be incomplete.
                (self.current, self.is_partial, self.noted) = (None, false, None);
            }
        }
        control
            .check()
            .err()
            .unwrap_or_else(|| {
                let remedy = if has_state(&error, &[ACTIVE_SQL_TRANSACTION]) {
                    "; several statements of a change are one transaction: give this statement alone, or without CONCURRENTLY"
                } else {
                    ""
                };
                RunError::Aborted(format!("the change of the schema failed: {error}{remedy}"))
            })
    }

    /// A failed statement with CONCURRENTLY, other than those whose index is known, is a transaction only in part.
    fn warn_of_invalid_index(&self) {
        let change = self.current.as_ref().filter(|it| it.indexes.is_empty() && it.statements.len() == 1);
        let Some(change) = change.filter(|it| it.statements.iter().any(|sql| has_word(sql, "CONCURRENTLY")))
        else {
            return;
        };
        self.listener.warn(format_args!(
            "the failed statement has CONCURRENTLY and may have left a part, such as an invalid index (SELECT \
             indexrelid::regclass FROM pg_index WHERE NOT indisvalid); pgmeter does not undo it: look in the database {}, \
             and remove what is left; the undo is: {}",
            self.target.database,
            change.undo_in_words()
        ));
    }

    /// Undoes the current change.
    fn undo(&mut self, session: &mut Session, control: &Control) -> Result<(), RunError> {
        let Some(current) = self.current.clone() else { return Ok(()) };
        let continues = || control.check().is_ok();
        let failed = |error: ConnectError| control.check().err().unwrap_or_else(|| error.into());
        match &current.undo {
            Some(undo) if !self.is_partial => {
                let left = undo.get(self.undone..).unwrap_or_default();
                if self.undone == 0 {
                    self.refuse_if_different(session)?;
                }
                let mut trace = Trace::default();
                let made = self.made.as_deref().filter(|_| self.undone == 0).unwrap_or_default();
                let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
                if let Err(failure) = undo_whole(&mut locking, session, left, made, &continues, &mut trace) {
                    if failure.remains == Remains::Nothing {
                        self.refuse_if_different(session)?;
                    }
                    return Err(self.not_undone(failure, &trace, failed));
                }
            }
            _ => {
                let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
                while let Some(index) = self.created.first_mut() {
                    control.check()?;
                    index.drop_it(&mut locking, session).map_err(failed)?;
                    self.created.remove(0);
                }
            }
        }
        self.is_undone();
        Ok(())
    }

    fn is_undone(&mut self) {
        (self.current, self.is_partial, self.made, self.undone) = (None, false, None, 0);
        self.created.clear();
        self.forget();
    }

    /// After a failure of an undo: the next attempt continues with what is known not to be undone.
    fn not_undone(
        &mut self,
        failure: StatementFailure,
        trace: &Trace,
        failed: impl Fn(ConnectError) -> RunError,
    ) -> RunError {
        let StatementFailure { error, remains } = failure;
        match remains {
            Remains::Nothing => {}
            Remains::PartAfter(done) => self.undone += done,
            Remains::Unknown => match trace.ending(&self.target) {
                Ending::RolledBack => {}
                Ending::Committed => self.is_undone(),
                Ending::Unknown => {
                    self.has_given_up = true;
                    return RunError::Aborted(format!(
                        "it is not known whether the change of the schema was undone before the connection was lost: {error}; \
                         look in the database {} whether the change is still there; if it is, run: {}",
                        self.target.database,
                        self.undo_in_words()
                    ));
                }
            },
        }
        failed(*error)
    }

    /// Refuses the undo of the user's own if what the change made is not there any more: the undo could remove a namesake.
    fn refuse_if_different(&self, session: &mut Session) -> Result<(), RunError> {
        let Some(made) = &self.made else { return Ok(()) };
        let identity::Differences { sentences, .. } = identity::differences(session, made)?;
        if sentences.is_empty() {
            return Ok(());
        }
        Err(RunError::Aborted(format!(
            "{}, so the undo could remove what somebody else made, and pgmeter does not execute it; look first whether it is \
             still needed",
            sentences.join("; ")
        )))
    }

    /// Undoes the current change at the end. If that fails, it is not tried again: the error says what is left.
    pub(crate) fn restore(&mut self) -> Result<(), RunError> {
        if self.has_given_up || (self.current.is_none() && self.before.is_none()) {
            return Ok(());
        }
        // The work may have been interrupted, so this does not check for signals.
        let control = Control::default();
        let undone = Session::connect(&self.target).map_err(RunError::from).and_then(|mut session| {
            session.patiently(|session| self.undo(session, &control))?;
            Ok(self.before.take().and_then(|before| self.differences(&mut session, &before)))
        });
        if self.current.is_none() {
            self.before = None;
            let compared = undone.unwrap_or_else(|error| {
                self.listener.warn(format_args!("{NOT_COMPARED}: {error}"));
                None
            });
            return compared.map_or(Ok(()), |differences| {
                Err(RunError::Aborted(format!(
                    "the schema of the database {} differs from before the changes, after the undo of the last one: {differences}. \
                     If no other session did this, the change and its undo did: restore it yourself",
                    self.target.database
                )))
            });
        }
        undone.map(drop).map_err(|error| {
            if std::mem::replace(&mut self.has_given_up, true) {
                return error;
            }
            RunError::Aborted(format!(
                "the change of the schema could not be undone: {error}; run this in the database {}: {}",
                self.target.database,
                self.undo_in_words()
            ))
        })
    }

    /// Compares the database with before the first change. ADD COLUMN and DROP COLUMN leave something that no undo removes,
    /// which is only told.
    fn differences(&self, session: &mut Session, before: &Before) -> Option<String> {
        let now = dropped_columns(session).unwrap_or_default();
        if now > before.dropped_columns {
            self.listener.warn(format_args!(
                "the tables of the database have {} more dropped columns than before the changes of the schema; a table can \
                 have 1,600 columns, with the dropped ones, until it is made anew",
                now - before.dropped_columns
            ));
        }
        before.definitions.as_ref()?.differences(&self.definitions(session)?)
    }

    /// `None`, with a warning, if the definitions cannot be read.
    fn definitions(&self, session: &mut Session) -> Option<Definitions> {
        let warn = |error: &ConnectError| {
            self.listener.warn(format_args!("{NOT_COMPARED}: {error}"));
        };
        Definitions::read(session).inspect_err(warn).ok()
    }

    /// The SQL that is left to run.
    fn undo_in_words(&self) -> String {
        match &self.current {
            Some(SchemaChange { undo: Some(undo), .. }) => {
                in_words(undo.get(self.undone..).unwrap_or_default())
            }
            Some(change) if self.created.is_empty() => change.undo_in_words(),
            _ => in_words(&self.created.iter().map(|index| index.undo.clone()).collect::<Vec<_>>()),
        }
    }
}

/// Number of dropped columns in all tables that are no catalogs.
fn dropped_columns(session: &mut Session) -> Result<u64, ConnectError> {
    let rows = session.query_catalogs(
        "SELECT count(*) FROM pg_attribute JOIN pg_class AS c ON c.oid = attrelid \
         WHERE attisdropped AND relkind IN ('r', 'p') AND c.oid >= 16384",
    )?;
    Ok(rows.first().and_then(|row| row.get(0)?.parse().ok()).unwrap_or_default())
}

impl Drop for SchemaSwitch<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.restore() {
            self.listener.warn(error);
        }
    }
}

/// Executes an undo; DROP INDEX becomes concurrent if all its statements are that.
fn undo_whole(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    undo: &[String],
    made: &[MadeObject],
    continues: &dyn Fn() -> bool,
    trace: &mut Trace,
) -> Result<(), StatementFailure> {
    let concurrent: Vec<String> = undo.iter().filter_map(|sql| concurrent_drop(sql)).collect();
    if concurrent.len() != undo.len() {
        return attempt::execute_undo(locking, session, undo, made, continues, trace);
    }
    for (done, (concurrent, plain)) in concurrent.iter().zip(undo).enumerate() {
        if let Err(error) = indexes::execute_concurrently(locking, session, concurrent, plain) {
            let remains = if session.is_lost() { Remains::Unknown } else { Remains::PartAfter(done) };
            return Err(StatementFailure { error: Box::new(error), remains });
        }
    }
    Ok(())
}

fn has_state(error: &ConnectError, states: &[&str]) -> bool {
    error.sqlstate().is_some_and(|state: SqlState| states.contains(&state.to_string().as_str()))
}

/// Objects for which ANALYZE collects statistics that do not exist before, with their tables: expressions of indexes,
/// statistics objects and tables.
fn to_analyze(session: &mut Session) -> Result<BTreeMap<String, String>, ConnectError> {
    let statistics = if session.server_version_num() >= 100_000 {
        "UNION ALL SELECT 'statistics ' || oid, stxrelid::regclass::text FROM pg_statistic_ext"
    } else {
        ""
    };
    let rows = session.query_catalogs(&format!(
        "SELECT 'index ' || indexrelid, indrelid::regclass::text FROM pg_index WHERE indexprs IS NOT NULL \
         UNION ALL SELECT 'table ' || oid, oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'm') {statistics}"
    ))?;
    let text = |row: &connect::Row, at| row.get(at).unwrap_or_default().to_owned();
    Ok(rows.iter().map(|row| (text(row, 0), text(row, 1))).collect())
}

/// Parses a time for locks with a unit: for the server, 0 would be no limit.
///
/// # Errors
/// It is no time, or too short or too long: what is expected.
pub fn lock_time(text: &str) -> Result<Duration, String> {
    let time = run::options::duration(text).map_err(|expected| format!("expected {expected}"))?;
    if !(Duration::from_millis(1)..=LOCK_TIME_MAX).contains(&time) {
        return Err("must be at least 1ms and at most 24h".to_owned());
    }
    Ok(time)
}

/// Whether the changes of these cells can be read and undone.
pub(crate) fn check<'a>(configurations: impl IntoIterator<Item = &'a Configuration>) -> Result<(), RunError> {
    configurations.into_iter().try_for_each(|configuration| SchemaChange::of(configuration).map(drop))
}
