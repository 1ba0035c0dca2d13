//! What a run tells while it is prepared and goes on, for terminals, logs and metrics. Listeners return nothing, so they
//! cannot change the run.

use connect::{Session, Target};
use engine::Progress;
use results::WaitMean;
use workload::WorkloadError;

/// Something happened.
pub enum Event<'a> {
    /// The session that prepares the run is about to connect.
    Connecting(&'a Target),
    /// It is connected.
    Connected(&'a Session, &'a Target),
    /// A scale was asked for and does not matter, since the tables have another.
    ScaleIgnored {
        /// As asked for.
        asked: u32,
        /// As it is.
        scale: u32,
        /// The table that tells it.
        table: &'a str,
    },
    /// The tables are vacuumed.
    Vacuum(VacuumEvent<'a>),
    /// The run is over, and so many checks of the workload begin.
    Checking(usize),
    /// A second has passed.
    Second {
        /// What was measured in it.
        progress: &'a Progress<'a>,
        /// What the server's backends were doing.
        waits: &'a [WaitMean],
    },
}

/// A step of vacuuming.
#[derive(Clone, Copy, Debug)]
pub enum VacuumEvent<'a> {
    /// What is vacuumed before each run is begun.
    SmallTables,
    /// The other tables are begun.
    LargeTables,
    /// A statement failed; the run goes on all the same.
    Failed(&'a WorkloadError),
    /// What was begun is done.
    Done,
}
