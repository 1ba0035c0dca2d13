//! One connection of the epoll driver: connecting, TLS, partial sends, and readiness events. A plain connection pays
//! one branch for TLS. Called by `epoll`, which owns the poll and the buffers.

use std::io;

use connect::{Address, KeepAlive, TlsChannel, TlsError, Transport};
use mio::{Interest, Registry, Token};
use sockets::Socket;
use stats::Timestamp;

use crate::driver::{Event, Receive};
use crate::net::stream::{Unsent, begin_tls, connect, finish_connecting};

/// Memory that all connections of a driver use in turns.
pub(super) struct Buffers {
    /// Bytes from the network.
    pub(super) input: Box<[u8]>,
    /// Decrypted bytes.
    pub(super) plain: Vec<u8>,
    /// Encrypted bytes to send.
    pub(super) cipher: Vec<u8>,
}

/// State of one connection.
pub(super) struct EpollConnection {
    number: usize,
    socket: Socket,
    address: Address,
    keep_alive: KeepAlive,
    tls: Option<Box<TlsChannel>>,
    connected: bool,
    /// When it began to connect, until this is read.
    connecting_since: Option<Timestamp>,
    /// There may be bytes in the socket.
    readable: bool,
    /// The peer has closed its side: no edge follows, so the socket must be read to its end.
    ended: bool,
    /// Why connecting or writing failed; reported after all received bytes are read.
    broken: Option<io::Error>,
    unsent: Unsent,
}

impl EpollConnection {
    /// Starts connecting.
    pub(super) fn open(
        number: usize,
        address: &Address,
        transport: &Transport,
        registry: &Registry,
        now: Timestamp,
    ) -> io::Result<Self> {
        let (tls, unsent) = begin_tls(address, transport)?;
        let socket = connect(address)?;
        // A socket is not writable until it is connected.
        socket.register(registry, Token(number), Interest::WRITABLE)?;
        Ok(Self {
            number,
            socket,
            address: address.clone(),
            keep_alive: transport.keep_alive,
            tls,
            connected: false,
            connecting_since: Some(now),
            readable: false,
            ended: false,
            broken: None,
            unsent,
        })
    }

