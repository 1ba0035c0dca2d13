//! Changes of the schema of a user's own database, such as an index, for the time in which they are measured: the SQL of a
//! side, its undo, and the switch between them. The undo runs at the end in any case.

mod change;
mod indexes;
mod marks;

use std::collections::BTreeMap;
use std::time::Duration;

use connect::{
    ConnectError, LockWaits, LockingStatements, Patience, Remains, Session, SqlState, StatementFailure,
    Target,
};
use run::{Control, RunError, StorePlaces};

use crate::configuration::Configuration;
use crate::event::Listener;
use crate::stopwatch::Stopwatch;
use change::{concurrent_drop, in_words};
use indexes::CreatedIndex;

pub(crate) use change::SchemaChange;
pub use marks::undo_left;

/// Maximum wait for a lock.
const LOCK_TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);
pub(crate) use marks::warn_of_left;

/// The object of an undo does not exist, because the change was made only in part: object, table, function, column,
/// schema.
const UNDEFINED: [&str; 5] = ["42704", "42P01", "42883", "42703", "3F000"];
/// A statement that needs a transaction of its own.
const ACTIVE_SQL_TRANSACTION: &str = "25001";
/// An object that a change creates existed before: table or index, object, function, column, schema.
const DUPLICATE: [&str; 5] = ["42P07", "42710", "42723", "42701", "42P06"];

/// The schema of a database in use, which is switched between changes. Dropping this undoes the current change.
pub(crate) struct SchemaSwitch<'a> {
    target: Target,
    listener: Listener<'a>,
    /// The change that is in effect, possibly only in part.
    current: Option<SchemaChange>,
    /// If the current change was made only in part: number of its completed statements, 0 once one was undone.
    made_in_part: Option<usize>,
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
    /// Number of dropped columns in the database before the first change.
    dropped_columns: Option<u64>,
}

/// What the changes of the schema have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SchemaCost {
    /// Number of switches.
    pub(crate) switches: u32,
    /// Their time in all.
    pub(crate) seconds: f64,
    /// Their waits for locks.
    pub(crate) waits: LockWaits,
}

