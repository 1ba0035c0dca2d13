//! Changes of the schema of a user's own database, such as an index, for the time in which they are measured: the SQL of a
//! side, its undo, and the switch between them. The undo runs at the end in any case.

use std::collections::BTreeMap;

use connect::{ConnectError, Session, SqlState, Target};
use run::{Control, RunError};

use crate::campaign::text_of;
use crate::configuration::Configuration;
use crate::event::Listener;
use crate::steps::StepSql;
use crate::stopwatch::Stopwatch;

/// Statements that need a transaction of their own, such as CREATE INDEX CONCURRENTLY.
const ACTIVE_SQL_TRANSACTION: &str = "25001";
/// The object of an undo does not exist, because the change was made only in part: object, table, function, column,
/// schema.
const UNDEFINED: [&str; 5] = ["42704", "42P01", "42883", "42703", "3F000"];
/// An object that a change creates existed before: table or index, object, function, column, schema.
const DUPLICATE: [&str; 5] = ["42P07", "42710", "42723", "42701", "42P06"];
/// First words of statements that begin or end transactions and subtransactions (manual, SQL Commands). `PREPARE` alone
/// prepares a statement.
const TRANSACTION_CONTROL: [&[&str]; 9] = [
    &["BEGIN"],
    &["START", "TRANSACTION"],
    &["COMMIT"],
    &["END"],
    &["ROLLBACK"],
    &["ABORT"],
    &["SAVEPOINT"],
    &["RELEASE"],
    &["PREPARE", "TRANSACTION"],
];

/// A change and its undo, as statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SchemaChange {
    statements: Vec<String>,
    undo: Vec<String>,
    /// Indexes that it creates and whose undo is derived.
    indexes: Vec<String>,
}

impl SchemaChange {
    /// The change of a configuration, if it has one. The undo of plain indexes is derived.
    pub(crate) fn of(configuration: &Configuration) -> Result<Option<Self>, RunError> {
        let Some(ddl) = &configuration.ddl else { return Ok(None) };
        let statements = statements_of("ddl (--a-sql, --b-sql)", ddl)?;
        if let Some(undo) = &configuration.ddl_undo {
            let undo = statements_of("ddl_undo (--a-undo, --b-undo)", undo)?;
            return Ok(Some(Self { statements, undo, indexes: Vec::new() }));
        }
        let mut indexes: Vec<NewIndex> = statements
            .iter()
            .map(|sql| NewIndex::of(sql).ok_or_else(|| no_undo(sql)))
            .collect::<Result<_, _>>()?;
        // The last change is undone first.
        indexes.reverse();
        let undo = indexes.iter().map(NewIndex::undo).collect();
        Ok(Some(Self { statements, undo, indexes: indexes.into_iter().map(|index| index.name).collect() }))
    }

    /// The undo as SQL that a user can run.
    fn undo_in_words(&self) -> String {
        self.undo.iter().map(|sql| format!("{sql};")).collect::<Vec<_>>().join(" ")
    }
}

fn no_undo(sql: &str) -> RunError {
    RunError::Usage(format!(
        "pgmeter cannot derive the SQL that undoes this: {sql}; give its undo with --a-undo or --b-undo (in a file: \
         ddl_undo). It is derived only for CREATE INDEX with a plain or double-quoted name and without IF NOT EXISTS"
    ))
}

/// The statements of a change or an undo. `key` is its name in messages.
fn statements_of(key: &str, sql: &StepSql) -> Result<Vec<String>, RunError> {
    let (place, found) = match sql {
        StepSql::Here(text) => (key.to_owned(), script::statements(key, text, &BTreeMap::new())?),
        StepSql::File(path) => {
            let file = path.display().to_string();
            let found = script::statements(&file, &text_of(path)?, &BTreeMap::new())?;
            (format!("{key}, file {file}"), found)
        }
    };
    let mut statements = Vec::new();
    for script::Statement { line, sql } in found {
        if let Some(words) = transaction_control(&sql) {
            return Err(RunError::Usage(format!(
                "{words} is not allowed in {place}, line {line}: pgmeter begins and ends the transactions of a change \
                 and of its undo; remove this statement"
            )));
        }
        let sql = sql.trim().trim_end_matches(';').trim();
        if words(sql).next().is_some() {
            statements.push(sql.to_owned());
        }
    }
    if statements.is_empty() {
        return Err(RunError::Usage(format!("{place} has no SQL statement: give one, or leave it out")));
    }
    Ok(statements)
}

