//! The resource of a server that a wait event belongs to: row locks, WAL flush, processors, I/O. `server_limit` finds the
//! one that limited a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WaitShare;

/// The limiting resource of a server.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerResource {
    /// Transactions waited for row locks of others.
    RowLocks,
    /// Commits waited for WAL writes and flushes.
    WalFlush,
    /// Backends ran or waited for a CPU.
    Processors,
    /// Backends read or wrote tables, indexes and temporary files.
    Io,
}

impl ServerResource {
    /// The name in output.
    pub fn name(self) -> &'static str {
        match self {
            ServerResource::RowLocks => "row locks",
            ServerResource::WalFlush => "WAL flush",
            ServerResource::Processors => "processors",
            ServerResource::Io => "I/O",
        }
    }

    pub(crate) const ALL: [ServerResource; 4] = [Self::RowLocks, Self::WalFlush, Self::Processors, Self::Io];

    /// The resource of a wait event. PostgreSQL versions differ in the capitalization of event names.
    pub(crate) fn of(wait: &WaitShare) -> Option<ServerResource> {
        let event = wait.event.to_ascii_lowercase();
        match wait.event_type.as_str() {
            "Lock" if matches!(event.as_str(), "transactionid" | "tuple") => Some(Self::RowLocks),
            "LWLock" | "LWLockNamed" if event.starts_with("walwrite") => Some(Self::WalFlush),
            "IO" if event.starts_with("wal") => Some(Self::WalFlush),
            "IO" | "BufferIO" => Some(Self::Io),
            "IPC" if event == "bufferio" => Some(Self::Io),
            "LWLock" | "LWLockTranche" if event == "buffer_io" => Some(Self::Io),
            "CPU" => Some(Self::Processors),
            _ => None,
        }
    }
}

/// Whether a backend in this wait is delayed by something other than CPUs. Locks of memory structures are not among
/// these, because the backend that holds one may wait for a CPU, nor is waiting for parallel workers.
pub(crate) fn is_no_wait_for_cpus(wait: &WaitShare) -> bool {
    let is_typical =
        matches!(wait.event_type.as_str(), "Lock" | "IO" | "BufferPin" | "Timeout" | "Extension");
    let is_of_resource = ServerResource::of(wait).is_some_and(|it| it != ServerResource::Processors);
    let is_pinned = wait.event == "BufferCleanup";
    // The process that holds the spinlock may itself need a CPU.
    let is_typical = is_typical && wait.event != SPIN_DELAY;
    is_typical || is_pinned || is_of_resource || wait.event.eq_ignore_ascii_case("SyncRep")
}

const SPIN_DELAY: &str = "SpinDelay";

/// Whether a backend in this wait waits for a time to come, and for no resource at all.
pub(crate) fn is_timer(wait: &WaitShare) -> bool {
    wait.event_type == "Timeout" && !matches!(wait.event.as_str(), SPIN_DELAY | "RegisterSyncRequest")
}

/// Whether the backends read or write tables, indexes and temporary files in this wait, or wait for one that does.
pub fn is_block_io(wait: &WaitShare) -> bool {
    ServerResource::of(wait) == Some(ServerResource::Io)
}
