//! The drivers for real sockets: `uring` where Linux has io_uring and lets us use it, `epoll` everywhere else. Which
//! one it is, is chosen here, once for each worker and in its thread; why not the other is kept for the outcome.

use std::io;

use sockets::Clock;

use crate::error::EngineError;
use crate::plan::EventLoopChoice;

use epoll::EpollDriver;
#[cfg(target_os = "linux")]
use uring::UringDriver;

/// Stands for the driver that other systems cannot have; none is ever made.
#[cfg(not(target_os = "linux"))]
type UringDriver = EpollDriver;

mod epoll;
mod gauges;
mod shell;
mod stream;
#[cfg(target_os = "linux")]
mod uring;

/// Events that a driver hands out for each wait; more wait for the next one, so that timers get their turn.
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

/// What the system's answer means for whoever wonders.
fn why_not(error: &io::Error) -> String {
    let meaning = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "it is forbidden here, by kernel.io_uring_disabled or by a container's seccomp filter"
        }
        io::ErrorKind::Unsupported => "this system has none",
        io::ErrorKind::InvalidInput => "it takes Linux 6.1 or newer",
        io::ErrorKind::OutOfMemory => "there is not enough memory that may be locked (ulimit -l)",
        _ => "the system refuses it",
    };
    format!("{meaning} ({error})")
}

/// Timed waits end when they should, and not up to 50 µs later, as Linux has it otherwise.
fn wake_punctually() {
    #[cfg(target_os = "linux")]
    // Whoever is refused this is a little less punctual, which is measured.
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
        assert!(error.to_string().contains("this system has none"), "{error}");
        assert!(error.to_string().contains("epoll"), "what to do next: {error}");
    }

    #[test]
    fn whoever_asks_for_epoll_gets_it_without_a_reason() {
        let network = Network::new(EventLoopChoice::Epoll, Clock::start(), 1);
        let Ok(Network::Epoll(driver)) = network else { panic!("epoll it is") };
        assert_eq!(driver.event_loop(), EventLoop::Epoll { because: None });
    }
}
