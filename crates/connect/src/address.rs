//! Resolved address of a server, to which a socket connects. A target has several; sessions and the engine's clients
//! use one. Display is the form for messages.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// The path of a Unix socket, `.s.PGSQL.<port>` included.
    Unix(PathBuf),
    /// A TCP address, with the host's name as the user gave it.
    Tcp {
        /// For messages and certificates.
        host: String,
        /// The socket address.
        address: SocketAddr,
    },
}

impl Address {
    /// The form of libpq's messages.
    pub fn as_libpq(&self) -> String {
        match self {
            Address::Unix(path) => format!("server on socket \"{}\"", path.display()),
            Address::Tcp { host, address } => format!("server at {}", host_and_port(host, *address)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(formatter, "socket \"{}\"", path.display()),
            Address::Tcp { host, address } => write!(formatter, "host {}", host_and_port(host, *address)),
        }
    }
}

/// `"db" (10.0.0.1), port 5432`; without the address if it equals the name.
fn host_and_port(host: &str, address: SocketAddr) -> String {
    let ip = address.ip().to_string();
    let ip = if host == ip { String::new() } else { format!(" ({ip})") };
    format!("\"{host}\"{ip}, port {}", address.port())
}
