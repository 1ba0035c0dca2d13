//! Plans of queries: each query is executed once more with EXPLAIN (ANALYZE, BUFFERS), after all measurements, because
//! taking the times of each node would slow them down.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::{ConnectError, Session};
use results::SafeText;
use workload::Query;

use crate::limit::{WorkError, with_cancel};
use crate::stream::{begin, clean_up, end};

/// The plan as JSON, and a note if it is incomplete or missing. A query that reaches the limit has the plan without
/// the figures of an execution.
pub(crate) fn plan(
    session: &mut Session,
    query: &Query,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> (Option<SafeText>, Option<SafeText>) {
    let name = &query.name;
    match explain(session, query, "ANALYZE, BUFFERS, FORMAT JSON", limit, stop) {
        Ok(plan) => (Some(plan), None),
        Err(error) if error.is_cancelled() => {
            let note = format!("plan of {name}: cancelled at the limit; it is the plan without an execution");
            let plan = explain(session, query, "FORMAT JSON", limit, stop).ok();
            (plan, Some(note.into()))
        }
        Err(error) => (None, Some(format!("plan of {name}: {error}").into())),
    }
}

fn explain(
    session: &mut Session,
    query: &Query,
    options: &str,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> Result<SafeText, ConnectError> {
    let work = |session: &mut Session| {
        begin(session)?;
        for statement in &query.before {
            session.execute(statement)?;
        }
        let rows = session.query(&format!("EXPLAIN ({options}) {}", query.sql))?;
        if session.is_pooled() {
            query.after.iter().try_for_each(|statement| session.execute(statement).map(drop))?;
        }
        end(session)?;
        Ok::<_, ConnectError>(rows)
    };
    let rows = with_cancel(session, limit, stop, work);
    if rows.is_err() {
        let _ = session.rollback();
    }
    clean_up(session, query);
    let text: Vec<&str> =
        rows.as_ref().map_or(Vec::new(), |rows| rows.iter().filter_map(|row| row.get(0)).collect());
    let text = text.join("\n");
    rows.map(|_| SafeText::from(text))
}
