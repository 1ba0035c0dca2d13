//! Checks of freshly loaded tables: the number of rows of each table, and foreign keys without a partner. They are
//! computed from the schema, so a folder needs no files for them.

use connect::quote::literal;
use datagen::{Reference, Schema, TableRows};

use super::Rows;
use crate::contract::check::{Check, PROBLEM};
use crate::contract::load::with_commas;

/// Foreign keys are those of the schema: with some index sets, or after changes, the database has no constraint that
/// enforces them. The rows are those of a built-in workload; of the others, `row_counts` has the numbers.
pub(crate) fn all(schema: &Schema, rows: Option<&Rows>) -> Vec<Check> {
    let tables = match rows {
        Some(Rows::Generated(rows)) => rows.generation.tables(),
        // The workload has checks of its own.
        Some(Rows::Own(_)) | None => &[],
    };
    tables.iter().map(row_count).chain(schema.references().iter().map(without_partner)).collect()
}

/// Returns a sentence about the number of rows, if it is not that of the schema.
fn row_count(table: &TableRows) -> Check {
    let (rows, relation) = (table.rows(), table.rows_sql());
    let differs = if table.skips() { ">" } else { "<>" };
    let sentence = joined(&[
        literal(&format!("{} has ", table.name())),
        counted("found"),
        literal(&format!(
            "; init loaded {}, and a run that inserts or deletes changes this number",
            with_commas(rows)
        )),
    ]);
    Check {
        name: format!("rows of {}", table.name()),
        sql: format!(
            "select {sentence} as {PROBLEM} from (select pg_catalog.count(*) as found from {relation}) as counted \
             where found {differs} {rows}"
        ),
    }
}

/// Returns a sentence about rows whose reference has no partner.
fn without_partner(key: &Reference) -> Check {
    let Reference { table, rows, columns, referenced, referenced_rows, referenced_columns, .. } = key;
    let all = |words: Vec<String>| words.join(" and ");
    let pairs = columns.iter().zip(referenced_columns).map(|(own, other)| format!("r.{other} = t.{own}"));
    let pairs = all(pairs.collect());
    let given = all(columns.iter().map(|column| format!("t.{column} is not null")).collect());
    let values: Vec<String> = columns.iter().map(|column| format!("t.{column}")).collect();
    let plain = |name: &str| name.replace('"', "");
    let (table_name, of_key) = (plain(table), plain(&columns.join(", ")));
    let sentence = joined(&[
        literal(&format!("{table_name} has ")),
        counted("found"),
        literal(&format!(" without a partner in {}, such as ({of_key}) = (", plain(referenced))),
        "example".to_owned(),
        literal(")"),
    ]);
    Check {
        name: format!("foreign key of {table_name} ({of_key}) to {}", plain(referenced)),
        sql: format!(
            "select {sentence} as {PROBLEM} from (select pg_catalog.count(*) as found, \
             pg_catalog.min(pg_catalog.concat_ws(', ', {})) as example from {rows} as t \
             where {given} and not exists (select from {referenced_rows} as r where {pairs})) as missing where found > 0",
            values.join(", ")
        ),
    }
}

/// SQL: texts one after the other.
fn joined(texts: &[String]) -> String {
    format!("pg_catalog.concat({})", texts.join(", "))
}

/// SQL: `1 row` or `10,263 rows`.
fn counted(rows: &str) -> String {
    format!(
        "pg_catalog.to_char({rows}, 'FM999,999,999,999,990'), case {rows} when 1 then ' row' else ' rows' end"
    )
}
