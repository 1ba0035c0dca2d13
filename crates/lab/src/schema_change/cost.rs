//! What the changes of the schema of a database in place have cost so far. Counted by the switch of schemas, read by
//! comparisons.

use connect::LockWaits;

/// What the changes of the schema have cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SchemaCost {
    /// Number of switches.
    pub(crate) switches: u32,
    /// Their time in all.
    pub(crate) seconds: f64,
    /// Their waits for locks.
    pub(crate) waits: LockWaits,
}

impl SchemaCost {
    /// Mean time of a switch.
    pub(crate) fn mean_s(self) -> f64 {
        if self.switches > 0 { self.seconds / f64::from(self.switches) } else { 0.0 }
    }
}
