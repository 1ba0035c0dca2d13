//! The observer's session: asks, and keeps count of what asking costs. A question that fails is no failure of the run;
//! a session that is lost answers nothing more.

use std::collections::BTreeMap;
use std::time::Duration;

use connect::{ConnectError, ResultSet, Row, Session};

use crate::clock;

/// What each message begins with. No statement of the observer's may be a burden for longer, nor wait behind somebody's
/// lock. It ends with the message, which is one transaction: a pooler gets its connection back as it was.
const LIMITS: &str = "select pg_catalog.set_config('statement_timeout', '2s', true), \
                      pg_catalog.set_config('lock_timeout', '200ms', true), \
                      pg_catalog.set_config('transaction_read_only', 'on', true), \
                      pg_catalog.set_config('max_parallel_workers_per_gather', '0', true), \
                      pg_catalog.set_config('client_min_messages', 'error', true)";
/// And where it asks for anything but names: no function or operator of a user's is found, who could have put one in the
/// place of the server's. What belongs to users is called by number, or with its schema.
const CATALOGS_ALONE: &str = ", pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";

/// A session that may fail.
#[derive(Debug)]
pub(crate) struct ObserverSession {
    session: Session,
    /// Statements sent.
    pub(crate) statements: u64,
    /// Time spent waiting for answers.
    pub(crate) busy: Duration,
    /// Questions that were answered with an error.
    pub(crate) failures: u64,
    /// The last such error.
    pub(crate) last_failure: Option<String>,
    /// Tables and indexes by object identifier, named as this session's `search_path` asks for.
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

    /// Sends several statements at once, which find nothing but catalogs; one set of rows for each.
    pub(crate) fn sets(&mut self, statements: &[&str]) -> Result<Vec<ResultSet>, ConnectError> {
        self.send(CATALOGS_ALONE, statements)
    }

    /// Sends one statement that finds what the user's own `search_path` has. It must name each function, operator and
    /// type with its schema.
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
                // That of the settings.
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

    /// Asks for the names of these relations, as far as they are unknown; what is no number is none.
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

    /// The name of a relation; its number, where that could not be learnt.
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

    /// The server process that answers.
    pub(crate) fn pid(&self) -> u32 {
        self.session.cancel_key().process_id
    }

    pub(crate) fn version(&self) -> u32 {
        self.session.server_version_num() / 100
    }

    /// From here on the cost counts.
    pub(crate) fn forget_cost(&mut self) {
        (self.statements, self.busy) = (0, Duration::ZERO);
    }
}
