//! Null servers of a test: each listens where no other does, and leaves nothing behind. What they do is in the crate
//! `null`.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Deref;

use ::null::{ListenAddress, NullServer as Server};
use tempfile::TempDir;

pub use ::null::{NullOptions, Stalls};

/// A running null server.
pub struct NullServer {
    server: Server,
    /// The directory that was made for it, removed after it.
    _directory: Option<TempDir>,
}

impl NullServer {
    /// Listens on a Unix socket in a directory of its own.
    ///
    /// # Errors
    /// The system refuses a directory, a socket, a poll or a thread.
    pub fn on_unix_socket(options: NullOptions) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("pgmeter-null-").tempdir()?;
        let server = Server::listen(&ListenAddress::Unix(directory.path().to_owned()), options)?;
        Ok(Self { server, _directory: Some(directory) })
    }

    /// Listens on a free port of the loopback interface.
    ///
    /// # Errors
    /// The system refuses a socket, a poll or a thread.
    pub fn on_tcp(options: NullOptions) -> io::Result<Self> {
        let address = ListenAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Ok(Self { server: Server::listen(&address, options)?, _directory: None })
    }
}

impl Deref for NullServer {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}
