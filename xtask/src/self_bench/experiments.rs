//! The list of experiments. Adding one is adding a row here and the function that it names, in the module
//! of its idea.

use super::lab::Lab;
use super::line::Line;
use super::{client_cpu, connecting, growth, loading, memory, pace, stall, throughput};

/// A measurement that gives one or more lines of the table.
pub(super) struct Experiment {
    /// For `--only`.
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Measures; an error is a sentence about what is missing or failed, and the others go on.
    pub(super) run: fn(&mut Lab) -> Result<Vec<Line>, String>,
}

/// In the order of the table.
pub(super) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "unix",
        about: "client CPU per transaction on a Unix socket, 16 to 900 clients, beside pgbench and with epoll",
        run: client_cpu::unix,
    },
    Experiment {
        name: "growth",
        about: "client CPU per transaction with 64 to 5,000 clients, beside bare sockets",
        run: growth::growth,
    },
    Experiment { name: "tcp", about: "client CPU per transaction over TCP", run: client_cpu::tcp },
    Experiment { name: "tls", about: "client CPU per transaction with TLS", run: client_cpu::tls },
    Experiment {
        name: "shared",
        about: "throughput of a real server beside the client",
        run: throughput::shared,
    },
    Experiment { name: "meta", about: "scripts of meta commands only", run: throughput::meta },
    Experiment {
        name: "connecting",
        about: "900 connections, beside pgbench and bare sockets",
        run: connecting::connecting,
    },
    Experiment { name: "init", about: "making and filling the tables", run: loading::loading },
    Experiment {
        name: "pace",
        about: "an open loop's punctuality, beside a thread that only waits",
        run: pace::punctuality,
    },
    Experiment { name: "stall", about: "an open loop while the server stalls", run: stall::stall },
    Experiment { name: "memory", about: "10,000 clients", run: memory::memory },
];
