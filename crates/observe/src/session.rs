//! The observer's session: runs queries and measures their cost. A failed query does not fail the run; a lost session
//! returns no more data.

use std::collections::BTreeMap;
use std::time::Duration;

use connect::{ConnectError, ResultSet, Row, Session};

use crate::clock;

/// Prefix of each message: limits the execution time and the waits for locks of the observer's statements. The settings
/// end with the message, which is one transaction, so a pooler gets its connection back unchanged.
const LIMITS: &str = "select pg_catalog.set_config('statement_timeout', '2s', true), \
                      pg_catalog.set_config('lock_timeout', '200ms', true), \
                      pg_catalog.set_config('transaction_read_only', 'on', true), \
                      pg_catalog.set_config('max_parallel_workers_per_gather', '0', true), \
                      pg_catalog.set_config('client_min_messages', 'error', true)";
/// Added to all queries except for names: only functions and operators of `pg_catalog` are found, so that users cannot
/// replace them. Users' objects are referenced by OID or with their schema.
const CATALOGS_ALONE: &str = ", pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true), \
                              pg_catalog.set_config('extra_float_digits', '3', true)";

/// A session whose failures are not errors of the run.
#[derive(Debug)]
pub(crate) struct ObserverSession {
    session: Session,
    /// Statements sent.
    pub(crate) statements: u64,
    /// Time spent waiting for answers.
    pub(crate) busy: Duration,
    /// Number of queries that failed.
    pub(crate) failures: u64,
    /// The last error.
    pub(crate) last_failure: Option<String>,
    /// Tables and indexes by OID, with names as this session's `search_path` requires.
    names: BTreeMap<String, String>,
}

impl ObserverSession {
    pub(crate) fn new(session: Session) -> ObserverSession {
        ObserverSession {
            session,
            statements: 0,
            busy: Duration::ZERO,
            failures: 0,
            last_failure: None,
            names: BTreeMap::new(),
        }
    }

    /// Runs several statements in one message, with a `search_path` of `pg_catalog` only; returns their result sets.
    pub(crate) fn sets(&mut self, statements: &[&str]) -> Result<Vec<ResultSet>, ConnectError> {
        self.send(CATALOGS_ALONE, statements)
    }

    /// Runs one statement with the user's `search_path`. It must qualify each function, operator and type with its
    /// schema.
    pub(crate) fn rows_by_users_path(&mut self, statement: &str) -> Result<Vec<Row>, ConnectError> {
        Ok(self.send("", &[statement])?.pop().map(|set| set.rows).unwrap_or_default())
    }

    fn send(&mut self, path: &str, statements: &[&str]) -> Result<Vec<ResultSet>, ConnectError> {
        let begun = clock::now();
        let answer = self.session.query_sets(&format!("{LIMITS}{path}; {}", statements.join("; ")));
        self.busy += clock::now().saturating_duration_since(begun);
        self.statements += 1 + statements.len() as u64;
        match answer {
            Ok(mut sets) => {
                // The result of the settings.
                sets.drain(..sets.len().min(1));
                Ok(sets)
            }
            Err(error) => {
                self.failures += 1;
                self.last_failure = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Queries the names of these relations if they are unknown; ignores keys that are not numbers.
    pub(crate) fn learn_names<'a>(&mut self, numbers: impl Iterator<Item = &'a str>) {
        let is_unknown = |number: &&str| number.parse::<u32>().is_ok() && !self.names.contains_key(*number);
        let unknown: Vec<_> = numbers.filter(is_unknown).collect();
        if unknown.is_empty() {
            return;
        }
        let sql = format!(
            "select number, number::pg_catalog.regclass from pg_catalog.unnest('{{{}}}'::pg_catalog.oid[]) as number",
            unknown.join(",")
        );
        for row in self.rows_by_users_path(&sql).unwrap_or_default() {
            let (number, name) = (row.get(0).unwrap_or_default(), row.get(1).unwrap_or_default());
            self.names.insert(number.to_owned(), name.to_owned());
        }
    }

    /// Name of a relation; its OID if the name is unknown.
    pub(crate) fn name_of<'a>(&'a self, number: &'a str) -> &'a str {
        self.names.get(number).map_or(number, String::as_str)
    }

    /// The rows of one statement.
    pub(crate) fn rows(&mut self, statement: &str) -> Result<Vec<Row>, ConnectError> {
        Ok(self.sets(&[statement])?.pop().map(|set| set.rows).unwrap_or_default())
    }

    /// The first value of one statement.
    pub(crate) fn value(&mut self, statement: &str) -> Option<String> {
        self.rows(statement).ok()?.first()?.get(0).map(str::to_owned)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.session.is_lost()
    }

    /// PID of the backend.
    pub(crate) fn pid(&self) -> u32 {
        self.session.cancel_key().process_id
    }

    pub(crate) fn version(&self) -> u32 {
        self.session.server_version_num() / 100
    }

    /// Resets the cost.
    pub(crate) fn forget_cost(&mut self) {
        (self.statements, self.busy) = (0, Duration::ZERO);
    }
}
