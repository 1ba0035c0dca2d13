//! TCP and Unix sockets with a common interface: listening, accepted and connecting ones. All are non-blocking: a call
//! that would block returns `None`; interrupted calls are repeated.

use std::io::{self, ErrorKind, IoSlice};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use rustix::net::{SendFlags, sockopt};

use crate::endpoint::Endpoint;
use crate::unix_listener::{SocketFile, listen_unix};

/// Length of the accept queue; the system limits it further (net.core.somaxconn).
const WAITING_MAX: i32 = 1 << 16;

/// A listening socket. Dropping it removes the file of a Unix socket.
#[derive(Debug)]
pub struct Listener {
    socket: Family,
    endpoint: Endpoint,
    _file: Option<SocketFile>,
}

#[derive(Debug)]
enum Family {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens on an address, non-blocking.
    ///
    /// # Errors
    /// As of bind(2); `AddrInUse` if a server listens there, or if the file is not a socket.
    pub fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                // Extends the accept queue, which the standard library makes shorter.
                rustix::net::listen(&listener, WAITING_MAX)?;
                listener.set_nonblocking(true)?;
                let endpoint = Endpoint::Tcp(listener.local_addr()?);
                Ok(Self { socket: Family::Tcp(listener), endpoint, _file: None })
            }
            Endpoint::Unix(path) => {
                let (listener, file) = listen_unix(path, WAITING_MAX)?;
                Ok(Self { socket: Family::Unix(listener), endpoint: endpoint.clone(), _file: Some(file) })
            }
        }
    }

    /// Its address, with the port that the system assigned.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Registers it with a poll, edge-triggered: it is readable when clients wait.
    ///
    /// # Errors
    /// As of epoll_ctl(2).
    pub fn register(&self, registry: &Registry, token: Token) -> io::Result<()> {
        let fd = match &self.socket {
            Family::Tcp(listener) => listener.as_raw_fd(),
            Family::Unix(listener) => listener.as_raw_fd(),
        };
        registry.register(&mut SourceFd(&fd), token, Interest::READABLE)
    }

    /// Accepts the next client; skips clients that have disconnected.
    ///
    /// # Errors
    /// `WouldBlock` if none waits; as of accept(2).
    pub fn accept(&self) -> io::Result<Socket> {
        loop {
            let accepted = match &self.socket {
                Family::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    Ok(Socket(stream.into()))
                }),
                Family::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_nonblocking(true)?;
                    Ok(Socket(stream.into()))
                }),
            };
            match accepted {
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                accepted => return accepted,
            }
        }
    }
}

/// A connection's socket.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Starts connecting; the socket is writable at its end.
    ///
    /// # Errors
    /// As of connect(2); `WouldBlock` if the accept queue of a Unix socket is full.
    pub fn connect(to: &Endpoint) -> io::Result<Self> {
        match to {
            Endpoint::Tcp(address) => {
                let socket = Self::connect_tcp(*address)?;
                sockopt::set_tcp_nodelay(&socket.0, true)?;
                Ok(socket)
            }
            Endpoint::Unix(path) => Self::connect_unix(path),
        }
    }

    /// Starts connecting over TCP, with the system's settings.
    ///
    /// # Errors
    /// As of connect(2).
    pub fn connect_tcp(to: SocketAddr) -> io::Result<Self> {
        Ok(Self(mio::net::TcpStream::connect(to)?.into()))
    }

    /// Connects to a Unix socket immediately.
    ///
    /// # Errors
    /// As of connect(2); `WouldBlock` if its accept queue is full.
    pub fn connect_unix(to: &Path) -> io::Result<Self> {
        Ok(Self(mio::net::UnixStream::connect(to)?.into()))
    }

    /// Whether it is connected; an error if connecting has failed.
    pub fn is_connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.0)??;
        match rustix::net::getpeername(&self.0) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN | Errno::INPROGRESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Registers it with a poll, edge-triggered.
    pub fn register(&self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.0.as_fd().as_raw_fd()), token, interest)
    }

    /// Changes the interest of the poll. A condition that is already true causes an event immediately.
    pub fn reregister(&self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        registry.reregister(&mut SourceFd(&self.0.as_fd().as_raw_fd()), token, interest)
    }

    /// Returns the number of bytes read; 0 at the end of the stream.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        retry_interrupted(|| rustix::io::read(&self.0, &mut *buffer))
    }

    /// Returns the number of bytes written.
    pub fn write_vectored(&self, bytes: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        retry_interrupted(|| rustix::io::writev(&self.0, bytes))
    }

    /// Returns the number of bytes written.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retry_interrupted(|| rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL))
    }

    /// Closes the sending direction; the peer reads the end of the stream, and may still write.
    pub fn close_writing(&self) {
        // This fails only if the connection is already closed.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Write);
    }

    /// Closes both directions; data that has arrived can still be read.
    pub fn shut_down(&self) {
        // The peer may have closed it already.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }

    /// Closes the connection with a reset, if the socket's family supports it.
    pub fn reset(self) {
        // A Unix socket has no reset: its peer sees the end of the stream, or a broken pipe.
        let _ = sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Repeats an interrupted call; "would block" becomes `None`.
fn retry_interrupted(mut call: impl FnMut() -> Result<usize, Errno>) -> io::Result<Option<usize>> {
    loop {
        return match call() {
            Ok(count) => Ok(Some(count)),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
}
