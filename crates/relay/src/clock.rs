//! The only module of the relay that reads a clock: monotonic time, and what the system says of the time of the
//! relay's thread.
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

/// How the time of a thread was spent, since it began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadTime {
    /// User and system.
    pub(crate) cpu: Duration,
    /// Ready to run, and no core was free; zero where the system does not say.
    pub(crate) waited: Duration,
}

impl ThreadTime {
    /// Of the calling thread. Its second number is what /proc/PID/schedstat has (Documentation/scheduler/sched-stats
    /// of Linux): time spent waiting on a run queue, in nanoseconds.
    pub(crate) fn now() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let waited_ns = text.split_whitespace().nth(1).and_then(|number| number.parse().ok());
        Self { cpu: thread_cpu_time(), waited: Duration::from_nanos(waited_ns.unwrap_or(0)) }
    }

    /// What came after an earlier moment.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(earlier.cpu), waited: self.waited.saturating_sub(earlier.waited) }
    }
}
