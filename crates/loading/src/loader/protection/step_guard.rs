//! Executes the load steps of a folder so that objects of others stay as they are: each step, or each of its statements, is a
//! transaction that is rolled back if it has changed one. `folder` runs the steps in their order.

use std::collections::{BTreeMap, BTreeSet};

use connect::{ConnectError, LockTry, LockingStatements, ResultSet, Session, SqlState};
use script::Statement;
use sql::statement_words;

use crate::WorkloadError;
use crate::contract::load::{begin_own, commit, execute, failed};
use crate::contract::marks::{self, Mark};
use crate::contract::object_kinds::ObjectKey;
use crate::contract::sql_file::LoadStep;
use crate::loader::protection::acting_on_all;
use crate::loader::protection::concurrent_forms;
use crate::loader::protection::dependents;
use crate::loader::protection::existing_objects::ExistingObjects;
use crate::loader::protection::foreign_objects::{
    ForeignObjects, begin_counting, has_event_triggers, run_deferred,
};

/// SQLSTATE of a statement that must not run in a transaction block.
const IN_TRANSACTION: &[u8; 5] = b"25001";
/// First words of statements that begin or end a transaction. `PREPARE` does with `TRANSACTION` only.
const TRANSACTION_CONTROL: [&str; 7] = ["abort", "begin", "commit", "end", "rollback", "start", "prepare"];

/// What protects the objects of others during the steps, and marks new ones.
pub(crate) struct StepGuard {
    pub(crate) existing: ExistingObjects,
    pub(crate) foreign: ForeignObjects,
    /// Whether the user allows to change them (`--drop`). They are named then.
    pub(crate) drops: bool,
    pub(crate) mark: Mark,
    /// The dependents of the workload's relations that the loading, or an earlier one, has made; `None` with `--drop`, where
    /// statements may run outside of pgmeter's transactions.
    pub(crate) made: Option<BTreeSet<ObjectKey>>,
}

/// What the user learns of a step before its transaction is committed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StepEffect<'a> {
    /// It drops or changes these objects of others with permission.
    Changes(&'a [String]),
    /// A sentence about an object that acts on all tables.
    ActsOnAll(&'a str),
}

/// Receives what a step does.
pub(crate) type TellEffect<'a> = dyn FnMut(StepEffect<'_>) -> Result<(), WorkloadError> + 'a;

impl StepGuard {
    /// Executes a load step.
    pub(crate) fn run(
        &mut self,
        session: &mut Session,
        step: &LoadStep,
        variables: &BTreeMap<String, String>,
        locking: &mut LockingStatements<'_>,
        tell: &mut TellEffect<'_>,
    ) -> Result<(), WorkloadError> {
        let statements = script::statements(&step.file, &step.sql, variables)?;
        // Behind a pooler, each statement is in a transaction of pgmeter.
        if step.is_transaction || !self.drops || session.is_pooled() {
            refuse_transaction_control(step, &statements)?;
        }
        if step.is_transaction {
            return self.transaction(session, step, &statements, locking, tell);
        }
        for statement in &statements {
            if self.drops {
                if let Some(name) = prepared_by_others(&statement.sql) {
                    tell(StepEffect::Changes(&[name]))?;
                }
                // Alone, as written.
                done(session.execute_of_user(&statement.sql), step, statement)?;
                continue;
            }
            if let Some(words) = concerns_others(&statement.sql) {
                return Err(WorkloadError::BeyondDatabase {
                    place: place(step, statement.line),
                    statement: words,
                });
            }
            let mut statement = statement.clone();
            if let Some(sql) = concurrent_forms::in_transaction(&statement.sql) {
                statement.sql = sql;
            }
            match self.transaction(session, step, std::slice::from_ref(&statement), locking, tell) {
                Err(WorkloadError::LoadStep { is_misplaced: true, .. }) if runs_alone(&statement.sql) => {
                    self.alone(session, step, &statement, locking)?;
                }
                other => other?,
            }
        }
        let changed = if self.drops { self.foreign.changed(session)? } else { Vec::new() };
        if changed.is_empty() { Ok(()) } else { tell(StepEffect::Changes(&changed)) }
    }

