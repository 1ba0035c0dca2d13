//! A socket that can be waited for: connecting, reading and writing with a limit of patience. Used by sessions
//! and cancel requests; the engine has sockets of its own.
//!
//! The socket never blocks; every wait is a poll. So a limit holds for every step, and what the server says can
//! be heard while something large is being sent.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::address::Address;
use crate::error::Cause;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// As long as it takes.
    Endless,
    /// Each wait this long.
    Silence(Duration),
    /// All waits together until then; the limit it began with is for messages.
    Until { end: Instant, limit: Duration },
}

impl Patience {
    /// For all waits together, from now.
    pub(crate) fn of(limit: Option<Duration>) -> Patience {
        match limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))) {
            Some((end, limit)) => Patience::Until { end, limit },
            None => Patience::Endless,
        }
    }

    /// What the next wait may take; `None` without a limit.
    fn left(self) -> Option<Duration> {
        match self {
            Patience::Endless => None,
            Patience::Silence(limit) => Some(limit),
            Patience::Until { end, .. } => Some(end.saturating_duration_since(Instant::now())),
        }
    }

    fn exhausted(self) -> Cause {
        match self {
            Patience::Endless => Cause::TimedOut(Duration::ZERO),
            Patience::Silence(limit) | Patience::Until { limit, .. } => Cause::TimedOut(limit),
        }
    }
}

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    pub(crate) fn connect(address: &Address, patience: Patience) -> Result<Stream, Cause> {
        let left = patience.left();
        if left.is_some_and(|left| left.is_zero()) {
            return Err(patience.exhausted());
        }
        let connected = match address {
            Address::Unix(path) => connect_unix(path, left),
            Address::Tcp { address, .. } => match left {
                Some(left) => TcpStream::connect_timeout(address, left).map(Stream::Tcp),
                None => TcpStream::connect(address).map(Stream::Tcp),
            },
        };
        let stream = connected.map_err(|error| match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock if left.is_some() => patience.exhausted(),
            _ => Cause::Io(error),
        })?;
        match &stream {
            Stream::Unix(socket) => socket.set_nonblocking(true),
            Stream::Tcp(socket) => socket.set_nonblocking(true),
        }
        .map_err(Cause::Io)?;
        Ok(stream)
    }

    /// Waits for bytes and reads them; 0 at the end of the stream.
    pub(crate) fn read(&mut self, buffer: &mut [u8], patience: Patience) -> Result<usize, Cause> {
        loop {
            let read = match self {
                Stream::Unix(socket) => socket.read(buffer),
                Stream::Tcp(socket) => socket.read(buffer),
            };
            match read {
                Ok(length) => return Ok(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(PollFlags::IN, patience)?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Cause::Io(error)),
            }
        }
    }

    /// Writes what fits at once; 0 if nothing does.
    pub(crate) fn write_some(&mut self, data: &[u8]) -> Result<usize, Cause> {
        loop {
            let written = match self {
                Stream::Unix(socket) => socket.write(data),
                Stream::Tcp(socket) => socket.write(data),
            };
            match written {
                Ok(length) => return Ok(length),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Cause::Io(error)),
            }
        }
    }

    /// Writes everything, listening to nothing: for the few bytes of a start-up.
    pub(crate) fn write_all(&mut self, mut data: &[u8], patience: Patience) -> Result<(), Cause> {
        while !data.is_empty() {
            match self.write_some(data)? {
                0 => drop(self.wait(PollFlags::OUT, patience)?),
                length => data = &data[length..],
            }
        }
        Ok(())
    }

    /// Waits until there is something to read or room to write; true if it is the former.
    pub(crate) fn wait_for_either(&self, patience: Patience) -> Result<bool, Cause> {
        let ready = self.wait(PollFlags::IN | PollFlags::OUT, patience)?;
        Ok(ready.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR))
    }

    /// True if there is something to read now.
    pub(crate) fn is_readable(&self) -> Result<bool, Cause> {
        match self.wait(PollFlags::IN, Patience::Silence(Duration::ZERO)) {
            Ok(_) => Ok(true),
            Err(Cause::TimedOut(_)) => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    fn wait(&self, wanted: PollFlags, patience: Patience) -> Result<PollFlags, Cause> {
        loop {
            // A limit beyond what the system can count is none.
            let left = patience.left().and_then(|left| Timespec::try_from(left).ok());
            let mut sockets = [PollFd::new(self, wanted)];
            match poll(&mut sockets, left.as_ref()) {
                Ok(0) => return Err(patience.exhausted()),
                Ok(_) => return Ok(sockets[0].revents()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Cause::Io(errno.into())),
            }
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(socket) => socket.as_fd(),
            Stream::Tcp(socket) => socket.as_fd(),
        }
    }
}

/// The standard library has no limit for this one: a server whose queue of connections is full makes it wait.
fn connect_unix(path: &Path, limit: Option<Duration>) -> io::Result<Stream> {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if limit.is_some() {
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, limit)?;
    }
    let address = SocketAddrUnix::new(path)?;
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) => return Ok(Stream::Unix(UnixStream::from(socket))),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}
