//! One non-blocking socket, TCP or Unix, and what is still to be written to it.
//! Knows nothing of events; `net` calls it when the kernel says that something can be done.

use std::io::{self, Read, Write};
#[cfg(target_os = "linux")]
use std::net::Shutdown;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};

use connect::{Address, KeepAlive, TlsChannel, Transport};
use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

/// A socket on its way to, or at, the server.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Begins to connect.
    pub(super) fn connect(address: &Address) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp { address, .. } => Self::Tcp(TcpStream::connect(*address)?),
            Address::Unix(path) => Self::Unix(UnixStream::connect(path)?),
        })
    }

    /// Tells the poll to look at the socket; until it is connected that shows as writable.
    pub(super) fn register(&mut self, registry: &Registry, number: usize) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.register(stream, Token(number), Interest::WRITABLE),
            Self::Unix(stream) => registry.register(stream, Token(number), Interest::WRITABLE),
        }
    }

    /// Changes what the poll looks for. A socket that is ready already gives an edge at once.
    pub(super) fn watch(&mut self, registry: &Registry, number: usize, interest: Interest) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => registry.reregister(stream, Token(number), interest),
            Self::Unix(stream) => registry.reregister(stream, Token(number), interest),
        }
    }

    /// Looks at the outcome of the connect: `false` when it is still under way.
    pub(super) fn finish_connecting(&mut self) -> io::Result<bool> {
        let peer = match self {
            Self::Unix(_) => return Ok(true),
            Self::Tcp(stream) => {
                if let Some(error) = stream.take_error()? {
                    return Err(error);
                }
                stream.peer_addr()
            }
        };
        match peer {
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
            Ok(_) => Ok(true),
        }
    }

    /// Prepares the connected socket.
    pub(super) fn prepare(&self, address: &Address, keep_alive: &KeepAlive) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => keep_alive.prepare_socket(address, stream),
            Self::Unix(_) => Ok(()),
        }
    }

    /// The socket itself, for those who ask the kernel in other ways.
    #[cfg(target_os = "linux")]
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }

    /// Ends it in both directions; what has arrived can still be read.
    #[cfg(target_os = "linux")]
    pub(super) fn shut_down(&self) {
        // Where the peer has done so already there is nothing to do.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Reads once; `None` when there is nothing now.
    pub(super) fn read_some(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        without_blocking(|| match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        })
    }

    /// Writes once, and says how much the socket took.
    pub(super) fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = without_blocking(|| match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        });
        written.map(|count| count.unwrap_or(0))
    }
}

/// The TLS of a connection that is to be made, if it was asked for, and its first words, which wait for the socket.
pub(super) fn begin_tls(
    address: &Address,
    transport: &Transport,
) -> io::Result<(Option<Box<TlsChannel>>, Unsent)> {
    let mut unsent = Unsent::default();
    let Some(tls) = &transport.tls else { return Ok((None, unsent)) };
    let mut first = Vec::new();
    let channel = tls.connect(address, &mut first)?;
    unsent.keep(&first);
    Ok((Some(Box::new(channel)), unsent))
}

/// Repeats what a signal interrupted; "would block" is no error but `None`.
fn without_blocking(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<Option<usize>> {
    loop {
        return match call() {
            Ok(count) => Ok(Some(count)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        };
    }
}

/// Bytes that a socket has not taken yet.
#[derive(Default)]
pub(super) struct Unsent {
    bytes: Vec<u8>,
    sent: usize,
}

impl Unsent {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes once; the memory is given back when all is gone.
    pub(super) fn flush_to(&mut self, stream: &mut Stream) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.sent += stream.write_some(&self.bytes[self.sent..])?;
        if self.sent == self.bytes.len() {
            *self = Self::default();
        }
        Ok(())
    }
}
