//! A running null server and its address. It serves from a separate thread and stops on drop, which removes
//! its socket.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use connect::Address;
use mio::{Poll, Waker};
use sockets::{Endpoint, Listener};

use crate::options::NullOptions;
use crate::service::{self, LastError, Service};

/// The port in the name of the Unix socket, as in PostgreSQL.
const UNIX_PORT: u16 = 5432;

/// Address of a null server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A Unix socket in this existing directory.
    Unix(PathBuf),
    /// An address of a network interface; port 0 selects a free port.
    Tcp(SocketAddr),
}

impl ListenAddress {
    /// Parses a directory if it contains a slash, otherwise host and port. A path is made absolute, because a connection
    /// string requires it.
    ///
    /// # Errors
    /// The host is unknown.
    pub fn find(typed: &str) -> io::Result<Self> {
        if typed.contains('/') {
            return std::path::absolute(typed).map(Self::Unix);
        }
        let address = typed.to_socket_addrs()?.next();
        address.map(Self::Tcp).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no address"))
    }

    fn endpoint(&self) -> Endpoint {
        match self {
            Self::Unix(directory) => Endpoint::in_directory(directory, UNIX_PORT),
            Self::Tcp(address) => Endpoint::Tcp(*address),
        }
    }
}

/// A running null server.
pub struct NullServer {
    address: Address,
    conninfo: String,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    error: LastError,
}

impl NullServer {
    /// Starts listening.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread; the directory has the socket of another server.
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

    /// Its address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Connection string for clients. Any user and database is accepted.
    pub fn conninfo(&self) -> String {
        self.conninfo.clone()
    }

    /// The last error since the previous call, usually `None`.
    pub fn take_error(&self) -> Option<String> {
        self.error.take()
    }

    /// Whether its thread is running.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // If the waker fails, the thread is not joined, so that a test does not hang.
        if self.waker.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // Its panic has been printed, and the affected test fails itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_makes_a_path() {
        assert!(matches!(ListenAddress::find("/tmp"), Ok(ListenAddress::Unix(_))));
        assert!(matches!(ListenAddress::find("./a b"), Ok(ListenAddress::Unix(_))));
        assert!(matches!(ListenAddress::find("127.0.0.1:0"), Ok(ListenAddress::Tcp(_))));
        assert!(ListenAddress::find("127.0.0.1").is_err());
    }
}
