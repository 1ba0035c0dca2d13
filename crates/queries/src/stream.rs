//! One session of a query set: executes its queries one after the other, each some times. A query that fails or reaches
//! its limit does not stop the others; a lost connection is made again.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use connect::{ConnectError, OwnSettings, Session, Stopwatch, Target};
use results::{SafeText, StepTime, StreamResult};
use run::{Control, RunError};
use workload::Query;

use crate::answer_file::AnswerFile;
use crate::event::{QueryEvent, QueryPhase};
use crate::limit::timed;
use crate::meter::{Meter, micros};
use crate::rows::Rows;

/// Most queries whose counters are read; the note of the meter names this number.
pub const METERED_QUERIES_MAX: usize = 200;

/// A query in the order of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Index of its step in the record.
    pub(crate) step: usize,
    pub(crate) query: Query,
    /// Executions.
    pub(crate) repeats: u32,
    /// Whether the rows are the answer of a query, as opposed to a refresh function.
    pub(crate) has_answer: bool,
    /// Number of the first execution: refresh functions are counted over all pairs.
    pub(crate) first: u32,
}

/// The measurements that fit to the other work on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metering {
    /// Nothing else runs.
    Alone,
    /// Other streams run at the same time.
    BesideOthers,
    /// Queries alternate with those of another server, and reading the server's counters would take longer than many of
    /// them.
    InTurns,
}

/// The work of one session.
pub(crate) struct Stream<'a> {
    /// Its number; `None`: the session of the refresh functions.
    pub(crate) number: Option<u32>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) target: &'a Target,
    pub(crate) control: &'a Control,
    pub(crate) limit: Option<Duration>,
    pub(crate) metering: Metering,
    /// Directory of the rows of the answers.
    pub(crate) results: Option<PathBuf>,
    pub(crate) events: Sender<QueryEvent>,
}

/// What a stream did.
#[derive(Debug)]
pub(crate) struct StreamOutcome {
    pub(crate) result: StreamResult,
    /// Executions with the indexes of their steps.
    pub(crate) times: Vec<(usize, StepTime)>,
    pub(crate) notes: Vec<SafeText>,
    /// Why it ended early.
    pub(crate) failure: Option<RunError>,
}

/// A session with the settings of a query set.
pub(crate) fn connect(target: &Target, control: &Control) -> Result<Session, RunError> {
    let mut session = control.connect(target)?;
    run::settings_in_force(&mut session, target)?;
    // A query may take hours; the session ends if the server does not answer or another session holds a lock.
    let limit = session.patient_limit();
    session.set_statement_limit(limit);
    session.reset_to_value_formats();
    Ok(session)
}

/// Begins an execution. The text of values is the same for all servers, so that answers can be compared. Through a pooler the
/// settings are those of a transaction; otherwise they could remain in a connection that others get afterwards, or be missing
/// from the one of the query.
pub(crate) fn begin(session: &mut Session) -> Result<(), ConnectError> {
    match session.is_pooled() {
        true => session.begin_own(OwnSettings::LimitsAndFormats),
        false => Ok(()),
    }
}

/// Ends an execution that has [begun](begin).
pub(crate) fn end(session: &mut Session) -> Result<(), ConnectError> {
    match session.is_pooled() {
        true => session.commit(),
        false => Ok(()),
    }
}