/// The words by which a statement, or one of several joined by `\;`, controls transactions.
fn transaction_control(sql: &str) -> Option<String> {
    let joined = script::statements("", sql, &BTreeMap::new()).unwrap_or_default();
    let parts: Vec<&str> = joined.iter().map(|statement| statement.sql.as_str()).collect();
    let parts = if parts.is_empty() { vec![sql] } else { parts };
    parts.into_iter().find_map(|part| {
        let is_meant = |control: &&&[&str]| {
            let mut words = words(part);
            control.iter().all(|wanted| words.next().is_some_and(|word| word.eq_ignore_ascii_case(wanted)))
        };
        TRANSACTION_CONTROL.iter().find(is_meant).map(|control| control.join(" "))
    })
}

/// An index that a statement creates.
#[derive(Debug, PartialEq, Eq)]
struct NewIndex {
    /// With the schema of its table, if the statement names one.
    name: String,
    concurrently: bool,
}

impl NewIndex {
    /// The index of `CREATE [UNIQUE] INDEX [CONCURRENTLY] name ON [ONLY] table …` (manual, CREATE INDEX).
    fn of(sql: &str) -> Option<Self> {
        let mut words = words(sql).peekable();
        let mut next_is = |word: &str| words.next_if(|it| it.eq_ignore_ascii_case(word)).is_some();
        if !next_is("CREATE") {
            return None;
        }
        next_is("UNIQUE");
        if !next_is("INDEX") {
            return None;
        }
        let concurrently = next_is("CONCURRENTLY");
        if next_is("IF") || next_is("ON") {
            return None;
        }
        let index = words.next()?;
        let mut next_is = |word: &str| words.next_if(|it| it.eq_ignore_ascii_case(word)).is_some();
        if !next_is("ON") {
            return None;
        }
        next_is("ONLY");
        // `table`, `schema.table` or `database.schema.table`.
        let (mut table, mut schema) = (words.next()?, None);
        while words.next_if(|it| *it == ".").is_some() {
            schema = Some(std::mem::replace(&mut table, words.next()?));
        }
        let name = schema.map_or_else(|| index.to_owned(), |schema| format!("{schema}.{index}"));
        Some(Self { name, concurrently })
    }

    fn undo(&self) -> String {
        let concurrently = if self.concurrently { "CONCURRENTLY " } else { "" };
        format!("DROP INDEX {concurrently}IF EXISTS {}", self.name)
    }
}

/// Identifiers, quoted ones with their quotes, and other characters one by one; without white space and comments.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        rest = after_blank(rest);
        let length = match rest.chars().next()? {
            '"' => quoted_length(rest),
            first if first.is_alphanumeric() || first == '_' => {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len())
            }
            first => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

/// Length of the quoted identifier at the start, in which a doubled quote is a quote.
fn quoted_length(sql: &str) -> usize {
    let mut length = 1;
    while let Some(at) = sql[length..].find('"') {
        length += at + 1;
        if !sql[length..].starts_with('"') {
            return length;
        }
        length += 1;
    }
    sql.len()
}

/// The text after white space and comments. Block comments nest.
fn after_blank(sql: &str) -> &str {
    let mut rest = sql.trim_start();
    loop {
        if rest.starts_with("--") {
            rest = rest.find(['\n', '\r']).map_or("", |at| &rest[at..]);
        } else if rest.starts_with("/*") {
            let (mut depth, mut at) = (0_usize, 0);
            loop {
                match rest.as_bytes().get(at..at + 2) {
                    None => at = rest.len(),
                    Some(b"/*") => (depth, at) = (depth + 1, at + 2),
                    Some(b"*/") => (depth, at) = (depth - 1, at + 2),
                    Some(_) => at += 1,
                }
                if depth == 0 || at == rest.len() {
                    break;
                }
            }
            rest = &rest[at..];
        } else {
            return rest;
        }
        rest = rest.trim_start();
    }
}

