//! Fills tables by COPY over several connections and runs the steps around it: a [`Plan`] of tasks, which depend on
//! each other, is carried out by [`work`]. Rows come from a [`RowSource`]. The workload `tpcb` makes its own plan;
//! [`load_tables`] loads any list of tables, with marks on them and a journal for `--resume`.

mod connection;
mod copy;
mod executor;
mod journal;
mod judged;
mod left_out;
mod memory;
mod obstacles;
mod plan;
mod preparation;
mod repairs;
mod rows;
mod statement;
mod table_set;
mod tables;
mod taken_down;
mod trial;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::{Session, Target};

use crate::WorkloadError;
use crate::contract::load::{Progress, StepTime, connect_beside};
use crate::loader::protection::foreign_objects::ForeignObjects;

pub(crate) use judged::{Judge, JudgedReference};
pub(crate) use left_out::{LeftOut, created_extension};
pub use plan::{Job, Part, Plan, StatementOf, StepName, Task};
pub use rows::{RowSource, RowWriter};
pub use statement::LoadStatement;
pub use table_set::{AfterRows, LoadTable, Purpose, TableSet};
pub use tables::load_tables;
pub(crate) use trial::describe;

/// How a plan is carried out.
pub struct Execution<'a> {
    /// Further connections are made to it. It has one host.
    pub(crate) target: &'a Target,
    /// Most connections that are useful at the same time.
    pub(crate) connections: usize,
    /// Rows of the largest table whose key is built; `None` if no key is built.
    pub(crate) key_rows: Option<u64>,
    /// The search path of statements with a note, as a statement; empty for that of the session.
    pub(crate) search_path: &'a str,
    /// The workload whose [`init_lock`](crate::loader::protection::init_lock) the first session has.
    pub(crate) locked: Option<&'a str>,
    /// The objects of others, which statements may not change; `None` if they may.
    pub(crate) guarded: Option<&'a ForeignObjects>,
    /// Whether statements wait for locks in short tries.
    pub(crate) limits_lock_waits: bool,
    /// Longest time without an accepted row while rows are loaded; `None`: no limit.
    pub(crate) rows_limit: Option<Duration>,
}

impl<'a> Execution<'a> {
    /// Tasks without notes, on tables that no objects of others belong to.
    pub fn new(
        target: &'a Target,
        connections: usize,
        key_rows: Option<u64>,
        limits_lock_waits: bool,
    ) -> Self {
        let (search_path, locked, guarded, rows_limit) = ("", None, None, None);
        Self { target, connections, key_rows, search_path, locked, guarded, limits_lock_waits, rows_limit }
    }
}

/// Carries out a plan. Connections other than `session` are opened for it, at most as many as the server accepts.
///
/// # Errors
/// Errors of the server, or `progress` asked to stop.
pub fn work(
    plan: Plan,
    session: &mut Session,
    execution: &Execution<'_>,
    progress: &mut Progress<'_>,
) -> Result<Vec<StepTime>, WorkloadError> {
    let Execution { target, search_path, locked, guarded, limits_lock_waits, rows_limit, .. } = *execution;
    let mut others = Vec::new();
    while others.len() + 1 < execution.connections {
        let Ok(other) = connect_beside(session, target) else { break };
        others.push(other);
    }
    let settings =
        execution.key_rows.map(|rows| memory::settings(session, rows, others.len() + 1)).unwrap_or_default();
    // Earlier notices do not belong to the loading.
    session.take_notices();
    let shared = connection::Shared {
        target,
        settings: &settings,
        search_path,
        locked,
        guarded,
        limits_lock_waits,
        rows_limit,
        connections: &[],
        halt: &AtomicBool::new(false),
        lacks_rows: &AtomicBool::new(false),
        judged: &Mutex::default(),
    };
    let mut sessions: Vec<&mut Session> = [&mut *session].into_iter().chain(&mut others).collect();
    executor::work(plan, &mut sessions, shared, progress)
}
