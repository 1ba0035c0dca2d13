//! The only module of this crate that reads the clock. The engine has its own clock; `cli` provides the instant at
//! which measuring starts.

use std::time::{Duration, Instant};

/// Now.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Seconds from `origin` to `at`; negative if `at` is earlier.
pub(crate) fn seconds_between(origin: Instant, at: Instant) -> f64 {
    match at.checked_duration_since(origin) {
        Some(after) => after.as_secs_f64(),
        None => -(origin - at).as_secs_f64(),
    }
}

/// Time left until `at`; zero if it has passed.
pub(crate) fn left_until(at: Instant) -> Duration {
    at.saturating_duration_since(now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_before_the_origin_is_negative() {
        let origin = now();
        let later = origin + Duration::from_millis(1500);
        assert!((seconds_between(origin, later) - 1.5).abs() < 1e-9);
        assert!((seconds_between(later, origin) + 1.5).abs() < 1e-9);
    }
}
