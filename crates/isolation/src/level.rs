//! Isolation levels that PostgreSQL has. READ UNCOMMITTED is READ COMMITTED there. A
//! level decides which anomalies are forbidden.

use serde::Serialize;

/// An isolation level; a greater one forbids more.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ, which is snapshot isolation in PostgreSQL.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

/// Words of the command line: name, help, level.
pub const LEVELS: [(&str, &str, Level); 3] = [
    ("serializable", "Forbids every anomaly", Level::Serializable),
    ("repeatable-read", "Snapshot isolation: forbids all but G2 (write skew)", Level::RepeatableRead),
    ("read-committed", "Forbids G0, G1 and inconsistent reads", Level::ReadCommitted),
];

impl Level {
    /// As in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }
}
