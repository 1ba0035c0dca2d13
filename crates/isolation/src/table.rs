//! The table of a check on the server: it is created, filled, read and dropped again. Its name contains the number of
//! the run and it has a comment, so that no other table is touched.

use connect::quote::{identifier, literal};
use connect::{ConnectError, Row, Session, refuse_published_table};

use crate::history::{Element, Key};
use crate::level::Level;

/// Keys with the lists that the table holds.
type Lists = Vec<(Key, Vec<Element>)>;

/// Begin of the names of all tables of checks.
const PREFIX: &str = "pgmeter_isolation_";
/// Begin of their comments.
const MARK: &str = "pgmeter verify --isolation";
/// The server process of a session in comments; `a` is its row in `pg_stat_activity`. In whole microseconds, because the text
/// of a fraction depends on `extra_float_digits`.
const PROCESS: &str =
    "concat('server process ', a.pid, ' of ', (extract(epoch from a.backend_start) * 1000000)::bigint)";
/// Lists per answer of the final read, well below a session's limit.
const LISTS_PER_READ: u32 = 10_000;

/// A table: a row for each list, with the number of its elements. Its unique index has this number too, so a row with
/// key and number exists exactly if this is the current version of the list.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    /// With its schema, quoted.
    pub(crate) name: String,
}

impl Table {
    /// Creates a table with empty lists in the first schema of the search path.
    pub(crate) fn create(session: &mut Session, run: &str, lists: u32) -> Result<Table, ConnectError> {
        let rows = session.query("SELECT pg_catalog.current_schema()")?;
        let Some(schema) = rows.first().and_then(|row| row.get(0)) else {
            return Err(ConnectError::Settings(
                "there is no schema to create a table in: search_path names none that exists; set it, for example with \
                 options='-c search_path=public'"
                    .to_owned(),
            ));
        };
        refuse_published_table(session, schema)?;
        let name = format!("{}.{}", identifier(schema), identifier(&format!("{PREFIX}{run}")));
        let process = session.query_catalogs(&format!(
            "SELECT {PROCESS} FROM pg_stat_activity a WHERE pid = pg_backend_pid()"
        ))?;
        let process = process.first().and_then(|row| row.get(0)).unwrap_or_default();
        let comment = literal(&format!("{MARK}, run {run}; may be dropped when its {process} has ended"));
        // The fillfactor keeps new versions of a row on its page, so that lists of different slots share no page.
        session.execute(&format!(
            "BEGIN; SET LOCAL search_path = pg_catalog, pg_temp; \
             CREATE TABLE {name} (k integer NOT NULL, n integer NOT NULL, list integer[] NOT NULL, PRIMARY KEY (k, n)) \
             WITH (fillfactor = 10); \
             COMMENT ON TABLE {name} IS {comment}; \
             INSERT INTO {name} SELECT k, 0, '{{}}' FROM generate_series(0, {}) AS k; \
             ANALYZE {name}; COMMIT",
            lists - 1
        ))?;
        Ok(Table { name })
    }

    pub(crate) fn drop(&self, session: &mut Session) -> Result<(), ConnectError> {
        session.execute(&format!("DROP TABLE {}", self.name)).map(drop)
    }

    /// Starts a transaction. The settings end with it, so that a pooler gets its connection back unchanged. A sequential
    /// scan would lock the whole table under SERIALIZABLE.
    pub(crate) fn begin(level: Level, is_read_only: bool) -> String {
        format!(
            "BEGIN ISOLATION LEVEL {}{}; SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL enable_seqscan = off",
            level.sql(),
            if is_read_only { " READ ONLY" } else { "" }
        )
    }

    /// Reads a list.
    pub(crate) fn select(
        &self,
        session: &mut Session,
        key: Key,
    ) -> Result<Option<Vec<Element>>, ConnectError> {
        let rows = session.query(&format!("SELECT list FROM {} WHERE k = {key}", self.name))?;
        Ok(rows.first().and_then(|row| row.get(0)).and_then(elements))
    }

