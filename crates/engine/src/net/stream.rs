//! How a connection to a server begins, over a non-blocking socket of either family and with TLS if that was asked for;
//! and what its socket did not take at once.

use std::io;

use connect::{Address, KeepAlive, TlsChannel, Transport};
use sockets::Socket;

/// Begins to connect to a server.
pub(super) fn connect(address: &Address) -> io::Result<Socket> {
    match address {
        Address::Tcp { address, .. } => Socket::connect_tcp(*address),
        Address::Unix(path) => Socket::connect_unix(path),
    }
}

/// Looks at the outcome of the connect, and prepares the connected socket: `false` when it is still under way.
pub(super) fn finish_connecting(
    socket: &Socket,
    address: &Address,
    keep_alive: &KeepAlive,
) -> io::Result<bool> {
    // A Unix socket is connected from the start.
    let is_tcp = matches!(address, Address::Tcp { .. });
    if is_tcp {
        if !socket.is_connected()? {
            return Ok(false);
        }
        keep_alive.prepare_socket(address, socket)?;
    }
    Ok(true)
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
