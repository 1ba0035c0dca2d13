//! Measures the elapsed time of an experiment, for its budget and forecasts, and of timed steps. Loads use the
//! engine's clock.

use std::time::{Duration, Instant};

/// Starts when it is created.
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
