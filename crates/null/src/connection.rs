//! One connection of the null server: its socket, its session, and unsent output. It is served after an event of its
//! socket: one read, the answers, one write. The poll is edge-triggered; a read that does not fill the buffer has
//! emptied the socket, and later data causes another event.

use std::io;

use sockets::Socket;

use crate::session::{Request, Session, SessionConfig, Step};

/// Maximum number of unsent bytes; above it, the connection is not read.
const UNSENT_MAX: usize = 1 << 20;

/// Result of serving a connection.
pub(super) enum Turn {
    /// There may be more to read.
    Again,
    /// Wait for an event of the socket.
    Waits,
    /// The number of statements that were read, and whose answers are held back.
    Asked(usize),
    /// The connection has ended.
    Over,
}

/// State of one connection.
pub(super) struct Connection {
    /// In the order of acceptance.
    pub(super) number: usize,
    socket: Socket,
    session: Session,
    /// Output that the socket has not accepted yet.
    unsent: Vec<u8>,
    /// Answers that are not due yet.
    held: Vec<u8>,
    /// Number of times at which they become due.
    awaited: usize,
    closing: bool,
    /// The client has closed its direction: reading continues to the end without further events.
    pub(super) ends: bool,
    /// The socket may be readable or writable.
    pub(super) has_news: bool,
}

/// Buffers shared by all connections.
pub(super) struct Shared {
    pub(super) config: SessionConfig,
    pub(super) input: Vec<u8>,
    pub(super) output: Vec<u8>,
    /// Whether answers to statements are held back.
    pub(super) holds: bool,
}

impl Connection {
    pub(super) fn new(number: usize, socket: Socket, session: Session) -> Self {
        Self {
            number,
            socket,
            session,
            unsent: Vec::new(),
            held: Vec::new(),
            awaited: 0,
            closing: false,
            ends: false,
            has_news: false,
        }
    }

    /// Sends unsent output, reads once, answers.
    pub(super) fn serve(&mut self, shared: &mut Shared, on_request: &mut dyn FnMut(&Request<'_>)) -> Turn {
        // After an error of the socket the client is gone.
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
        let mut statements = 0;
        let mut counting = |request: &Request<'_>| {
            statements += usize::from(matches!(request, Request::Query(_) | Request::Execute { .. }));
            on_request(request);
        };
        loop {
            match self.session.next(&mut bytes, &shared.config, &mut shared.output, &mut counting) {
                Step::Idle => break,
                Step::Told | Step::Answered => {}
                Step::Closed | Step::Reset => {
                    self.closing = true;
                    break;
                }
            }
        }
        let is_held = shared.holds && (statements > 0 || self.awaited > 0) && !self.closing;
        if is_held {
            self.held.append(&mut shared.output);
        }
        let sent = self.send(&shared.output);
        shared.output.clear();
        if is_held && statements > 0 && sent.is_ok() {
            self.awaited += 1;
            return Turn::Asked(statements);
        }
        match sent {
            Ok(()) if self.closing && self.unsent.is_empty() => Turn::Over,
            Ok(()) if count == shared.input.len() || self.ends || self.closing => Turn::Again,
            Ok(()) => Turn::Waits,
            Err(_) => Turn::Over,
        }
    }

    /// Answers are due: sends what was held back, unless others are awaited. False if the client is gone.
    pub(super) fn answer(&mut self) -> bool {
        self.awaited = self.awaited.saturating_sub(1);
        if self.awaited > 0 {
            return true;
        }
        let held = std::mem::take(&mut self.held);
        self.send(&held).is_ok()
    }

    /// Sends bytes after the unsent output; stores bytes that the socket does not accept.
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

    /// Writes until everything is sent or the socket is full; returns the number of bytes written.
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
