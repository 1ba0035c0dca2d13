//! Names of tables, with or without a schema. The server's search path decides which table a name without a schema
//! means. Every module that reads or writes SQL uses them.

use std::fmt;

use connect::quote::identifier;

/// The name of a table, without quotes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableName {
    /// `None`: the first schema of the search path.
    pub schema: Option<String>,
    /// Its own name.
    pub name: String,
}

impl TableName {
    /// A table in the search path.
    pub fn new(name: impl Into<String>) -> TableName {
        TableName { schema: None, name: name.into() }
    }

    /// Whether both can be names of one table: a search path may find the one without a schema.
    pub fn may_be(&self, other: &TableName) -> bool {
        let same_schema = match (&self.schema, &other.schema) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        self.name == other.name && same_schema
    }

    /// Quoted for SQL.
    pub fn quoted(&self) -> String {
        let parts = self.schema.iter().chain([&self.name]);
        parts.map(|part| identifier(part)).collect::<Vec<_>>().join(".")
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(out, "{schema}.{}", self.name),
            None => out.write_str(&self.name),
        }
    }
}
