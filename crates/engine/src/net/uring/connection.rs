//! One connection of the io_uring driver: its state, TLS, and bytes that its socket did not accept. Called by
//! `uring`, which owns the ring.

use std::io;

use connect::{Address, KeepAlive, TlsChannel, TlsError, Transport};
use sockets::Socket;
use stats::Timestamp;

use crate::driver::Receive;
use crate::net::stream::{Unsent, begin_tls, connect, finish_connecting};

/// State of one connection.
pub(super) struct UringConnection {
    pub(super) socket: Socket,
    address: Address,
    keep_alive: KeepAlive,
    pub(super) tls: Option<Box<TlsChannel>>,
    /// The transport is connected; the TLS handshake may be in progress.
    pub(super) connected: bool,
    pub(super) connecting_since: Timestamp,
    /// The peer will send nothing more.
    ended: bool,
    /// Why the connection is lost; reported after all received bytes are read.
    broken: Option<io::Error>,
    /// Bytes that the socket has not accepted.
    pub(super) unsent: Unsent,
}

impl UringConnection {
    /// Starts connecting.
    pub(super) fn open(address: &Address, transport: &Transport, now: Timestamp) -> io::Result<Self> {
        let (tls, unsent) = begin_tls(address, transport)?;
        Ok(Self {
            socket: connect(address)?,
            address: address.clone(),
            keep_alive: transport.keep_alive,
            tls,
            connected: false,
            connecting_since: now,
            ended: false,
            broken: None,
            unsent,
        })
    }

    /// The channel binding for SCRAM.
    pub(super) fn channel_binding(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|channel| channel.end_point())
    }

    /// The protocol may begin, or has begun.
    pub(super) fn is_open(&self) -> bool {
        self.connected && self.tls.as_ref().is_none_or(|channel| channel.is_open())
    }

    /// It has bytes that the socket has not accepted yet.
    pub(super) fn holds_back(&self) -> bool {
        self.connected && !self.unsent.is_empty()
    }

    /// Writes as much as the socket accepts, and keeps the rest.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        match self.socket.write(bytes) {
            Ok(written) => self.unsent.keep(&bytes[written.unwrap_or(0)..]),
            Err(error) => self.fail(error),
        }
    }

    /// Connected, or ready to send more; false while still connecting.
    pub(super) fn go_on(&mut self) -> io::Result<bool> {
        if !self.connected {
            self.connected = finish_connecting(&self.socket, &self.address, &self.keep_alive)?;
            if !self.connected {
                return Ok(false);
            }
        }
        if let Err(error) = self.unsent.flush_to(&self.socket) {
            self.fail(error);
        }
        Ok(true)
    }

    /// Sending failed. Received bytes are still to be read before the end is reported.
    pub(super) fn fail(&mut self, error: io::Error) {
        self.broken.get_or_insert(error);
        self.unsent = Unsent::default();
        self.socket.shut_down();
    }

    /// The peer has closed its side.
    pub(super) fn end(&mut self, error: Option<io::Error>) {
        self.ended = true;
        let shakes_hands = self.tls.as_ref().is_some_and(|channel| !channel.is_open());
        let early = || shakes_hands.then(|| TlsError::closed().into());
        self.broken = self.broken.take().or(error).or_else(early);
    }

    /// The error of sending, if any.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        let closed = || io::ErrorKind::BrokenPipe.into();
        self.ended.then(|| self.broken.take().unwrap_or_else(closed))
    }

    /// No bytes were received: checks whether this is the end.
    pub(super) fn receive_end(&mut self) -> Receive<'static> {
        let is_closed = self.ended || self.tls.as_ref().is_some_and(|channel| channel.is_closed());
        if is_closed { Receive::Closed(self.broken.take()) } else { Receive::Empty }
    }
}
