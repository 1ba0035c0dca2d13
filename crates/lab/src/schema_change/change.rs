//! The SQL of a change of the schema and of its undo, as the user gave them. Indexes with a name are recognised, so that they
//! are made and dropped CONCURRENTLY and their undo is derived.

use std::collections::BTreeMap;

use experiment::{Configuration, StepSql};
use run::RunError;

use crate::files::text_of;

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

/// Objects with data that DROP removes.
const DATA: [&str; 6] = ["TABLE", "SCHEMA", "DATABASE", "SEQUENCE", "OWNED", "FOREIGN"];
/// What ALTER TABLE drops other than columns (manual, ALTER TABLE).
const NO_COLUMNS: [&str; 6] = ["CONSTRAINT", "DEFAULT", "NOT", "EXPRESSION", "IDENTITY", ";"];

/// A change and its undo, as statements.
#[derive(Clone, Debug)]
pub(crate) struct SchemaChange {
    pub(super) statements: Vec<String>,
    /// The user's own undo; `None`: all statements create indexes, which are dropped.
    pub(super) undo: Option<Vec<String>>,
    /// The index of each statement, if all create one with a name.
    pub(super) indexes: Vec<NewIndex>,
}

/// The indexes follow from the statements; their schemas are found later.
impl PartialEq for SchemaChange {
    fn eq(&self, other: &Self) -> bool {
        (&self.statements, &self.undo) == (&other.statements, &other.undo)
    }
}

impl SchemaChange {
    /// The change of a configuration, if it has one. The undo of indexes with a name is derived.
    pub(crate) fn of(configuration: &Configuration) -> Result<Option<Self>, RunError> {
        let Some(ddl) = &configuration.ddl else { return Ok(None) };
        let statements = statements_of("ddl (--a-sql, --b-sql)", ddl)?;
        if let Some(sql) = statements.iter().find(|sql| loses_data(sql)) {
            return Err(RunError::Usage(format!(
                "a change must be one that its undo takes back, and no undo brings back the rows of this: {sql}; compare on a \
                 copy of the database"
            )));
        }
        if let Some(sql) = statements.iter().find(|sql| parts(sql).iter().any(|part| is_temporary(part))) {
            return Err(RunError::Usage(format!(
                "a temporary object exists only in the session that makes it, so neither the load nor the undo would find it, \
                 and behind a connection pooler it would stay in a connection of others: {sql}; leave out TEMP, or add ON \
                 COMMIT DROP"
            )));
        }
        let indexes: Vec<NewIndex> = statements.iter().filter_map(|sql| NewIndex::of(sql)).collect();
        let has_all = indexes.len() == statements.len();
        let indexes = if has_all { indexes } else { Vec::new() };
        let Some(undo) = &configuration.ddl_undo else {
            return match statements.iter().find(|sql| NewIndex::of(sql).is_none()) {
                Some(sql) => Err(no_undo(sql)),
                None => Ok(Some(Self { statements, undo: None, indexes })),
            };
        };
        let undo = statements_of("ddl_undo (--a-undo, --b-undo)", undo)?;
        if let Some(sql) = statements.iter().find(|sql| may_find_existing(sql, &undo)) {
            return Err(RunError::Usage(format!(
                "the undo would drop what exists already, if this statement finds it: {sql}; write it without IF NOT EXISTS \
                 and OR REPLACE"
            )));
        }
        Ok(Some(Self { statements, undo: Some(undo), indexes }))
    }

    /// The undo; the last change is undone first.
    pub(super) fn undo_statements(&self) -> Vec<String> {
        match &self.undo {
            Some(undo) => undo.clone(),
            None => self.indexes.iter().rev().map(NewIndex::undo).collect(),
        }
    }

    /// The undo as SQL that a user can run.
    pub(super) fn undo_in_words(&self) -> String {
        in_words(&self.undo_statements())
    }
}

