//! Which event loop is asked for: an option of pgmeter's commands, and a variable for them and the drop-in, whose
//! options are pgbench's. Which one then runs is the engine's affair.

use clap::{Args, ValueEnum};
use engine::EventLoopChoice;

/// What names the event loop where no option does.
const VARIABLE: &str = "PGMETER_EVENT_LOOP";

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct EventLoopArguments {
    /// How to wait for sockets
    #[arg(long, value_name = "NAME", env = VARIABLE, default_value = "auto")]
    pub(crate) event_loop: EventLoopName,
}

/// How to wait for sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EventLoopName {
    // io_uring where the system lets us, otherwise epoll.
    Auto,
    #[value(name = "io_uring")]
    IoUring,
    Epoll,
}

impl EventLoopName {
    pub(crate) fn meaning(self) -> EventLoopChoice {
        match self {
            Self::Auto => EventLoopChoice::Auto,
            Self::IoUring => EventLoopChoice::IoUring,
            Self::Epoll => EventLoopChoice::Epoll,
        }
    }
}
