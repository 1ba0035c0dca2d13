//! The query sets of folders: each file is a query, with statements before and after it if it has several. `folder` owns
//! the files, and `pgmeter queries` executes what this returns.

use std::collections::BTreeMap;

use script::Statement;

use crate::contract::sql_file::SqlFile;
use crate::{Query, WorkloadError};

/// First words of statements that return rows.
const QUERIES: [&str; 5] = ["select", "with", "table", "values", "("];

/// Rejects files that have no query or several.
pub(crate) fn check(files: &[SqlFile]) -> Result<(), String> {
    for SqlFile { file, sql, .. } in files {
        let statements =
            script::statements(file, sql, &BTreeMap::new()).map_err(|error| error.to_string())?;
        let is_copy = |statement: &Statement| sql::first_words(&statement.sql, 1) == ["copy"];
        if let Some(copy) = statements.iter().find(|statement| is_copy(statement)) {
            return Err(format!("{file}:{}: COPY has no rows that can be counted; use SELECT", copy.line));
        }
        let count = statements.iter().filter(|statement| is_query(statement)).count();
        if statements.len() > 1 && count != 1 {
            return Err(format!(
                "{file} has {count} queries among its {} statements: a file is one query, with other statements \
                 before and after it",
                statements.len()
            ));
        }
    }
    Ok(())
}

/// The queries of the files, with the values of variables.
pub(crate) fn read(
    files: &[SqlFile],
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Query>, WorkloadError> {
    let query = |SqlFile { name, file, sql }: &SqlFile| {
        let statements = script::statements(file, sql, variables)?;
        let at = statements.iter().position(is_query).unwrap_or(0);
        let mut sql: Vec<String> = statements.into_iter().map(plain).collect();
        let after = sql.split_off(at + 1);
        let own = sql.split_off(at).concat();
        Ok(Query { name: name.clone(), before: sql, sql: own, after, has_ties: false })
    };
    files.iter().map(query).collect()
}

/// Without the semicolon at its end.
fn plain(statement: Statement) -> String {
    sql::without_semicolon(&statement.sql).to_owned()
}

fn is_query(statement: &Statement) -> bool {
    let first = sql::first_words(&statement.sql, 1).concat();
    QUERIES.contains(&first.as_str()) || sql::code(&statement.sql).next().is_some_and(|(_, text)| text == "(")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(sql: &str) -> SqlFile {
        SqlFile { name: "q1".to_owned(), file: "q1.sql".to_owned(), sql: sql.to_owned() }
    }

    #[test]
    fn statements_around_a_query_are_its_before_and_after() {
        let files = [file("CREATE VIEW v AS SELECT :scale AS a;\nSELECT a FROM v;\nDROP VIEW v;")];
        check(&files).expect("one query");
        let variables = BTreeMap::from([("scale".to_owned(), "3".to_owned())]);
        let queries = read(&files, &variables).expect("queries");
        assert_eq!(queries[0].before, ["CREATE VIEW v AS SELECT 3 AS a"]);
        assert_eq!(
            (queries[0].sql.as_str(), queries[0].after.concat()),
            ("SELECT a FROM v", "DROP VIEW v".into())
        );
    }

    #[test]
    fn copy_is_refused() {
        let refusal = check(&[file("SELECT 1;\ncopy t to stdout;")]).expect_err("its rows are not counted");
        assert_eq!(refusal, "q1.sql:2: COPY has no rows that can be counted; use SELECT");
    }

    #[test]
    fn several_queries_in_a_file_are_refused() {
        let refusal = check(&[file("SELECT 1; SELECT 2;")]).expect_err("two");
        assert!(refusal.starts_with("q1.sql has 2 queries among its 2 statements"), "{refusal}");
        check(&[file("(SELECT 1) UNION SELECT 2")]).expect("one");
    }
}
