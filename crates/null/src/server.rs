//! A null server that runs: where it listens, how it behaves. It serves from a thread of
//! its own and stops when dropped; then nothing is left of it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use connect::Address;
use mio::{Poll, Waker};
use sockets::{Endpoint, Listener};

use crate::service::{self, LastError, Service};
use crate::session::{Fault, Request, Rows};
use crate::stall::Stalls;

/// The port that names the Unix socket, as PostgreSQL does it.
const UNIX_PORT: u16 = 5432;

/// What is read of one connection at once if nothing else is said: more than pipelines that fit a socket.
const READ_MAX: usize = 256 * 1024;

/// Where a null server is to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// On a Unix socket in this directory, which exists.
    Unix(PathBuf),
    /// On this address of a network interface; port 0 is a free one.
    Tcp(SocketAddr),
}

impl ListenAddress {
    fn endpoint(&self) -> Endpoint {
        match self {
            Self::Unix(directory) => Endpoint::in_directory(directory, UNIX_PORT),
            Self::Tcp(address) => Endpoint::Tcp(*address),
        }
    }
}

/// How the null server behaves. The default is a server without faults.
#[derive(Clone)]
pub struct NullOptions {
    /// What a `SELECT` returns.
    pub rows: Rows,
    /// Most bytes taken from one connection before the others get their turn: a small number makes a server
    /// that reads slowly.
    pub read_max: usize,
    /// Faults of connections, numbered in the order in which they were accepted. Those at a virtual time never come.
    pub faults: Vec<Fault>,
    /// Called with the number of the connection and each message.
    pub on_request: Option<OnRequest>,
    /// Times in which it says nothing.
    pub stalls: Option<Stalls>,
}

impl Default for NullOptions {
    fn default() -> Self {
        Self { rows: Rows::default(), read_max: READ_MAX, faults: Vec::new(), on_request: None, stalls: None }
    }
}

/// What a server calls with the number of the connection, from 0, and each message that it reads.
pub type OnRequest = Arc<dyn Fn(usize, &Request<'_>) + Send + Sync>;

/// A running null server.
pub struct NullServer {
    address: Address,
    conninfo: String,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    error: LastError,
}

impl NullServer {
    /// Listens there.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread; the socket of another server is in the directory.
    pub fn listen(place: &ListenAddress, options: NullOptions) -> io::Result<Self> {
        let listener = Listener::bind(&place.endpoint())?;
        let conninfo = format!("{} user=pgmeter dbname=pgmeter", listener.endpoint().conninfo());
        let address = match listener.endpoint() {
            Endpoint::Unix(path) => Address::Unix(path.clone()),
            Endpoint::Tcp(address) => Address::Tcp { host: address.ip().to_string(), address: *address },
        };
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), service::WAKER)?;
        let error = LastError::default();
        let service = Service::new(poll, listener, options, error.clone())?;
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || service.run())?;
        Ok(Self { address, conninfo, waker, thread: Some(thread), error })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The connection string with which clients reach it. It lets any user into any database.
    pub fn conninfo(&self) -> String {
        self.conninfo.clone()
    }

    /// What went wrong since this was last asked, in a sentence; most of the time nothing.
    pub fn take_error(&self) -> Option<String> {
        self.error.take()
    }

    /// Whether it still serves.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // A waker that fails leaves the thread behind rather than the test waiting for it.
        if self.waker.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // Its panic was printed when it happened, and the test that met it fails by itself.
            let _ = thread.join();
        }
    }
}
