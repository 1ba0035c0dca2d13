//! Divides the statements of a schema: those that make the tables, and those that come after the rows, because they are
//! faster then (keys, indexes) or need the rows (materialized views), or would fire for each row (triggers).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use connect::quote::literal;
use datagen::{Sequence, Source, Statement, StatementKind};

use crate::WorkloadError;
use crate::contract::marks::{self, DatabaseId, Mark};
use crate::contract::sql_file::is_comment;
use crate::contract::sql_names::{self, CreatedView, Token};
use crate::loader::execution::{AfterRows, LoadStatement, Purpose};
use crate::loader::protection::concurrent_forms;

/// Beginnings of statements that come after the rows wherever they are.
const AFTER_ROWS: [&str; 12] = [
    "create trigger",
    "create constraint trigger",
    "create event trigger",
    "create materialized view",
    "refresh",
    "cluster",
    "analyze",
    "vacuum",
    "alter index",
    "comment on index",
    "comment on constraint",
    "comment on trigger",
];

/// Beginnings of statements that come after the rows if they name what is created there, such as ALTER … OWNER TO.
const ABOUT_OTHERS: [&str; 7] =
    ["alter", "grant", "revoke", "comment", "create rule", "create or replace rule", "create policy"];

/// Statements of transactions: pgmeter makes its own.
const TRANSACTIONS: [&str; 7] =
    ["begin", "start transaction", "set transaction", "commit", "end", "rollback", "abort"];

/// Beginnings of statements about the rows and their files, which change no definition.
const MAINTENANCE: [&str; 3] = ["vacuum", "analyze", "cluster"];

/// All statements in their order, but for those of transactions and those that need the rows, which come after them.
pub(super) fn in_order(statements: &[Statement], source: &Source) -> (Vec<LoadStatement>, Vec<AfterRows>) {
    let own = statements.iter().filter(|statement| !is_of_transaction(&statement.text));
    let is_maintenance =
        |statement: &&Statement| MAINTENANCE.iter().any(|word| begins(&statement.text, word));
    let (last, schema): (Vec<_>, Vec<_>) = own.partition(is_maintenance);
    let schema = schema.into_iter().map(|Statement { text, line, .. }| {
        let sql = concurrent_forms::in_transaction(text);
        placed(&sql.unwrap_or_else(|| text.clone()), source, *line)
    });
    let after = last.into_iter().map(|Statement { text, line, .. }| {
        let statement = placed(text, source, *line);
        AfterRows { purpose: Purpose::Last, table: sql_names::worked_on(text), statement }
    });
    (schema.collect(), after.collect())
}

/// A statement with its place in the files of the schema.
fn placed(sql: &str, source: &Source, line: u32) -> LoadStatement {
    let (file, line) = source.place(line);
    LoadStatement::of_file(sql, &file, line)
}

fn is_of_transaction(text: &str) -> bool {
    TRANSACTIONS.iter().any(|beginning| begins(text, beginning))
}

fn begins(text: &str, beginning: &str) -> bool {
    let words: Vec<&str> = beginning.split(' ').collect();
    sql::first_words(text, words.len()) == words
}

/// Whether the statements are in the form that `pg_dump` writes: each creates something, or adds to it, so that those after the
/// rows can wait. In other files, a statement may need what an earlier one has changed, dropped or inserted.
pub(super) fn can_wait(statements: &[Statement]) -> bool {
    const FUNCTIONS: [&str; 2] = ["set_config", "setval"];
    let first_table = statements.iter().position(|statement| statement.kind == StatementKind::Table);
    let is_harmless = |(place, Statement { text, .. }): (usize, &Statement)| {
        let tokens = sql_names::tokens(text);
        let has = |word: &str| tokens.iter().any(|token| is_word(token, word));
        let Some(Token::Word(first)) = tokens.first() else { return false };
        let sets_path = (has("search_path") || text.contains("'search_path'"))
            && first_table.is_some_and(|table| place > table);
        match first.as_str() {
            // LIKE … INCLUDING copies indexes that are there.
            "create" => !has("including"),
            "alter" => !changes(&tokens),
            "set" | "reset" => !sets_path,
            "select" => !sets_path && FUNCTIONS.iter().any(|function| has(function)),
            "comment" | "grant" | "revoke" | "refresh" => true,
            word => MAINTENANCE.contains(&word) || is_of_transaction(text),
        }
    };
    statements.iter().enumerate().all(is_harmless)
}

fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(own) if own == word)
}

/// Whether an ALTER changes what exists or adds a column, instead of adding a property.
fn changes(tokens: &[Token]) -> bool {
    const ADDED: [&str; 8] =
        ["constraint", "primary", "unique", "foreign", "check", "exclude", "generated", "not"];
    const CHANGES: [&str; 3] = ["drop", "rename", "detach"];
    let follows = |token: &Token, next: &Token| match token {
        Token::Word(word) if word == "add" => !ADDED.iter().any(|added| is_word(next, added)),
        Token::Word(word) if word == "set" => is_word(next, "schema"),
        // ALTER COLUMN … TYPE, and SET DATA TYPE; ALTER TYPE … OWNER TO changes nothing.
        Token::Word(word) if word == "alter" => false,
        _ => is_word(next, "type"),
    };
    tokens.iter().any(|token| CHANGES.iter().any(|word| is_word(token, word)))
        || tokens.windows(2).any(|pair| follows(&pair[0], &pair[1]))
}

/// The statements before the rows and those after them.
pub(super) fn divided(statements: &[Statement], source: &Source) -> (Vec<LoadStatement>, Vec<AfterRows>) {
    let first = |is_it: &dyn Fn(&Statement) -> bool| statements.iter().position(is_it).unwrap_or(usize::MAX);
    let last_table = statements.iter().rposition(|statement| statement.kind == StatementKind::Table);
    let first_key = first(&|one| !matches!(one.kind, StatementKind::Table | StatementKind::Other));
    let first_stored = first(&|one| sql_names::created_view(&one.text).is_some_and(|view| view.is_stored));
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let (mut created_later, mut views) = (BTreeSet::new(), BTreeSet::new());
    for (place, Statement { text, line, kind }) in statements.iter().enumerate() {
        let begins = |beginning: &str| begins(text, beginning);
        if is_of_transaction(text) {
            continue;
        }
        let statement = placed(text, source, *line);
        let is_view = sql_names::created_view(text).is_some();
        let follows_all = last_table.is_some_and(|last| place > last) && place > first_key;
        let makes = (begins("create") && !is_view) || begins("comment on");
        let purpose = match kind {
            StatementKind::Table => None,
            StatementKind::Key => Some(Purpose::Key),
            StatementKind::ForeignKey => Some(Purpose::ForeignKey),
            // Of a materialized view.
            StatementKind::Index if sql_names::mentions(text, &views) => Some(Purpose::Last),
            StatementKind::Index => Some(Purpose::Index),
            StatementKind::Other if AFTER_ROWS.iter().any(|beginning| begins(beginning)) => {
                Some(Purpose::Last)
            }
            StatementKind::Other
                if ABOUT_OTHERS.iter().any(|beginning| begins(beginning))
                    && sql_names::mentions(text, &created_later) =>
            {
                Some(Purpose::Last)
            }
            // A view may show a materialized view, or group by a key.
            StatementKind::Other if is_view => {
                (place > first_stored || place > first_key).then_some(Purpose::Last)
            }
            StatementKind::Other => (follows_all && !makes).then_some(Purpose::Last),
        };
        if purpose.is_some() {
            created_later.extend(sql_names::created_later(text));
            views.extend(sql_names::created_view(text).map(|view| view.view.name));
        }
        match purpose {
            None => before.push(statement),
            Some(purpose) => after.push(AfterRows { purpose, table: sql_names::worked_on(text), statement }),
        }
    }
    (before, after)
}

/// Whether a statement needs an index or a key of the schema, which another index set does not create.
pub(super) fn is_about_index(sql: &str) -> bool {
    const BEGINNINGS: [&[&str]; 4] =
        [&["alter", "index"], &["cluster"], &["comment", "on", "index"], &["comment", "on", "constraint"]];
    BEGINNINGS.iter().any(|words| sql::first_words(sql, words.len()) == *words)
        || sql::first_words(sql, 2) == ["alter", "table"] && sql_names::uses_index(sql)
}

