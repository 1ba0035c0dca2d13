//! One connection of the null server: its socket, its session, and what is still to be sent.
//! It is given a turn whenever its socket has news; edge-triggered, so a turn ends only at "would block".

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
    socket: Socket,
    session: Session,
    out: Vec<u8>,
    sent: usize,
    closing: bool,
    /// The socket may be readable or writable.
    pub(super) has_news: bool,
}

impl Connection {
    pub(super) fn new(socket: Socket, session: Session) -> Self {
        Self { socket, session, out: Vec::new(), sent: 0, closing: false, has_news: false }
    }

    pub(super) fn watch(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match &mut self.socket {
            Socket::Tcp(stream) => registry.register(stream, token, interest),
            Socket::Unix(stream) => registry.register(stream, token, interest),
        }
    }

    /// Sends what waits, reads once, answers.
    pub(super) fn serve(
        &mut self,
        manner: &Manner,
        buffer: &mut [u8],
        hear: &mut dyn FnMut(&Request<'_>),
    ) -> Turn {
        // A socket that fails has lost its client, who will know.
        let Ok(()) = self.flush() else { return Turn::Over };
        if self.closing {
            return if self.out.is_empty() { Turn::Over } else { Turn::Waits };
        }
        if self.out.len() - self.sent > UNSENT_MAX {
            return Turn::Waits;
        }
        let count = match self.read(buffer) {
            Ok(Some(0)) | Err(_) => return Turn::Over,
            Ok(None) => return Turn::Waits,
            Ok(Some(count)) => count,
        };
        self.session.receive(&buffer[..count]);
        loop {
            match self.session.next(manner, &mut self.out, hear) {
                Step::Idle => break,
                Step::Told | Step::Answered => {}
                Step::Closed | Step::Reset => {
                    self.closing = true;
                    break;
                }
            }
        }
        match self.flush() {
            Ok(()) if self.closing && self.out.is_empty() => Turn::Over,
            Ok(()) => Turn::Again,
            Err(_) => Turn::Over,
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        without_blocking(|| match &mut self.socket {
            Socket::Tcp(stream) => stream.read(buffer),
            Socket::Unix(stream) => stream.read(buffer),
        })
    }

    /// Writes until all is sent or the socket takes no more.
    fn flush(&mut self) -> io::Result<()> {
        while self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            let written = without_blocking(|| match &mut self.socket {
                Socket::Tcp(stream) => stream.write(rest),
                Socket::Unix(stream) => stream.write(rest),
            })?;
            match written {
                Some(count) => self.sent += count,
                None => return Ok(()),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(())
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
