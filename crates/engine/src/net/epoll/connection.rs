//! One connection of the driver for real sockets: connecting, TLS if it was asked for, sending what does not fit at
//! once, and what the kernel's notices mean. A plain connection pays for TLS with a branch. Called by `epoll`, which
//! owns the poll and the buffers.

use std::io;

use connect::{Address, KeepAlive, TlsChannel, TlsError, Transport};
use mio::{Interest, Registry, Token};
use sockets::Socket;
use stats::Timestamp;

use crate::driver::{Event, Receive};
use crate::net::stream::{Unsent, begin_tls, connect, finish_connecting};

/// Memory that all connections of a driver use in turn.
pub(super) struct Buffers {
    /// As read from the network.
    pub(super) input: Box<[u8]>,
    /// Decrypted.
    pub(super) plain: Vec<u8>,
    /// Encrypted, to be sent.
    pub(super) cipher: Vec<u8>,
}

/// See the module.
pub(super) struct Connection {
    number: usize,
    socket: Socket,
    address: Address,
    keep_alive: KeepAlive,
    tls: Option<Box<TlsChannel>>,
    connected: bool,
    /// When it began to connect, until that was asked for.
    connecting_since: Option<Timestamp>,
    /// There may be bytes in the socket.
    readable: bool,
    /// The peer has closed its side: no edge follows, so the socket must be read to its end.
    ended: bool,
    /// Why connecting or writing failed; handed over once all that had arrived is read.
    broken: Option<io::Error>,
    unsent: Unsent,
}

impl Connection {
    /// Begins to connect.
    pub(super) fn open(
        number: usize,
        address: &Address,
        transport: &Transport,
        registry: &Registry,
        now: Timestamp,
    ) -> io::Result<Self> {
        let (tls, unsent) = begin_tls(address, transport)?;
        let socket = connect(address)?;
        // Until it is connected that shows as writable.
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

    /// What SCRAM is bound to.
    pub(super) fn channel_binding(&self) -> Option<&[u8]> {
        self.tls.as_ref().and_then(|channel| channel.end_point())
    }

    /// It has bytes that the socket did not take yet.
    pub(super) fn holds_back(&self) -> bool {
        self.connected && !self.unsent.is_empty()
    }

    /// When it began to connect: told once, when it is connected.
    pub(super) fn take_connecting_since(&mut self) -> Option<Timestamp> {
        self.connecting_since.take_if(|_| self.connected)
    }

    /// Takes what has arrived.
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

    /// As [`Connection::receive`], through TLS: goes on until something is decrypted or nothing is left.
    fn receive_encrypted<'b>(&mut self, buffers: &'b mut Buffers, registry: &Registry) -> Receive<'b> {
        loop {
            let (is_open, is_closed) =
                self.tls.as_ref().map_or((true, true), |channel| (channel.is_open(), channel.is_closed()));
            if is_closed {
                return Receive::Closed(self.broken.take());
            }
            if !is_open {
                // What comes now is the handshake's, which goes on with the kernel's notices.
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

    /// Reads once; `None` when there is nothing now.
    fn read(&mut self, input: &mut [u8]) -> io::Result<Option<usize>> {
        if !self.readable {
            return Ok(None);
        }
        let read = self.socket.read(input)?;
        self.readable = match read {
            // A read that does not fill the buffer has emptied the socket, but not told of its end.
            Some(count) => self.ended || count == input.len(),
            None => false,
        };
        Ok(read)
    }

    /// Decrypts what was read into `buffers.plain`; answers what TLS wants to be answered.
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

    /// Writes now what the socket takes, keeps the rest for when it is writable again.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.unsent.is_empty() {
            self.unsent.keep(bytes);
            return Ok(());
        }
        // What the peer said before it went is worth reading although no edge has told of it yet.
        let written = self.socket.write(bytes).inspect_err(|_| self.readable = true)?.unwrap_or(0);
        if written < bytes.len() {
            self.unsent.keep(&bytes[written..]);
        }
        Ok(())
    }

    /// Turns a notice of the kernel into an event for the worker, if it means anything to it.
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

    /// Looks for what matters now. A socket that is ready already gives an edge at once.
    fn watch(&mut self, registry: &Registry) -> io::Result<()> {
        let reading = Interest::READABLE;
        let interest = if self.unsent.is_empty() { reading } else { reading | Interest::WRITABLE };
        self.socket.reregister(registry, Token(self.number), interest)
    }

    /// Goes on with the TLS handshake as far as bytes have come; true when it is done.
    fn shake_hands(&mut self, buffers: &mut Buffers, registry: &Registry) -> io::Result<bool> {
        while let Some(count) = self.read(&mut buffers.input)? {
            if count == 0 {
                return Err(TlsError::closed().into());
            }
            self.decrypt(count, buffers, registry)?;
            if self.tls.as_ref().is_some_and(|channel| channel.is_open()) {
                // The server speaks only when spoken to, so nothing was decrypted yet. What comes now, such as its
                // end, gives an edge of its own.
                self.watch(registry)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes on sending what was left, if the socket takes more now.
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
