//! The condition of the load generator: statistics of a worker's loop and thread. Measured by the engine and judged
//! by `results`, so that a run limited by the generator is not mistaken for one limited by the server.

use serde::{Deserialize, Serialize};

use crate::Distribution;

/// Condition of one worker in the measured window.
///
/// `cpu_ns + run_queue_ns + idle = span_ns`: a thread runs, waits for a core, or sleeps. If the system does not
/// report the wait for a core, it counts as idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerHealth {
    /// Number of the worker, from 0.
    pub worker: usize,
    /// Number of its clients.
    pub clients: usize,
    /// Length of the window in nanoseconds of elapsed time.
    pub span_ns: u64,
    /// CPU time of this thread, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in which this thread was runnable without a core, in nanoseconds; `None` if the system does not report
    /// it.
    pub run_queue_ns: Option<u64>,
    /// Number of wake-ups.
    pub wakeups: u64,
    /// Lateness of wake-ups by a timer, in nanoseconds.
    pub wakeup_lateness: Distribution,
    /// Number of sends that the socket did not accept completely at once.
    pub sends_held_back: u64,
    /// Time during which at least one connection had bytes that its socket had not accepted, in nanoseconds.
    pub held_back_ns: u64,
    /// Shortest time to connect a client's transport, in nanoseconds: one network round trip over TCP, before TLS;
    /// `None` if unknown.
    pub shortest_connect_ns: Option<u64>,
}

impl WorkerHealth {
    /// Time in which the thread neither ran nor waited for a core, in nanoseconds.
    pub fn idle_ns(&self) -> u64 {
        self.span_ns.saturating_sub(self.cpu_ns).saturating_sub(self.run_queue_ns.unwrap_or(0))
    }

    /// Share of the window in which the loop was not idle, from 0 to 1; 0 for an empty window.
    pub fn busy_share(&self) -> f64 {
        if self.span_ns == 0 {
            return 0.0;
        }
        1.0 - self.idle_ns() as f64 / self.span_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(span_ns: u64, cpu_ns: u64, run_queue_ns: Option<u64>) -> WorkerHealth {
        WorkerHealth {
            worker: 0,
            clients: 1,
            span_ns,
            cpu_ns,
            run_queue_ns,
            wakeups: 0,
            wakeup_lateness: Distribution::new(),
            sends_held_back: 0,
            held_back_ns: 0,
            shortest_connect_ns: None,
        }
    }

    #[test]
    fn a_thread_runs_waits_for_a_core_or_sleeps() {
        assert_eq!(health(100, 30, Some(20)).idle_ns(), 50);
        assert_eq!(health(100, 30, Some(20)).busy_share(), 0.5);
        assert_eq!(health(100, 30, None).idle_ns(), 70);
    }

    #[test]
    fn clocks_that_disagree_a_little_do_not_underflow() {
        assert_eq!(health(100, 90, Some(20)).idle_ns(), 0);
        assert_eq!(health(100, 90, Some(20)).busy_share(), 1.0);
        assert_eq!(health(0, 0, None).busy_share(), 0.0);
    }
}
