//! Measures elapsed time, for limits of waits and for the length of steps. Nothing on the path of a transaction uses it:
//! loads have the engine's clock.

use std::time::{Duration, Instant};

/// Starts when it is created.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since the start.
    pub fn passed(self) -> Duration {
        self.0.elapsed()
    }

    /// The time since the start, in seconds.
    pub fn seconds(self) -> f64 {
        self.passed().as_secs_f64()
    }

    /// The rest of a limit; zero if it has passed.
    pub fn left_of(self, limit: Duration) -> Duration {
        limit.saturating_sub(self.passed())
    }

    /// The time since the start; starts again.
    pub fn lap(&mut self) -> Duration {
        let now = Instant::now();
        let lap = now.saturating_duration_since(self.0);
        self.0 = now;
        lap
    }
}
