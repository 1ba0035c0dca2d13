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
    },
    /// The tables are vacuumed.
    Vacuum(VacuumEvent<'a>),
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
    /// The small tables are begun.
    SmallTables,
    /// The large table is begun.
    LargeTable,
    /// A statement failed; the run goes on all the same.
    Failed(&'a WorkloadError),
    /// What was begun is done.
    Done,
}