    /// Executes statements in one transaction, and repeats it until it has all locks. It waits for each lock only as long as
    /// others may wait behind it.
    fn transaction(
        &mut self,
        session: &mut Session,
        step: &LoadStep,
        statements: &[Statement],
        locking: &mut LockingStatements<'_>,
        tell: &mut TellEffect<'_>,
    ) -> Result<(), WorkloadError> {
        let foreign = if self.drops { None } else { Some(self.foreign.now(session)?) };
        let last = statements.last().map_or(1, |statement| statement.line);
        let (made, dependents) = locking.repeat(session, |session, lock_try| {
            begin_own(session)?;
            let committed = limit_waits(session, lock_try)
                .and_then(|()| foreign.as_ref().map_or(Ok(()), |_| begin_counting(session)))
                .and_then(|()| self.statements(session, step, statements))
                // With the search path of the step.
                .and_then(|()| run_deferred(session))
                .and_then(|()| self.existing.mark_new(session, &self.mark))
                // A mark is a comment, and event triggers act on it too.
                .and_then(|made| run_deferred(session).map(|()| made))
                .and_then(|made| self.judge(session, foreign.as_ref(), tell).map(|()| made))
                .and_then(|made| dependents::made(session).map(|dependents| (made, dependents)))
                .and_then(|made| commit(session).map(|()| made));
            committed.map_err(|error| rolled_back(session, error, &place(step, last)))
        })?;
        self.foreign.adopt(&made);
        self.made.iter_mut().for_each(|made| made.extend(dependents.iter().cloned()));
        Ok(())
    }

    /// Before the commit: an error if objects of others were changed, or their names if that is allowed; and what acts on all.
    fn judge(
        &self,
        session: &mut Session,
        foreign: Option<&ForeignObjects>,
        tell: &mut TellEffect<'_>,
    ) -> Result<(), WorkloadError> {
        if let Some(foreign) = foreign {
            foreign.check(session)?;
        } else {
            let changed = self.foreign.changed(session)?;
            if !changed.is_empty() {
                tell(StepEffect::Changes(&changed))?;
            }
        }
        let acting = acting_on_all::sentences(session)?;
        acting.iter().try_for_each(|sentence| tell(StepEffect::ActsOnAll(sentence)))
    }

    /// Executes statements of pgmeter in one transaction. Only event triggers of users may act on them.
    pub(crate) fn execute_own(
        &self,
        session: &mut Session,
        statements: &[String],
    ) -> Result<(), WorkloadError> {
        if statements.is_empty() {
            return Ok(());
        }
        let is_guarded = !self.drops && has_event_triggers(session)?;
        let foreign = is_guarded.then(|| self.foreign.now(session)).transpose()?;
        begin_own(session)?;
        let done = foreign
            .as_ref()
            .map_or(Ok(()), |_| begin_counting(session))
            .and_then(|()| statements.iter().try_for_each(|sql| execute(session, sql)))
            .and_then(|()| run_deferred(session))
            .and_then(|()| foreign.as_ref().map_or(Ok(()), |foreign| foreign.check(session)))
            .and_then(|()| commit(session));
        done.map_err(|error| rolled_back(session, error, "a mark of the loading"))
    }

    fn statements(
        &self,
        session: &mut Session,
        step: &LoadStep,
        statements: &[Statement],
    ) -> Result<(), WorkloadError> {
        for statement in statements {
            done(execute_singly(session, &statement.sql), step, statement)?;
            // Their words were examined, so this needs an extension that commits.
            if !session.is_in_transaction() {
                return Err(WorkloadError::TransactionEnded { place: place(step, statement.line) });
            }
        }
        Ok(())
    }

    /// All that belongs to the workload's relations.
    fn dependents(&self, session: &mut Session) -> Result<BTreeSet<ObjectKey>, WorkloadError> {
        let own = marks::find(session, &self.mark.workload)?;
        dependents::of_loading(session, &own, &BTreeSet::new())
    }

