//! Where a server listens, after names have been looked up: what a socket connects to. A target has several;
//! sessions and the engine's clients take one. Its Display is how every message names the place.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A place to connect to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Address {
    /// The path of a Unix socket, `.s.PGSQL.<port>` included.
    Unix(PathBuf),
    /// A TCP address, with the host's name as the user gave it.
    Tcp {
        /// For messages (and, one day, certificates).
        host: String,
        /// Where to connect.
        address: SocketAddr,
    },
}

impl Address {
    /// The server there, as libpq's messages name it.
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

/// `"db" (10.0.0.1), port 5432`; without the address if that is the name.
fn host_and_port(host: &str, address: SocketAddr) -> String {
    let ip = address.ip().to_string();
    let ip = if host == ip { String::new() } else { format!(" ({ip})") };
    format!("\"{host}\"{ip}, port {}", address.port())
}
