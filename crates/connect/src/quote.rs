//! Quotes text in SQL and in connection strings. Control sessions use the simple query protocol, which has no parameters.

pub use sql::{identifier, literal};

/// A value of a connection string: `it's` is `'it\'s'`.
pub fn connection_value(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}