/// The schema of a database in use, which is switched between changes. Dropping this undoes the current change.
pub(crate) struct SchemaSwitch<'a> {
    target: Target,
    listener: Listener<'a>,
    /// The change that is in effect, possibly only in part.
    current: Option<SchemaChange>,
    /// If the current change was made only in part: number of its completed statements, 0 once one was undone.
    made_in_part: Option<usize>,
    is_announced: bool,
    /// Number of switches so far, and their time.
    switches: u32,
    seconds: f64,
}

impl<'a> SchemaSwitch<'a> {
    pub(crate) fn new(target: Target, listener: Listener<'a>) -> Self {
        let (current, made_in_part, is_announced) = (None, None, false);
        Self { target, listener, current, made_in_part, is_announced, switches: 0, seconds: 0.0 }
    }

    /// Number of switches so far, and their mean time.
    pub(crate) fn cost(&self) -> (u32, f64) {
        (self.switches, if self.switches > 0 { self.seconds / f64::from(self.switches) } else { 0.0 })
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
        self.switches += 1;
        self.seconds += stopwatch.seconds();
        Ok(())
    }

    fn make(
        &mut self,
        session: &mut Session,
        wanted: SchemaChange,
        control: &Control,
    ) -> Result<(), RunError> {
        for index in &wanted.indexes {
            let name = connect::quote::literal(index);
            let found = session.query(&format!("SELECT pg_catalog.to_regclass({name})"))?;
            if found.first().is_some_and(|row| row.get(0).is_some()) {
                return Err(RunError::Usage(format!(
                    "the index {index} exists already, so the database cannot be measured without it: DROP INDEX \
                     {index}, or give the new index another name"
                )));
            }
        }
        if !self.is_announced {
            self.listener
                .say(format_args!("changing the schema in place; at the end: {}", wanted.undo_in_words()));
            self.is_announced = true;
        }
        let before = to_analyze(session)?;
        // Until the change is complete, it may have to be undone in part.
        let statements = wanted.statements.clone();
        (self.current, self.made_in_part) = (Some(wanted), Some(0));
        if let Err(failure) = execute(session, &statements, control) {
            return Err(self.made_only_in_part(failure));
        }
        self.made_in_part = None;
        // New expressions, statistics objects and tables have no statistics yet (manual, ANALYZE).
        let new: Vec<String> = to_analyze(session)?
            .into_iter()
            .filter(|it| !before.contains_key(&it.0))
            .map(|it| it.1)
            .collect();
        for table in new {
            session.execute(&format!("ANALYZE {table}"))?;
        }
        Ok(())
    }

    /// Notes which part of the current change must be undone.
    fn made_only_in_part(&mut self, failure: ExecutionFailure) -> RunError {
        let ExecutionFailure { error, remains } = failure;
        let existed = has_state(&error, &DUPLICATE);
        match remains {
            Remains::Nothing => (self.current, self.made_in_part) = (None, None),
            // The failed statement made nothing, and the undo would remove what the user had before.
            Remains::PartAfter(0) if existed => (self.current, self.made_in_part) = (None, None),
            Remains::PartAfter(done) if existed => {
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
        match *error {
            RunError::Connect(error) => RunError::Usage(format!("the change of the schema failed: {error}")),
            other => other,
        }
    }

    /// Undoes the current change.
    fn undo(&mut self, session: &mut Session, control: &Control) -> Result<(), RunError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        match &mut self.made_in_part {
            None => {
                if let Err(ExecutionFailure { error, remains }) = execute(session, &current.undo, control) {
                    match remains {
                        Remains::Nothing => {}
                        // The next attempt continues with the statement that failed.
                        Remains::PartAfter(done) => drop(current.undo.drain(..done)),
                        Remains::Unknown => self.made_in_part = Some(0),
                    }
                    return Err(*error);
                }
            }
            Some(made) => undo_part(session, &mut current.undo, made, control)?,
        }
        (self.current, self.made_in_part) = (None, None);
        Ok(())
    }
}

impl Drop for SchemaSwitch<'_> {
    fn drop(&mut self) {
        if self.current.is_none() {
            return;
        }
        // The work may have been interrupted, so this does not check for signals.
        let control = Control::default();
        let undone = Session::connect(&self.target).map_err(RunError::from).and_then(|mut session| {
            // How long the last undo waits for a lock. Through a pooler, only the patience of the session limits it.
            session.set_for_itself("SET lock_timeout = '60s'");
            session.patiently(|session| self.undo(session, &control))
        });
        if let (Err(error), Some(current)) = (undone, &self.current) {
            self.listener.warn(format_args!(
                "the change of the schema could not be undone: {error}; run this in the database {}: {}",
                self.target.database,
                current.undo_in_words()
            ));
        }
    }
}

