//! A server that does nothing, over real sockets: it lets everybody in and answers every query at once, all
//! connections from one thread. It is there to test and to measure the real driver, and stops when dropped.

mod connection;
mod service;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use connect::Address;
use mio::net::{TcpListener, UnixListener};
use mio::{Poll, Waker};
use tempfile::TempDir;

use crate::session::{Fault, Received, Rows};
use service::{Listener, Service};

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
}

impl Default for NullOptions {
    fn default() -> Self {
        Self { rows: Rows::default(), read_max: 64 * 1024, faults: Vec::new(), log: false }
    }
}

/// What was heard: the number of the connection and the message, in order.
pub(crate) type Heard = Arc<Mutex<Vec<(usize, Received)>>>;

/// A running null server.
pub struct NullServer {
    address: Address,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    heard: Heard,
    /// Where the Unix socket lies; removed with the server.
    _directory: Option<TempDir>,
}

impl NullServer {
    /// Listens on a Unix socket in a directory of its own.
    ///
    /// # Errors
    /// The system refuses a directory, a socket, a poll or a thread.
    pub fn on_unix_socket(options: NullOptions) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pgmeter-null-").tempdir()?;
        let path: PathBuf = directory.path().join(".s.PGSQL.5432");
        let listener = Listener::Unix(UnixListener::bind(&path)?);
        Self::start(listener, Address::Unix(path), options, Some(directory))
    }

    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread.
    pub fn on_tcp(options: NullOptions) -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = listener.local_addr()?;
        let address = Address::Tcp { host: address.ip().to_string(), address };
        Self::start(Listener::Tcp(listener), address, options, None)
    }

    fn start(
        listener: Listener,
        address: Address,
        options: NullOptions,
        directory: Option<TempDir>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), service::WAKER)?;
        let heard = Heard::default();
        let log = options.log.then(|| Arc::clone(&heard));
        let service = Service::new(poll, listener, options, log)?;
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || service.run())?;
        Ok(Self { address, waker, thread: Some(thread), heard, _directory: directory })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
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
