//! What a session hears: rows as text, result sets, the server's asides. Filled from the protocol's messages;
//! knows no socket.

use wire::backend::{DataRow, RowDescription};
use wire::{Message, ProtocolError, ServerError};

use crate::error::ConnectError;

/// Notices that are kept between two calls of `take_notices`; a loop that warns on each row must not fill memory.
const NOTICE_COUNT_MAX: usize = 100;
/// Bytes of these notices together: the decoder cuts each of them at 1 MiB.
const NOTICES_LENGTH_MAX: usize = 16 * 1024 * 1024;
/// More settings than any server reports; what lies beyond is not kept.
const PARAMETER_COUNT_MAX: usize = 200;
/// Name and value of a reported setting; a longer one is not kept.
const PARAMETER_LENGTH_MAX: usize = 4 * 1024;
/// Rows of one answer. The largest that is asked for are statistics: a row for each statement, table or setting.
pub(super) const ROW_COUNT_MAX: usize = 1_000_000;
/// Bytes of one answer, with what it takes to keep them. Statistics of 10,000 statements with their texts take some
/// 20 MiB. A larger answer is not one to a question of ours.
pub(super) const ANSWER_LENGTH_MAX: usize = 64 * 1024 * 1024;

/// One row, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    values: Vec<Option<Box<str>>>,
}

impl Row {
    /// The value of a column from 0; `None` for NULL and for a column that is not there.
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

/// What one statement of a query returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// The columns' names; empty for a statement that returns no rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// What the server says it did, such as `SELECT 1`.
    pub tag: String,
    /// True if the statement returns rows, be it none this time.
    pub returns_rows: bool,
}

/// What the server says beside its answers.
#[derive(Debug, Default)]
pub(super) struct Asides {
    pub(super) parameters: Vec<(String, String)>,
    notices: Vec<ServerError>,
    notices_length: usize,
}

impl Asides {
    /// Notes a message that belongs here; false if it does not.
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

    /// Notes the value of a setting; without one, an earlier value is no longer known.
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

/// The answer to one query, as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// Whether rows are wanted.
    keeps_rows: bool,
    pub(super) sets: Vec<ResultSet>,
    open: Option<ResultSet>,
    /// Rows kept so far, of all result sets.
    row_count: usize,
    /// Memory that the result sets take.
    length: usize,
    /// What the last statement counted.
    pub(super) rows: u64,
    pub(super) error: Option<Box<ServerError>>,
    pub(super) wants_copy_data: bool,
    pub(super) is_complete: bool,
    pub(super) broken: Option<Broken>,
}

/// What no server says in answer to a query.
#[derive(Debug)]
pub(super) enum Broken {
    Protocol(ProtocolError),
    Unexpected(&'static str),
    /// The answer is more than is kept of one.
    TooLarge,
}

impl Answer {
    pub(super) fn new(keeps_rows: bool) -> Answer {
        Answer { keeps_rows, ..Answer::default() }
    }

    /// Why the session is over: if the server said why, that is the error.
    pub(super) fn explain(&self, lost: ConnectError) -> ConnectError {
        self.error.clone().map_or(lost, ConnectError::Server)
    }

    /// The part of the answer that a message brings; nothing more once it has gone wrong.
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
            Message::CopyInResponse => self.wants_copy_data = true,
            Message::CopyOutResponse | Message::CopyData { .. } | Message::CopyDone => {}
            Message::ReadyForQuery(_) => self.is_complete = true,
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

    /// Adds to the memory that the answer takes; above the limit nothing more is kept.
    fn count(&mut self, length: usize) {
        self.length += length;
        if self.length > ANSWER_LENGTH_MAX || self.row_count > ROW_COUNT_MAX {
            self.broken = Some(Broken::TooLarge);
            self.sets = Vec::new();
            self.open = None;
        }
    }

    fn add_row(&mut self, row: DataRow<'_>) {
        // Its values lie in the body; what keeps them is counted for each of them below.
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
