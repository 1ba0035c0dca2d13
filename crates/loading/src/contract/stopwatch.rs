//! Times loading steps and limits waiting between connection attempts: the only file of this crate that reads a
//! clock. Used by the executor and by its connections.

use std::time::{Duration, Instant};

/// Starts when it is created.
#[derive(Copy, Clone, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// The time since it was started.
    pub fn read(self) -> Duration {
        self.0.elapsed()
    }

    /// The time since the start; restarts it.
    pub fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now.saturating_duration_since(self.0);
        self.0 = now;
        lap
    }
}
