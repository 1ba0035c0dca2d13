//! The tests of real sockets over epoll.
//! The tests are in `sockets` and the same for each event loop.

#![allow(clippy::duplicate_mod, reason = "the same tests for each event loop")]

use pgmeter_engine::EventLoopChoice;

#[path = "sockets/over_tls.rs"]
mod over_tls;
#[path = "sockets/pressure.rs"]
mod pressure;
#[path = "sockets/real_sockets.rs"]
mod real_sockets;

/// The event loop.
const EVENT_LOOP: EventLoopChoice = EventLoopChoice::Epoll;
