//! Waiting for other processes, with a limit: the one place of this crate that reads the clock, and only to know
//! when to give up. Nothing here is measured.

use std::time::{Duration, Instant};

/// How often something another process does is looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// A moment after which nobody waits any more.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(limit: Duration) -> Deadline {
        Deadline(Instant::now() + limit)
    }

    pub(crate) fn has_passed(self) -> bool {
        Instant::now() >= self.0
    }
}

/// Looks again and again until there is something to see, or the limit is over.
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
