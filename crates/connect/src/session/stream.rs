//! A socket with time limits for connecting, reading and writing, optionally through TLS. Used by sessions and cancel
//! requests; the engine has its own sockets.
//!
//! The socket is non-blocking and every wait is a poll. So a limit holds for every step, and the server's messages are
//! read while a large message is being sent.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::address::Address;
use crate::error::Cause;
use crate::tls::{Tls, TlsChannel, TlsError};

/// Bytes per read from a socket with TLS: one record with its header.
const CIPHER_LENGTH: usize = 17 * 1024;

/// Time limit of waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadPatience {
    /// No limit.
    Endless,
    /// Limit for each wait.
    Silence(Duration),
    /// Deadline for all waits; `limit` is the original duration, for messages.
    Until { end: Instant, limit: Duration },
}

impl ReadPatience {
    /// A limit for all waits together, from now.
    pub(crate) fn of(limit: Option<Duration>) -> ReadPatience {
        match limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))) {
            Some((end, limit)) => ReadPatience::Until { end, limit },
            None => ReadPatience::Endless,
        }
    }

    /// Time limit of the next wait; `None` without a limit.
    fn left(self) -> Option<Duration> {
        match self {
            ReadPatience::Endless => None,
            ReadPatience::Silence(limit) => Some(limit),
            ReadPatience::Until { end, .. } => Some(end.saturating_duration_since(Instant::now())),
        }
    }

    /// The same, and no wait is longer.
    pub(crate) fn at_most(self, wait: Duration) -> ReadPatience {
        match self.left() {
            Some(left) if left <= wait => self,
            _ => ReadPatience::Silence(wait),
        }
    }

    /// True if the deadline has passed.
    pub(crate) fn is_over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    fn exhausted(self) -> Cause {
        match self {
            ReadPatience::Endless => Cause::TimedOut(Duration::ZERO),
            ReadPatience::Silence(limit) | ReadPatience::Until { limit, .. } => Cause::TimedOut(limit),
        }
    }
}

/// A connected socket.
#[derive(Debug)]
struct Socket(OwnedFd);

/// A connection, plain or through TLS.
#[derive(Debug)]
pub(crate) struct Stream {
    socket: Socket,
    encryption: Option<Box<Encryption>>,
}

/// The TLS state and buffered data.
#[derive(Debug)]
struct Encryption {
    channel: TlsChannel,
    /// Decrypted, not yet read.
    plain: Vec<u8>,
    /// Encrypted, not yet written.
    cipher: Vec<u8>,
    /// The socket has reached its end.
    is_ended: bool,
}

