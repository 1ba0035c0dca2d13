//! How the load generator itself fared: what one worker's loop and its thread say about themselves.
//! Not about the server. Measured by the engine, judged by `results`, so that a run that the generator limited
//! does not pass for one that the server limited.

use crate::Distribution;

/// One worker's own condition over the measured window.
///
/// `cpu_ns + run_queue_ns + idle = span_ns`: a thread runs, waits for a core, or sleeps. Where the system does not
/// tell the wait for a core, it is in what looks like idleness.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerHealth {
    /// The worker, from 0.
    pub worker: usize,
    /// Clients it served.
    pub clients: usize,
    /// Length of the window by the clock on the wall, in nanoseconds.
    pub span_ns: u64,
    /// CPU time of this thread, user and system, in nanoseconds.
    pub cpu_ns: u64,
    /// Time this thread was ready to run and had no core, in nanoseconds; `None` if the system does not tell.
    pub run_queue_ns: Option<u64>,
    /// How often the loop came back from waiting.
    pub wakeups: u64,
    /// How late it woke for a moment it had asked for, in nanoseconds: only of waits that a timer ended.
    pub wakeup_lateness: Distribution,
    /// Sends that the socket did not take whole at once.
    pub sends_held_back: u64,
    /// Time during which at least one connection had bytes that its socket did not take, in nanoseconds.
    pub held_back_ns: u64,
    /// The shortest time that the transport of a client took to connect, in nanoseconds: one round trip of the
    /// network over TCP, before TLS; `None` if unknown.
    pub shortest_connect_ns: Option<u64>,
}

impl WorkerHealth {
    /// Time in which the thread neither ran nor waited for a core, in nanoseconds.
    pub fn idle_ns(&self) -> u64 {
        self.span_ns.saturating_sub(self.cpu_ns).saturating_sub(self.run_queue_ns.unwrap_or(0))
    }

    /// The share of the window in which the loop was not idle, from 0 to 1; 0 for an empty window.
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
