//! One connection of the driver over io_uring: how far it has come, TLS if it was asked for, and what its socket did
//! not take. Called by `uring`, which owns the ring.

use std::io;

use connect::{Address, KeepAlive, TlsChannel, TlsError, Transport};
use sockets::Socket;
use stats::Timestamp;

use crate::driver::Receive;
use crate::net::stream::{Unsent, begin_tls, connect, finish_connecting};

/// See the module.
pub(super) struct Connection {
    pub(super) socket: Socket,
    address: Address,
    keep_alive: KeepAlive,
    pub(super) tls: Option<Box<TlsChannel>>,
    /// The transport is connected; TLS may still be under way.
    pub(super) connected: bool,
    pub(super) connecting_since: Timestamp,
    /// Nothing more will come.
    ended: bool,
    /// Why it is of no more use; handed over once all that had arrived is read.
    broken: Option<io::Error>,
    /// What the socket has not taken.
    pub(super) unsent: Unsent,
}

impl Connection {
    /// Begins to connect.
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

    /// What SCRAM is bound to.
    pub(super) fn channel_binding(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|channel| channel.end_point())
    }

    /// The protocol may begin, or has.
    pub(super) fn is_open(&self) -> bool {
        self.connected && self.tls.as_ref().is_none_or(|channel| channel.is_open())
    }

    /// It has bytes that the socket did not take yet.
    pub(super) fn holds_back(&self) -> bool {
        self.connected && !self.unsent.is_empty()
    }

    /// Writes now what the socket takes, keeps the rest.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        match self.socket.write(bytes) {
            Ok(written) => self.unsent.keep(&bytes[written.unwrap_or(0)..]),
            Err(error) => self.fail(error),
        }
    }

    /// Done connecting, or ready to send more; false when it still connects.
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

    /// Sending has failed. What the peer said before it went is still to be read, then comes the end.
    pub(super) fn fail(&mut self, error: io::Error) {
        self.broken.get_or_insert(error);
        self.unsent = Unsent::default();
        self.socket.shut_down();
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self, error: Option<io::Error>) {
        self.ended = true;
        let shakes_hands = self.tls.as_ref().is_some_and(|channel| !channel.is_open());
        let early = || shakes_hands.then(|| TlsError::closed().into());
        self.broken = self.broken.take().or(error).or_else(early);
    }

    /// Why nothing can be sent, if that is so.
    pub(super) fn take_failure(&mut self) -> Option<io::Error> {
        let closed = || io::ErrorKind::BrokenPipe.into();
        self.ended.then(|| self.broken.take().unwrap_or_else(closed))
    }

    /// There are no bytes: is it the end?
    pub(super) fn receive_end(&mut self) -> Receive<'static> {
        let is_closed = self.ended || self.tls.as_ref().is_some_and(|channel| channel.is_closed());
        if is_closed { Receive::Closed(self.broken.take()) } else { Receive::Empty }
    }
}
