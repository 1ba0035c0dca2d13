//! The only module of this crate that reads clocks: at barriers, for offsets, and for the ends of waits. The arithmetic
//! of offsets is in the module above it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::Passage;

/// A reading of both clocks.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    /// Nanoseconds since 1970.
    wall: i64,
}

impl Moment {
    pub(crate) fn now() -> Moment {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Moment { instant: Instant::now(), wall: i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX) }
    }
}

/// Converts instants to numbers: nanoseconds of the system's monotonic clock, which all processes of a machine share.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ClockPair {
    instant: Instant,
    nanos: i64,
}

/// Two readings with less time than this between them were not interrupted.
const CLOSE_NANOS: i64 = 2_000;
/// Tries to read without an interruption.
const READINGS: usize = 20;

impl ClockPair {
    pub(crate) fn read() -> ClockPair {
        let mut pair = ClockPair { instant: Instant::now(), nanos: monotonic_nanos() };
        for _ in 0..READINGS {
            let before = monotonic_nanos();
            pair = ClockPair { instant: Instant::now(), nanos: before };
            if monotonic_nanos() - before < CLOSE_NANOS {
                break;
            }
        }
        pair
    }

    pub(crate) fn nanos(&self, at: Instant) -> i64 {
        let signed = |duration: Duration| i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
        match at.checked_duration_since(self.instant) {
            Some(after) => self.nanos.saturating_add(signed(after)),
            None => self.nanos.saturating_sub(signed(self.instant - at)),
        }
    }

    /// The instant of a number; `None` if no instant can express it.
    pub(crate) fn instant(&self, nanos: i64) -> Option<Instant> {
        let distance = Duration::from_nanos(nanos.abs_diff(self.nanos));
        if nanos >= self.nanos {
            self.instant.checked_add(distance)
        } else {
            self.instant.checked_sub(distance)
        }
    }

    pub(crate) fn passage(&self, entered: Moment, left: Moment) -> Passage {
        Passage {
            entered: self.nanos(entered.instant),
            left: self.nanos(left.instant),
            entered_wall: entered.wall,
            left_wall: left.wall,
        }
    }
}

fn monotonic_nanos() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// The end of a wait.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Timeout {
    begun: Instant,
    limit: Duration,
}

impl Timeout {
    pub(crate) fn after(limit: Duration) -> Timeout {
        Timeout { begun: Instant::now(), limit }
    }

    /// Time since the wait began.
    pub(crate) fn waited(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Remaining time; `None` if it is over.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        self.limit.checked_sub(self.waited()).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_the_same_after_the_way_through_its_number() {
        let pair = ClockPair::read();
        for at in [pair.instant + Duration::from_millis(1234), pair.instant - Duration::from_micros(7)] {
            assert_eq!(pair.instant(pair.nanos(at)), Some(at));
        }
    }
}
