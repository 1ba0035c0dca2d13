//! What the drivers for real sockets know about themselves: what sockets did not take at once, how long connecting
//! takes, and what the thread has used. Read by the worker, judged elsewhere.

use std::time::Duration;

use sockets::{run_queue_time, thread_cpu_time};
use stats::Timestamp;

use crate::driver::{BackPressure, ThreadUsage};

/// Counters of one driver.
#[derive(Default)]
pub(super) struct Gauges {
    now: Timestamp,
    back_pressure: BackPressure,
    /// Connections with bytes that their sockets have not taken.
    holding: usize,
    shortest_connect: Option<Duration>,
}

impl Gauges {
    /// It is `now`.
    pub(super) fn pass(&mut self, now: Timestamp) {
        if self.holding > 0 {
            self.back_pressure.held_back_for += now.since(self.now);
        }
        self.now = now;
    }

    /// The time that it was told last.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// A connection has sent, having held bytes back before, or not, and doing so after.
    pub(super) fn sent(&mut self, before: bool, after: bool) {
        self.back_pressure.held_back += u64::from(after);
        self.flushed(before, after);
    }

    /// As [`Gauges::sent`], where nothing new was to be sent.
    pub(super) fn flushed(&mut self, before: bool, after: bool) {
        self.holding = self.holding + usize::from(after) - usize::from(before);
    }

    /// A connection that began to connect then, if that is news, is connected now.
    pub(super) fn connected(&mut self, since: Option<Timestamp>, now: Timestamp) {
        if let Some(since) = since {
            let took = now.since(since);
            self.shortest_connect = Some(self.shortest_connect.map_or(took, |shortest| shortest.min(took)));
        }
    }

    pub(super) fn back_pressure(&self) -> BackPressure {
        self.back_pressure
    }

    pub(super) fn shortest_connect(&self) -> Option<Duration> {
        self.shortest_connect
    }
}

/// What the calling thread has used so far, less what it `polled`, having nothing to do.
pub(super) fn thread_usage(polled: Duration) -> ThreadUsage {
    ThreadUsage { cpu: thread_cpu_time().saturating_sub(polled), run_queue: run_queue_time() }
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
        let expected = BackPressure { held_back: 3, held_back_for: Duration::from_micros(25) };
        assert_eq!(gauges.back_pressure(), expected);
    }

    #[test]
    fn the_shortest_connect_is_kept() {
        let mut gauges = Gauges::default();
        gauges.connected(None, at(5));
        assert_eq!(gauges.shortest_connect(), None);
        gauges.connected(Some(at(5)), at(9));
        gauges.connected(Some(at(5)), at(8));
        gauges.connected(Some(at(5)), at(11));
        assert_eq!(gauges.shortest_connect(), Some(Duration::from_micros(3)));
    }

    #[test]
    fn a_thread_knows_what_it_has_used() {
        let before = thread_usage(Duration::ZERO);
        let mut sum = 0_u64;
        while thread_usage(Duration::ZERO).cpu == before.cpu {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(thread_usage(Duration::ZERO).run_queue >= before.run_queue);
    }
}