impl Stream {
    pub(crate) fn connect(address: &Address, patience: ReadPatience) -> Result<Stream, Cause> {
        let left = patience.left();
        if patience.is_over() {
            return Err(patience.exhausted());
        }
        let connected = match (address, left) {
            (Address::Unix(path), _) => connect_unix(path, left),
            (Address::Tcp { address, .. }, Some(left)) => {
                TcpStream::connect_timeout(address, left).map(OwnedFd::from)
            }
            (Address::Tcp { address, .. }, None) => TcpStream::connect(address).map(OwnedFd::from),
        };
        let socket = connected.map_err(|error| match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock if left.is_some() => patience.exhausted(),
            _ => Cause::Io(error),
        })?;
        rustix::io::ioctl_fionbio(&socket, true).map_err(|errno| Cause::Io(errno.into()))?;
        Ok(Stream { socket: Socket(socket), encryption: None })
    }

    /// Starts TLS. After [`crate::TlsError::is_not_offered`] the connection can be used without TLS.
    pub(crate) fn encrypt(
        &mut self,
        tls: &Tls,
        address: &Address,
        patience: ReadPatience,
    ) -> Result<(), Cause> {
        let mut cipher = Vec::new();
        let channel = tls.connect(address, &mut cipher).map_err(Cause::Tls)?;
        let mut encryption = Encryption { channel, plain: Vec::new(), cipher, is_ended: false };
        while !encryption.channel.is_open() {
            match encryption.shake_hands(&self.socket, patience) {
                Ok(()) if !encryption.is_ended => {}
                // A server that closes the connection during the handshake may accept one without TLS.
                Ok(()) | Err(Cause::Io(_)) => return Err(Cause::Tls(TlsError::closed())),
                Err(cause) => return Err(cause),
            }
        }
        self.encryption = Some(Box::new(encryption));
        Ok(())
    }

    /// Channel binding data of the server's certificate.
    pub(crate) fn end_point(&self) -> Option<&[u8]> {
        self.encryption.as_ref().and_then(|encryption| encryption.channel.end_point())
    }

    /// Waits for bytes and reads them; 0 at the end of the stream.
    pub(crate) fn read(&mut self, buffer: &mut [u8], patience: ReadPatience) -> Result<usize, Cause> {
        loop {
            let (read, wanted) = match &mut self.encryption {
                None => (self.socket.read(buffer)?, PollFlags::IN),
                Some(encryption) => {
                    encryption.fill(&self.socket)?;
                    // The server may be waiting for the rest of the output.
                    let is_sent = encryption.flush(&self.socket)?;
                    let wanted = if is_sent { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
                    (encryption.read(buffer), wanted)
                }
            };
            match read {
                Some(length) => return Ok(length),
                None => drop(self.socket.wait(wanted, patience)?),
            }
        }
    }

    /// Writes as much as possible without waiting; 0 if nothing.
    pub(crate) fn write_some(&mut self, data: &[u8]) -> Result<usize, Cause> {
        let Some(encryption) = &mut self.encryption else { return self.socket.write(data) };
        if !encryption.flush(&self.socket)? {
            return Ok(0);
        }
        let piece = &data[..data.len().min(CIPHER_LENGTH)];
        encryption.channel.send(piece, &mut encryption.cipher);
        encryption.flush(&self.socket)?;
        Ok(piece.len())
    }

    /// Writes everything without reading. For start-up messages, which are short.
    pub(crate) fn write_all(&mut self, mut data: &[u8], patience: ReadPatience) -> Result<(), Cause> {
        while !data.is_empty() {
            match self.write_some(data)? {
                0 => drop(self.socket.wait(PollFlags::OUT, patience)?),
                length => data = &data[length..],
            }
        }
        Ok(())
    }

    /// Waits until the socket is readable or writable; true if it is readable.
    pub(crate) fn wait_for_either(&mut self, patience: ReadPatience) -> Result<bool, Cause> {
        if self.encryption.as_ref().is_some_and(|encryption| encryption.has_something()) {
            return Ok(true);
        }
        let ready = self.socket.wait(PollFlags::IN | PollFlags::OUT, patience)?;
        if !ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
            return Ok(false);
        }
        self.has_plain_bytes()
    }

    /// True if there is data to read.
    pub(crate) fn is_readable(&mut self) -> Result<bool, Cause> {
        match self.socket.wait(PollFlags::IN, ReadPatience::Silence(Duration::ZERO)) {
            Ok(_) => self.has_plain_bytes(),
            Err(Cause::TimedOut(_)) => {
                Ok(self.encryption.as_ref().is_some_and(|encryption| encryption.has_something()))
            }
            Err(cause) => Err(cause),
        }
    }

    /// Whether the available bytes contain application data, not only TLS messages.
    fn has_plain_bytes(&mut self) -> Result<bool, Cause> {
        let Some(encryption) = &mut self.encryption else { return Ok(true) };
        encryption.fill(&self.socket)?;
        Ok(encryption.has_something())
    }

    /// Sends a final message as far as possible without waiting.
    pub(crate) fn say_goodbye(&mut self, words: &[u8]) {
        // The result does not matter when the connection is closing.
        let _ = self.write_some(words);
        if let Some(encryption) = &mut self.encryption {
            encryption.channel.close(&mut encryption.cipher);
            let _ = encryption.flush(&self.socket);
        }
    }
}

