//! Rows on one connection: chunks of tables, several small tables together, and all rows of a table again if the server has
//! refused one that should have met all constraints. `connection` runs the transactions.

use std::cell::{Cell, RefCell};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use connect::{ConnectError, Stopwatch};

use super::{Cancel, Connection, Event, Sent};
use crate::WorkloadError;
use crate::contract::load::ROWS_PER_PROGRESS;
use crate::loader::execution::copy::{copy_statement, is_ordinary, server_error};
use crate::loader::execution::journal::{self, Note};
use crate::loader::execution::judged::{self, Judge, Outcome};
use crate::loader::execution::plan::Part;
use crate::loader::execution::statement::LoadStatement;

/// Initial capacity for the rows of one [`RowWriter::write`](crate::loader::execution::RowWriter::write).
const BUFFER_LENGTH: usize = 64 * 1000;

impl Connection<'_> {
    pub(super) fn chunks(&mut self, note: &Note, parts: &[Part]) -> Result<(), WorkloadError> {
        let refused = match self.chunk(note, parts) {
            Err(error) if self.is_of_one(&error) => error,
            Err(error) => return Err(error.of_rows(&parts[0].relation)),
            done => return done,
        };
        if let [part] = parts {
            let done = self.judge_again(note, part, None, refused);
            return done.map_err(|error| error.of_rows(&part.relation));
        }
        note.singly().zip(parts).try_for_each(|(note, part)| self.chunks(&note, std::slice::from_ref(part)))
    }

    /// Has the server judge all rows of a table of which it has refused one, beside the key that they violate. Other connections
    /// may load other chunks of the table: their rows are removed, and theirs that begin later are left out.
    pub(super) fn judge_again(
        &mut self,
        note: &Note,
        part: &Part,
        key: Option<&LoadStatement>,
        refused: WorkloadError,
    ) -> Result<(), WorkloadError> {
        let Some(fallback) = part.fallback.as_ref().filter(|_| judged::is_of_copy(&refused)) else {
            return Err(refused);
        };
        if !self.shared.judged_again(&part.relation) && key.is_none() {
            return Ok(());
        }
        let mut note = note.clone();
        let (relation, chunks) = (&part.relation, part.chunk.1);
        let judged = format!("{}{relation}", journal::JUDGED);
        if key.is_some() {
            note.steps.push(judged);
        } else {
            // The first step tells whether the transaction was committed; other connections may have loaded a chunk.
            let rows = (1..=chunks).map(|number| format!("rows {relation} {number}/{chunks}"));
            note.steps = [judged].into_iter().chain(rows).collect();
        }
        let outcome = Cell::new(None);
        let settings = self.shared.search_path;
        let done = self.watched(&note, &format!("loading {}", part.relation), |connection| {
            if chunks > 1 || key.is_some() {
                connection.truncate(&part.relation)?;
            }
            key.map_or(Ok(()), |key| connection.execute_with(settings, &key.sql))?;
            let judged = connection.copy_judged(part, fallback)?;
            outcome.set(Some(judged));
            let is_fault = judged.is_empty() && fallback.is_directed;
            if is_fault { Err(WorkloadError::Interrupted { cancelled: None }) } else { Ok(()) }
        });
        let judged = outcome.take();
        if let (Err(_), true) = (&done, self.check().is_ok() && !self.session.is_lost()) {
            // No row with the values of the directives is accepted, or the table cannot be emptied.
            return Err(refused);
        }
        done?;
        let message = refused.server_failure().and_then(ConnectError::server_error);
        let refusal = message.map(|error| error.message.clone());
        let judge = Judge { refusal, ..Judge::clone(fallback) };
        judged.map_or(Ok(()), |judged| self.tell_judged(judged, part, &judge))
    }

    fn tell_judged(&mut self, outcome: Outcome, part: &Part, judge: &Judge) -> Result<(), WorkloadError> {
        if outcome.lacks_rows() {
            self.shared.lacks_rows.store(true, Ordering::Relaxed);
        }
        let sentence = outcome.sentence(&part.relation, judge);
        let (relation, rank) = (part.relation.clone(), outcome.rank(judge));
        self.tell(Event::Judged { relation, rank, sentence })
    }

    fn chunk(&mut self, note: &Note, parts: &[Part]) -> Result<(), WorkloadError> {
        let outcomes = RefCell::new(Vec::new());
        self.watched(note, &format!("loading {}", parts[0].relation), |connection| {
            outcomes.borrow_mut().clear();
            for part in parts {
                if let Some(judge) = &part.judge {
                    outcomes.borrow_mut().push((part, judge, connection.copy_judged(part, judge)?));
                } else if connection.is_wanted(part)? {
                    connection.empty(part)?;
                    connection.copy(part)?;
                }
            }
            Ok(())
        })?;
        let mut outcomes = outcomes.take().into_iter();
        outcomes.try_for_each(|(part, judge, outcome)| self.tell_judged(outcome, part, judge))
    }

    /// Whether a chunk is loaded: another connection may have begun to load all rows of the table again. It waits for the lock.
    fn is_wanted(&mut self, part: &Part) -> Result<bool, WorkloadError> {
        if part.chunk.1 > 1 && part.fallback.is_some() {
            self.execute(&format!("lock table {} in row exclusive mode", part.relation))?;
            return Ok(!self
                .shared
                .judged
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .contains(&part.relation));
        }
        Ok(true)
    }

    /// Sends rows. Generating them takes a fraction of the server's time, and overlaps with it.
    pub(super) fn copy(&mut self, part: &Part) -> Result<(), WorkloadError> {
        self.end_lock_limit()?;
        let sql = copy_statement(self.session, part)?;
        let failed = |source| WorkloadError::Query { sql: sql.clone(), source };
        // Otherwise the role's settings would decide what a text such as that of a time means.
        self.session.execute(&connect::value_formats()).map_err(failed)?;
        let (number, chunks) = part.chunk;
        let gone = |_| WorkloadError::Interrupted { cancelled: None };
        let mut copy = self.session.copy_in(&sql).map_err(failed)?;
        let mut sent = Sent::default();
        self.events.send(rows_sent(part, sent)).map_err(gone)?;
        let accepted = || accept(self.cancel, Some(&part.progress.0));
        let mut writer = part.source.writer(number, chunks);
        let mut buffer = Vec::with_capacity(BUFFER_LENGTH);
        loop {
            buffer.clear();
            let rows = writer.write(&mut buffer);
            copy.write_all(&buffer).map_err(|error| failed(server_error(error)))?;
            accepted();
            let before = sent.rows;
            sent = Sent { rows: before + rows, bytes: sent.bytes + buffer.len() as u64 };
            if rows == 0 || before / ROWS_PER_PROGRESS < sent.rows / ROWS_PER_PROGRESS {
                self.events.send(rows_sent(part, sent)).map_err(gone)?;
            }
            if rows == 0 {
                break;
            }
            if self.shared.halt.load(Ordering::Relaxed) {
                return Err(WorkloadError::Interrupted { cancelled: None });
            }
        }
        copy.finish().map_err(failed)?;
        accept(self.cancel, None);
        self.pass_on_notices()
    }

    /// Sends rows that the server judges. Progress counts those that it keeps.
    fn copy_judged(&mut self, part: &Part, judge: &Judge) -> Result<Outcome, WorkloadError> {
        self.end_lock_limit()?;
        let (events, halt, cancel) = (self.events.clone(), self.shared.halt, self.cancel);
        let mut tell = |rows, bytes| {
            accept(cancel, Some(&part.progress.0));
            let told = events.send(rows_sent(part, Sent { rows, bytes }));
            let is_stopped = told.is_err() || halt.load(Ordering::Relaxed);
            if is_stopped { Err(WorkloadError::Interrupted { cancelled: None }) } else { Ok(()) }
        };
        let outcome = judged::load(self.session, judge, &*part.source, &part.relation, &mut tell)?;
        accept(self.cancel, None);
        self.pass_on_notices()?;
        Ok(outcome)
    }

    /// Empties a table whose rows are frozen: FREEZE requires that the same transaction does so. Tables that inherit from it
    /// keep their rows.
    fn empty(&mut self, part: &Part) -> Result<(), WorkloadError> {
        if part.freezes { self.truncate(&part.relation) } else { Ok(()) }
    }

    fn truncate(&mut self, relation: &str) -> Result<(), WorkloadError> {
        let only = if is_ordinary(self.session, relation)? { "only " } else { "" };
        self.execute(&format!("truncate {only}{relation}"))
    }
}

/// Notes that the server has accepted rows of a table, or that no rows are loaded any more.
fn accept(cancel: &Cancel, table: Option<&Arc<str>>) {
    if let Some(running) = cancel.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        running.loading = table.map(|table| (Arc::clone(table), Stopwatch::start()));
    }
}

/// The message that so much of a part was sent.
fn rows_sent(part: &Part, sent: Sent) -> Event {
    let (table, total) = &part.progress;
    let (table, part) = (Arc::clone(table), format!("{} {}", part.relation, part.chunk.0));
    Event::Rows { table, total: *total, part, sent }
}
