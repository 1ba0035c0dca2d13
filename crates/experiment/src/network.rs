//! The network between the clients of a trial and its server, as an experiment defines it. Plain data; `lab::relays`
//! simulates it.

use std::fmt;
use std::time::Duration;

/// Network between clients and server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Type of connection.
    pub kind: NetworkKind,
    /// One-way delay.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Duration,
    /// Bandwidth in each direction for all connections together; `None`: unlimited.
    pub bandwidth_bits_per_s: Option<f64>,
    /// Whether actions of the load change the network, for which a relay is required.
    pub has_faults: bool,
}

impl Network {
    /// Whether a relay is required.
    pub fn needs_relay(&self) -> bool {
        !self.delay.is_zero()
            || !self.jitter.is_zero()
            || self.bandwidth_bits_per_s.is_some()
            || self.has_faults
    }
}

/// Types of connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkKind {
    /// Over a Unix socket.
    #[default]
    Socket,
    /// Over loopback TCP.
    Tcp,
    /// Over loopback TCP with TLS.
    Tls,
}

/// The network as named by levels: `socket`, `delay 10ms`.
impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.kind {
            NetworkKind::Socket => "Unix socket",
            NetworkKind::Tcp => "TCP",
            NetworkKind::Tls => "TLS",
        })?;
        if !self.delay.is_zero() {
            write!(formatter, ", {:?} each way", self.delay)?;
        }
        Ok(())
    }
}
