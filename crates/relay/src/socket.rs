//! Sockets of both families behind one face: one that listens, those that it lets in, those that go to the server.
//! None of them blocks. A call that would block gives `None`; one that a signal interrupted is repeated.

use std::io::{self, IoSlice};
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use connect::{SocketFile, listen_unix};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::config::Address;

/// How many may wait at the door; the system allows no more than its own limit (net.core.somaxconn).
const WAITING_MAX: i32 = 1 << 16;

/// A socket that lets clients in.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens there; says where that is, and what is to be removed at the end.
    pub(crate) fn bind(address: &Address) -> io::Result<(Self, Address, Option<SocketFile>)> {
        match address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                // Its queue is longer now than the standard library made it.
                rustix::net::listen(&listener, WAITING_MAX)?;
                listener.set_nonblocking(true)?;
                let address = Address::Tcp(listener.local_addr()?);
                Ok((Self::Tcp(listener), address, None))
            }
            Address::Unix(path) => {
                let (listener, file) = listen_unix(path, WAITING_MAX)?;
                Ok((Self::Unix(listener), address.clone(), Some(file)))
            }
        }
    }

    /// Tells the poll of those at the door.
    pub(crate) fn watch(&self, registry: &Registry, token: Token) -> io::Result<()> {
        let fd = match self {
            Self::Tcp(listener) => listener.as_raw_fd(),
            Self::Unix(listener) => listener.as_raw_fd(),
        };
        registry.register(&mut SourceFd(&fd), token, Interest::READABLE)
    }

    /// Lets the next one in.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                Ok(Socket(stream.into()))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Socket(stream.into()))
            }
        }
    }
}

/// A socket of a connection.
pub(crate) struct Socket(OwnedFd);

impl Socket {
    /// Begins to connect; it is writable when that is over.
    pub(crate) fn dial(to: &Address) -> io::Result<Self> {
        match to {
            Address::Tcp(address) => {
                let stream = mio::net::TcpStream::connect(*address)?;
                stream.set_nodelay(true)?;
                Ok(Self(stream.into()))
            }
            Address::Unix(path) => Ok(Self(mio::net::UnixStream::connect(path)?.into())),
        }
    }

    /// Whether it is connected by now; an error if it will never be.
    pub(crate) fn is_connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.0)??;
        match rustix::net::getpeername(&self.0) {
            Ok(_) => Ok(true),
            Err(Errno::NOTCONN | Errno::INPROGRESS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the poll of news, once each.
    pub(crate) fn watch(&self, registry: &Registry, token: Token, news: Interest) -> io::Result<()> {
        registry.register(&mut SourceFd(&self.0.as_fd().as_raw_fd()), token, news)
    }

    /// Tells it of other news from now on; what is so already is news too.
    pub(crate) fn watch_anew(&self, registry: &Registry, token: Token, news: Interest) -> io::Result<()> {
        registry.reregister(&mut SourceFd(&self.0.as_fd().as_raw_fd()), token, news)
    }

    /// How many bytes came; 0 at the end of the stream.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        without_blocking(|| rustix::io::read(&self.0, &mut *buffer))
    }

    /// How many bytes it took.
    pub(crate) fn write(&self, bytes: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        without_blocking(|| rustix::io::writev(&self.0, bytes))
    }

    /// The other side reads the end of the stream, and may still write.
    pub(crate) fn close_writing(&self) {
        // Where that fails, the connection is gone already.
        let _ = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Write);
    }

    /// Closes it in such a way that the other side notices that something went wrong, where the family has a way.
    pub(crate) fn reset(self) {
        // A Unix socket has no reset of its own: its peer sees an end, or a broken pipe.
        let _ = sockopt::set_socket_linger(&self.0, Some(Duration::ZERO));
    }
}

fn without_blocking(mut call: impl FnMut() -> Result<usize, Errno>) -> io::Result<Option<usize>> {
    loop {
        return match call() {
            Ok(count) => Ok(Some(count)),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
}
