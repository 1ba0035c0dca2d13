//! How long an experiment has been running, for its time budget and for what is left; and what a step took that is
//! timed. Loads have the engine's clock.

use std::time::{Duration, Instant};

/// Runs from when it was started.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn passed(&self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.passed().as_secs_f64()
    }
}
