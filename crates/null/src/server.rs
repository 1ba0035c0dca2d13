//! A null server that runs: where it listens, how it behaves, what it has heard. It serves from a thread of
//! its own and stops when dropped; then nothing is left of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use connect::Address;
use mio::{Poll, Waker};
use sockets::{Endpoint, Listener};
use tempfile::TempDir;

use crate::service::{self, Service, Trouble};
use crate::session::{Fault, Received, Rows};
use crate::stall::Stalls;

/// The port that names the Unix socket, as PostgreSQL does it.
const UNIX_PORT: u16 = 5432;

/// What is read of one connection at once if nothing else is said: more than pipelines that fit a socket.
const READ_MAX: usize = 256 * 1024;

/// Where a null server is to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a Unix socket in this directory, which exists.
    Unix(PathBuf),
    /// On this address of a network interface; port 0 is a free one.
    Tcp(SocketAddr),
}

impl Place {
    fn endpoint(&self) -> Endpoint {
        match self {
            Self::Unix(directory) => Endpoint::in_directory(directory, UNIX_PORT),
            Self::Tcp(address) => Endpoint::Tcp(*address),
        }
    }
}

/// How the null server behaves. The default is a good server that keeps no log.
#[derive(Clone, Debug)]
pub struct NullOptions {
    /// What a `SELECT` returns.
    pub rows: Rows,
    /// Most bytes taken from one connection before the others get their turn: a small number makes a server
    /// that reads slowly.
    pub read_max: usize,
    /// Troubles of connections, numbered in the order in which they were accepted. Moments of virtual time
    /// never come.
    pub faults: Vec<Fault>,
    /// Whether to remember every message.
    pub log: bool,
    /// Times in which it says nothing.
    pub stalls: Option<Stalls>,
}

impl Default for NullOptions {
    fn default() -> Self {
        Self { rows: Rows::default(), read_max: READ_MAX, faults: Vec::new(), log: false, stalls: None }
    }
}

/// What was heard: the number of the connection and the message, in order.
pub(crate) type Heard = Arc<Mutex<Vec<(usize, Received)>>>;

/// A running null server.
pub struct NullServer {
    address: Address,
    conninfo: String,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    heard: Heard,
    trouble: Trouble,
    /// The directory that was made for it, removed after it.
    _directory: Option<TempDir>,
}

impl NullServer {
    /// Listens there.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread; the socket of another server is in the directory.
    pub fn listen(place: &Place, options: NullOptions) -> io::Result<Self> {
        Self::start(&place.endpoint(), options, None)
    }

    /// Listens on a Unix socket in a directory of its own.
    ///
    /// # Errors
    /// The system refuses a directory, a socket, a poll or a thread.
    pub fn on_unix_socket(options: NullOptions) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pgmeter-null-").tempdir()?;
        let place = Place::Unix(directory.path().to_owned());
        Self::start(&place.endpoint(), options, Some(directory))
    }

    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread.
    pub fn on_tcp(options: NullOptions) -> io::Result<Self> {
        Self::listen(&Place::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))), options)
    }

    fn start(endpoint: &Endpoint, options: NullOptions, directory: Option<TempDir>) -> io::Result<Self> {
        let listener = Listener::bind(endpoint)?;
        let conninfo = format!("{} user=pgmeter dbname=pgmeter", listener.endpoint().conninfo());
        let address = match listener.endpoint() {
            Endpoint::Unix(path) => Address::Unix(path.clone()),
            Endpoint::Tcp(address) => Address::Tcp { host: address.ip().to_string(), address: *address },
        };
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), service::WAKER)?;
        let heard = Heard::default();
        let log = options.log.then(|| Arc::clone(&heard));
        let trouble = Trouble::default();
        let service = Service::new(poll, listener, options, log, trouble.clone())?;
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || service.run())?;
        Ok(Self { address, conninfo, waker, thread: Some(thread), heard, trouble, _directory: directory })
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
    pub fn take_trouble(&self) -> Option<String> {
        self.trouble.take()
    }

    /// Whether it still serves.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// What was heard so far, if the options asked for a log: the number of the connection and the message.
    pub fn heard(&self) -> Vec<(usize, Received)> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