    /// Executes a statement that cannot run in a transaction, such as VACUUM. What it changes cannot be rolled back.
    fn alone(
        &mut self,
        session: &mut Session,
        step: &LoadStep,
        statement: &Statement,
        locking: &mut LockingStatements<'_>,
    ) -> Result<(), WorkloadError> {
        let foreign = self.foreign.now(session)?;
        let sql = &statement.sql;
        if rebuilds_or_drops(sql)
            && let Some(object) = foreign.named_in(session, sql)?
        {
            let workload = self.mark.workload.clone();
            return Err(WorkloadError::ForeignObjectNamed {
                object,
                workload,
                place: place(step, statement.line),
            });
        }
        let before = self.dependents(session)?;
        let executed =
            session.analyze(sql).and_then(|()| match words(sql).iter().any(|word| word == "concurrently") {
                true => locking.execute_beside_others(session, sql),
                false => locking.execute_alone(session, sql),
            });
        done(executed, step, statement)?;
        let mut added = self.dependents(session)?;
        added.retain(|key| !before.contains(key));
        self.made.iter_mut().for_each(|made| made.extend(added.iter().cloned()));
        let changed = foreign.changed(session)?;
        changed.into_iter().next().map_or(Ok(()), |object| {
            let (workload, place) = (self.mark.workload.clone(), place(step, statement.line));
            Err(WorkloadError::ForeignObjectLost { object, workload, place })
        })
    }
}

/// Sessions that read the tables of an earlier loading wait behind the step too.
fn limit_waits(session: &mut Session, lock_try: &LockTry) -> Result<(), WorkloadError> {
    lock_try.limit_each_statement(session).map_err(failed("set local lock_timeout"))
}

/// Executes SQL of a user so that the server finds the same statements in it as pgmeter: with other settings of the client,
/// such as `standard_conforming_strings`, a string may end elsewhere, and hide a COMMIT.
pub(crate) fn execute_singly(session: &mut Session, sql: &str) -> Result<(), ConnectError> {
    query_singly(session, sql).map(drop)
}

/// As [`execute_singly`], with the result sets.
pub(crate) fn query_singly(session: &mut Session, sql: &str) -> Result<Vec<ResultSet>, ConnectError> {
    let parts = script::statements("", sql, &BTreeMap::new()).unwrap_or_default();
    let parts: Vec<&str> = parts.iter().map(|part| part.sql.as_str()).collect();
    let parts = if parts.len() > 1 { parts } else { vec![sql] };
    let mut sets = Vec::new();
    for sql in parts {
        // The server parses one statement only.
        session.analyze(sql)?;
        sets.extend(session.query_sets(sql)?);
    }
    Ok(sets)
}

fn place(step: &LoadStep, line: u32) -> String {
    format!("{}:{line}", step.file)
}

/// The error of a statement, with its place.
fn done(
    executed: Result<(), ConnectError>,
    step: &LoadStep,
    statement: &Statement,
) -> Result<(), WorkloadError> {
    executed.map_err(|source| {
        let is_misplaced = source.sqlstate() == SqlState::from_bytes(IN_TRANSACTION);
        let (file, line) = (step.file.clone(), statement.line);
        WorkloadError::LoadStep { file, line, source, is_misplaced }.not_permitted(&place(step, line))
    })
}

/// Rolls back after an error, which may say that nothing was changed. The server rolls back a lost session.
pub(crate) fn rolled_back(session: &mut Session, error: WorkloadError, place: &str) -> WorkloadError {
    if session.is_lost() {
        return error;
    }
    let failure = match session.rollback() {
        Ok(()) if !session.is_in_transaction() => return error,
        Ok(()) => "the server is still in a transaction".to_owned(),
        Err(failure) => failure.to_string(),
    };
    match error {
        WorkloadError::ForeignObjectChanged { object, .. } => {
            WorkloadError::RollbackFailed { object, place: place.to_owned(), reason: failure }
        }
        // The first error is reported.
        error => error,
    }
}

/// Whether a text is one statement of those that PostgreSQL executes outside of transaction blocks only. A function can raise
/// the same error, so the error alone does not decide.
pub(crate) fn runs_alone(sql: &str) -> bool {
    let words = words(sql);
    let has = |word: &str| words.iter().any(|own| own == word);
    let is = |at: usize, word: &str| words.get(at).is_some_and(|own| own == word);
    match words.first().map(String::as_str) {
        Some("vacuum" | "cluster") => true,
        Some("drop") => has("concurrently"),
        Some("create") => has("concurrently") || is(1, "database") || is(1, "tablespace"),
        Some("reindex") => has("concurrently") || has("database") || has("system") || has("schema"),
        Some("alter") => is(1, "type") && is(3, "add"),
        _ => false,
    }
}

