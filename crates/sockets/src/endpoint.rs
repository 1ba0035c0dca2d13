//! Address of a listening socket, TCP or Unix. `connect` resolves host names before. Used by pgmeter's servers, and by
//! the relay for its target.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Path of a Unix-domain socket, including its file name (`.s.PGSQL.<port>`).
    Unix(PathBuf),
    /// A TCP address; when listening, port 0 selects a free port.
    Tcp(SocketAddr),
}

impl Endpoint {
    /// The Unix-domain socket of a server with this port in this directory.
    pub fn in_directory(directory: &Path, port: u16) -> Self {
        Self::Unix(directory.join(format!(".s.PGSQL.{port}")))
    }

    /// Its part of a connection string: `host='…' port=…`.
    pub fn conninfo(&self) -> String {
        let (host, port) = match self {
            Self::Unix(path) => {
                let directory = path.parent().unwrap_or(path).display().to_string();
                let port = path.extension().map(|port| port.to_string_lossy().into_owned());
                (directory, port.unwrap_or_default())
            }
            Self::Tcp(address) => (address.ip().to_string(), address.port().to_string()),
        };
        // Quoted as libpq requires.
        let host = host.replace('\\', "\\\\").replace('\'', "\\'");
        format!("host='{host}' port={port}")
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(formatter, "socket \"{}\"", path.display()),
            Self::Tcp(address) => address.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_leads_to_either_kind_of_address() {
        let unix = Endpoint::in_directory(Path::new("/tmp/it's"), 6000);
        assert_eq!(unix.conninfo(), "host='/tmp/it\\'s' port=6000");
        let tcp = Endpoint::Tcp(SocketAddr::from(([127, 0, 0, 1], 77)));
        assert_eq!(tcp.conninfo(), "host='127.0.0.1' port=77");
    }
}
