//! The 99 queries, read from the archive of workload.toml: their texts are material of the TPC, which pgmeter may not
//! distribute.

use std::collections::BTreeMap;
use std::path::Path;

use script::Statement;

use crate::{Query, QueryChoice, WorkloadError};
use loading::contract::archives::NamedArchive;

/// Number of queries.
pub(super) const COUNT: u32 = 99;
/// The directory of the texts in the archive.
const FOLDER: &str = "duckdb-2.0.0/external/duckdb/extension/tpcds/dsdgen/queries";
/// The longest text has 6 kB.
const TEXT_LENGTH_MAX: u64 = 1 << 20;

/// The name of a query, counted from 1.
pub(super) fn name(number: u32) -> String {
    format!("q{number}")
}

/// All queries; `place` is the name of the workload on the command line.
pub(super) fn read(
    archives: &[NamedArchive],
    place: &str,
    _: &QueryChoice,
) -> Result<Vec<Query>, WorkloadError> {
    let mut queries = Vec::new();
    for archive in archives {
        let tree = archive.tree(place).map_err(WorkloadError::UnlistedFile)?;
        let folder = tree.join(FOLDER);
        for number in 1..=COUNT {
            queries.push(query(&folder, number)?);
        }
    }
    Ok(queries)
}

fn query(folder: &Path, number: u32) -> Result<Query, WorkloadError> {
    let path = folder.join(format!("{number:02}.sql"));
    let file = path.display().to_string();
    let unreadable = |source| WorkloadError::Read { file: file.clone(), source };
    let text = config::text_of(&path, TEXT_LENGTH_MAX).map_err(unreadable)?;
    let statements = script::statements(&file, &text, &BTreeMap::new())?;
    let sql: Vec<&str> = statements.iter().map(plain).collect();
    match sql[..] {
        [sql] => Ok(Query::new(name(number), with_null_for_zero(sql))),
        _ => Err(WorkloadError::UnlistedFile(format!("{file} has {} statements instead of one", sql.len()))),
    }
}

/// Queries 12, 20 and 98 divide by the sales of a class, which are 0 at small scales. DuckDB, for which the texts were
/// written, returns NULL then, and PostgreSQL an error.
fn with_null_for_zero(sql: &str) -> String {
    let mut sql = sql.to_owned();
    for column in ["ws_ext_sales_price", "cs_ext_sales_price", "ss_ext_sales_price"] {
        let divisor = format!("sum(sum({column})) OVER (PARTITION BY i_class)");
        sql = sql.replace(&format!("/{divisor}"), &format!("/nullif({divisor}, 0)"));
    }
    sql
}

/// Without the semicolon at its end.
fn plain(statement: &Statement) -> &str {
    sql::without_semicolon(&statement.sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_of_zero_is_null() {
        assert_eq!(
            with_null_for_zero("SELECT a*100/sum(sum(ws_ext_sales_price)) OVER (PARTITION BY i_class) AS r"),
            "SELECT a*100/nullif(sum(sum(ws_ext_sales_price)) OVER (PARTITION BY i_class), 0) AS r"
        );
        assert_eq!(with_null_for_zero("SELECT a/b"), "SELECT a/b");
    }

    #[test]
    fn a_file_has_one_query() {
        let folder = tempfile::tempdir().expect("a directory");
        let write = |text: &str| std::fs::write(folder.path().join("07.sql"), text).expect("a file");
        write("-- seven\nSELECT 7;\n");
        let read = query(folder.path(), 7).expect("a query");
        assert_eq!((read.name.as_str(), read.sql.as_str()), ("q7", "SELECT 7"));
        write("SELECT 7; SELECT 8;");
        let error = query(folder.path(), 7).expect_err("two").to_string();
        assert!(error.ends_with("07.sql has 2 statements instead of one"), "{error}");
        let error = query(folder.path(), 8).expect_err("no file").to_string();
        assert!(error.contains("08.sql"), "{error}");
    }
}
