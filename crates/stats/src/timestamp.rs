//! A time of a run, in nanoseconds since the run's epoch. It is not a calendar time, and no clock is read here: the
//! engine passes `now`, so that the same code runs in virtual time.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Nanoseconds since the run's epoch (the zero of the engine's clock).
///
/// 64 bits of nanoseconds last 584 years; arithmetic saturates instead of wrapping.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The run's epoch.
    pub const ZERO: Timestamp = Timestamp(0);

    /// The time `nanos` nanoseconds after the epoch.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Timestamp {
        Timestamp(nanos)
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same time on a clock that shows `to` when this one shows `from`; saturates.
    pub const fn moved(self, from: Timestamp, to: Timestamp) -> Timestamp {
        Timestamp(self.0.saturating_sub(from.0).saturating_add(to.0))
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    /// The time `duration` later; saturates.
    #[inline]
    fn add(self, duration: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(saturating_nanos(duration)))
    }
}

/// The nanoseconds of `duration`, or `u64::MAX` if it is longer than 584 years.
#[inline]
pub(crate) fn saturating_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_measures_forward_and_is_zero_backward() {
        let (early, late) = (Timestamp::from_nanos(1_000), Timestamp::from_nanos(3_500));
        assert_eq!(late.since(early), Duration::from_nanos(2_500));
        assert_eq!(early.since(late), Duration::ZERO);
    }

    #[test]
    fn adding_beyond_the_end_of_time_stays_at_the_end() {
        assert_eq!(Timestamp::ZERO + Duration::from_secs(1), Timestamp::from_nanos(1_000_000_000));
        assert_eq!(
            Timestamp::from_nanos(u64::MAX) + Duration::from_nanos(1),
            Timestamp::from_nanos(u64::MAX)
        );
        assert_eq!(Timestamp::ZERO + Duration::MAX, Timestamp::from_nanos(u64::MAX));
    }
}
