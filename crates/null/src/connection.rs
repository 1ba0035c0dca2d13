//! One connection of the null server: its socket, its session, and what is still to be sent.
//! It is given a turn whenever its socket has news: one read, the answers, one write. The poll is
//! edge-triggered; a read that does not fill the buffer has emptied the socket, and what comes later is news.

use std::io::{self, Read, Write};

use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

use crate::session::{Manner, Request, Session, Step};

/// A client that does not read its answers is not read either, once so many bytes wait for it.
const UNSENT_MAX: usize = 1 << 20;

/// A client's socket.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// How a turn ended.
pub(super) enum Turn {
    /// There may be more to read.
    Again,
    /// Nothing to do until the socket has news.
    Waits,
    /// The connection is done.
    Over,
}

/// See the module.
pub(super) struct Connection {
    /// In the order in which they were accepted.
    pub(super) number: usize,
    socket: Socket,
    session: Session,
    /// What the socket did not take at once.
    unsent: Vec<u8>,
    closing: bool,
    /// The client has closed its side: reading goes on up to the end, which is no news any more.
    pub(super) ends: bool,
    /// The socket may be readable or writable.
    pub(super) has_news: bool,
}

/// What all turns use, one after the other.
pub(super) struct Desk {
    pub(super) manner: Manner,
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
}

impl Connection {
    pub(super) fn new(number: usize, socket: Socket, session: Session) -> Self {
        Self { number, socket, session, unsent: Vec::new(), closing: false, ends: false, has_news: false }
    }

    pub(super) fn watch(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match &mut self.socket {
            Socket::Tcp(stream) => registry.register(stream, token, interest),
            Socket::Unix(stream) => registry.register(stream, token, interest),
        }
    }

    /// Sends what waits, reads once, answers.
    pub(super) fn serve(&mut self, desk: &mut Desk, hear: &mut dyn FnMut(&Request<'_>)) -> Turn {
        // A socket that fails has lost its client, who will know.
        let Ok(()) = self.send_rest() else { return Turn::Over };
        if self.closing {
            return if self.unsent.is_empty() { Turn::Over } else { Turn::Waits };
        }
        if self.unsent.len() > UNSENT_MAX {
            return Turn::Waits;
        }
        let count = match self.read(&mut desk.input) {
            Ok(Some(0)) | Err(_) => return Turn::Over,
            Ok(None) => return Turn::Waits,
            Ok(Some(count)) => count,
        };
        let mut bytes = &desk.input[..count];
        loop {
            match self.session.next(&mut bytes, &desk.manner, &mut desk.output, hear) {
                Step::Idle => break,
                Step::Told | Step::Answered => {}
                Step::Closed | Step::Reset => {
                    self.closing = true;
                    break;
                }
            }
        }
        let sent = self.send(&desk.output);
        desk.output.clear();
        match sent {
            Ok(()) if self.closing && self.unsent.is_empty() => Turn::Over,
            Ok(()) if count == desk.input.len() || self.ends || self.closing => Turn::Again,
            Ok(()) => Turn::Waits,
            Err(_) => Turn::Over,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        without_blocking(|| match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        })
    }

    /// Sends bytes, behind those that wait already; keeps what the socket does not take.
    fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if self.unsent.is_empty() {
            bytes = &bytes[self.write(bytes)?..];
        }
        self.unsent.extend_from_slice(bytes);
        Ok(())
    }

    fn send_rest(&mut self) -> io::Result<()> {
        if !self.unsent.is_empty() {
            let mut unsent = std::mem::take(&mut self.unsent);
            let written = self.write(&unsent)?;
            if written < unsent.len() {
                unsent.drain(..written);
                self.unsent = unsent;
            }
        }
        Ok(())
    }

    /// Writes until all is sent or the socket takes no more; says how many bytes it took.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            let taken = without_blocking(|| match &mut self.socket {
                Socket::Tcp(stream) => stream.write(rest),
                Socket::Unix(stream) => stream.write(rest),
            })?;
            match taken {
                Some(count) => written += count,
                None => break,
            }
        }
        Ok(written)
    }
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
