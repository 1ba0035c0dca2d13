//! What a loading of tables is given: the statements of the schema, the tables with their rows, and the statements after the
//! rows. Workloads make such sets; `tables` loads them.

use std::sync::Arc;

use super::judged::{Judge, JudgedReference};
use super::rows::RowSource;
use super::statement::LoadStatement;
use crate::table_name::TableName;

/// Tables with all statements around their rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableSet {
    /// The name of the workload.
    pub(crate) workload: String,
    /// Its folder, as in marks.
    pub(crate) folder: String,
    /// The command that loads it, for messages.
    pub(crate) init: String,
    /// The statements that create the tables. They are executed in one transaction.
    pub(crate) schema: Vec<LoadStatement>,
    /// All tables that the schema creates.
    pub(crate) names: Vec<TableName>,
    /// Those that get rows, in their order.
    pub(crate) tables: Vec<LoadTable>,
    /// Statements after the rows.
    pub(crate) after: Vec<AfterRows>,
    /// Whether `schema` has all statements, in their order. Then indexes and triggers that can be restored are removed or
    /// disabled until the rows are there.
    pub(crate) is_in_order: bool,
    /// Whether triggers fire for generated rows also then.
    pub(crate) keeps_triggers: bool,
}

/// A table that gets rows.
#[derive(Clone, Debug)]
pub(crate) struct LoadTable {
    pub(crate) table: TableName,
    /// ` ("column", …)` as COPY takes it; empty for all columns.
    pub(crate) columns: String,
    pub(crate) source: Arc<dyn RowSource>,
    /// How the server judges the rows; `None`: it accepts all.
    pub(crate) judge: Option<Arc<Judge>>,
    /// How it judges them if it refuses one nevertheless; `None`: this is an error.
    pub(crate) fallback: Option<Arc<Judge>>,
    /// Its foreign keys, if rows that they refer to may be missing.
    pub(crate) references: Vec<JudgedReference>,
}

/// A statement after the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AfterRows {
    pub(crate) purpose: Purpose,
    /// The table whose rows it needs; `None`: all tables.
    pub(crate) table: Option<TableName>,
    pub(crate) statement: LoadStatement,
}

/// Purposes in the order of their execution.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// A primary key or a unique constraint.
    Key,
    /// An index.
    Index,
    /// A foreign key.
    ForeignKey,
    /// After all others, in the given order: sequences, triggers.
    Last,
}
