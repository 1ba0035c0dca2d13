//! Measures the time spent waiting for the server: the only file of this crate that reads a clock.
//! Used where the crate waits for a server after a fault.

use std::time::{Duration, Instant};

/// Starts when it is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The rest of a limit; zero if it has passed.
    pub(crate) fn left_of(&self, limit: Duration) -> Duration {
        limit.saturating_sub(self.0.elapsed())
    }
}