/// Statements as SQL that a user can run.
pub(super) fn in_words(statements: &[String]) -> String {
    statements.iter().map(|sql| format!("{sql};")).collect::<Vec<_>>().join(" ")
}

/// The statements that are joined by `\;`.
fn parts(sql: &str) -> Vec<String> {
    let joined = script::statements("", sql, &BTreeMap::new()).unwrap_or_default();
    let parts: Vec<String> = joined.into_iter().map(|statement| statement.sql).collect();
    if parts.is_empty() { vec![sql.to_owned()] } else { parts }
}

/// Whether a statement makes an object that outlives its transaction, but not its session.
fn is_temporary(sql: &str) -> bool {
    let found: Vec<String> = words(sql).map(str::to_ascii_uppercase).collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    let has = |wanted: &[&str]| found.windows(wanted.len()).any(|window| window == wanted);
    let is_made = match found.as_slice() {
        ["CREATE", rest @ ..] => {
            let is_before_kind = |word: &&&str| ["OR", "REPLACE", "LOCAL", "GLOBAL"].contains(*word);
            let kind = rest.iter().find(|word| !is_before_kind(word));
            kind.is_some_and(|kind| ["TEMP", "TEMPORARY"].contains(kind)) || has(&["PG_TEMP", "."])
        }
        ["SELECT" | "WITH", ..] => has(&["INTO", "TEMP"]) || has(&["INTO", "TEMPORARY"]),
        _ => false,
    };
    is_made && !has(&["ON", "COMMIT", "DROP"])
}

/// Whether a statement, or one of several joined by `\;`, removes or overwrites data.
fn loses_data(sql: &str) -> bool {
    parts(sql).iter().any(|part| {
        let found: Vec<String> = words(part).map(str::to_ascii_uppercase).collect();
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        let drops_column = |pair: &[&str]| pair[0] == "DROP" && !NO_COLUMNS.contains(&pair[1]);
        match found.as_slice() {
            ["DELETE" | "TRUNCATE" | "UPDATE" | "MERGE", ..] => true,
            ["DROP", what, ..] => DATA.contains(what),
            ["ALTER", "TABLE" | "FOREIGN", rest @ ..] => rest.windows(2).any(drops_column),
            _ => false,
        }
    })
}

/// Whether a statement has this word, which is no quoted identifier.
pub(super) fn has_word(sql: &str, word: &str) -> bool {
    words(sql).any(|it| it.eq_ignore_ascii_case(word))
}

/// Whether a statement accepts an object that exists, and the undo drops objects.
fn may_find_existing(sql: &str, undo: &[String]) -> bool {
    let upper = |sql: &str| words(sql).map(str::to_ascii_uppercase).collect::<Vec<_>>();
    let found = upper(sql);
    let has = |wanted: &[&str]| found.windows(wanted.len()).any(|window| window == wanted);
    (has(&["IF", "NOT", "EXISTS"]) || has(&["OR", "REPLACE"]))
        && undo.iter().any(|undo| upper(undo).iter().any(|word| word == "DROP"))
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
        let sql = sql::without_semicolon(sql.trim());
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
    parts(sql).iter().find_map(|part| {
        let is_meant = |control: &&&[&str]| {
            let mut words = words(part);
            control.iter().all(|wanted| words.next().is_some_and(|word| word.eq_ignore_ascii_case(wanted)))
        };
        TRANSACTION_CONTROL.iter().find(is_meant).map(|control| control.join(" "))
    })
}

/// An index that a statement creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewIndex {
    /// Its name as written, without a schema.
    pub(super) name: String,
    /// Its table as written, possibly with a schema.
    pub(super) table: String,
    schema: Option<String>,
    /// The statement with CONCURRENTLY.
    pub(super) concurrent: String,
    /// Whether the user wrote CONCURRENTLY.
    pub(super) is_concurrent: bool,
}

