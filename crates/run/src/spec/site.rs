//! The interface for faults: the owner of the server and of the network before it implements it, and passes it to the
//! runner in the circumstances of the run. Without it, a run refuses faults: pgmeter does not break servers of others.

use std::fmt;
use std::time::Instant;

use results::FaultKind;

use crate::error::RunError;

/// Number of a fault that has begun.
pub type FaultId = u64;

/// The managed server of a run, and the simulated network before it. Several threads call it at the same time.
pub trait FaultSite: fmt::Debug + Send + Sync {
    /// Why this kind is impossible here, in one sentence; `None` if it is possible.
    fn refusal(&self, kind: &FaultKind) -> Option<String>;

    /// Begins a fault. Returns when it is in effect, or done if it does not last.
    ///
    /// # Errors
    /// It cannot be done, for example because the server is down; the run is over first, as `is_over` says.
    fn begin(&self, kind: &FaultKind, is_over: &dyn Fn() -> bool) -> Result<FaultId, RunError>;

    /// Whether a fault is in effect; another one may have ended it.
    fn is_in_effect(&self, fault: FaultId) -> bool;

    /// Ends a fault, unless it has ended. Returns when the server accepts connections again.
    ///
    /// # Errors
    /// It cannot be ended, for example because the server does not start.
    fn end(&self, fault: FaultId) -> Result<(), RunError>;

    /// Ends all faults, and starts a server that is down. Called after each run, also if nothing was done.
    ///
    /// # Errors
    /// The server does not start.
    fn restore(&self) -> Result<(), RunError>;

    /// The standby that was promoted, and since when the former primary has run beside it; `None` if it has not.
    fn second_primary(&self) -> Option<(String, Instant)>;

    /// Whether a fault is in effect, so that the state of the tables cannot be read.
    fn is_disturbed(&self) -> bool;
}
