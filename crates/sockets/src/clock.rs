//! The clocks of the event loops: monotonic time, CPU time of process and thread, and time waiting for a core.
//! Other modules receive `now` as an argument. One clock is made per run and copied to each worker, so that all
//! timestamps have the same zero.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stats::Timestamp;

/// A monotonic clock that starts at zero when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock that starts at zero now.
    pub fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// The time that this clock shows at a moment; zero if it was made later.
    pub fn at(&self, moment: Instant) -> Timestamp {
        Timestamp::ZERO + moment.saturating_duration_since(self.epoch)
    }

    /// Time since the clock was made.
    #[inline]
    pub fn now(&self) -> Timestamp {
        let nanos = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Timestamp::from_nanos(nanos)
    }
}

/// Reads the clock `reads` times in a row; returns the mean time of a read in nanoseconds, and how many reads gave an
/// earlier time than the read before.
pub fn read_cost(reads: u32) -> (f64, u32) {
    let start = clock_gettime(ClockId::Monotonic);
    let (mut last, mut backwards) = (start, 0);
    for _ in 0..reads {
        let now = clock_gettime(ClockId::Monotonic);
        backwards += u32::from((now.tv_sec, now.tv_nsec) < (last.tv_sec, last.tv_nsec));
        last = now;
    }
    let nanos = (last.tv_sec - start.tv_sec) as f64 * 1e9 + (last.tv_nsec - start.tv_nsec) as f64;
    (nanos / f64::from(reads.max(1)), backwards)
}

/// CPU time, user and system, of the calling thread since its start.
pub fn thread_cpu_time() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

/// Time for which the calling thread was ready to run and waited for a core: the second number of its schedstat
/// (proc_pid_schedstat(5)). `None` if the system does not provide it.
pub fn run_queue_time() -> Option<Duration> {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = schedstat.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