/// Statements that mark the views. They are the last: a COMMENT of the schema would replace a mark.
pub(super) fn marks_of_views<'a>(
    after: impl Iterator<Item = &'a AfterRows>,
    mark: &Mark,
    database: &DatabaseId,
) -> Vec<AfterRows> {
    let views = after.filter_map(|after| sql_names::created_view(&after.statement.sql));
    views.map(|view| mark_of_view(&view, mark, database)).collect()
}

fn mark_of_view(
    CreatedView { view, is_stored }: &CreatedView,
    mark: &Mark,
    database: &DatabaseId,
) -> AfterRows {
    let kind = if *is_stored { "materialized view" } else { "view" };
    // The search path of the schema finds the view, and that of the catalogs computes the mark.
    let block = format!(
        "declare own pg_catalog.oid := {}::pg_catalog.regclass; \
         path pg_catalog.text := pg_catalog.current_setting('search_path'); \
         begin perform pg_catalog.set_config('search_path', 'pg_catalog', true); \
         execute format('comment on {kind} %s is %L', own::regclass, \
         (select concat({}, own::text, ' ', {}) from pg_identify_object('pg_class'::regclass, own, 0))); \
         perform pg_catalog.set_config('search_path', path, true); end",
        literal(&view.quoted()),
        literal(&format!("{mark} oid=")),
        marks::object_words("own", "identity", database),
    );
    let statement = LoadStatement::new(format!("do {}", literal(&block)));
    AfterRows { purpose: Purpose::Last, table: None, statement }
}

/// Sets the sequence of a column behind its last value. It is the column's own one, or that of its default if the schema has
/// created it; several columns may use the latter, so that its value never falls. A sequence may have limits that the rows
/// do not have, and one that counts downwards stays.
pub(super) fn sequence_statement(Sequence { table, column, last }: &Sequence) -> LoadStatement {
    let (table, column) = (literal(table), literal(column));
    LoadStatement::new(format!(
        "select pg_catalog.setval(own, case when {last} operator(pg_catalog.>=) next then least({last}, highest) else next end, \
         {last} operator(pg_catalog.>=) next) from (select own, highest, pg_catalog.nextval(own) as next from (select own, \
         p.maximum_value as highest from (select \
         coalesce(pg_catalog.pg_get_serial_sequence({table}, {column})::pg_catalog.regclass::pg_catalog.oid, \
         (select c.oid from pg_catalog.pg_attribute a \
         join pg_catalog.pg_attrdef f on f.adrelid operator(pg_catalog.=) a.attrelid \
         and f.adnum operator(pg_catalog.=) a.attnum \
         join pg_catalog.pg_depend d on d.classid operator(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass \
         and d.objid operator(pg_catalog.=) f.oid \
         and d.refclassid operator(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass \
         join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) d.refobjid and c.relkind operator(pg_catalog.=) 'S' \
         where a.attrelid operator(pg_catalog.=) {table}::pg_catalog.regclass \
         and a.attname operator(pg_catalog.=) {column} \
         and pg_catalog.obj_description(c.oid, 'pg_class') operator(pg_catalog.~~) {} limit 1)) \
         ::pg_catalog.regclass as own) found, pg_catalog.pg_sequence_parameters(own) p where own is not null \
         and p.increment operator(pg_catalog.>) 0 offset 0) known) sequence",
        literal(&format!("%{}%", marks::BEGINNING))
    ))
}

/// Whether a statement creates a trigger.
pub(super) fn is_trigger(sql: &str) -> bool {
    let mut beginnings = AFTER_ROWS.iter().filter(|beginning| beginning.ends_with(" trigger"));
    let begins = |beginning: &&str| {
        let words: Vec<&str> = beginning.split(' ').collect();
        words[0] == "create" && sql::first_words(sql, words.len()) == words
    };
    beginnings.any(begins)
}