impl SchemaCost {
    /// Mean time of a switch.
    pub(crate) fn mean_s(self) -> f64 {
        if self.switches > 0 { self.seconds / f64::from(self.switches) } else { 0.0 }
    }
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
            made_in_part: None,
            created: Vec::new(),
            undone: 0,
            is_announced: false,
            has_given_up: false,
            patience,
            cost: SchemaCost::default(),
            places,
            noted: None,
            dropped_columns: None,
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
        if self.current == wanted && self.made_in_part.is_none() {
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
        wanted: SchemaChange,
        control: &Control,
    ) -> Result<(), RunError> {
        for index in &wanted.indexes {
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
        if self.dropped_columns.is_none() {
            self.dropped_columns = Some(dropped_columns(session)?);
        }
        let before = to_analyze(session)?;
        self.note(session, &wanted)?;
        // Until the change is complete, it may have to be undone in part.
        let (statements, new_indexes) = (wanted.statements.clone(), wanted.indexes.clone());
        (self.current, self.made_in_part, self.undone) = (Some(wanted), Some(0), 0);
        let continues = || control.check().is_ok();
        let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
        let made = if new_indexes.is_empty() {
            execute_together(&mut locking, session, &statements)
        } else {
            let each = new_indexes.iter().zip(&statements).enumerate();
            each.into_iter().try_for_each(|(done, (index, sql))| {
                let (created, done_now) = indexes::create(&mut locking, session, index, sql);
                created.into_iter().for_each(|created| self.created.insert(0, created));
                let remains = if session.is_lost() { Remains::Unknown } else { Remains::PartAfter(done) };
                done_now.map_err(|error| StatementFailure { error: Box::new(error), remains })
            })
        };
        if let Err(failure) = made {
            return Err(self.made_only_in_part(failure, control));
        }
        self.made_in_part = None;
        self.confirm()?;
        // New expressions, statistics objects and tables have no statistics yet (manual, ANALYZE).
        let new: Vec<String> = to_analyze(session)?
            .into_iter()
            .filter(|it| !before.contains_key(&it.0))
            .map(|it| it.1)
            .collect();
        let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
        for table in new {
            locking.execute_alone(session, &format!("ANALYZE {table}"))?;
        }
        Ok(())
    }

    /// Notes in the store that this change is about to be made: if this process is killed, its undo is known.
    fn note(&mut self, session: &mut Session, wanted: &SchemaChange) -> Result<(), RunError> {
        let here = marks::changed_database(session)?;
        let has_only_indexes = !wanted.indexes.is_empty();
        let noted =
            self.places.open()?.note_schema_change(&here, &wanted.undo_statements(), has_only_indexes)?;
        self.noted = Some(noted);
        Ok(())
    }

    /// Notes in the store that the change was made as a whole.
    fn confirm(&mut self) -> Result<(), RunError> {
        self.noted.map_or(Ok(()), |noted| Ok(self.places.open()?.confirm_schema_change(noted)?))
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

    /// Notes which part of the current change must be undone.
    fn made_only_in_part(&mut self, failure: StatementFailure, control: &Control) -> RunError {
        let StatementFailure { error, remains } = failure;
        let existed = has_state(&error, &DUPLICATE);
        let is_index_left = !self.created.is_empty();
        match remains {
            Remains::Nothing => (self.current, self.made_in_part) = (None, None),
            // The failed statement made nothing, and the undo would remove what the user had before.
            Remains::PartAfter(0) if existed => (self.current, self.made_in_part) = (None, None),
            Remains::PartAfter(done) if existed && !is_index_left => {
                if let Some(current) = self.current.take() {
                    self.listener.warn(format_args!(
                        "the change of the schema was made in part and is not undone, because the undo would also \
                         remove something that existed before: {error}; in the database {}, remove the effect of the \
                         first {done} of its statements yourself. The undo is: {}",
                        self.target.database,
                        current.undo_in_words()
                    ));
                }
                self.made_in_part = None;
            }
            Remains::PartAfter(done) => self.made_in_part = Some(done),
            Remains::Unknown => self.made_in_part = Some(0),
        }
        if self.current.is_none() {
            self.forget();
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
                RunError::Usage(format!("the change of the schema failed: {error}{remedy}"))
            })
    }

    /// Undoes the current change.
    fn undo(&mut self, session: &mut Session, control: &Control) -> Result<(), RunError> {
        let Some(current) = &self.current else { return Ok(()) };
        let continues = || control.check().is_ok();
        let mut locking = LockingStatements::new(self.patience, &continues, &mut self.cost.waits);
        let failed = |error: ConnectError| control.check().err().unwrap_or_else(|| error.into());
        if current.undo.is_none() || (self.made_in_part.is_some() && !self.created.is_empty()) {
            while let Some(index) = self.created.first_mut() {
                control.check()?;
                index.drop_it(&mut locking, session).map_err(failed)?;
                self.created.remove(0);
            }
        } else if let Some(undo) = &current.undo {
            let left = undo.get(self.undone..).unwrap_or_default();
            match &mut self.made_in_part {
                Some(made) => {
                    let mut left = left.to_vec();
                    let done = undo_part(&mut locking, session, &mut left, made, control);
                    self.current = Some(SchemaChange { undo: Some(left), ..current.clone() });
                    self.undone = 0;
                    done?;
                }
                None => {
                    if let Err(StatementFailure { error, remains }) = undo_whole(&mut locking, session, left)
                    {
                        match remains {
                            Remains::Nothing => {}
                            // The next attempt continues with the statement that failed.
                            Remains::PartAfter(done) => self.undone += done,
                            Remains::Unknown => self.made_in_part = Some(0),
                        }
                        return Err(failed(*error));
                    }
                }
            }
        }
        (self.current, self.made_in_part, self.undone) = (None, None, 0);
        self.created.clear();
        self.forget();
        Ok(())
    }

    /// Undoes the current change at the end. If that fails, it is not tried again: the error says what is left.
    pub(crate) fn restore(&mut self) -> Result<(), RunError> {
        if self.current.is_none() || self.has_given_up {
            return Ok(());
        }
        // The work may have been interrupted, so this does not check for signals.
        let control = Control::default();
        let undone = Session::connect(&self.target).map_err(RunError::from).and_then(|mut session| {
            session.patiently(|session| self.undo(session, &control))?;
            self.warn_of_dropped_columns(&mut session);
            Ok(())
        });
        undone.map_err(|error| {
            self.has_given_up = true;
            RunError::Usage(format!(
                "the change of the schema could not be undone: {error}; run this in the database {}: {}",
                self.target.database,
                self.undo_in_words()
            ))
        })
    }

    /// ADD COLUMN and DROP COLUMN leave something that no undo removes.
    fn warn_of_dropped_columns(&mut self, session: &mut Session) {
        let (Some(before), Ok(now)) = (self.dropped_columns, dropped_columns(session)) else { return };
        if now > before {
            self.listener.warn(format_args!(
                "the tables of the database have {} more dropped columns than before the changes of the schema; a table can \
                 have 1,600 columns, with the dropped ones, until it is made anew",
                now - before
            ));
        }
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

/// Executes the statements of a change: several are one transaction, so that a failure leaves nothing to undo in part.
fn execute_together(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    statements: &[String],
) -> Result<(), StatementFailure> {
    if let [_] = statements {
        locking.execute(session, statements)
    } else {
        locking.execute_in_transaction(session, statements)
    }
}

/// Executes an undo; DROP INDEX becomes concurrent if all its statements are that.
fn undo_whole(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    undo: &[String],
) -> Result<(), StatementFailure> {
    let concurrent: Vec<String> = undo.iter().filter_map(|sql| concurrent_drop(sql)).collect();
    if concurrent.len() != undo.len() {
        return locking.execute(session, undo);
    }
    for (done, (concurrent, plain)) in concurrent.iter().zip(undo).enumerate() {
        if let Err(error) = indexes::execute_concurrently(locking, session, concurrent, plain) {
            let remains = if session.is_lost() { Remains::Unknown } else { Remains::PartAfter(done) };
            return Err(StatementFailure { error: Box::new(error), remains });
        }
    }
    Ok(())
}

/// Undoes a change that was made in part: executes each statement, also after one whose object does not exist. Removes
/// the statements that need not be repeated. `made` is the number of the change's statements that were completed.
fn undo_part(
    locking: &mut LockingStatements<'_>,
    session: &mut Session,
    undo: &mut Vec<String>,
    made: &mut usize,
    control: &Control,
) -> Result<(), RunError> {
    let (mut left, mut failure, mut missing) = (Vec::new(), None, None);
    for sql in undo.iter() {
        let done = control.check().and_then(|()| Ok(locking.execute_alone(session, sql)?));
        match done {
            Ok(()) => *made = 0,
            Err(RunError::Connect(error)) if has_state(&error, &UNDEFINED) => {
                missing = Some(RunError::Connect(error));
            }
            Err(error) => {
                left.push(sql.clone());
                failure.get_or_insert(error);
            }
        }
    }
    match (failure, missing) {
        (Some(error), _) => {
            *undo = left;
            Err(error)
        }
        // Something was made, but the undo finds nothing of it.
        (None, Some(error)) if *made > 0 => Err(error),
        (None, _) => Ok(()),
    }
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
    let time = crate::duration(text).map_err(|expected| format!("expected {expected}"))?;
    if !(Duration::from_millis(1)..=LOCK_TIME_MAX).contains(&time) {
        return Err("must be at least 1ms and at most 24h".to_owned());
    }
    Ok(time)
}

/// Whether the changes of these cells can be read and undone.
pub(crate) fn check<'a>(configurations: impl IntoIterator<Item = &'a Configuration>) -> Result<(), RunError> {
    configurations.into_iter().try_for_each(|configuration| SchemaChange::of(configuration).map(drop))
}