impl NewIndex {
    /// The index of `CREATE [UNIQUE] INDEX [CONCURRENTLY] name ON [ONLY] table …` (manual, CREATE INDEX).
    fn of(sql: &str) -> Option<Self> {
        // Statements joined by `\\;` are one message, which has one transaction.
        if parts(sql).len() > 1 {
            return None;
        }
        // `to_regclass` does not read names with Unicode escapes.
        if words(sql).any(|word| word.starts_with("U&\"") || word.starts_with("u&\"")) {
            return None;
        }
        let mut words = words(sql).peekable();
        let mut next_is = |word: &str| words.next_if(|it| it.eq_ignore_ascii_case(word)).is_some();
        if !next_is("CREATE") {
            return None;
        }
        next_is("UNIQUE");
        let keyword = words.next_if(|it| it.eq_ignore_ascii_case("INDEX"))?;
        // The word is a part of `sql`.
        let after_keyword = keyword.as_ptr() as usize - sql.as_ptr() as usize + keyword.len();
        let mut next_is = |word: &str| words.next_if(|it| it.eq_ignore_ascii_case(word)).is_some();
        let is_concurrent = next_is("CONCURRENTLY");
        if next_is("IF") || next_is("ON") {
            return None;
        }
        let name = words.next()?.to_owned();
        let mut next_is = |word: &str| words.next_if(|it| it.eq_ignore_ascii_case(word)).is_some();
        if !next_is("ON") {
            return None;
        }
        next_is("ONLY");
        // `table`, `schema.table` or `database.schema.table`.
        let (mut table, mut schema) = (words.next()?.to_owned(), None);
        while words.next_if(|it| *it == ".").is_some() {
            schema = Some(std::mem::replace(&mut table, words.next()?.to_owned()));
        }
        if let Some(schema) = &schema {
            table = format!("{schema}.{table}");
        }
        let concurrent = if is_concurrent {
            sql.to_owned()
        } else {
            format!("{} CONCURRENTLY{}", &sql[..after_keyword], &sql[after_keyword..])
        };
        Some(Self { name, table, schema, concurrent, is_concurrent })
    }

    /// Sets the schema, quoted, if the statement names none.
    pub(super) fn set_schema(&mut self, schema: &str) {
        self.schema.get_or_insert_with(|| schema.to_owned());
    }

    /// The name with the schema of the table, if it is known.
    pub(super) fn qualified(&self) -> String {
        let Self { name, schema, .. } = self;
        schema.as_ref().map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"))
    }

    fn undo(&self) -> String {
        format!("DROP INDEX CONCURRENTLY IF EXISTS {}", self.qualified())
    }
}

/// `DROP INDEX … ` with CONCURRENTLY; `None` for other statements, and if the word is there already.
pub(super) fn concurrent_drop(sql: &str) -> Option<String> {
    let mut words = words(sql);
    let is_drop = words.next()?.eq_ignore_ascii_case("DROP");
    let keyword = words.next().filter(|word| is_drop && word.eq_ignore_ascii_case("INDEX"))?;
    if words.next()?.eq_ignore_ascii_case("CONCURRENTLY") {
        return None;
    }
    let after_keyword = keyword.as_ptr() as usize - sql.as_ptr() as usize + keyword.len();
    Some(format!("{} CONCURRENTLY{}", &sql[..after_keyword], &sql[after_keyword..]))
}

