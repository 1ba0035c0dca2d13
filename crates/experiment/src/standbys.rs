//! The standbys of an experiment's server, as its file defines them: names, modes, networks and cascades.
//! `keys/standbys.rs` reads them, `compatibility` checks them, `lab::standby_set` makes them.

use std::fmt;
use std::time::Duration;

use server::SynchronousMethod;

use crate::network::{Network, NetworkKind};

/// The target that means all standbys, one of which each connection selects.
pub const ALL_STANDBYS: &str = "standbys";

/// A standby of an embedded server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandbySpec {
    /// Its name, as in `synchronous_standby_names`; also the name of the target for scripts.
    pub name: String,
    /// Whether commits wait for it.
    pub mode: StandbyMode,
    /// The network between it and its upstream server; `None`: that of all standbys.
    pub network: Option<StandbyNetwork>,
    /// The standby that it receives WAL from; `None`: the primary.
    pub upstream: Option<String>,
    /// Settings that override those of the primary, by name.
    pub settings: Vec<(String, String)>,
}

/// Whether commits wait for a standby.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StandbyMode {
    /// Never.
    #[default]
    Asynchronous,
    /// As the setting `synchronous_commit` says.
    Synchronous,
}

/// The network between a standby and its upstream server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandbyNetwork {
    /// One-way delay.
    pub delay: Duration,
    /// Variation of the delay.
    pub jitter: Duration,
    /// Bandwidth in each direction; `None`: unlimited.
    pub bandwidth_bits_per_s: Option<u64>,
}

/// Number of synchronous standbys that a commit waits for, and how they are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Synchronous {
    /// How they are chosen.
    pub method: SynchronousMethod,
    /// Their number.
    pub number: usize,
}

impl StandbyNetwork {
    /// As a network between clients and a server.
    pub fn network(&self) -> Network {
        let bandwidth_bits_per_s = self.bandwidth_bits_per_s.map(|bits| bits as f64);
        let kind = NetworkKind::Tcp;
        Network { kind, delay: self.delay, jitter: self.jitter, bandwidth_bits_per_s, has_faults: false }
    }
}

impl fmt::Display for StandbyNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = self.network();
        if !network.needs_relay() {
            return formatter.write_str("beside its upstream server");
        }
        let mut words = vec![format!("{:?} each way", self.delay)];
        words.extend((!self.jitter.is_zero()).then(|| format!("± {:?}", self.jitter)));
        words.extend(self.bandwidth_bits_per_s.map(|bits| format!("{} kbit/s", bits / 1000)));
        formatter.write_str(&words.join(", "))
    }
}
