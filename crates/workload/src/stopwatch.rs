//! How long a step takes and how far its rows have come: the one file of this crate that reads a clock, and that
//! waits between two attempts to connect. Used by the watcher of a loading and by its connections.

use std::time::{Duration, Instant};

/// Runs from when it was made.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The time since it was started.
    pub(crate) fn read(self) -> Duration {
        self.0.elapsed()
    }

    /// The time since it was started; it starts anew.
    pub(crate) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now.saturating_duration_since(self.0);
        self.0 = now;
        lap
    }
}
