//! Events of a run, for terminals, logs and metrics.
//! Listeners return nothing, so they cannot change the run.

use connect::{Session, Target};
use engine::Progress;
use results::WaitMean;
use workload::WorkloadError;

/// A step of the preparation or of the run.
pub enum Event<'a> {
    /// The session that prepares the run is about to connect.
    Connecting(&'a Target),
    /// The session that prepares the run is connected.
    Connected(&'a Session, &'a Target),
    /// The given scale is ignored because the workload's table has another one.
    ScaleIgnored {
        /// The given scale.
        asked: u32,
        /// The table's scale.
        scale: u32,
        /// The table that determines the scale.
        table: &'a str,
    },
    /// A step of vacuuming.
    Vacuum(VacuumEvent<'a>),
    /// The run has ended, and the workload's checks start; their number.
    Checking(usize),
    /// A second has passed.
    Second {
        /// The statistics of this second.
        progress: &'a Progress<'a>,
        /// The server's wait events in it.
        waits: &'a [WaitMean],
    },
}

/// A step of the vacuum before a run.
#[derive(Clone, Copy, Debug)]
pub enum VacuumEvent<'a> {
    /// The workload's default vacuum starts.
    SmallTables,
    /// The vacuum of the other tables starts.
    LargeTables,
    /// A statement failed; the run continues.
    Failed(&'a WorkloadError),
    /// The current step has ended.
    Done,
}