/// Why statements failed.
struct ExecutionFailure {
    error: Box<RunError>,
    remains: Remains,
}

impl ExecutionFailure {
    fn new(error: impl Into<RunError>, remains: Remains) -> Self {
        Self { error: Box::new(error.into()), remains }
    }
}

/// What remains of statements of which one failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remains {
    Nothing,
    /// This number of statements, and possibly a part of the next one.
    PartAfter(usize),
    /// The connection was lost, or the transaction had ended already.
    Unknown,
}

/// Executes statements in one transaction, or one by one if one of them needs that.
fn execute(session: &mut Session, statements: &[String], control: &Control) -> Result<(), ExecutionFailure> {
    let Err(failure) = execute_in_transaction(session, statements, control) else { return Ok(()) };
    if failure.remains != Remains::Nothing || !has_state(&failure.error, &[ACTIVE_SQL_TRANSACTION]) {
        return Err(failure);
    }
    for (done, sql) in statements.iter().enumerate() {
        if let Err(error) = execute_unless_stopped(session, sql, control) {
            let remains = match done {
                _ if session.is_lost() => Remains::Unknown,
                // An interruption came before the first statement.
                0 if error.is_interruption() => Remains::Nothing,
                done => Remains::PartAfter(done),
            };
            return Err(ExecutionFailure::new(error, remains));
        }
    }
    Ok(())
}

fn execute_in_transaction(
    session: &mut Session,
    statements: &[String],
    control: &Control,
) -> Result<(), ExecutionFailure> {
    execute_unless_stopped(session, "BEGIN", control)
        .map_err(|error| ExecutionFailure::new(error, Remains::Nothing))?;
    for sql in statements {
        if let Err(error) = execute_unless_stopped(session, sql, control) {
            // A statement that ended the transaction has committed those before it.
            let is_undone = session.is_in_transaction() && session.execute("ROLLBACK").is_ok();
            let remains = if is_undone { Remains::Nothing } else { Remains::Unknown };
            return Err(ExecutionFailure::new(error, remains));
        }
    }
    session.execute("COMMIT").map(drop).map_err(|error| {
        // The server rolls back if it reports an error, such as a violated deferred constraint.
        let is_undone = error.server_error().is_some() && !session.is_lost();
        ExecutionFailure::new(error, if is_undone { Remains::Nothing } else { Remains::Unknown })
    })
}

fn execute_unless_stopped(session: &mut Session, sql: &str, control: &Control) -> Result<(), RunError> {
    control.check()?;
    Ok(session.execute(sql).map(drop)?)
}

