//! Waiting for sockets and for the next thing that is due. The system wakes a sleeping thread tens of microseconds
//! late in a virtual machine; so the relay sleeps that much less and polls for the rest, as long as polling is a small
//! part of its time. Where things are due so often that it would poll all the time, it just sleeps: a core that is
//! kept busy would be taken from the server, and something is late by less than a sleep then. Used by the service.

use std::io;
use std::time::Duration;

use mio::{Events, Poll, Registry, Token};
use stats::Timestamp;

use crate::clock::{Clock, thread_cpu_time};

pub(crate) use alarm::Alarm;

const EVENTS_PER_WAIT: usize = 1024;
const ALARM: Token = Token(usize::MAX - 2);
/// No more than this is polled for at once.
const LEAD_MAX_NS: f64 = 80_000.0;
/// How much a new observation counts in the mean and in the deviation. The estimate, mean and twice the deviation, is
/// that by which TCP knows when an answer is overdue (Jacobson, Congestion Avoidance and Control, 1988).
const MEAN_WEIGHT: f64 = 0.125;
const DEVIATION_WEIGHT: f64 = 0.25;
const DEVIATIONS: f64 = 2.0;
/// Polling may take one part in so many of the time.
const POLLING_SHARE: u32 = 10;
/// What may be saved up for it: a dozen wakings.
const ALLOWANCE_MAX: Duration = Duration::from_millis(1);

/// What the poll told of one socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    pub(crate) token: Token,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer has closed its side: what is read next goes up to the end, which is no news any more.
    pub(crate) ends: bool,
}

/// See the module.
pub(crate) struct Waiting {
    clock: Clock,
    poll: Poll,
    events: Events,
    alarm: Alarm,
    habit: Habit,
    allowance: Duration,
    /// Up to when the allowance has been given.
    given_until: Timestamp,
    polled: Duration,
}

impl Waiting {
    pub(crate) fn new(clock: Clock, poll: Poll) -> io::Result<Self> {
        let alarm = Alarm::new(poll.registry(), ALARM)?;
        Ok(Self {
            clock,
            poll,
            events: Events::with_capacity(EVENTS_PER_WAIT),
            alarm,
            habit: Habit::default(),
            allowance: ALLOWANCE_MAX,
            given_until: clock.now(),
            polled: Duration::ZERO,
        })
    }

    pub(crate) fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// CPU time spent looking for what was not due yet.
    pub(crate) fn polled(&self) -> Duration {
        self.polled
    }

    /// Waits for news, at most until then.
    pub(crate) fn wait(&mut self, until: Option<Timestamp>, news: &mut Vec<News>) -> io::Result<()> {
        news.clear();
        let mut now = self.clock.now();
        let mut cpu_at_poll = None;
        self.give(now);
        loop {
            let sleep = until.map(|until| self.sleep(until.since(now)));
            let timeout = sleep.map(|sleep| self.alarm.set(now + sleep, now)).transpose()?.flatten();
            match self.poll.poll(&mut self.events, timeout) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            let from = std::mem::replace(&mut now, self.clock.now());
            self.collect(news);
            let (Some(until), Some(sleep)) = (until, sleep) else {
                if news.is_empty() { continue } else { return Ok(()) }
            };
            if !news.is_empty() || from >= until {
                return Ok(());
            }
            if sleep.is_zero() {
                self.polled_once(&mut cpu_at_poll);
            } else if now >= from + sleep {
                self.habit.woke_late(now.since(from + sleep));
            }
            if now >= until {
                return Ok(());
            }
        }
    }

    fn give(&mut self, now: Timestamp) {
        let earned = now.since(self.given_until) / POLLING_SHARE;
        self.given_until = now;
        self.allowance = (self.allowance + earned).min(ALLOWANCE_MAX);
    }

    fn sleep(&self, until_due: Duration) -> Duration {
        if self.allowance.is_zero() { until_due } else { until_due.saturating_sub(self.habit.lead()) }
    }

    /// Only CPU time counts: whoever else could use this core, the server for one, goes first.
    fn polled_once(&mut self, cpu_before: &mut Option<Duration>) {
        let cpu = thread_cpu_time();
        let polled = cpu_before.replace(cpu).map_or(Duration::ZERO, |before| cpu.saturating_sub(before));
        self.polled += polled;
        self.allowance = self.allowance.saturating_sub(polled);
        rustix::thread::sched_yield();
    }

