//! The observer's session: asks, and keeps count of what asking costs. A question that fails is no failure of the run;
//! a session that is lost answers nothing more.

use std::time::Duration;

use connect::{ConnectError, ResultSet, Row, Session};

use crate::clock;

/// A session that may fail.
#[derive(Debug)]
pub(crate) struct Asking {
    session: Session,
    /// Statements sent.
    pub(crate) statements: u64,
    /// Time spent waiting for answers.
    pub(crate) busy: Duration,
    /// Questions that were answered with an error.
    pub(crate) failures: u64,
    /// The last such error.
    pub(crate) last_failure: Option<String>,
}

impl Asking {
    pub(crate) fn new(session: Session) -> Asking {
        Asking { session, statements: 0, busy: Duration::ZERO, failures: 0, last_failure: None }
    }

    /// Sends several statements at once; one set of rows for each.
    pub(crate) fn sets(&mut self, statements: &[&str]) -> Result<Vec<ResultSet>, ConnectError> {
        let begun = clock::now();
        let answer = self.session.query_sets(&statements.join("; "));
        self.busy += clock::now().saturating_duration_since(begun);
        self.statements += statements.len() as u64;
        if let Err(error) = &answer {
            self.failures += 1;
            self.last_failure = Some(error.to_string());
        }
        answer
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
