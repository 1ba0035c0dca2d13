//! Behaviour of a null server: its rows, its faults and its silences. The caller chooses it; `server` takes it and
//! `service` follows it.

use std::sync::Arc;

use crate::service_time::ServiceTime;
use crate::session::{Fault, Request, Rows};
use crate::stall::Stalls;

/// Default number of bytes per read: more than pipelines that fit into a socket's buffer.
const READ_MAX: usize = 256 * 1024;

/// Behaviour of the null server. The default is a server without faults.
#[derive(Clone)]
pub struct NullOptions {
    /// Result of a `SELECT`.
    pub rows: Rows,
    /// Maximum number of bytes per read before other connections are served: a small number simulates a slow reader.
    pub read_max: usize,
    /// Faults of connections, which are numbered in the order of acceptance. Faults at a virtual time never occur.
    pub faults: Vec<Fault>,
    /// Called with the number of the connection and each message.
    pub on_request: Option<OnRequest>,
    /// Times without answers.
    pub stalls: Option<Stalls>,
    /// The time of statements; `None`: they are answered at once.
    pub service_time: Option<ServiceTime>,
}

impl Default for NullOptions {
    fn default() -> Self {
        Self {
            rows: Rows::default(),
            read_max: READ_MAX,
            faults: Vec::new(),
            on_request: None,
            stalls: None,
            service_time: None,
        }
    }
}

/// Called with the number of the connection, from 0, and each received message.
pub type OnRequest = Arc<dyn Fn(usize, &Request<'_>) + Send + Sync>;
