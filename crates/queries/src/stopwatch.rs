//! Measures the elapsed time of timed statements and of streams: the only file of this crate that reads a clock. Used by
//! `limit` and by the streams.

use std::time::{Duration, Instant};

/// Starts when it is created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn passed(&self) -> Duration {
        self.0.elapsed()
    }
}
