//! The whole engine in virtual time against the fake server, from a seed: counts, order of events, and misbehaving
//! servers. No socket, no thread, no real time.

mod aborts;
mod arrivals;
mod capturing;
mod closed_loop;
mod command_statistics;
mod conditionals;
mod copying;
mod determinism;
mod disconnects;
mod ending;
mod errors;
mod failures;
mod goals;
mod habits;
mod health;
mod loops;
mod onlooker;
mod open_loop;
mod pipelines;
mod protocols;
mod reconnect;
mod retries;
mod rubbish;
mod scripts;
mod shell;
mod short_sends;
mod skipping;
mod stalls;
mod start_up;
mod stopping;
mod support;
mod targets;
mod timings;
mod tokens;
mod tracer;
