//! A network in user space: the relay listens where a server would, passes the bytes of each connection on to
//! the server and back, and makes them take as long as a network of a given delay, jitter and bandwidth would.
//! It reads nothing of the protocol, so TLS passes like everything else.
//!
//! In reading order: [`Config`] says from where to where and through what [`Network`]; the pure part decides when a
//! piece of bytes is due (`delays`, `link`, `delay_line`); the rim moves the bytes (`connection`, `service`, over the
//! crate `sockets`); [`Relay`] is the running thing, [`Statistics`] what it says of itself.

mod config;
mod error;
mod statistics;
mod traffic;

mod delay_line;
mod delays;
mod link;

mod connection;
mod error_reports;
mod relay;
mod service;

pub use config::{Config, JitterShape, Network};
pub use error::RelayError;
pub use relay::Relay;
pub use sockets::Endpoint as Address;
pub use statistics::Statistics;
pub use traffic::Traffic;
