//! What a relay says of itself: what passed, how late it was, and what that cost. Counted by the service as it goes;
//! a caller gets a copy.

use std::time::Duration;

use sockets::{run_queue_time, thread_cpu_time};
use stats::Distribution;

use crate::connection::CLIENT;

/// What a relay has done since it began, or since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Clients that were let in.
    pub connections: u64,
    /// Of these, how many were turned away: the server was not to be reached, or no file descriptor was left.
    pub refused: u64,
    /// Connections there are now.
    pub open: u64,
    /// Bytes handed to the server.
    pub bytes_to_server: u64,
    /// Bytes handed to clients.
    pub bytes_to_client: u64,
    /// How much later than due pieces of bytes were handed on. A piece is what was read at once, or, over a limited
    /// link, a packet. Those that had to wait because their receiver took nothing are not counted.
    pub late: Distribution,
    /// CPU time of the relay's thread, user and system.
    pub cpu_time: Duration,
    /// How much of it went into looking whether something was due: others may have had that core.
    pub polled: Duration,
    /// How long the relay's thread was ready to run and no core was free for it, where the system says: what came in
    /// that time was noticed late, which is not in `late`.
    pub waited: Duration,
}

impl Statistics {
    /// Adds what came after.
    pub fn add(&mut self, later: &Statistics) {
        let Statistics {
            connections,
            refused,
            open,
            bytes_to_server,
            bytes_to_client,
            late,
            cpu_time,
            polled,
            waited,
        } = later;
        self.connections += connections;
        self.refused += refused;
        self.open = *open;
        self.bytes_to_server += bytes_to_server;
        self.bytes_to_client += bytes_to_client;
        self.late.merge(late);
        self.cpu_time += *cpu_time;
        self.polled += *polled;
        self.waited += *waited;
    }

    /// The bytes of one direction, as the connections count them.
    pub(crate) fn bytes_in(&mut self, direction: usize) -> &mut u64 {
        if direction == CLIENT { &mut self.bytes_to_server } else { &mut self.bytes_to_client }
    }

    /// CPU time for each piece, without what others may have had.
    pub fn cpu_per_piece(&self) -> Option<Duration> {
        let cpu_ns = self.cpu_time.saturating_sub(self.polled).as_nanos();
        let ns = cpu_ns.checked_div(u128::from(self.late.count()))?;
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    /// How late the given share of the pieces was at most, in microseconds: 0.5 is the median, 1.0 the maximum.
    pub fn late_us(&self, share: f64) -> Option<f64> {
        self.late.quantile_ns(share).map(|ns| ns as f64 / 1e3)
    }
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
    /// Of the calling thread.
    pub(crate) fn now() -> Self {
        Self { cpu: thread_cpu_time(), waited: run_queue_time().unwrap_or_default() }
    }

    /// What came after an earlier moment.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(earlier.cpu), waited: self.waited.saturating_sub(earlier.waited) }
    }
}
