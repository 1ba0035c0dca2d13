//! Sockets of both families behind one face: one that listens, those that it accepts, those that go to a server.
//! None of them blocks. A call that would block gives `None`; one that a signal interrupted is repeated.

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

/// How many clients may wait to be accepted; the system allows no more than its own limit (net.core.somaxconn).
const WAITING_MAX: i32 = 1 << 16;

/// A socket that accepts clients. The name of a Unix socket is removed with it.
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
    /// Listens at an address, without blocking.
    ///
    /// # Errors
    /// As of bind(2); `AddrInUse` when a server listens there, or when the file is not a socket.
    pub fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                // Its queue is longer now than the standard library made it.
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

    /// Where it listens; a port that was left to the system is known here.
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

    /// Accepts the next client that has not gone again.
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

/// A socket of a connection.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Begins to connect; it is writable when that is over.
    ///
    /// # Errors
    /// As of connect(2); `WouldBlock` when the queue of a Unix socket is full.
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

    /// The same over TCP, with the system's settings.
    ///
    /// # Errors
    /// As of connect(2).
    pub fn connect_tcp(to: SocketAddr) -> io::Result<Self> {
        Ok(Self(mio::net::TcpStream::connect(to)?.into()))
    }

    /// The same over a Unix socket, which is connected then.
    ///
    /// # Errors
    /// As of connect(2); `WouldBlock` when its queue is full.
    pub fn connect_unix(to: &Path) -> io::Result<Self> {
        Ok(Self(mio::net::UnixStream::connect(to)?.into()))
    }

    /// Whether it is connected by now; an error if it will never be.
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

    /// Changes what the poll looks for. What is so already gives an edge at once.
    pub fn reregister(&self, registry: &Registry, token: Token, interest: Interest) -> io::Result<()> {
        registry.reregister(&mut SourceFd(&self.0.as_fd().as_raw_fd()), token, interest)
    }

    /// How many bytes came; 0 at the end of the stream.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        retry_interrupted(|| rustix::io::read(&self.0, &mut *buffer))
    }

    /// How many bytes it took.
    pub fn write_vectored(&self, bytes: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        retry_interrupted(|| rustix::io::writev(&self.0, bytes))
    }

    /// How many bytes it took.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retry_interrupted(|| rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL))
    }

    /// The other side reads the end of the stream, and may still write.
    pub fn close_writing(&self) {
        // Where that fails, the connection is gone already.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Write);
    }

    /// Ends it in both directions; what has arrived can still be read.
    pub fn shut_down(&self) {
        // Where the peer has done so already there is nothing to do.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }

    /// Closes it in such a way that the other side notices that something went wrong, where the family has a way.
    pub fn reset(self) {
        // A Unix socket has no reset of its own: its peer sees an end, or a broken pipe.
        let _ = sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Repeats what a signal interrupted; "would block" is no error but `None`.
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
