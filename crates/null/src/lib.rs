//! The null server: it speaks PostgreSQL's protocol, lets everybody in and answers every query at once. What a
//! load generator measures against it is the generator.
//!
//! [`session`] is what a server does with one client's bytes, without a socket and without a clock.
//! [`NullServer`] runs sessions over sockets, all of them on one thread.

mod connection;
mod server;
mod service;
pub mod session;
mod stall;

pub use server::{ListenAddress, NullOptions, NullServer, OnRequest};
pub use stall::Stalls;
