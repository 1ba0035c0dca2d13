//! A statement of a loading, with its place in a file, and the errors about it. The plan of a loading has statements of
//! schemas and those that pgmeter makes.

use std::sync::Arc;

use connect::ConnectError;

use crate::WorkloadError;
use crate::contract::error::CANCELED;

/// A statement with its place in a file, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadStatement {
    /// Its text.
    pub sql: String,
    /// The file's name in messages, and the line.
    pub(crate) place: Option<(Arc<str>, u32)>,
}

impl LoadStatement {
    /// A statement that pgmeter makes.
    pub fn new(sql: impl Into<String>) -> LoadStatement {
        LoadStatement { sql: sql.into(), place: None }
    }

    /// A statement of a file.
    pub fn of_file(sql: impl Into<String>, file: &Arc<str>, line: u32) -> LoadStatement {
        LoadStatement { sql: sql.into(), place: Some((Arc::clone(file), line)) }
    }

    /// Its place in messages.
    pub(crate) fn shown_place(&self) -> String {
        self.place.as_ref().map_or_else(|| self.sql.clone(), |(file, line)| format!("{file}:{line}"))
    }

    /// An error of this statement, with its place and a remedy.
    pub(crate) fn error(&self, error: WorkloadError) -> WorkloadError {
        let WorkloadError::Query { sql, source } = error else { return error };
        let error = match &self.place {
            Some((file, line)) => {
                WorkloadError::LoadStep { file: file.to_string(), line: *line, source, is_misplaced: false }
            }
            None => WorkloadError::Query { sql, source },
        };
        // Rows of the schema itself: advice about generated rows would be wrong.
        let first = sql::first_words(&self.sql, 1);
        if first.iter().any(|word| ["insert", "update", "delete", "merge"].contains(&word.as_str())) {
            return error;
        }
        let doing = match &self.place {
            Some((file, line)) => format!("{file}:{line}"),
            None => format!("executing {}", self.sql),
        };
        error.explained(&doing)
    }

    /// The error if this statement has reached its time limit; other errors stay.
    pub(crate) fn limit_error(&self, error: WorkloadError) -> WorkloadError {
        let server = error.server_failure().and_then(ConnectError::server_error);
        let Some(server) = server.filter(|server| server.sqlstate.to_string().as_bytes() == CANCELED) else {
            return error;
        };
        let (place, message) = (self.shown_place(), server.message.clone());
        if message.starts_with("COPY from stdin failed") {
            // Its rows do not follow.
            return WorkloadError::UnlistedFile(format!(
                "{place}: of the rows after COPY … FROM stdin, only the text format is read; write them in this format or as INSERT"
            ));
        }
        WorkloadError::StatementLimit { place, message, source: Box::new(error) }
    }
}
