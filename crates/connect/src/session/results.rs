//! Data received by a session: rows as text, result sets, notices and parameters. Filled from protocol messages;
//! independent of the socket.

use wire::backend::{DataRow, RowDescription};
use wire::{Message, ProtocolError, ServerError, TransactionStatus};

use crate::error::ConnectError;

/// Maximum number of notices between two calls of `take_notices`: a loop that warns for each row must not fill memory.
const NOTICE_COUNT_MAX: usize = 100;
/// Maximum size of these notices together, in bytes; the decoder truncates each at 1 MiB.
const NOTICES_LENGTH_MAX: usize = 16 * 1024 * 1024;
/// Maximum number of reported parameters, more than any server has; further ones are ignored.
const PARAMETER_COUNT_MAX: usize = 200;
/// Maximum length of name and value of a parameter; a longer one is ignored.
const PARAMETER_LENGTH_MAX: usize = 4 * 1024;
/// Maximum number of rows of an answer. The largest queries are statistics, with a row for each statement, table or
/// setting.
pub(super) const ROW_COUNT_MAX: usize = 1_000_000;
/// Maximum size of an answer in bytes, including overhead. Statistics of 10,000 statements with their texts take about
/// 20 MiB; no query of pgmeter has a larger answer.
pub(super) const ANSWER_LENGTH_MAX: usize = 64 * 1024 * 1024;

/// One row, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    values: Vec<Option<Box<str>>>,
}

impl Row {
    /// The value of a column, from 0; `None` for NULL and for a missing column.
    pub fn get(&self, column: usize) -> Option<&str> {
        self.values.get(column)?.as_deref()
    }

    /// The number of columns.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True for a row without columns.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// The result of one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Column names; empty for a statement that returns no rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Command tag, such as `SELECT 1`.
    pub tag: String,
    /// True if the statement returns a result set, even an empty one.
    pub returns_rows: bool,
}

/// Asynchronous messages of the server.
#[derive(Debug, Default)]
pub(super) struct Asides {
    pub(super) parameters: Vec<(String, String)>,
    /// After the last statement; `None` before the first.
    pub(super) transaction_status: Option<TransactionStatus>,
    notices: Vec<ServerError>,
    notices_length: usize,
}

impl Asides {
    /// Handles a notice or parameter; false for other messages.
    pub(super) fn take(&mut self, message: &Message<'_>) -> bool {
        match *message {
            Message::ParameterStatus { name, value } => {
                let is_too_long = name.len() + value.len() > PARAMETER_LENGTH_MAX;
                self.set(&to_text(name), (!is_too_long).then(|| to_text(value)));
            }
            Message::NoticeResponse(fields) => {
                let length = self.notices_length + fields.body_length();
                if self.notices.len() < NOTICE_COUNT_MAX && length <= NOTICES_LENGTH_MAX {
                    self.notices_length = length;
                    self.notices.push(fields.into());
                }
            }
            Message::NotificationResponse { .. } => {}
            _ => return false,
        }
        true
    }

    /// The notices since the last call.
    pub(super) fn take_notices(&mut self) -> Vec<ServerError> {
        self.notices_length = 0;
        std::mem::take(&mut self.notices)
    }

    /// Sets a parameter; `None` removes it.
    fn set(&mut self, name: &str, value: Option<String>) {
        let is_full = self.parameters.len() >= PARAMETER_COUNT_MAX;
        let known = self.parameters.iter().position(|(known, _)| known == name);
        match (known, value) {
            (Some(index), Some(value)) => self.parameters[index].1 = value,
            (Some(index), None) => drop(self.parameters.swap_remove(index)),
            (None, Some(value)) if !is_full => self.parameters.push((name.to_owned(), value)),
            (None, _) => {}
        }
    }
}

/// The answer to a query, as far as received.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Whether rows are stored.
    keeps_rows: bool,
    pub(super) sets: Vec<ResultSet>,
    open: Option<ResultSet>,
    /// Number of stored rows in all result sets.
    row_count: usize,
    /// Size of the result sets in bytes.
    length: usize,
    /// Row count of the last command tag.
    pub(super) rows: u64,
    pub(super) error: Option<Box<ServerError>>,
    pub(super) wants_copy_data: bool,
    pub(super) is_complete: bool,
    pub(super) broken: Option<Broken>,
}