    /// The channel binding for SCRAM.
    pub(super) fn channel_binding(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|channel| channel.end_point())
    }

    /// It has bytes that the socket has not accepted yet.
    pub(super) fn holds_back(&self) -> bool {
        self.connected && !self.unsent.is_empty()
    }

    /// When it began to connect; returned once, when it is connected.
    pub(super) fn take_connecting_since(&mut self) -> Option<Timestamp> {
        self.connecting_since.take_if(|_| self.connected)
    }

    /// Receives the available bytes.
    pub(super) fn receive<'b>(&mut self, buffers: &'b mut Buffers, registry: &Registry) -> Receive<'b> {
        if self.tls.is_some() {
            return self.receive_encrypted(buffers, registry);
        }
        match self.read(&mut buffers.input) {
            Ok(Some(0)) => Receive::Closed(self.broken.take()),
            Ok(Some(count)) => Receive::Bytes(&buffers.input[..count]),
            Ok(None) => match self.broken.take() {
                Some(error) => Receive::Closed(Some(error)),
                None => Receive::Empty,
            },
            Err(error) => Receive::Closed(Some(self.broken.take().unwrap_or(error))),
        }
    }

    /// Like [`EpollConnection::receive`], with TLS: continues until something is decrypted or nothing is left.
    fn receive_encrypted<'b>(&mut self, buffers: &'b mut Buffers, registry: &Registry) -> Receive<'b> {
        loop {
            let (is_open, is_closed) =
                self.tls.as_ref().map_or((true, true), |channel| (channel.is_open(), channel.is_closed()));
            if is_closed {
                return Receive::Closed(self.broken.take());
            }
            if !is_open {
                // These bytes belong to the handshake, which continues with the next event.
                return self.broken.take().map_or(Receive::Empty, |error| Receive::Closed(Some(error)));
            }
            match self.read(&mut buffers.input) {
                Ok(Some(0)) => return Receive::Closed(self.broken.take()),
                Ok(Some(count)) => {
                    if let Err(error) = self.decrypt(count, buffers, registry) {
                        return Receive::Closed(Some(error));
                    }
                }
                Ok(None) => {
                    return match self.broken.take() {
                        Some(error) => Receive::Closed(Some(error)),
                        None => Receive::Empty,
                    };
                }
                Err(error) => return Receive::Closed(Some(self.broken.take().unwrap_or(error))),
            }
            if !buffers.plain.is_empty() {
                return Receive::Bytes(&buffers.plain);
            }
        }
    }

    /// Reads once; `None` if nothing is available.
    fn read(&mut self, input: &mut [u8]) -> io::Result<Option<usize>> {
        if !self.readable {
            return Ok(None);
        }
        let read = self.socket.read(input)?;
        self.readable = match read {
            // A read that does not fill the buffer has emptied the socket, but the end may still follow.
            Some(count) => self.ended || count == input.len(),
            None => false,
        };
        Ok(read)
    }

    /// Decrypts `buffers.network` into `buffers.plain`, and sends what TLS has to reply.
    fn decrypt(&mut self, count: usize, buffers: &mut Buffers, registry: &Registry) -> io::Result<()> {
        let Buffers { input, plain, cipher } = buffers;
        plain.clear();
        cipher.clear();
        let Some(channel) = &mut self.tls else { return Ok(()) };
        let decrypted = channel.receive(&input[..count], plain, cipher);
        let sent = if cipher.is_empty() { Ok(()) } else { self.write_and_watch(cipher, registry) };
        decrypted?;
        sent
    }

    /// Sends bytes of the protocol.
    pub(super) fn send(
        &mut self,
        bytes: &[u8],
        buffers: &mut Buffers,
        registry: &Registry,
    ) -> io::Result<()> {
        let Some(channel) = &mut self.tls else { return self.write_and_watch(bytes, registry) };
        buffers.cipher.clear();
        channel.send(bytes, &mut buffers.cipher);
        self.write_and_watch(&buffers.cipher, registry)
    }

    fn write_and_watch(&mut self, bytes: &[u8], registry: &Registry) -> io::Result<()> {
        let waits_already = !self.unsent.is_empty();
        self.write(bytes)?;
        if !waits_already && !self.unsent.is_empty() {
            self.socket.reregister(registry, Token(self.number), Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }

    /// Writes as much as the socket accepts, and keeps the rest until it is writable again.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.unsent.is_empty() {
            self.unsent.keep(bytes);
            return Ok(());
        }
        // Bytes received before the end must be read, although no edge has announced them yet.
        let written = self.socket.write(bytes).inspect_err(|_| self.readable = true)?.unwrap_or(0);
        if written < bytes.len() {
            self.unsent.keep(&bytes[written..]);
        }
        Ok(())
    }

    /// Converts a readiness event into an event for the worker, if it matters to it.
    pub(super) fn notice(
        &mut self,
        notice: &mio::event::Event,
        buffers: &mut Buffers,
        registry: &Registry,
    ) -> Option<Event> {
        let done = if self.connected {
            self.flush(notice, registry)
        } else {
            match self.finish_connecting(registry) {
                Ok(true) if self.tls.is_none() => return Some(Event::Connected(self.number)),
                Ok(_) => return None,
                Err(error) => Err(error),
            }
        };
        self.ended |= notice.is_read_closed() || notice.is_error();
        self.readable |= notice.is_readable() || self.ended;
        let is_open = self.tls.as_ref().is_none_or(|channel| channel.is_open());
        let opened = match done {
            Ok(()) if !is_open => self.shake_hands(buffers, registry),
            Ok(()) => Ok(false),
            Err(error) => Err(error),
        };
        match opened {
            Ok(true) => Some(Event::Connected(self.number)),
            Ok(false) if !is_open => None,
            Ok(false) => (notice.is_readable() || self.ended).then_some(Event::Readable(self.number)),
            Err(error) => {
                self.readable = true;
                self.broken = Some(error);
                Some(Event::Readable(self.number))
            }
        }
    }

    fn finish_connecting(&mut self, registry: &Registry) -> io::Result<bool> {
        self.connected = finish_connecting(&self.socket, &self.address, &self.keep_alive)?;
        if self.connected {
            self.unsent.flush_to(&self.socket)?;
            self.watch(registry)?;
        }
        Ok(self.connected)
    }

    /// Registers for the events that matter now. A socket that is already ready produces an edge immediately.
    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        let reading = Interest::READABLE;
        let interest = if self.unsent.is_empty() { reading } else { reading | Interest::WRITABLE };
        self.socket.reregister(registry, Token(self.number), interest)
    }

    /// Continues the TLS handshake with the received bytes; true when it is complete.
    fn shake_hands(&mut self, buffers: &mut Buffers, registry: &Registry) -> io::Result<bool> {
        while let Some(count) = self.read(&mut buffers.input)? {
            if count == 0 {
                return Err(TlsError::closed().into());
            }
            self.decrypt(count, buffers, registry)?;
            if self.tls.as_ref().is_some_and(|channel| channel.is_open()) {
                // The server sends nothing unasked, so nothing was decrypted yet. Later bytes or the end produce
                // their own edge.
                self.watch(registry)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Continues a partial send if the socket accepts more.
    fn flush(&mut self, notice: &mio::event::Event, registry: &Registry) -> io::Result<()> {
        if self.unsent.is_empty() || !notice.is_writable() {
            return Ok(());
        }
        self.unsent.flush_to(&self.socket)?;
        if self.unsent.is_empty() {
            self.socket.reregister(registry, Token(self.number), Interest::READABLE)?;
        }
        Ok(())
    }
}
