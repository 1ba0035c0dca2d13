//! The tables, views and indexes that the statements of a run use, as they were before it, so that two runs can be
//! compared. `observe` asks the server for them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SafeText, UtcTime};

/// The tables of a run's statements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relations {
    /// Tables and views by name, at most 64. Those that only functions and triggers use are not known.
    pub tables: Vec<Relation>,
    /// Statements whose tables are not known: the server could not parse them without the values of their variables, or
    /// there was not enough time.
    pub unknown: Vec<StatementPlace>,
}

/// A table or view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relation {
    /// Schema and name, quoted where SQL requires it.
    pub name: SafeText,
    /// What it is.
    pub kind: RelationKind,
    /// Columns with types, or the query of a view; a long one is cut.
    pub definition: SafeText,
    /// Storage parameters such as `fillfactor=90`; `null` without any.
    pub options: Option<SafeText>,
    /// Partitions and children on all levels. Up to 1,000 of them, their figures are included in those of this table;
    /// with more, these are `null`.
    pub partitions: u32,
    /// Size with TOAST, without indexes; `null` for views and foreign tables.
    pub bytes: Option<u64>,
    /// Rows by the server's estimate; `null` before the first VACUUM or ANALYZE.
    pub rows: Option<u64>,
    /// Pages by the server's estimate.
    pub pages: Option<u64>,
    /// Dead rows by the server's estimate.
    pub dead_rows: Option<u64>,
    /// Rows changed since the last ANALYZE.
    pub changed_rows: Option<u64>,
    /// Last ANALYZE, by hand or by autovacuum; `null` if the server knows of none.
    pub analyzed_at: Option<UtcTime>,
    /// Its indexes by name, used or not, at most 512 of all tables.
    pub indexes: Vec<Index>,
}

/// Kinds of tables and views.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names say it all
pub enum RelationKind {
    Table,
    PartitionedTable,
    View,
    MaterializedView,
    ForeignTable,
}

impl RelationKind {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            RelationKind::Table => "table",
            RelationKind::PartitionedTable => "partitioned table",
            RelationKind::View => "view",
            RelationKind::MaterializedView => "materialized view",
            RelationKind::ForeignTable => "foreign table",
        }
    }
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Index {
    /// Schema and name, quoted where SQL requires it.
    pub name: SafeText,
    /// The statement that creates it.
    pub definition: SafeText,
    /// Whether queries may use it.
    pub valid: bool,
    /// Size; `null` for an index of a partitioned table.
    pub bytes: Option<u64>,
}

/// A statement of a script.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StatementPlace {
    /// Index of the script in the plan, from 0.
    pub script: u32,
    /// Its first line, from 1.
    pub line: u32,
}
