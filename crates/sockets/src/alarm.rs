//! Timed wake-ups with a resolution of microseconds, because the poll's own timeout counts milliseconds. On Linux, a
//! timer file descriptor covers the last part of a wait; elsewhere the poll's timeout is rounded up.

use std::io;
use std::time::Duration;

use mio::{Registry, Token};
use stats::Timestamp;

/// Longer waits start with the poll's timeout, which ends slightly early.
const FINE_BELOW: Duration = Duration::from_millis(3);
/// How early it ends: one millisecond for rounding up, and one of reserve.
const EARLY: Duration = Duration::from_millis(2);

#[cfg(target_os = "linux")]
pub use linux::Alarm;
#[cfg(not(target_os = "linux"))]
pub use portable::Alarm;

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{AsRawFd, OwnedFd};

    use mio::Interest;
    use mio::unix::SourceFd;
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };

    use super::{Duration, EARLY, FINE_BELOW, Registry, Timestamp, Token, io};

    /// A timer that wakes the poll.
    pub struct Alarm {
        timer: OwnedFd,
        armed_for: Option<Timestamp>,
    }

    impl Alarm {
        /// An unset alarm, registered with the poll.
        ///
        /// # Errors
        /// The system refuses a timer.
        pub fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Self { timer, armed_for: None })
        }

        /// Sets the wake-up to `deadline`, or slightly before it if it is distant. Returns the timeout for the poll.
        ///
        /// # Errors
        /// The system refuses the time.
        pub fn set(&mut self, deadline: Timestamp, now: Timestamp) -> io::Result<Duration> {
            let wait = deadline.since(now);
            if wait.is_zero() {
                return Ok(Duration::ZERO);
            }
            if wait >= FINE_BELOW {
                return Ok(wait - EARLY);
            }
            // An expired timer need not be read: setting it again causes the next edge.
            if self.armed_for != Some(deadline) {
                let it_value = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
                let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
                let once = Itimerspec { it_interval, it_value };
                timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)?;
                self.armed_for = Some(deadline);
            }
            Ok(wait + EARLY)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod portable {
    use super::{Duration, Registry, Timestamp, Token, io};

    /// Uses only the poll's timeout.
    pub struct Alarm;

    impl Alarm {
        /// Requires no preparation.
        pub fn new(_registry: &Registry, _token: Token) -> io::Result<Self> {
            Ok(Self)
        }

        /// The timeout for the poll.
        pub fn set(&mut self, deadline: Timestamp, now: Timestamp) -> io::Result<Duration> {
            Ok(deadline.since(now))
        }
    }
}
