//! Statistics of a relay: forwarded data, lateness, and CPU cost.
//! The service counts; callers get a copy.

use std::time::Duration;

use sockets::{run_queue_time, thread_cpu_time};
use stats::Distribution;

/// Statistics since the start, or since the previous request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Accepted clients.
    pub connections: u64,
    /// Clients that were refused: the server was unreachable, or no file descriptor was left.
    pub refused: u64,
    /// Connections reset by a fault of the network.
    pub cut: u64,
    /// Open connections.
    pub open: u64,
    /// Bytes forwarded to the server.
    pub bytes_to_server: u64,
    /// Bytes forwarded to clients.
    pub bytes_to_client: u64,
    /// Lateness of forwarded pieces. A piece is the data of one read or, over a limited link, a packet. Pieces that
    /// waited for their receiver are not counted.
    pub late: Distribution,
    /// CPU time of the relay's thread, user and system.
    pub cpu_time: Duration,
    /// The part of `cpu_time` spent on polling; other threads could have used it.
    pub polled: Duration,
    /// Time for which the relay's thread waited for a core, if the system provides it. Data that arrived meanwhile was
    /// read late, which `late` does not include.
    pub waited: Duration,
}

impl Statistics {
    /// Adds later statistics.
    pub fn add(&mut self, later: &Statistics) {
        let Statistics {
            connections,
            refused,
            cut,
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
        self.cut += cut;
        self.open = *open;
        self.bytes_to_server += bytes_to_server;
        self.bytes_to_client += bytes_to_client;
        self.late.merge(late);
        self.cpu_time += *cpu_time;
        self.polled += *polled;
        self.waited += *waited;
    }

    /// CPU time per piece, without polling.
    pub fn cpu_per_piece(&self) -> Option<Duration> {
        let cpu_ns = self.cpu_time.saturating_sub(self.polled).as_nanos();
        let ns = cpu_ns.checked_div(u128::from(self.late.count()))?;
        Some(Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX)))
    }

    /// Quantile of the lateness in microseconds: 0.5 is the median, 1.0 the maximum.
    pub fn late_us(&self, share: f64) -> Option<f64> {
        self.late.quantile_ns(share).map(|ns| ns as f64 / 1e3)
    }

    /// The statistics as lines of text.
    pub fn summary(&self) -> String {
        let Statistics { connections, refused, cut, bytes_to_server, bytes_to_client, .. } = self;
        let cut = if *cut > 0 { format!(", {cut} reset by a fault") } else { String::new() };
        let mut text = format!(
            "connections  {connections}, {refused} of them rejected (standard error shows the reason){cut}\n\
             bytes        {bytes_to_server} to the server, {bytes_to_client} to clients, in {} pieces\n",
            self.late.count()
        );
        let late = [0.5, 0.99, 1.0].map(|share| self.late_us(share));
        if let ([Some(p50), Some(p99), Some(max)], Some(cpu)) = (late, self.cpu_per_piece()) {
            text.push_str(&format!(
                "late by      p50 {p50:.0} µs, p99 {p99:.0} µs, max {max:.0} µs\n\
                 CPU          {:.1} µs per piece, {:.2} s in all, {:.2} s of it polling; {:.2} s waiting for a \
                 core, which delayed packets\n",
                cpu.as_nanos() as f64 / 1e3,
                self.cpu_time.as_secs_f64(),
                self.polled.as_secs_f64(),
                self.waited.as_secs_f64()
            ));
        }
        text
    }
}

/// Time of a thread since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ThreadTime {
    /// User and system CPU time.
    pub(crate) cpu: Duration,
    /// Time waiting for a core; zero if the system does not provide it.
    pub(crate) waited: Duration,
}

impl ThreadTime {
    /// Time of the calling thread.
    pub(crate) fn now() -> Self {
        Self { cpu: thread_cpu_time(), waited: run_queue_time().unwrap_or_default() }
    }

    /// Difference from an earlier moment.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { cpu: self.cpu.saturating_sub(earlier.cpu), waited: self.waited.saturating_sub(earlier.waited) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_an_unused_relay_has_no_figures_that_do_not_exist() {
        let text = Statistics::default().summary();
        assert!(text.contains("connections  0") && !text.contains("late"), "{text}");
    }
}
