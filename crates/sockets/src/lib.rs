//! What the event loops of the engine, the relay and the null server share: the monotonic clock, timers, waiting that
//! ends on time, and non-blocking sockets of both families. Knows nothing of what the bytes mean.

mod alarm;
mod clock;
mod endpoint;
mod socket;
mod timed_poll;
mod timers;
mod unix_listener;
mod wakeups;

pub use clock::{Clock, process_cpu_time, run_queue_time, thread_cpu_time};
pub use endpoint::Endpoint;
pub use socket::{Listener, Socket};
pub use timed_poll::{Ready, TimedPoll};
pub use timers::Timers;
pub use wakeups::Wakeups;
