//! One connection of the null server: its socket, its session, and what is still to be sent.
//! It is given a turn whenever its socket has news: one read, the answers, one write. The poll is
//! edge-triggered; a read that does not fill the buffer has emptied the socket, and what comes later is news.

use std::io;

use sockets::Socket;

use crate::session::{Request, Session, SessionConfig, Step};

/// A client that does not read its answers is not read either, once so many bytes wait for it.
const UNSENT_MAX: usize = 1 << 20;

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
pub(super) struct Shared {
    pub(super) config: SessionConfig,
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
}

impl Connection {
    pub(super) fn new(number: usize, socket: Socket, session: Session) -> Self {
        Self { number, socket, session, unsent: Vec::new(), closing: false, ends: false, has_news: false }
    }

    /// Sends what waits, reads once, answers.
    pub(super) fn serve(&mut self, shared: &mut Shared, on_request: &mut dyn FnMut(&Request<'_>)) -> Turn {
        // A socket that fails has lost its client, who will know.
        let Ok(()) = self.send_rest() else { return Turn::Over };
        if self.closing {
            return if self.unsent.is_empty() { Turn::Over } else { Turn::Waits };
        }
        if self.unsent.len() > UNSENT_MAX {
            return Turn::Waits;
        }
        let count = match self.socket.read(&mut shared.input) {
            Ok(Some(0)) | Err(_) => return Turn::Over,
            Ok(None) => return Turn::Waits,
            Ok(Some(count)) => count,
        };
        let mut bytes = &shared.input[..count];
        loop {
            match self.session.next(&mut bytes, &shared.config, &mut shared.output, on_request) {
                Step::Idle => break,
                Step::Told | Step::Answered => {}
                Step::Closed | Step::Reset => {
                    self.closing = true;
                    break;
                }
            }
        }
        let sent = self.send(&shared.output);
        shared.output.clear();
        match sent {
            Ok(()) if self.closing && self.unsent.is_empty() => Turn::Over,
            Ok(()) if count == shared.input.len() || self.ends || self.closing => Turn::Again,
            Ok(()) => Turn::Waits,
            Err(_) => Turn::Over,
        }
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
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < bytes.len() {
            match self.socket.write(&bytes[written..])? {
                Some(count) => written += count,
                None => break,
            }
        }
        Ok(written)
    }
}