/// Undoes a change that was made in part: executes each statement, also after one whose object does not exist. Removes
/// the statements that need not be repeated. `made` is the number of the change's statements that were completed.
fn undo_part(
    session: &mut Session,
    undo: &mut Vec<String>,
    made: &mut usize,
    control: &Control,
) -> Result<(), RunError> {
    let (mut left, mut failure, mut missing) = (Vec::new(), None, None);
    for sql in undo.iter() {
        match execute_unless_stopped(session, sql, control) {
            Ok(()) => *made = 0,
            Err(error) if has_state(&error, &UNDEFINED) => missing = Some(error),
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

fn has_state(error: &RunError, states: &[&str]) -> bool {
    let RunError::Connect(error) = error else { return false };
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

/// Whether the changes of these cells can be read and undone.
pub(crate) fn check<'a>(configurations: impl IntoIterator<Item = &'a Configuration>) -> Result<(), RunError> {
    configurations.into_iter().try_for_each(|configuration| SchemaChange::of(configuration).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ddl: &str, expected: Option<&str>) {
        let configuration =
            Configuration { ddl: Some(StepSql::Here(ddl.to_owned())), ..Configuration::default() };
        let undo = SchemaChange::of(&configuration);
        match expected {
            Some(sql) => assert_eq!(undo.unwrap().unwrap().undo_in_words(), sql),
            None => assert!(undo.unwrap_err().to_string().contains("give its undo"), "{ddl}"),
        }
    }

    #[test]
    fn the_undo_of_a_plain_index_is_derived() {
        check("CREATE INDEX i ON t (x)", Some("DROP INDEX IF EXISTS i;"));
        check(
            "create unique index \"My I\" on only \"a b\".t(x);",
            Some("DROP INDEX IF EXISTS \"a b\".\"My I\";"),
        );
        check("CREATE INDEX \"a b\"\"c\" ON t (x)", Some("DROP INDEX IF EXISTS \"a b\"\"c\";"));
        check("/* a /* b */ ; */ -- c\n CREATE INDEX i /* d */ ON t (x)", Some("DROP INDEX IF EXISTS i;"));
        check("CREATE INDEX i ON d.s.t (x)", Some("DROP INDEX IF EXISTS s.i;"));
        check("CREATE INDEX CONCURRENTLY i ON s . t (x)", Some("DROP INDEX CONCURRENTLY IF EXISTS s.i;"));
        check(
            "CREATE INDEX a ON t (x); CREATE INDEX b ON t (y)",
            Some("DROP INDEX IF EXISTS b; DROP INDEX IF EXISTS a;"),
        );
    }

    #[test]
    fn other_changes_need_an_undo_of_the_users_own() {
        for ddl in [
            "CREATE INDEX ON t (x)",
            "CREATE INDEX U&\"i\" ON t (x)",
            "CREATE INDEX IF NOT EXISTS i ON t (x)",
            "ALTER TABLE t ADD COLUMN y int",
            "CREATE INDEX i ON t (x); ALTER TABLE t SET (fillfactor = 50)",
            "DROP INDEX i",
        ] {
            check(ddl, None);
        }
    }

    #[test]
    fn statements_that_begin_or_end_transactions_are_found() {
        let check = |sql: &str, expected: Option<&str>| {
            assert_eq!(transaction_control(sql).as_deref(), expected, "{sql}")
        };
        for (sql, words) in [
            ("BEGIN", "BEGIN"),
            ("begin isolation level serializable;", "BEGIN"),
            ("/* a */ Start\n Transaction", "START TRANSACTION"),
            ("-- a\nCOMMIT AND CHAIN", "COMMIT"),
            ("COMMIT PREPARED 'a'", "COMMIT"),
            ("END;", "END"),
            ("ROLLBACK TO s", "ROLLBACK"),
            ("ABORT", "ABORT"),
            ("SAVEPOINT s", "SAVEPOINT"),
            ("RELEASE s", "RELEASE"),
            ("PREPARE TRANSACTION 'a'", "PREPARE TRANSACTION"),
            ("CREATE TABLE t (i int); COMMIT; SELECT 1", "COMMIT"),
        ] {
            check(sql, Some(words));
        }
        for sql in [
            "PREPARE p AS SELECT 1",
            "SELECT 'x; COMMIT;'",
            "\"begin\"",
            "DO $$ BEGIN PERFORM 1; END $$",
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END",
            "ALTER TABLE t ADD COLUMN begin int",
        ] {
            check(sql, None);
        }
    }
}