impl Stream<'_> {
    /// Runs all turns. `clock` started with the first stream.
    pub(crate) fn run(self, session: Session, clock: Stopwatch) -> StreamOutcome {
        let mut meter = self.meter(session);
        let started = clock.passed();
        let mut outcome = StreamOutcome {
            result: StreamResult {
                stream: self.number,
                started_us: micros(started),
                duration_us: 0,
                order: self.turns.iter().map(|turn| turn.query.name.clone()).collect(),
            },
            times: Vec::new(),
            notes: Vec::new(),
            failure: None,
        };
        outcome.failure = self.run_all(&mut meter, &mut outcome).err();
        outcome.result.duration_us = micros(clock.passed().saturating_sub(started));
        for note in meter.meter.into_notes_of_queries() {
            if !outcome.notes.contains(&note) {
                outcome.notes.push(note);
            }
        }
        outcome
    }

    pub(crate) fn meter(&self, mut session: Session) -> MeteredSession {
        let meter = match self.metering {
            Metering::BesideOthers => Meter::beside_others(&session),
            Metering::InTurns => Meter::without_counters(&session),
            Metering::Alone if self.turns.len() > METERED_QUERIES_MAX => Meter::for_many(&session),
            Metering::Alone => Meter::new(&mut session),
        };
        MeteredSession { session, meter }
    }

    fn run_all(&self, metered: &mut MeteredSession, outcome: &mut StreamOutcome) -> Result<(), RunError> {
        for (position, turn) in self.turns.iter().enumerate() {
            for repeat in 0..turn.repeats {
                self.control.check()?;
                self.connect_if_lost(metered, &mut outcome.notes)?;
                let event = |phase| {
                    // Without a listener there is nothing to show.
                    let _ = self.events.send(QueryEvent {
                        stream: self.number,
                        query: turn.query.name.clone(),
                        position: position + 1,
                        of: self.turns.len(),
                        repeat: repeat + 1,
                        side: None,
                        phase,
                    });
                };
                event(QueryPhase::Started);
                let time = self.execute(metered, turn, repeat, &mut outcome.notes);
                // An execution that the user interrupted is not a measurement.
                self.control.check()?;
                event(QueryPhase::from(&time));
                outcome.times.push((turn.step, time));
            }
        }
        Ok(())
    }

    /// Connects again after a query that lost the connection.
    pub(crate) fn connect_if_lost(
        &self,
        metered: &mut MeteredSession,
        notes: &mut Vec<SafeText>,
    ) -> Result<(), RunError> {
        if metered.session.is_lost() {
            let session = connect(self.target, self.control)?;
            let lost = std::mem::replace(metered, self.meter(session));
            notes.extend(lost.meter.into_notes_of_queries());
        }
        Ok(())
    }

    /// Executes a query once.
    pub(crate) fn execute(
        &self,
        MeteredSession { session, meter }: &mut MeteredSession,
        Turn { query, has_answer, first, .. }: &Turn,
        repeat: u32,
        notes: &mut Vec<SafeText>,
    ) -> StepTime {
        let mut note = |error: &std::io::Error| {
            notes.push(SafeText::from(format!("the rows of {} were not written: {error}", query.name)));
        };
        let is_kept = repeat == 0 && *has_answer;
        let file = self
            .results
            .as_ref()
            .filter(|_| is_kept)
            .and_then(|directory| AnswerFile::create(directory, &query.name).inspect_err(&mut note).ok());
        let mut rows = Rows::new(file);
        session.reset_to_value_formats();
        let is_one_statement = query.before.is_empty() && query.after.is_empty();
        let work = |session: &mut Session| {
            begin(session)?;
            execute_all(session, &query.before)?;
            session.stream_rows(&query.sql, &mut rows)?;
            execute_all(session, &query.after)?;
            end(session)?;
            Ok::<_, ConnectError>(None)
        };
        let outcome = timed(session, self.limit, is_one_statement, meter, self.control.stop(), work);
        let is_complete = outcome.is_complete();
        if !is_complete {
            clean_up(session, query);
        }
        let stream = self.number.filter(|_| *has_answer);
        let mut time = StepTime { stream, repeat: Some(first + repeat), ..outcome.into_time(self.limit) };
        if session.is_in_transaction() && !session.is_lost() {
            // Otherwise the next query would be part of it.
            let _ = session.rollback();
            // Within the transaction, the server did not count its work.
            meter.take_last();
            time.error.get_or_insert_with(|| SafeText::from(OPEN_TRANSACTION));
        }
        if !(is_complete && *has_answer) || time.error.is_some() {
            return time;
        }
        let (answer, failure) = rows.finish();
        if let Some(error) = failure {
            note(&error);
        }
        let checksum = (!query.has_ties).then_some(answer.checksum);
        StepTime { rows: Some(answer.rows), checksum, ..time }
    }
}

/// The error of a query whose statements begin a transaction and do not end it.
const OPEN_TRANSACTION: &str =
    "the statements leave a transaction open, which was rolled back: end it with COMMIT or ROLLBACK";

/// A session and the meter of its backend.
pub(crate) struct MeteredSession {
    pub(crate) session: Session,
    meter: Meter,
}

fn execute_all(session: &mut Session, statements: &[String]) -> Result<(), ConnectError> {
    statements.iter().try_for_each(|statement| session.execute(statement).map(drop))
}

/// Executes the statements after a query that failed. Their errors are ignored: what they remove may not exist. Through a
/// pooler, all was rolled back.
pub(crate) fn clean_up(session: &mut Session, query: &Query) {
    if session.is_pooled() {
        return;
    }
    for statement in &query.after {
        let _ = session.execute(statement);
    }
}