/// The statements of an alternative index set.
pub(super) fn of_index_set(file: &str, sql: &str) -> Result<Vec<AfterRows>, WorkloadError> {
    let name: Arc<str> = file.into();
    if is_comment(sql) {
        return Ok(Vec::new());
    }
    let statements = script::statements(file, sql, &BTreeMap::new())?;
    let statement = |statement: script::Statement| {
        let table = sql_names::worked_on(&statement.sql);
        // A foreign key needs the keys of another table.
        let purpose = match table {
            Some(_) if sql_names::mentions(&statement.sql, &BTreeSet::from(["foreign".to_owned()])) => {
                Purpose::ForeignKey
            }
            Some(_) => Purpose::Index,
            None => Purpose::Last,
        };
        AfterRows { purpose, table, statement: LoadStatement::of_file(statement.sql, &name, statement.line) }
    };
    Ok(statements.into_iter().map(statement).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_in_the_form_of_a_dump_can_wait_for_the_rows() {
        let check = |sql: &str, expected: bool| {
            let text = format!("SET search_path = app; CREATE TABLE t (a int); {sql};");
            let statements = datagen::statements(&Source::new(&text, "s.sql")).expect("statements");
            assert_eq!(can_wait(&statements), expected, "{sql}");
        };
        for sql in [
            "ALTER TABLE ONLY public.\"T\" ADD CONSTRAINT k PRIMARY KEY (a)",
            "ALTER TABLE t ALTER COLUMN a ADD GENERATED ALWAYS AS IDENTITY",
            "ALTER TABLE t ALTER a SET DEFAULT 1, ALTER a SET NOT NULL",
            "ALTER TYPE public.mood OWNER TO me",
            "ALTER INDEX i ATTACH PARTITION j",
            "SELECT pg_catalog.setval('s', 3)",
            "CREATE UNIQUE INDEX i ON t (a); VACUUM t; COMMIT",
        ] {
            check(sql, true);
        }
        for sql in [
            "ALTER TABLE public.t DROP COLUMN a",
            "ALTER TABLE \"t\" RENAME TO u",
            "ALTER TABLE t ADD b int",
            "ALTER TABLE s.t ADD COLUMN \"b\" int",
            "ALTER TABLE t ALTER COLUMN a SET DATA TYPE bigint",
            "ALTER TABLE t ALTER a TYPE bigint",
            "ALTER TABLE t SET SCHEMA other",
            "CREATE TABLE u (LIKE t INCLUDING ALL)",
            "SET search_path = other",
            "SELECT pg_catalog.set_config('search_path', '', false)",
            "SELECT make_tables()",
            "INSERT INTO t VALUES (1)",
            "DO $$ BEGIN END $$",
            "DROP INDEX i",
        ] {
            check(sql, false);
        }
    }

    #[test]
    fn statements_after_the_rows_are_found() {
        let source = Source::new(
            "BEGIN; SET search_path = app;\nCREATE TABLE a (b int);\nCOMMENT ON TABLE a IS 'x';\n\
             CREATE TRIGGER t BEFORE INSERT ON a EXECUTE FUNCTION f();\nCREATE TABLE c (b int);\n\
             ALTER TABLE ONLY a ADD PRIMARY KEY (b);\nCREATE INDEX i ON app.c (b);\n\
             ALTER TABLE c ADD FOREIGN KEY (b) REFERENCES a;\nCOMMENT ON TABLE c IS 'y';\n\
             COMMENT ON INDEX i IS 'z';\nCREATE VIEW v AS SELECT 1;\nCOMMIT;",
            "s.sql",
        );
        let statements = datagen::statements(&source).expect("statements");
        let (before, after) = divided(&statements, &source);
        let lines: Vec<u32> = before.iter().filter_map(|one| Some(one.place.as_ref()?.1)).collect();
        assert_eq!(lines, [1, 2, 3, 5, 9]);
        let after: Vec<String> = after
            .iter()
            .map(|one| {
                let table = one.table.as_ref().map(ToString::to_string).unwrap_or_default();
                let line = one.statement.place.as_ref().map_or(0, |place| place.1);
                format!("{line} {:?} {table}", one.purpose)
            })
            .collect();
        assert_eq!(after, ["4 Last ", "6 Key a", "7 Index app.c", "8 ForeignKey c", "10 Last ", "11 Last "]);
    }

    #[test]
    fn foreign_keys_of_an_index_set_come_after_all_keys() {
        let sql = "CREATE INDEX ON a (b);\nALTER TABLE a ADD FOREIGN KEY (b) REFERENCES c;\nANALYZE a;";
        let set = of_index_set("i.sql", sql).expect("statements");
        let purposes: Vec<Purpose> = set.iter().map(|one| one.purpose).collect();
        assert_eq!(purposes, [Purpose::Index, Purpose::ForeignKey, Purpose::Last]);
    }
}
