//! Connecting to a server over a non-blocking socket of either family, optionally with TLS; and bytes that a socket
//! did not accept immediately.

use std::io;

use connect::{Address, KeepAlive, TlsChannel, Transport};
use sockets::Socket;

/// Starts connecting to a server.
pub(super) fn connect(address: &Address) -> io::Result<Socket> {
    match address {
        Address::Tcp { address, .. } => Socket::connect_tcp(*address),
        Address::Unix(path) => Socket::connect_unix(path),
    }
}

/// Checks the result of the connect, and configures the connected socket; `false` while it is still in progress.
pub(super) fn finish_connecting(
    socket: &Socket,
    address: &Address,
    keep_alive: &KeepAlive,
) -> io::Result<bool> {
    // A Unix socket is connected immediately.
    let is_tcp = matches!(address, Address::Tcp { .. });
    if is_tcp {
        if !socket.is_connected()? {
            return Ok(false);
        }
        keep_alive.prepare_socket(address, socket)?;
    }
    Ok(true)
}

/// TLS of a new connection, if requested, with its first message, which waits for the socket.
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

/// Bytes that a socket has not accepted yet.
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

    /// Writes once; frees the memory when everything is written.
    pub(super) fn flush_to(&mut self, socket: &Socket) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        self.sent += socket.write(&self.bytes[self.sent..])?.unwrap_or(0);
        if self.sent == self.bytes.len() {
            *self = Self::default();
        }
        Ok(())
    }
}
