//! Counters of the drivers for real sockets: partial sends, connecting times, and CPU use of the thread. Read by the
//! worker, evaluated by `results`.

use std::time::Duration;

use sockets::{run_queue_time, thread_cpu_time};
use stats::Timestamp;

use crate::driver::DriverUsage;

/// Counters of one driver.
#[derive(Default)]
pub(super) struct Gauges {
    /// The latest time passed to it.
    pub(super) now: Timestamp,
    sends_held_back: u64,
    held_back: Duration,
    /// Number of connections with bytes that their sockets have not accepted.
    holding: usize,
    shortest_connect: Option<Duration>,
}

impl Gauges {
    /// Sets the current time.
    pub(super) fn pass(&mut self, now: Timestamp) {
        if self.holding > 0 {
            self.held_back += now.since(self.now);
        }
        self.now = now;
    }

    /// A connection has sent; tells whether it held bytes back before and after.
    pub(super) fn sent(&mut self, before: bool, after: bool) {
        self.sends_held_back += u64::from(after);
        self.flushed(before, after);
    }

    /// Like [`Gauges::sent`], if there was nothing new to send.
    pub(super) fn flushed(&mut self, before: bool, after: bool) {
        self.holding = self.holding + usize::from(after) - usize::from(before);
    }

    /// A connection is connected; `since` is when it began, unless it was counted already.
    pub(super) fn connected(&mut self, since: Option<Timestamp>, now: Timestamp) {
        if let Some(since) = since {
            let took = now.since(since);
            self.shortest_connect = Some(self.shortest_connect.map_or(took, |shortest| shortest.min(took)));
        }
    }

    /// The use so far. Of the thread's CPU time, the time that it `polled` without work is subtracted.
    pub(super) fn usage(&self, polled: Duration) -> DriverUsage {
        DriverUsage {
            thread_cpu: thread_cpu_time().saturating_sub(polled),
            run_queue: run_queue_time(),
            sends_held_back: self.sends_held_back,
            held_back: self.held_back,
            shortest_connect: self.shortest_connect,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Timestamp {
        Timestamp::from_nanos(micros * 1000)
    }

    #[test]
    fn time_counts_as_held_back_while_any_connection_has_bytes_left() {
        let mut gauges = Gauges::default();
        gauges.pass(at(10));
        gauges.sent(false, false);
        gauges.sent(false, true);
        gauges.sent(false, true);
        gauges.sent(true, true);
        gauges.pass(at(30));
        gauges.flushed(true, false);
        gauges.pass(at(35));
        gauges.flushed(true, false);
        gauges.pass(at(1000));
        assert_eq!((gauges.sends_held_back, gauges.held_back), (3, Duration::from_micros(25)));
    }

    #[test]
    fn the_shortest_connect_is_kept() {
        let mut gauges = Gauges::default();
        gauges.connected(None, at(5));
        assert_eq!(gauges.shortest_connect, None);
        gauges.connected(Some(at(5)), at(9));
        gauges.connected(Some(at(5)), at(8));
        gauges.connected(Some(at(5)), at(11));
        assert_eq!(gauges.shortest_connect, Some(Duration::from_micros(3)));
    }

    #[test]
    fn a_thread_knows_what_it_has_used() {
        let usage = || Gauges::default().usage(Duration::ZERO);
        let before = usage();
        let mut sum = 0_u64;
        while usage().thread_cpu == before.thread_cpu {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(usage().run_queue >= before.run_queue);
    }
}