    fn collect(&mut self, news: &mut Vec<News>) {
        for event in &self.events {
            match event.token() {
                ALARM => self.alarm.rang(),
                token => news.push(News {
                    token,
                    readable: event.is_readable() || event.is_error(),
                    writable: event.is_writable() || event.is_error(),
                    ends: event.is_read_closed() || event.is_error(),
                }),
            }
        }
    }
}

/// How late the system usually wakes us.
#[derive(Debug, Default)]
struct Habit {
    mean_ns: f64,
    deviation_ns: f64,
}

impl Habit {
    fn woke_late(&mut self, late: Duration) {
        // A single long delay is no habit: it would be forgotten only after many short ones.
        let late_ns = (late.as_nanos() as f64).min(2.0 * LEAD_MAX_NS);
        let error_ns = late_ns - self.mean_ns;
        self.mean_ns += MEAN_WEIGHT * error_ns;
        self.deviation_ns += DEVIATION_WEIGHT * (error_ns.abs() - self.deviation_ns);
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and a small constant"
    )]
    fn lead(&self) -> Duration {
        let lead_ns = self.mean_ns + DEVIATIONS * self.deviation_ns;
        Duration::from_nanos(lead_ns.clamp(0.0, LEAD_MAX_NS) as u64)
    }
}

#[cfg(target_os = "linux")]
mod alarm {
    //! The poll's own timeout counts whole milliseconds; a timer file descriptor rings in time.

    use std::os::fd::{AsRawFd, OwnedFd};

    use mio::Interest;
    use mio::unix::SourceFd;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    use super::{Duration, Registry, Timestamp, Token, io};

    /// A timer that wakes the poll.
    pub(crate) struct Alarm {
        timer: OwnedFd,
        armed_for: Option<Timestamp>,
    }

    impl Alarm {
        pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self { timer, armed_for: None })
        }

        /// Arranges to be woken then; returns the timeout that the poll needs besides.
        pub(super) fn set(&mut self, at: Timestamp, now: Timestamp) -> io::Result<Option<Duration>> {
            let wait = at.since(now);
            if wait.is_zero() {
                return Ok(Some(wait));
            }
            if self.armed_for != Some(at) {
                let tv_sec = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
                let it_value = Timespec { tv_sec, tv_nsec: i64::from(wait.subsec_nanos()) };
                let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
                timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
                self.armed_for = Some(at);
            }
            Ok(None)
        }

        /// It rang. It need not be read: setting it again makes the next edge.
        pub(super) fn rang(&mut self) {
            self.armed_for = None;
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod alarm {
    //! Only the poll's own timeout.

    use super::{Duration, Registry, Timestamp, Token, io};

    /// Nothing.
    pub(crate) struct Alarm;

    impl Alarm {
        pub(super) fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        /// The timeout for the poll.
        pub(super) fn set(&mut self, at: Timestamp, now: Timestamp) -> io::Result<Option<Duration>> {
            Ok(Some(at.since(now)))
        }

        /// Never happens here.
        pub(super) fn rang(&mut self) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_is_learned_and_bounded() {
        let mut habit = Habit::default();
        assert_eq!(habit.lead(), Duration::ZERO);
        (0..100).for_each(|_| habit.woke_late(Duration::from_micros(30)));
        assert!((30..=32).contains(&habit.lead().as_micros()), "{habit:?}");
        (0..100).for_each(|_| habit.woke_late(Duration::from_secs(1)));
        assert_eq!(habit.lead(), Duration::from_micros(80));
    }

    #[test]
    fn a_wait_ends_when_it_is_time_and_not_before() {
        let clock = Clock::start();
        let mut waiting = Waiting::new(clock, Poll::new().expect("a poll")).expect("a timer");
        let mut news = Vec::new();
        for us in [0, 50, 300, 2500] {
            let until = clock.now() + Duration::from_micros(us);
            waiting.wait(Some(until), &mut news).expect("it waits");
            assert!(clock.now() >= until && news.is_empty());
        }
    }

    #[test]
    fn whoever_has_polled_too_much_sleeps_until_it_has_earned_more() {
        let clock = Clock::start();
        let mut waiting = Waiting::new(clock, Poll::new().expect("a poll")).expect("a timer");
        (0..100).for_each(|_| waiting.habit.woke_late(Duration::from_micros(30)));
        let due = Duration::from_micros(100);
        assert!(waiting.sleep(due) < due);
        waiting.allowance = Duration::ZERO;
        assert_eq!(waiting.sleep(due), due);
        waiting.give(waiting.given_until + Duration::from_secs(1));
        assert_eq!(waiting.allowance, ALLOWANCE_MAX);
    }
}
