//! Queries of catalogs that a session repeats word for word. Planning one with twenty parts takes as long as executing it, so
//! the server plans it once. SQL of users runs in the same session and can remove prepared statements or replace them, so
//! each is looked at before it is executed.

use super::{CATALOGS_ALONE, Session};
use crate::error::ConnectError;
use crate::session::results::Row;

/// A shorter query is planned quickly.
const LENGTH_MIN: usize = 500;
/// A longer one names many objects, and hardly comes again.
const LENGTH_MAX: usize = 100_000;
/// Queries that are remembered: the latest ones.
const QUERIES_MAX: usize = 16;
/// After so many executions a query is planned anew, because the catalogs may have grown.
const EXECUTIONS_MAX: u32 = 20;

/// A prepared query.
struct RepeatedQuery {
    sql: String,
    /// Of the prepared statement.
    name: String,
    /// Of the text that the server has under this name.
    digest: String,
    executions: u32,
}

/// The queries that a session repeats, the latest last.
#[derive(Default)]
pub(super) struct RepeatedQueries {
    queries: Vec<RepeatedQuery>,
    /// Statements prepared so far.
    prepared: u32,
}

impl Session {
    /// As [`Session::query_catalogs`], for a query that comes again and again with the same text: in transactions, the server
    /// plans it once. Through a pooler, or outside of a transaction, where an unknown pooler could change the connection, it
    /// is planned each time.
    pub fn query_catalogs_again(&mut self, sql: &str) -> Result<Vec<Row>, ConnectError> {
        let is_worth_it = (LENGTH_MIN..LENGTH_MAX).contains(&sql.len()) && self.is_in_transaction();
        if !is_worth_it || self.is_pooled() {
            return self.query_catalogs(sql);
        }
        let queries = &mut self.repeated.queries;
        let known = queries.iter().position(|query| query.sql == sql).map(|at| queries.remove(at));
        let mut query = match known {
            Some(query) if self.is_there(&query)? => query,
            _ => self.prepare(sql)?,
        };
        let rows = self.query_catalogs(&format!("EXECUTE {}", query.name))?;
        query.executions += 1;
        if query.executions >= EXECUTIONS_MAX {
            self.remove(&query)?;
        } else {
            self.repeated.queries.push(query);
        }
        Ok(rows)
    }

    fn prepare(&mut self, sql: &str) -> Result<RepeatedQuery, ConnectError> {
        if self.repeated.queries.len() >= QUERIES_MAX {
            let oldest = self.repeated.queries.remove(0);
            self.remove(&oldest)?;
        }
        self.repeated.prepared += 1;
        let name = format!("pgmeter_catalogs_{}", self.repeated.prepared);
        // The names in it are found in the server's schema, now and whenever it is planned.
        self.execute(&format!("{CATALOGS_ALONE}PREPARE {name} AS {sql}"))?;
        let digest = self.digest_of(&name)?.unwrap_or_default();
        Ok(RepeatedQuery { sql: sql.to_owned(), name, digest, executions: 0 })
    }

    /// Whether the server still has it as it was prepared.
    fn is_there(&mut self, query: &RepeatedQuery) -> Result<bool, ConnectError> {
        Ok(self.digest_of(&query.name)?.is_some_and(|digest| digest == query.digest))
    }

    fn digest_of(&mut self, name: &str) -> Result<Option<String>, ConnectError> {
        let sql = format!("SELECT md5(statement) FROM pg_prepared_statements WHERE name = '{name}'");
        Ok(self.query_catalogs(&sql)?.first().and_then(|row| row.get(0)).map(str::to_owned))
    }

    fn remove(&mut self, query: &RepeatedQuery) -> Result<(), ConnectError> {
        if self.is_there(query)? {
            self.execute(&format!("DEALLOCATE {}", query.name))?;
        }
        Ok(())
    }
}
