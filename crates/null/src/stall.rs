//! Periods without answers of the null server, as data. They repeat from its start. Used by the service; a server
//! without them reads no clock.

use std::time::Duration;

use sockets::Clock;
use stats::Timestamp;

/// Silent periods: each begins at a fixed time after the start or after the end of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// Length of the periods with answers.
    pub every: Duration,
    /// Length of the silent periods.
    pub length: Duration,
}

/// The current period, and its remaining time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StallPhase {
    Answers(Duration),
    Silent(Duration),
}

impl Stalls {
    /// The period at this time after the server's start.
    fn phase(&self, age: Duration) -> StallPhase {
        let period = (self.every + self.length).as_nanos().max(1);
        let into = Duration::from_nanos(u64::try_from(age.as_nanos() % period).unwrap_or(u64::MAX));
        match self.every.checked_sub(into) {
            Some(left) if !left.is_zero() => StallPhase::Answers(left),
            _ => StallPhase::Silent((self.every + self.length).saturating_sub(into)),
        }
    }
}

/// The stalls of a running server.
#[derive(Debug)]
pub(super) struct StallSchedule {
    clock: Clock,
    stalls: Stalls,
}

impl StallSchedule {
    /// A schedule that starts now.
    pub(super) fn new(stalls: Stalls) -> Self {
        Self { clock: Clock::start(), stalls }
    }

    /// The current period.
    pub(super) fn phase(&self) -> StallPhase {
        self.stalls.phase(self.clock.now().since(Timestamp::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_comes_after_each_time_of_answering() {
        let ms = Duration::from_millis;
        let stalls = Stalls { every: ms(1000), length: ms(200) };
        for (age, expected) in [
            (0, StallPhase::Answers(ms(1000))),
            (999, StallPhase::Answers(ms(1))),
            (1000, StallPhase::Silent(ms(200))),
            (1199, StallPhase::Silent(ms(1))),
            (1200, StallPhase::Answers(ms(1000))),
            (13_100, StallPhase::Silent(ms(100))),
        ] {
            assert_eq!(stalls.phase(ms(age)), expected, "after {age} ms");
        }
    }

    #[test]
    fn a_server_may_be_silent_from_its_start() {
        let stalls = Stalls { every: Duration::ZERO, length: Duration::from_secs(1) };
        assert_eq!(stalls.phase(Duration::from_millis(1500)), StallPhase::Silent(Duration::from_millis(500)));
    }
}
