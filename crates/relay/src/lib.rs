//! A network in user space: the relay listens in place of a server, and forwards the data of each connection with the
//! delay, jitter and bandwidth of a given network. It does not parse the protocol, so TLS works too.
//!
//! [`Config`] has addresses and [`Network`]; `delays`, `link` and `delay_line` compute when data is due; `connection`
//! and `service` transfer it, with the crate `sockets`; [`Relay`] is a running relay, [`Statistics`] its statistics,
//! [`Fault`] a fault that begins and ends while it runs, and [`Order`] what a line of text asks of it.

mod config;
mod error;
mod own_directory;
mod statistics;
mod traffic;

mod delay_line;
mod delays;
mod faults;
mod link;

mod connection;
mod error_reports;
mod order;
mod relay;
mod service;

pub use config::{Config, JitterShape, Network};
pub use error::RelayError;
pub use faults::{Direction, Fault};
pub use order::Order;
pub use own_directory::OwnDirectory;
pub use relay::Relay;
pub use sockets::Endpoint as Address;
pub use statistics::Statistics;
pub use traffic::Traffic;
