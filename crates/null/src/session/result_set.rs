//! The rows of a `SELECT` that defines them: `SELECT 1 AS a, NULL AS "b c"`, no row with a `WHERE`, several with `UNION
//! ALL`; and of pgmeter's queries of the server's properties. Other statements return the rows of the configuration.
//! Used by the session.

use super::reply;

/// Columns and rows, encoded as messages.
#[derive(Clone, Debug)]
pub(super) struct ResultSet {
    pub(super) row_description: Vec<u8>,
    pub(super) rows_and_tag: Vec<u8>,
}

impl ResultSet {
    /// Columns with these names, and rows of text.
    pub(super) fn new<'a, R>(names: &[&str], rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item = Option<&'a str>>,
    {
        let mut row_description = Vec::new();
        reply::row_description(&mut row_description, names);
        let mut rows_and_tag = Vec::new();
        let mut count = 0;
        for row in rows {
            let values: Vec<_> = row.into_iter().collect();
            reply::data_row(&mut rows_and_tag, &values);
            count += 1;
        }
        reply::command_complete(&mut rows_and_tag, format!("SELECT {count}").as_bytes());
        Self { row_description, rows_and_tag }
    }

    /// `None` unless every column has a name, or the query is a known one.
    pub(super) fn of_query(sql: &[u8]) -> Option<Self> {
        if let Some((_, values)) = QUESTIONS.iter().find(|(question, _)| sql.starts_with(question.as_bytes()))
        {
            // One row of these values; without values, no row.
            let rows = (!values.is_empty()).then(|| values.iter().copied().map(Some));
            return Some(Self::new(&vec![UNNAMED; values.len().max(2)], rows));
        }
        // Most statements name no column, and this check runs for each statement of a benchmark.
        if !sql.windows(4).any(|window| window == b" AS ") {
            return None;
        }
        let sql = String::from_utf8_lossy(sql);
        let sql = sql::without_semicolon(sql.trim());
        let parts: Vec<_> = sql.split(" UNION ALL ").map(row).collect::<Option<_>>()?;
        // PostgreSQL refuses more; here the statement returns the rows of the configuration.
        if parts.iter().any(|part| part.columns.len() > COLUMNS_MAX) {
            return None;
        }
        let names: Vec<_> = parts.first()?.columns.iter().map(|(name, _)| name.as_str()).collect();
        let rows = parts.iter().filter(|part| !part.filtered_out);
        Some(Self::new(&names, rows.map(|part| part.columns.iter().map(|(_, value)| value.as_deref()))))
    }
}

/// Maximum number of columns of a result (PostgreSQL's `MaxTupleAttributeNumber`).
const COLUMNS_MAX: usize = 1_664;

/// PostgreSQL's name for a column without a name.
pub(super) const UNNAMED: &str = "?column?";

/// Starts with a version for clients, and names the null server for users.
pub(super) const SERVER_VERSION: &str = "18.0 (pgmeter null server)";
/// The same as a number.
const SERVER_VERSION_NUM: &str = "180000";

/// pgmeter's queries of the server's properties, and the answers.
const QUESTIONS: [(&str, &[&str]); 4] = [
    ("SELECT pg_catalog.set_config('search_path'", &["pg_catalog, pg_temp"]),
    (
        "select version(), current_setting('server_version'), current_setting('server_version_num')",
        &[
            "pgmeter null server: it answers and does nothing",
            SERVER_VERSION,
            SERVER_VERSION_NUM,
            "on",
            "off",
        ],
    ),
    ("select name, pg_catalog.current_setting(name) from pg_catalog.pg_settings", &[]),
    ("select name, current_setting(name) from pg_settings", &[]),
];

/// One `SELECT`.
struct Part {
    /// Names and values.
    columns: Vec<(String, Option<String>)>,
    filtered_out: bool,
}

fn row(sql: &str) -> Option<Part> {
    let sql = sql.trim().strip_prefix("SELECT ")?;
    let (list, filtered_out) = match sql.split_once(" WHERE ") {
        Some((list, _)) => (list, true),
        None => (sql, false),
    };
    let columns = list.split(',').map(column).collect::<Option<_>>()?;
    Some(Part { columns, filtered_out })
}

fn column(text: &str) -> Option<(String, Option<String>)> {
    let (value, name) = text.trim().split_once(" AS ")?;
    let value = (value != "NULL").then(|| value.trim_matches('\'').to_owned());
    Some((name.trim_matches('"').to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_select_whose_columns_have_names_says_what_its_rows_are() {
        assert!(ResultSet::of_query(b"SELECT 1").is_none());
        assert!(ResultSet::of_query(b"SELECT a FROM t WHERE b = 1").is_none());
        assert!(ResultSet::of_query(b"UPDATE t SET a = 1").is_none());
        assert!(ResultSet::of_query(b"SELECT 1 AS a, 2").is_none());
    }

    #[test]
    fn a_result_has_at_most_1664_columns() {
        let select = |columns| format!("SELECT {}", vec!["1 AS a"; columns].join(", "));
        assert!(ResultSet::of_query(select(1_664).as_bytes()).is_some());
        assert!(ResultSet::of_query(select(70_000).as_bytes()).is_none());
        let second = format!("SELECT 1 AS a UNION ALL {}", select(70_000));
        assert!(ResultSet::of_query(second.as_bytes()).is_none());
    }

    #[test]
    fn rows_are_those_that_are_not_filtered_out() {
        let tag = |sql: &[u8]| {
            let messages = ResultSet::of_query(sql).expect("a selection").rows_and_tag;
            String::from_utf8_lossy(&messages[messages.len() - 9..]).into_owned()
        };
        assert_eq!(tag(b"SELECT 1 AS a UNION ALL SELECT NULL AS a;"), "SELECT 2\0");
        assert_eq!(tag(b"SELECT 1 AS a WHERE false"), "SELECT 0\0");
    }
}
