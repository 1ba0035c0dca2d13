//! `pgmeter data learn`: a schema with directives whose rows have the statistics of live tables. `selection` finds the
//! tables, `catalogs` reads the server, `facts` has the results, `directives` and `schema_text` write the schema.

mod catalogs;
mod directives;
mod facts;
mod reader;
mod schema_text;
mod selection;

use connect::{ConnectError, Session};

pub use schema_text::Learned;

/// Why a table cannot be learnt.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the sentence of each variant says what its fields are")]
pub enum LearnError {
    /// A catalog cannot be read.
    #[error(transparent)]
    Connection(#[from] ConnectError),
    /// A catalog cannot be described.
    #[error(transparent)]
    Catalogs(#[from] loading::WorkloadError),
    /// The tables cannot be described.
    #[error(transparent)]
    Schema(datagen::Error),
    /// There is nothing to learn.
    #[error("the database has no tables that can be learnt")]
    NoTables,
    /// There is no such relation.
    #[error(
        "the database has no table {table}{}",
        nearest.as_ref().map_or(String::new(), |nearest| format!("; did you mean {nearest}?"))
    )]
    Missing { table: String, nearest: Option<String> },
    /// A view or a foreign table.
    #[error("{name} {kind}")]
    NotATable { name: String, kind: String },
    /// There are no statistics.
    #[error("{table} has no statistics; run ANALYZE {table} first")]
    NotAnalyzed { table: String },
    /// `pg_stats` shows nothing to this role.
    #[error("the role may not read {table}, and sees no statistics of it; it needs the privilege SELECT")]
    NoPermission { table: String },
    /// `pg_stats` hides tables with row-level security.
    #[error(
        "{table} has row-level security, which hides its statistics from this role; connect as its owner"
    )]
    RowSecurity { table: String },
}

/// The name of a table that a user typed.
///
/// # Errors
/// The text is a connection string.
pub fn table_name(text: &str) -> Result<String, String> {
    let is_quoted = text.starts_with('"');
    if text.contains("://") || (text.contains('=') && !is_quoted) {
        return Err("this is a connection string, not a table; write -d before it".to_owned());
    }
    Ok(text.to_owned())
}

/// Learns the tables that match the patterns, or all, from their statistics. Values of the tables leave the server only
/// with `values`.
///
/// # Errors
/// A pattern matches no table; no table has statistics that the role may read.
pub fn learn(session: &mut Session, patterns: &[String], values: bool) -> Result<Learned, LearnError> {
    Ok(schema_text::learned(catalogs::read(session, patterns, values)?, values))
}

#[cfg(test)]
mod tests {
    use super::table_name;

    #[test]
    fn a_connection_string_is_not_a_table() {
        for text in ["host=db dbname=shop", "dbname=shop", "postgresql://db/shop"] {
            assert!(table_name(text).is_err_and(|sentence| sentence.contains("-d")), "{text}");
        }
        for text in ["orders", "shop.orders", "\"a=b\""] {
            assert_eq!(table_name(text).as_deref(), Ok(text));
        }
    }
}
