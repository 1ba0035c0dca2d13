//! The whole engine in virtual time, against the fake server, from a seed: what it counts, when it does what,
//! and what becomes of a run when the server misbehaves. No socket, no thread, no real second passes.

mod arrivals;
mod closed_loop;
mod determinism;
mod failures;
mod onlooker;
mod open_loop;
mod protocols;
mod reconnect;
mod rubbish;
mod scripts;
mod skipping;
mod start_up;
mod stopping;
mod support;
