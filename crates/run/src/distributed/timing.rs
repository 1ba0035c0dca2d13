//! The clock of the exchange between ranks: the common start and the pace of rounds are moments of it. The engine has its
//! own clock, on which it places the start.

use std::thread;
use std::time::{Duration, Instant};

/// The current time.
pub(super) fn now() -> Instant {
    Instant::now()
}

/// Sleeps until a moment; returns how long after it.
pub(super) fn sleep_until(moment: Instant) -> Duration {
    thread::sleep(moment.saturating_duration_since(now()));
    now().saturating_duration_since(moment)
}