/// The tokens of a statement without white space and comments.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql::code(sql).map(|(_, text)| text)
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
        check("CREATE INDEX i ON t (x)", Some("DROP INDEX CONCURRENTLY IF EXISTS i;"));
        check(
            "create unique index \"My I\" on only \"a b\".t(x);",
            Some("DROP INDEX CONCURRENTLY IF EXISTS \"a b\".\"My I\";"),
        );
        check("CREATE INDEX \"a b\"\"c\" ON t (x)", Some("DROP INDEX CONCURRENTLY IF EXISTS \"a b\"\"c\";"));
        check(
            "/* a /* b */ ; */ -- c\n CREATE INDEX i /* d */ ON t (x)",
            Some("DROP INDEX CONCURRENTLY IF EXISTS i;"),
        );
        check("CREATE INDEX i ON d.s.t (x)", Some("DROP INDEX CONCURRENTLY IF EXISTS s.i;"));
        check("CREATE INDEX CONCURRENTLY i ON s . t (x)", Some("DROP INDEX CONCURRENTLY IF EXISTS s.i;"));
        check(
            "CREATE INDEX a ON t (x); CREATE INDEX b ON t (y)",
            Some("DROP INDEX CONCURRENTLY IF EXISTS b; DROP INDEX CONCURRENTLY IF EXISTS a;"),
        );
    }

    #[test]
    fn changes_that_lose_rows_are_found() {
        for sql in [
            "delete from t",
            "TRUNCATE t",
            "/* a */ UPDATE t SET x = 1",
            "SELECT 1; DELETE FROM t",
            "DROP TABLE IF EXISTS t",
            "alter table t drop column x",
            "ALTER TABLE t ADD COLUMN y int, DROP x",
            "MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE",
        ] {
            assert!(loses_data(sql), "{sql}");
        }
        for sql in [
            "CREATE TABLE \"delete\" (x int)",
            "ALTER TABLE t DROP CONSTRAINT c, ALTER COLUMN x DROP DEFAULT, ALTER y DROP NOT NULL",
            "DROP INDEX i",
            "DROP STATISTICS s",
            "CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING",
        ] {
            assert!(!loses_data(sql), "{sql}");
        }
    }

    #[test]
    fn temporary_objects_are_refused_unless_the_transaction_drops_them() {
        for sql in [
            "CREATE TEMP TABLE x (id int)",
            "create /* a */ local temporary table x (id int)",
            "CREATE OR REPLACE TEMP VIEW v AS SELECT 1",
            "CREATE TABLE pg_temp.x (id int)",
            "SELECT 1 AS id INTO TEMP x",
            "CREATE TABLE y (id int)\\; CREATE TEMP SEQUENCE s",
        ] {
            let configuration = Configuration {
                ddl: Some(StepSql::Here(sql.to_owned())),
                ddl_undo: Some(StepSql::Here("SELECT 1".to_owned())),
                ..Configuration::default()
            };
            let refused = SchemaChange::of(&configuration).unwrap_err().to_string();
            assert!(refused.contains("exists only in the session that makes it"), "{sql}: {refused}");
        }
        for sql in [
            "CREATE TEMP TABLE x ON COMMIT DROP AS SELECT 1",
            "CREATE TABLE temp (temporary int)",
            "ALTER TABLE t ADD COLUMN temp int",
            "CREATE INDEX temp ON t (temp)",
        ] {
            assert!(!is_temporary(sql), "{sql}");
        }
    }

    #[test]
    fn indexes_are_made_and_dropped_concurrently() {
        for (sql, concurrent) in [
            ("CREATE INDEX i ON t (x)", "CREATE INDEX CONCURRENTLY i ON t (x)"),
            (
                "create /* INDEX */ unique index\ni ON t (x)",
                "create /* INDEX */ unique index CONCURRENTLY\ni ON t (x)",
            ),
            ("CREATE INDEX concurrently i ON t (x)", "CREATE INDEX concurrently i ON t (x)"),
        ] {
            assert_eq!(NewIndex::of(sql).map(|index| index.concurrent).as_deref(), Some(concurrent));
        }
        for (sql, concurrent) in [
            ("DROP INDEX i", Some("DROP INDEX CONCURRENTLY i")),
            ("drop index if exists a.i", Some("drop index CONCURRENTLY if exists a.i")),
            ("DROP INDEX CONCURRENTLY i", None),
            ("DROP TABLE index", None),
            ("CREATE INDEX i ON t (x)", None),
        ] {
            assert_eq!(concurrent_drop(sql).as_deref(), concurrent, "{sql}");
        }
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
