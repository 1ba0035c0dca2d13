//! Fills tables by COPY over several connections and runs the steps around it: a [`Plan`] of tasks, which depend on each
//! other, is carried out by [`work`]. Rows come from a [`RowSource`]. Used by `tpcb` and by workloads with generated rows.

mod connection;
mod executor;
mod memory;
mod plan;
mod rows;

use std::sync::atomic::AtomicBool;

use connect::{Session, Target};

use crate::WorkloadError;
use crate::load::{Progress, StepTime};

pub(crate) use plan::{Job, Part, Plan, StatementOf, StepName, Task};
pub use rows::{RowSource, RowWriter};

/// How a plan is carried out.
pub(crate) struct Execution<'a> {
    /// Further connections are made to it. It has one host.
    pub(crate) target: &'a Target,
    /// Most connections that are useful at the same time.
    pub(crate) connections: usize,
    /// Rows of the largest table whose key is built; `None` if no key is built.
    pub(crate) key_rows: Option<u64>,
}

/// Carries out a plan. Connections other than `session` are opened for it, at most as many as the server accepts.
///
/// # Errors
/// Errors of the server, or `progress` asked to stop.
pub(crate) fn work(
    plan: Plan,
    session: &mut Session,
    execution: &Execution<'_>,
    progress: &mut Progress<'_>,
) -> Result<Vec<StepTime>, WorkloadError> {
    let target = execution.target;
    let mut others = Vec::new();
    while others.len() + 1 < execution.connections {
        let Ok(other) = Session::connect(target) else { break };
        others.push(other);
    }
    let settings =
        execution.key_rows.map(|rows| memory::settings(session, rows, others.len() + 1)).unwrap_or_default();
    // Earlier notices do not belong to the loading.
    session.take_notices();
    let shared = connection::Shared { target, settings: &settings, halt: &AtomicBool::new(false) };
    let mut sessions: Vec<&mut Session> = [&mut *session].into_iter().chain(&mut others).collect();
    executor::work(plan, &mut sessions, shared, progress)
}