/// Reasons to stop reading an answer.
#[derive(Debug)]
pub(super) enum Broken {
    Protocol(ProtocolError),
    Unexpected(&'static str),
    /// The answer exceeds the limits above.
    TooLarge,
}

impl Answer {
    pub(super) fn new(keeps_rows: bool) -> Answer {
        Answer { keeps_rows, ..Answer::default() }
    }

    /// The server's error if it sent one before the connection was lost, otherwise `lost`.
    pub(super) fn explain(&self, lost: ConnectError) -> ConnectError {
        self.error.clone().map_or(lost, ConnectError::Server)
    }

    /// Adds a message to the answer; ignores messages after an error.
    pub(super) fn take(&mut self, message: &Message<'_>, asides: &mut Asides) {
        if self.broken.is_some() || asides.take(message) {
            return;
        }
        match *message {
            Message::RowDescription(columns) if self.keeps_rows => self.begin_set(columns),
            Message::DataRow(row) if self.keeps_rows => self.add_row(row),
            Message::RowDescription(_) | Message::DataRow(_) => {}
            Message::CommandComplete(tag) => {
                self.rows = tag.rows().unwrap_or(0);
                self.end_set(tag.to_text().into_owned());
            }
            Message::EmptyQueryResponse => {
                self.rows = 0;
                self.end_set(String::new());
            }
            Message::ErrorResponse(fields) => {
                self.error.get_or_insert_with(|| Box::new(fields.into()));
                self.wants_copy_data = false;
            }
            Message::CopyInResponse(_) => self.wants_copy_data = true,
            Message::ParseComplete
            | Message::CopyOutResponse
            | Message::CopyData { .. }
            | Message::CopyDone => {}
            Message::ReadyForQuery(status) => {
                asides.transaction_status = Some(status);
                self.is_complete = true;
            }
            _ => self.broken = Some(Broken::Unexpected(message.name())),
        }
    }

    fn begin_set(&mut self, columns: RowDescription<'_>) {
        let names: Result<Vec<_>, _> = columns.names().map(|name| name.map(to_text)).collect();
        match names {
            Ok(columns) => {
                self.count(columns.iter().map(|name| name.len() + size_of::<String>()).sum());
                self.open = Some(ResultSet { columns, returns_rows: true, ..ResultSet::default() });
            }
            Err(error) => self.broken = Some(Broken::Protocol(error)),
        }
    }

    /// Adds to the size of the answer; nothing is stored above the limit.
    fn count(&mut self, length: usize) {
        self.length += length;
        if self.length > ANSWER_LENGTH_MAX || self.row_count > ROW_COUNT_MAX {
            self.broken = Some(Broken::TooLarge);
            self.sets = Vec::new();
            self.open = None;
        }
    }

    fn add_row(&mut self, row: DataRow<'_>) {
        // The body contains the values; the overhead of each value is counted below.
        self.row_count += 1;
        self.count(row.body_length() as usize + size_of::<Row>());
        if self.broken.is_some() {
            return;
        }
        let values: Result<Vec<_>, _> = row.columns().map(|value| Ok(value?.map(to_boxed_text))).collect();
        match (values, &mut self.open) {
            (Ok(values), Some(open)) => {
                let places = values.capacity() * size_of::<Option<Box<str>>>();
                open.rows.push(Row { values });
                self.count(places);
            }
            (Ok(_), None) => self.broken = Some(Broken::Unexpected("DataRow")),
            (Err(error), _) => self.broken = Some(Broken::Protocol(error)),
        }
    }

    fn end_set(&mut self, tag: String) {
        if self.keeps_rows {
            let open = self.open.take().unwrap_or_default();
            self.count(tag.len() + size_of::<ResultSet>());
            if self.broken.is_none() {
                self.sets.push(ResultSet { tag, ..open });
            }
        }
    }
}

pub(super) fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn to_boxed_text(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}
