//! The drivers for real sockets: `uring` if Linux's io_uring is available, `epoll` otherwise. Each worker selects its
//! driver in its own thread; the reason against io_uring is kept for the outcome.

use std::io;

use sockets::Clock;

use crate::error::EngineError;
use crate::plan::EventLoopChoice;

use epoll::EpollDriver;
#[cfg(target_os = "linux")]
use uring::UringDriver;

/// Placeholder for a driver that other systems lack; it is never created.
#[cfg(not(target_os = "linux"))]
type UringDriver = EpollDriver;

mod epoll;
mod gauges;
mod shell;
mod stream;
#[cfg(target_os = "linux")]
mod uring;

/// Maximum number of events returned per wait, so that timers are served in between.
const EVENTS_PER_WAIT: usize = 256;

/// The driver of one worker.
pub(crate) enum Network {
    IoUring(Box<UringDriver>),
    Epoll(Box<EpollDriver>),
}

impl Network {
    /// A driver for up to `connections` connections of the calling thread.
    pub(crate) fn new(
        choice: EventLoopChoice,
        clock: Clock,
        connections: usize,
    ) -> Result<Self, EngineError> {
        wake_punctually();
        Self::choose(
            choice,
            || {
                #[cfg(target_os = "linux")]
                return UringDriver::new(clock, connections);
                #[cfg(not(target_os = "linux"))]
                Err(io::ErrorKind::Unsupported.into())
            },
            |because| EpollDriver::new(clock, connections, because),
        )
    }

    fn choose(
        choice: EventLoopChoice,
        uring: impl FnOnce() -> io::Result<UringDriver>,
        epoll: impl FnOnce(Option<String>) -> io::Result<EpollDriver>,
    ) -> Result<Self, EngineError> {
        let because = if choice == EventLoopChoice::Epoll {
            None
        } else {
            match uring() {
                Ok(driver) => return Ok(Self::IoUring(Box::new(driver))),
                Err(error) if choice == EventLoopChoice::IoUring => {
                    return Err(EngineError::NoIoUring(why_not(&error)));
                }
                Err(error) => Some(why_not(&error)),
            }
        };
        let driver = epoll(because)
            .map_err(|error| EngineError::System { what: "make a poll for its sockets", error })?;
        Ok(Self::Epoll(Box::new(driver)))
    }
}

/// An explanation of the system's error.
fn why_not(error: &io::Error) -> String {
    let meaning = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "kernel.io_uring_disabled or a container's seccomp filter forbids it"
        }
        io::ErrorKind::Unsupported => "this system does not support it",
        io::ErrorKind::InvalidInput => "it requires Linux 6.1 or newer",
        io::ErrorKind::OutOfMemory => "the limit of locked memory is too low (ulimit -l)",
        _ => "the system refused it",
    };
    format!("{meaning} ({error})")
}

/// Reduces the timer slack, so that timed waits end on time and not up to 50 µs later, Linux's default.
fn wake_punctually() {
    #[cfg(target_os = "linux")]
    // If this is refused, waits end slightly later, which is measured.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Driver, EventLoop};

    fn refused(kind: io::ErrorKind) -> impl FnOnce() -> io::Result<UringDriver> {
        move || Err(kind.into())
    }

    fn epoll(because: Option<String>) -> io::Result<EpollDriver> {
        EpollDriver::new(Clock::start(), 1, because)
    }

    #[test]
    fn where_io_uring_is_refused_epoll_does_it_and_knows_why() {
        let network = Network::choose(EventLoopChoice::Auto, refused(io::ErrorKind::PermissionDenied), epoll);
        let Ok(Network::Epoll(driver)) = network else { panic!("epoll it is") };
        let EventLoop::Epoll { because: Some(because) } = driver.event_loop() else {
            panic!("with a reason")
        };
        assert!(because.contains("seccomp"), "{because}");
    }

    #[test]
    fn whoever_insists_on_io_uring_is_told_why_there_is_none() {
        let network = Network::choose(EventLoopChoice::IoUring, refused(io::ErrorKind::Unsupported), epoll);
        let Err(error) = network else { panic!("there is none") };
        assert!(error.to_string().contains("this system does not support it"), "{error}");
        assert!(error.to_string().contains("epoll"), "what to do next: {error}");
    }

    #[test]
    fn whoever_asks_for_epoll_gets_it_without_a_reason() {
        let network = Network::new(EventLoopChoice::Epoll, Clock::start(), 1);
        let Ok(Network::Epoll(driver)) = network else { panic!("epoll it is") };
        assert_eq!(driver.event_loop(), EventLoop::Epoll { because: None });
    }
}
