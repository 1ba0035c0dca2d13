//! The requests that a null server or a fake one has received, owned, for a test to look at. Requests are parsed by
//! `null::session`; nothing is judged here.

use std::sync::{Arc, Mutex, PoisonError};

use ::null::OnRequest;
use ::null::session::Request;

/// A message of the client, owned, as a log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Names and values in order.
    StartUp(Vec<(String, String)>),
    /// The process whose command is to be cancelled.
    Cancel(u32),
    /// SSLRequest or GSSENCRequest.
    Encryption,
    /// The text of the answer.
    Password(String),
    /// The text of a simple query.
    Query(String),
    /// A statement to keep.
    Parse {
        /// Its name.
        name: String,
        /// Its text.
        sql: String,
    },
    /// A statement and its parameters.
    Bind {
        /// The statement's name.
        statement: String,
        /// The values; `None` is NULL.
        parameters: Vec<Option<String>>,
    },
    /// A portal (not a statement) or a statement, and its name.
    Describe(bool, String),
    /// The text of the statement that is run.
    Execute(String),
    /// A portal (not a statement) or a statement, and its name.
    Close(bool, String),
    /// The end of a series.
    Sync,
    /// Answers so far, please.
    Flush,
    /// A piece of the rows of a COPY.
    CopyData(String),
    /// The end of these rows.
    CopyDone,
    /// Why no more rows can be sent.
    CopyFail(String),
    /// Good-bye.
    Terminate,
}

impl Received {
    /// The SQL, if this message runs a statement.
    pub fn statement(&self) -> Option<&str> {
        match self {
            Received::Query(sql) | Received::Execute(sql) => Some(sql),
            _ => None,
        }
    }
}

impl From<&Request<'_>> for Received {
    fn from(request: &Request<'_>) -> Received {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match *request {
            Request::StartUp(parameters) => {
                Received::StartUp(parameters.iter().map(|(name, value)| (text(name), text(value))).collect())
            }
            Request::Cancel { process_id, .. } => Received::Cancel(process_id),
            Request::Encryption => Received::Encryption,
            Request::Password(password) => Received::Password(text(password)),
            Request::Query(sql) => Received::Query(text(sql)),
            Request::Parse { name, sql } => Received::Parse { name: text(name), sql: text(sql) },
            Request::Bind { statement, parameters, .. } => Received::Bind {
                statement: text(statement),
                parameters: parameters.iter().map(|value| value.map(text)).collect(),
            },
            Request::Describe { portal, name } => Received::Describe(portal, text(name)),
            Request::Execute { sql, .. } => Received::Execute(text(sql)),
            Request::Close { portal, name } => Received::Close(portal, text(name)),
            Request::Sync => Received::Sync,
            Request::Flush => Received::Flush,
            Request::CopyData(data) => Received::CopyData(text(data)),
            Request::CopyDone => Received::CopyDone,
            Request::CopyFail(reason) => Received::CopyFail(text(reason)),
            Request::Terminate => Received::Terminate,
        }
    }
}

/// The requests that servers have received: the number of the connection and the message, in order.
#[derive(Clone, Debug, Default)]
pub struct RequestLog(Arc<Mutex<Vec<(usize, Received)>>>);

impl RequestLog {
    /// What a null server calls to fill this log.
    pub fn recorder(&self) -> Option<OnRequest> {
        let log = Arc::clone(&self.0);
        Some(Arc::new(move |connection, request| {
            log.lock().unwrap_or_else(PoisonError::into_inner).push((connection, request.into()));
        }))
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<(usize, Received)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
