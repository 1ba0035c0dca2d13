//! The null server: it implements PostgreSQL's protocol, accepts every client and answers every query at once. A
//! benchmark of it measures the load generator.
//!
//! [`session`] processes one client's bytes without a socket and a clock. [`NullServer`] runs sessions over sockets,
//! all on one thread; [`NullProcess`] is a separate process with one.

mod connection;
mod options;
mod process;
mod server;
mod service;
mod service_time;
pub mod session;
mod stall;

pub use options::{NullOptions, OnRequest};
pub use process::NullProcess;
pub use server::{ListenAddress, NullServer};
pub use service_time::ServiceTime;
pub use stall::Stalls;