    /// Appends an element; returns whether the list exists.
    pub(crate) fn append(
        &self,
        session: &mut Session,
        key: Key,
        element: Element,
    ) -> Result<bool, ConnectError> {
        let sql = format!(
            "UPDATE {} SET n = n + 1, list = array_append(list, {element}) WHERE k = {key}",
            self.name
        );
        Ok(session.execute(&sql)? == 1)
    }

    /// The statement that inserts the row of a version.
    pub(crate) fn insert(&self, key: Key, length: usize) -> String {
        format!("INSERT INTO {} (k, n, list) VALUES ({key}, {length}, '{{}}')", self.name)
    }

    /// All lists below a key, for the final read. `None`: the answer has another form.
    pub(crate) fn read_all(&self, session: &mut Session, lists: u32) -> Result<Option<Lists>, ConnectError> {
        let mut all = Vec::new();
        for first in (0..lists).step_by(LISTS_PER_READ as usize) {
            let end = first.saturating_add(LISTS_PER_READ).min(lists);
            let sql = format!("SELECT k, list FROM {} WHERE k >= {first} AND k < {end}", self.name);
            for row in session.query(&sql)? {
                let key = row.get(0).and_then(|text| text.parse().ok());
                let Some(list) = key.zip(row.get(1).and_then(elements)) else { return Ok(None) };
                all.push(list);
            }
        }
        Ok(Some(all))
    }

    /// Number of rows; 0 if the table does not exist, as on a replica that has not yet received it.
    pub(crate) fn rows(&self, session: &mut Session) -> Result<u64, ConnectError> {
        match session.query(&format!("SELECT pg_catalog.count(*) FROM {}", self.name)) {
            Ok(rows) => {
                let count = rows.first().and_then(|row| row.get(0)).and_then(|text| text.parse().ok());
                Ok(count.unwrap_or(0))
            }
            Err(ConnectError::Server(error)) if error.sqlstate == connect::SqlState::UNDEFINED_TABLE => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Drops the tables of earlier checks that were killed. Returns their names.
///
/// # Errors
/// The server's.
pub fn drop_leftovers(session: &mut Session) -> Result<Vec<String>, ConnectError> {
    let left = leftovers(session)?;
    for name in &left {
        Table { name: name.clone() }.drop(session)?;
    }
    Ok(left)
}

/// The tables of checks that were killed: with the name and the comment of a check whose server process has ended, and owned
/// by the session's role.
pub(crate) fn leftovers(session: &mut Session) -> Result<Vec<String>, ConnectError> {
    let sql = format!(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_roles r ON r.oid = c.relowner \
         WHERE c.relkind = 'r' AND r.rolname = current_user \
         AND substr(c.relname, 1, {}) = {} AND substr(obj_description(c.oid, 'pg_class'), 1, {}) = {} \
         AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a WHERE strpos(obj_description(c.oid, 'pg_class'), {PROCESS}) > 0)",
        PREFIX.len(),
        literal(PREFIX),
        MARK.len(),
        literal(MARK)
    );
    let rows = session.query_catalogs(&sql)?;
    let name = |row: &Row| Some(format!("{}.{}", identifier(row.get(0)?), identifier(row.get(1)?)));
    Ok(rows.iter().filter_map(name).collect())
}

/// `{1,2,3}`.
fn elements(text: &str) -> Option<Vec<Element>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner.split(',').map(|element| element.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_lists_of_elements() {
        assert_eq!(elements("{}"), Some(vec![]));
        assert_eq!(elements("{1,20,3}"), Some(vec![1, 20, 3]));
        for wrong in ["", "{", "{1,}", "{NULL}", "{-1}", "[0:1]={1,2}"] {
            assert_eq!(elements(wrong), None, "{wrong}");
        }
    }
}