impl Encryption {
    /// Reads the available bytes without waiting.
    fn fill(&mut self, socket: &Socket) -> Result<(), Cause> {
        let mut buffer = [0; CIPHER_LENGTH];
        // Decrypted data is consumed first, to limit memory when a server sends without end.
        while self.plain.is_empty() && !self.is_ended {
            let Some(length) = socket.read(&mut buffer)? else { break };
            let taken = self.channel.receive(&buffer[..length], &mut self.plain, &mut self.cipher);
            self.is_ended = length == 0 || self.channel.is_closed();
            if let Err(error) = taken {
                // Sends the TLS alert, if possible.
                let _ = self.flush(socket);
                return Err(Cause::Tls(error));
            }
            if !self.channel.is_open() {
                break;
            }
        }
        Ok(())
    }

    /// One step of the handshake.
    fn shake_hands(&mut self, socket: &Socket, patience: ReadPatience) -> Result<(), Cause> {
        let is_sent = self.flush(socket)?;
        socket.wait(if is_sent { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT }, patience)?;
        self.fill(socket)
    }

    /// Writes as much as possible; true if nothing is left.
    fn flush(&mut self, socket: &Socket) -> Result<bool, Cause> {
        while !self.cipher.is_empty() {
            match socket.write(&self.cipher)? {
                0 => return Ok(false),
                length => drop(self.cipher.drain(..length)),
            }
        }
        Ok(true)
    }

    fn has_something(&self) -> bool {
        self.is_ended || !self.plain.is_empty()
    }

    /// Takes decrypted bytes; 0 at the end of the stream, `None` if more input is needed.
    fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        if self.plain.is_empty() {
            return self.is_ended.then_some(0);
        }
        let length = self.plain.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.plain[..length]);
        self.plain.drain(..length);
        Some(length)
    }
}

impl Socket {
    /// Reads available bytes; 0 at the end of the stream, `None` if no byte has arrived.
    fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Cause> {
        at_once(retry_on_intr(|| rustix::io::read(&self.0, &mut *buffer)))
    }

    /// Writes as much as possible without waiting; 0 if nothing.
    fn write(&self, data: &[u8]) -> Result<usize, Cause> {
        let written = at_once(retry_on_intr(|| rustix::net::send(&self.0, data, SendFlags::NOSIGNAL)));
        Ok(written?.unwrap_or(0))
    }

    fn wait(&self, wanted: PollFlags, patience: ReadPatience) -> Result<PollFlags, Cause> {
        let mut sockets = [PollFd::new(&self.0, wanted)];
        let ready = retry_on_intr(|| {
            // A limit that `Timespec` cannot represent means no limit.
            let left = patience.left().and_then(|left| Timespec::try_from(left).ok());
            poll(&mut sockets, left.as_ref())
        });
        match ready {
            Ok(0) => Err(patience.exhausted()),
            Ok(_) => Ok(sockets[0].revents()),
            Err(errno) => Err(Cause::Io(errno.into())),
        }
    }
}

/// `None` if the operation would block.
fn at_once(done: Result<usize, Errno>) -> Result<Option<usize>, Cause> {
    match done {
        Ok(length) => Ok(Some(length)),
        Err(Errno::AGAIN) => Ok(None),
        Err(errno) => Err(Cause::Io(errno.into())),
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.0.as_fd()
    }
}

/// The standard library has no timeout for Unix sockets: connecting blocks while the server's queue of connections is
/// full.
fn connect_unix(path: &Path, limit: Option<Duration>) -> io::Result<OwnedFd> {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if limit.is_some() {
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, limit)?;
    }
    let address = SocketAddrUnix::new(path)?;
    retry_on_intr(|| rustix::net::connect(&socket, &address))?;
    Ok(socket)
}
