//! A poll over sockets with precise timeouts, by an alarm and by the measured lateness of wake-ups. Used by the
//! engine's epoll driver and by the relay.

use std::io;
use std::time::Duration;

use mio::event::{self, Event};
use mio::{Events, Poll, Registry, Token};
use stats::Timestamp;

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::wakeups::Wakeups;

/// Token of the alarm; must not be used for sockets.
const ALARM: Token = Token(usize::MAX);

/// A poll with precise timeouts.
pub struct TimedPoll {
    clock: Clock,
    poll: Poll,
    events: Events,
    alarm: Alarm,
    wakeups: Wakeups,
}

/// The events of a poll.
pub struct Ready<'a>(event::Iter<'a>);

impl<'a> Iterator for Ready<'a> {
    type Item = &'a Event;

    #[inline]
    fn next(&mut self) -> Option<&'a Event> {
        self.0.find(|event| event.token() != ALARM)
    }
}

impl TimedPoll {
    /// A poll that returns up to `events_max` events at a time. It reserves the token `usize::MAX`.
    ///
    /// # Errors
    /// The system refuses a timer.
    pub fn new(poll: Poll, clock: Clock, events_max: usize, wakeups: Wakeups) -> io::Result<Self> {
        let alarm = Alarm::new(poll.registry(), ALARM)?;
        Ok(Self { clock, poll, events: Events::with_capacity(events_max), alarm, wakeups })
    }

    /// Registry for sockets.
    pub fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// CPU time spent on polling before a deadline.
    pub fn polled(&self) -> Duration {
        self.wakeups.polled()
    }

    /// Waits until `until`, or until a relevant event: `take` gets the events of each poll and the time, and returns
    /// whether one was relevant. Returns the time at the end of the wait.
    ///
    /// # Errors
    /// Errors of the poll and of the timer; signals are ignored.
    pub fn wait(
        &mut self,
        until: Option<Timestamp>,
        mut take: impl FnMut(&Registry, Timestamp, Ready<'_>) -> bool,
    ) -> io::Result<Timestamp> {
        let Self { clock, poll, events, alarm, wakeups } = self;
        let mut now = clock.now();
        wakeups.begin(now);
        loop {
            let sleep = until.map(|until| wakeups.sleep(until.since(now)));
            let timeout = sleep.map(|sleep| alarm.set(now + sleep, now)).transpose()?;
            match poll.poll(events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let from = std::mem::replace(&mut now, clock.now());
            let has_happened = take(poll.registry(), now, Ready(events.iter()));
            let (Some(until), Some(sleep)) = (until, sleep) else {
                if has_happened {
                    return Ok(now);
                }
                continue;
            };
            if has_happened || from >= until {
                return Ok(now);
            }
            wakeups.nothing_happened(from, sleep, now);
            if now >= until {
                return Ok(now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_it_is_time_and_not_before() {
        let clock = Clock::start();
        let poll = Poll::new().expect("a poll");
        let mut poll = TimedPoll::new(poll, clock, 16, Wakeups::default()).expect("a timer");
        for us in [0, 50, 300, 2500, 7000] {
            let until = clock.now() + Duration::from_micros(us);
            let ended = poll.wait(Some(until), |_, _, mut ready| ready.next().is_some()).expect("it waits");
            assert!(ended >= until && clock.now() >= ended);
        }
    }
}
