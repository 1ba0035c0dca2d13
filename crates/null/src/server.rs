//! A null server that runs: where it listens, how it behaves, what it has heard. It serves from a thread of
//! its own and stops when dropped; then nothing is left of it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use connect::{Address, SocketFile, listen_unix};
use mio::{Poll, Waker};
use rustix::net::listen;
use tempfile::TempDir;

use crate::service::{self, Listener, Service, Trouble};
use crate::session::{Fault, Received, Rows};
use crate::stall::Stalls;

/// How many may wait at the door; the system allows no more than its own limit (net.core.somaxconn).
const WAITING_MAX: i32 = 1 << 16;
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
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    heard: Heard,
    trouble: Trouble,
    /// The Unix socket, removed with the server.
    _socket_file: Option<SocketFile>,
    /// The directory that was made for it, removed after it.
    _directory: Option<TempDir>,
}

impl NullServer {
    /// Listens there.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread; the socket of another server is in the directory.
    pub fn listen(place: &Place, options: NullOptions) -> io::Result<Self> {
        match place {
            Place::Unix(directory) => Self::listen_in(directory, options, None),
            Place::Tcp(address) => {
                let listener = std::net::TcpListener::bind(address)?;
                // Its queue is longer now than the standard library made it.
                listen(&listener, WAITING_MAX)?;
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                let address = Address::Tcp { host: address.ip().to_string(), address };
                let listener = Listener::Tcp(mio::net::TcpListener::from_std(listener));
                Self::start(listener, address, options, None, None)
            }
        }
    }

    fn listen_in(directory: &Path, options: NullOptions, made: Option<TempDir>) -> io::Result<Self> {
        let path = directory.join(format!(".s.PGSQL.{UNIX_PORT}"));
        let (listener, file) = listen_unix(&path, WAITING_MAX)?;
        let listener = Listener::Unix(mio::net::UnixListener::from_std(listener));
        Self::start(listener, Address::Unix(path), options, Some(file), made)
    }

    /// Listens on a Unix socket in a directory of its own.
    ///
    /// # Errors
    /// The system refuses a directory, a socket, a poll or a thread.
    pub fn on_unix_socket(options: NullOptions) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pgmeter-null-").tempdir()?;
        let path = directory.path().to_owned();
        Self::listen_in(&path, options, Some(directory))
    }

    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread.
    pub fn on_tcp(options: NullOptions) -> io::Result<Self> {
        Self::listen(&Place::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))), options)
    }

    fn start(
        listener: Listener,
        address: Address,
        options: NullOptions,
        socket_file: Option<SocketFile>,
        directory: Option<TempDir>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), service::WAKER)?;
        let heard = Heard::default();
        let log = options.log.then(|| Arc::clone(&heard));
        let trouble = Trouble::default();
        let service = Service::new(poll, listener, options, log, trouble.clone())?;
        let thread = thread::Builder::new().name("null-server".to_owned()).spawn(move || service.run())?;
        Ok(Self {
            address,
            waker,
            thread: Some(thread),
            heard,
            trouble,
            _socket_file: socket_file,
            _directory: directory,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The connection string with which clients reach it. It lets any user into any database.
    pub fn conninfo(&self) -> String {
        let (host, port) = match &self.address {
            Address::Unix(path) => (path.parent().unwrap_or(path).display().to_string(), UNIX_PORT),
            Address::Tcp { host, address } => (host.clone(), address.port()),
        };
        // As libpq reads values.
        let host = host.replace('\\', "\\\\").replace('\'', "\\'");
        format!("host='{host}' port={port} user=pgmeter dbname=pgmeter")
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
