//! Shared parts of the event loops of the engine, the relay and the null server: monotonic clock, timers, timed waits,
//! and non-blocking TCP and Unix sockets. They do not interpret the data.

mod alarm;
mod clock;
mod endpoint;
mod socket;
mod timed_poll;
mod timers;
mod unix_listener;
mod wakeups;

pub use alarm::Alarm;
pub use clock::{Clock, read_cost, run_queue_time, thread_cpu_time};
pub use endpoint::Endpoint;
pub use socket::{Listener, Socket};
pub use timed_poll::{Ready, TimedPoll};
pub use timers::Timers;
pub use wakeups::Wakeups;
