//! Quotes text in SQL and in connection strings. Control sessions use the simple query protocol, which has no parameters.
//! SQL is quoted by the crate `sql`.

pub use sql::{identifier, literal};

/// A value of a connection string: `it's` is `'it\'s'`.
pub fn connection_value(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// The same, without quotes where none are necessary.
pub fn short_connection_value(text: &str) -> String {
    let needs_quotes = |character: char| character.is_whitespace() || matches!(character, '\'' | '\\');
    if text.contains(needs_quotes) { connection_value(text) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_quoted_as_libpq_reads_it() {
        assert_eq!(short_connection_value("/var/lib/x"), "/var/lib/x");
        assert_eq!(short_connection_value(r"/it's a\b"), r"'/it\'s a\\b'");
    }
}
