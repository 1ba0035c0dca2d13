//! Waiting for other processes with a time limit. Nothing here is measured.
//! Used where the crate starts, stops and looks for servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use connect::Stopwatch;

use crate::ServerError;

/// Interval of checks.
const PAUSE: Duration = Duration::from_millis(10);

/// The end of a time limit.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Deadline {
    begun: Stopwatch,
    limit: Duration,
}

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Deadline {
        Deadline { begun: Stopwatch::start(), limit }
    }

    pub(crate) fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// Remaining time.
    pub(crate) fn remaining(self) -> Duration {
        self.begun.left_of(self.limit)
    }
}

/// Checks repeatedly until the condition holds or the time is over.
pub(crate) fn wait_for<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Deadline::after(limit);
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if deadline.has_passed() {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Set to abandon the current wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct StopFlag(Option<Arc<AtomicBool>>);

impl StopFlag {
    pub(crate) fn new(flag: Option<Arc<AtomicBool>>) -> StopFlag {
        StopFlag(flag)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// An error if it is set.
    pub(crate) fn check(&self) -> Result<(), ServerError> {
        if self.is_set() { Err(ServerError::Interrupted) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_looks_at_least_once_and_not_for_ever() {
        assert_eq!(wait_for(Duration::ZERO, || Some(1)), Some(1));
        let mut looks = 0;
        let never = wait_for(Duration::from_millis(30), || {
            looks += 1;
            None::<()>
        });
        assert!(never.is_none() && looks > 1);
    }
}
