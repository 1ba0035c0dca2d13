//! The null server: it implements PostgreSQL's protocol, accepts every client and answers every query at once. A
//! benchmark of it measures the load generator.
//!
//! [`session`] processes one client's bytes without a socket and a clock. [`NullServer`] runs sessions over sockets,
//! all on one thread.

mod connection;
mod server;
mod service;
pub mod session;
mod stall;

pub use server::{ListenAddress, NullOptions, NullServer, OnRequest};
pub use stall::Stalls;
