//! Asks the catalogs of the server about live tables: the session with what its queries have in common. `selection` and
//! `catalogs` write the queries.

use connect::quote::literal;
use connect::{Row, Session, value_formats};

use crate::LearnError;

/// Asks the catalogs, with the search path of the session behind `pg_catalog`.
pub(crate) struct Reader<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) version: u32,
    pub(crate) path: String,
    /// The tables as a list for IN.
    pub(crate) tables: String,
    /// Columns that the schema cannot have, as pairs for IN.
    pub(crate) lost: String,
}

impl Reader<'_> {
    /// The rows of a query.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Vec<Row>, LearnError> {
        let path = literal(&format!("pg_catalog, {}", self.path));
        let formats = value_formats();
        let sql = format!("SELECT set_config('search_path', {path}, true); {formats}; {sql}");
        Ok(self.session.query_catalogs(&sql)?)
    }
}