/// The words of a text that is one statement, in lower case.
fn words(sql: &str) -> Vec<String> {
    let statements = statement_words(sql.as_bytes());
    let [words] = statements.as_slice() else { return Vec::new() };
    words.iter().map(|word| word.lower()).collect()
}

/// Whether a statement outside of transaction blocks drops, rewrites or locks a relation.
fn rebuilds_or_drops(sql: &str) -> bool {
    let words = words(sql);
    match words.first().map(String::as_str) {
        Some("vacuum") => words.iter().any(|word| word == "full"),
        Some("drop" | "reindex" | "cluster") => true,
        _ => false,
    }
}

/// The transaction that COMMIT PREPARED or ROLLBACK PREPARED ends: a load step has not prepared it in this transaction.
fn prepared_by_others(sql: &str) -> Option<String> {
    let words = words(sql);
    let ends = matches!(words.first()?.as_str(), "commit" | "rollback") && words.get(1)? == "prepared";
    ends.then(|| format!("a prepared transaction ({})", sql::without_semicolon(sql.trim())))
}

/// The first words of a statement that changes something beside the database and runs outside of transaction blocks only.
fn concerns_others(sql: &str) -> Option<String> {
    let words = words(sql);
    let concerns = matches!(
        (words.first()?.as_str(), words.get(1)?.as_str()),
        ("drop", "database" | "tablespace")
            | ("alter", "system" | "database" | "tablespace")
            | ("drop" | "create" | "alter", "subscription")
    );
    concerns.then(|| format!("{} {}", words[0], words[1]).to_ascii_uppercase())
}

/// Refuses statements that begin or end a transaction.
fn refuse_transaction_control(step: &LoadStep, statements: &[Statement]) -> Result<(), WorkloadError> {
    for statement in statements {
        if let Some(word) = transaction_control(&statement.sql) {
            return Err(WorkloadError::TransactionControl { place: place(step, statement.line), word });
        }
    }
    Ok(())
}

/// The first word of a statement in the text that begins or ends a transaction.
pub(crate) fn transaction_control(sql: &str) -> Option<String> {
    statement_words(sql.as_bytes()).into_iter().find_map(|words| {
        let word = |at: usize| words.get(at).map(|word| word.lower());
        let first = word(0)?;
        let second = word(1).unwrap_or_default();
        let is_control = match first.as_str() {
            "prepare" => second == "transaction",
            // Back to a savepoint stays in the transaction.
            "rollback" => second != "to" && word(2).is_none_or(|third| third != "to"),
            first => TRANSACTION_CONTROL.contains(&first),
        };
        is_control.then(|| first.to_ascii_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, expected: Option<&str>) {
        assert_eq!(transaction_control(sql).as_deref(), expected, "{sql}");
    }

    #[test]
    fn statements_that_begin_or_end_a_transaction_are_found() {
        check("commit", Some("COMMIT"));
        check("select 1; /* now */ Commit; select f()", Some("COMMIT"));
        check("-- so\nEND", Some("END"));
        check("start transaction", Some("START"));
        check("PREPARE TRANSACTION 'a'", Some("PREPARE"));
        check("rollback", Some("ROLLBACK"));
        check("rollback prepared 'a'", Some("ROLLBACK"));
        check("commit prepared 'a'", Some("COMMIT"));
        check("abort work", Some("ABORT"));
    }

    #[test]
    fn statements_that_need_no_transaction_block_are_known() {
        for sql in ["VACUUM t", "create index concurrently i on t (a)", "alter type m add value 'x'"] {
            assert!(runs_alone(sql), "{sql}");
        }
        for sql in ["select f()", "do $$ begin vacuum; end $$", "vacuum t; select f()", "call p()"] {
            assert!(!runs_alone(sql), "{sql}");
        }
    }

    #[test]
    fn other_statements_stay_in_the_transaction() {
        check("rollback to a", None);
        check("rollback work to savepoint a", None);
        check("savepoint a", None);
        check("release a", None);
        check("prepare p as select 1", None);
        check("do $$ begin perform 1; end $$", None);
        check("create function f() returns int language sql begin atomic select 1; end", None);
        check("select 'commit; begin'", None);
        check("select 1 as commit", None);
    }
}
