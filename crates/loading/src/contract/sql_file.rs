//! Files of SQL that a workload.toml names, or that stand in the folders of a workload. `manifest` reads them; other modules
//! make statements of them.

/// SQL that makes or fills tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadStep {
    pub(crate) name: String,
    /// What messages call the file.
    pub(crate) file: String,
    pub(crate) sql: String,
    /// Whether all its statements are one transaction.
    pub(crate) is_transaction: bool,
}

/// A file of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SqlFile {
    pub(crate) name: String,
    /// The name in messages.
    pub(crate) file: String,
    pub(crate) sql: String,
}

/// Whether a file has comments alone. Such an index set leaves the keys of the schema, and no other indexes.
pub(crate) fn is_comment(sql: &str) -> bool {
    sql::code(sql).next().is_none()
}
