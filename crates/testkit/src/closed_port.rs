//! A port where nobody listens as long as a test needs it.
//! A port that was free a moment ago may be the server of another test by now.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// A port of the loopback interface that refuses connections. Its socket is bound and does not listen.
pub struct ClosedPort {
    number: u16,
    _socket: OwnedFd,
}

impl ClosedPort {
    /// Takes a free port.
    ///
    /// # Panics
    /// No port is free.
    #[must_use]
    pub fn take() -> ClosedPort {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = getsockname(&socket).ok().and_then(|address| SocketAddr::try_from(address).ok());
        let number = address.expect("the address of the socket").port();
        ClosedPort { number, _socket: socket }
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }
}
