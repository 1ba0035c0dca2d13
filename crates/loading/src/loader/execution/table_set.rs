//! The input of a loading of tables: the statements of the schema, the tables with their rows, and the statements after
//! the rows. Workloads make such sets; `tables` loads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::judged::{Judge, JudgedReference};
use super::rows::RowSource;
use super::statement::LoadStatement;
use crate::contract::table_name::TableName;

/// Tables with all statements around their rows.
#[derive(Clone, Debug, Default)]
pub struct TableSet {
    /// The name of the workload.
    pub workload: String,
    /// Its folder, as in marks.
    pub folder: String,
    /// The command that loads it, for messages.
    pub init: String,
    /// The statements that create the tables. They are executed in one transaction.
    pub schema: Vec<LoadStatement>,
    /// All tables that the schema creates.
    pub names: Vec<TableName>,
    /// Those that get rows, in their order.
    pub tables: Vec<LoadTable>,
    /// Statements after the rows.
    pub after: Vec<AfterRows>,
    /// Whether `schema` has all statements, in their order. Then indexes and triggers that can be restored are removed or
    /// disabled until the rows are there.
    pub is_in_order: bool,
    /// Whether triggers fire for generated rows also then.
    pub keeps_triggers: bool,
    /// Whether the numbers of rows are counted after the loading, for checks. Code that makes rows has checks of its own.
    pub counts_rows: bool,
    /// The foreign keys of the schema, by the names of tables, as the marks keep them.
    pub foreign_keys: BTreeMap<String, String>,
}

/// A table that gets rows.
#[derive(Clone, Debug)]
pub struct LoadTable {
    /// Its name.
    pub table: TableName,
    /// ` ("column", …)` as COPY takes it; empty for all columns.
    pub(crate) columns: String,
    /// Its rows.
    pub source: Arc<dyn RowSource>,
    /// How the server judges the rows; `None`: it accepts all.
    pub(crate) judge: Option<Arc<Judge>>,
    /// How it judges them if it refuses one nevertheless; `None`: this is an error.
    pub(crate) fallback: Option<Arc<Judge>>,
    /// Its foreign keys, if rows that they refer to may be missing.
    pub(crate) references: Vec<JudgedReference>,
}

impl LoadTable {
    /// A table with these rows, all of which the server accepts.
    pub fn new(name: impl Into<String>, source: Arc<dyn RowSource>) -> LoadTable {
        let (table, columns) = (TableName::new(name), String::new());
        LoadTable { table, columns, source, judge: None, fallback: None, references: Vec::new() }
    }
}

/// A statement after the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterRows {
    /// Its purpose.
    pub purpose: Purpose,
    /// The table whose rows it needs; `None`: all tables.
    pub table: Option<TableName>,
    /// The statement.
    pub statement: LoadStatement,
}

/// Purposes in the order of their execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// A primary key or a unique constraint.
    Key,
    /// An index.
    Index,
    /// A foreign key.
    ForeignKey,
    /// After all others, in the given order: sequences, triggers.
    Last,
}
