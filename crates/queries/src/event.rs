//! Progress of a query set, for a listener such as a terminal. Events say nothing that the record does not have, and a
//! listener cannot change the record.

use std::fmt;
use std::time::Duration;

use results::{RegressionSide, StepTime};

/// Most queries of a set whose executions have a line each.
const LINES_MAX: usize = 200;

/// Something about one execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryEvent {
    /// The stream; `None`: the session of the refresh functions.
    pub stream: Option<u32>,
    /// Name of the query.
    pub query: String,
    /// Its position in the stream, from 1.
    pub position: usize,
    /// Number of queries in the stream.
    pub of: usize,
    /// Number of the execution, from 1.
    pub repeat: u32,
    /// The side, if two query sets are executed in turns.
    pub side: Option<RegressionSide>,
    /// What happened.
    pub phase: QueryPhase,
}

/// What happened to an execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryPhase {
    /// It begins.
    Started,
    /// It completed.
    Completed(Duration),
    /// It was cancelled at its limit.
    Limited(Duration),
    /// It failed, with this error.
    Failed(String),
    /// It is executed once more for its plan.
    Planning,
}

impl QueryEvent {
    /// Whether it deserves a line: in a large set, the executions that completed do not.
    pub fn is_noteworthy(&self) -> bool {
        self.of <= LINES_MAX || !matches!(self.phase, QueryPhase::Completed(_))
    }
}

impl From<&StepTime> for QueryPhase {
    fn from(time: &StepTime) -> Self {
        let duration = Duration::from_micros(time.duration_us);
        match &time.error {
            Some(error) => QueryPhase::Failed(error.as_str().to_owned()),
            None if time.limited => QueryPhase::Limited(duration),
            None => QueryPhase::Completed(duration),
        }
    }
}

/// `stream 2: q3 (5 of 22), execution 2: 12.3 ms`.
impl fmt::Display for QueryEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let QueryEvent { stream, query, position, of, repeat, side, phase } = self;
        match stream {
            Some(0) => {}
            Some(stream) => write!(out, "stream {stream}: ")?,
            None => write!(out, "refresh: ")?,
        }
        write!(out, "{query} ({position} of {of})")?;
        match side {
            Some(RegressionSide::A) => write!(out, ", A")?,
            Some(RegressionSide::B) => write!(out, ", B")?,
            None => {}
        }
        if *repeat > 1 {
            write!(out, ", execution {repeat}")?;
        }
        match phase {
            QueryPhase::Started => write!(out, " …"),
            QueryPhase::Planning => write!(out, ", plan …"),
            QueryPhase::Completed(time) => write!(out, ": {}", Shown(*time)),
            QueryPhase::Limited(time) => write!(out, ": cancelled at the limit, > {}", Shown(*time)),
            QueryPhase::Failed(error) => write!(out, ": failed: {error}"),
        }
    }
}

/// A duration in milliseconds below a second, otherwise in seconds.
struct Shown(Duration);

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_secs_f64() * 1e3;
        match ms {
            ..10.0 => write!(out, "{ms:.2} ms"),
            10.0..1000.0 => write!(out, "{ms:.1} ms"),
            _ => write!(out, "{:.2} s", ms / 1e3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line() {
        let event = |stream, repeat, phase| QueryEvent {
            stream,
            query: "q3".to_owned(),
            position: 5,
            of: 22,
            repeat,
            side: None,
            phase,
        };
        let check = |event: QueryEvent, expected: &str| assert_eq!(event.to_string(), expected);
        check(event(Some(0), 1, QueryPhase::Started), "q3 (5 of 22) …");
        let of_b = QueryEvent { side: Some(RegressionSide::B), ..event(Some(0), 3, QueryPhase::Started) };
        check(of_b, "q3 (5 of 22), B, execution 3 …");
        let time = Duration::from_micros(12_340);
        check(event(Some(2), 2, QueryPhase::Completed(time)), "stream 2: q3 (5 of 22), execution 2: 12.3 ms");
        let limit = Duration::from_secs(300);
        check(
            event(None, 1, QueryPhase::Limited(limit)),
            "refresh: q3 (5 of 22): cancelled at the limit, > 300.00 s",
        );
    }
}
