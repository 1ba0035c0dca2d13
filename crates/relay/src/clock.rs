//! The only module of the relay that reads a clock: monotonic time, and the CPU time of the relay's thread.
//! The pure part is handed `now`.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stats::Timestamp;

/// A monotonic clock whose zero is the moment it was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock that starts at zero now.
    pub(crate) fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// Time since the clock was made.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.epoch.elapsed()
    }
}

/// CPU time, user and system, of the calling thread since it began.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}
