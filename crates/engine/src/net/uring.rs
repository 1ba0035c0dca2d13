//! The driver for Linux's io_uring. One system call per turn of the loop submits all sends and waits for events. Each
//! socket is received by one multishot request into buffers that all sockets share. A send that the socket accepts
//! completely produces no event; the rest of a partial send is kept in its connection.
//!
//! The ring processes arrivals in batches of about twenty per call, so that the first clients of many are answered
//! before the last one is received. [`ring`] holds the memory that the kernel uses.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use connect::{Address, Transport};
use ring::{Options, Ring, Unsent};
use sockets::{Clock, Wakeups};
use stats::Timestamp;

use super::{EVENTS_PER_WAIT, shell};
use crate::driver::{Driver, DriverUsage, Event, EventLoop, IsOver, Receive, ShellAnswer};

use super::gauges::Gauges;
use connection::UringConnection;

mod connection;

/// Receive buffers. The kernel fills about twenty before we look; large results need a few times that.
const BUFFERS: u16 = 256;
/// Bytes of each buffer; larger than many replies of usual transactions.
const BUFFER_BYTES: u32 = 8 * 1024;

/// The sockets of one worker.
pub(crate) struct UringDriver {
    clock: Clock,
    ring: Ring,
    connections: Vec<Option<UringConnection>>,
    /// The connection whose received bytes in the ring have not been taken yet.
    heard: Option<usize>,
    /// Events to return before the next wait.
    left: usize,
    plain: Vec<u8>,
    cipher: Vec<u8>,
    gauges: Gauges,
    wakeups: Wakeups,
}

impl UringDriver {
    /// A driver for up to `connections` connections.
    pub(crate) fn new(clock: Clock, connections: usize) -> io::Result<Self> {
        let slots = u32::try_from(connections).map_err(|_| io::ErrorKind::InvalidInput)?;
        Ok(Self {
            clock,
            ring: Ring::new(Options { slots, buffers: BUFFERS, buffer_bytes: BUFFER_BYTES })?,
            connections: (0..connections).map(|_| None).collect(),
            heard: None,
            left: 0,
            plain: Vec::new(),
            cipher: Vec::new(),
            gauges: Gauges::default(),
            wakeups: Wakeups::default(),
        })
    }

    /// Sends bytes as they go over the network, and keeps what the socket does not accept.
    fn write(&mut self, number: usize, bytes: &[u8]) -> io::Result<()> {
        let slot = slot(number);
        if self.keep_in_order(number, bytes) || self.ring.send(slot, bytes).is_ok() {
            return Ok(());
        }
        // The batch is full, or contains a send of this connection that may turn out to be partial. After it is
        // submitted and the rest is kept, there is space.
        self.flush()?;
        if self.keep_in_order(number, bytes) || self.ring.send(slot, bytes).is_ok() {
            return Ok(());
        }
        // Too long to be copied. Nothing of this connection is queued now.
        let Some(connection) = &mut self.connections[number] else { return Ok(()) };
        connection.write(bytes);
        let holds_back = connection.holds_back();
        self.gauges.sent(false, holds_back);
        if holds_back { self.ring.watch_writable(slot) } else { Ok(()) }
    }

    /// Keeps the bytes if earlier bytes are still waiting.
    fn keep_in_order(&mut self, number: usize, bytes: &[u8]) -> bool {
        let Some(connection) = self.connections[number].as_mut().filter(|connection| connection.holds_back())
        else {
            return false;
        };
        connection.unsent.keep(bytes);
        self.gauges.sent(true, true);
        true
    }

    /// Submits the queued sends.
    fn flush(&mut self) -> io::Result<()> {
        self.ring.submit()?;
        self.collect_unsent()
    }

    /// Continues partial sends when their sockets accept more.
    fn collect_unsent(&mut self) -> io::Result<()> {
        while let Some(Unsent { slot, rest, error }) = self.ring.next_unsent() {
            let Some(connection) = self.connections[slot as usize].as_mut() else { continue };
            match error {
                Some(error) => connection.fail(error),
                None => {
                    let held_back = connection.holds_back();
                    connection.unsent.keep(rest);
                    self.gauges.sent(held_back, true);
                    self.ring.watch_writable(slot)?;
                }
            }
        }
        Ok(())
    }

    /// Converts a completion into an event for the worker, if it matters to it.
    fn notice(&mut self, number: usize, event: ring::Event) -> Option<Event> {
        let connection = self.connections[number].as_mut()?;
        let held_back = connection.holds_back();
        let done = match event {
            ring::Event::Received if connection.is_open() => {
                self.heard = Some(number);
                return Some(Event::Readable(number));
            }
            ring::Event::Received => self.shake_hands(number),
            ring::Event::Writable => self.go_on(number),
            ring::Event::Ended(error) => {
                connection.end(error);
                return Some(Event::Readable(number));
            }
        };
        match done {
            Ok(true) => Some(Event::Connected(number)),
            Ok(false) => (held_back && !self.holds_back(number)).then_some(Event::Drained(number)),
            Err(error) => {
                self.give_up(number, error);
                Some(Event::Readable(number))
            }
        }
    }

    /// The connection is lost.
    fn give_up(&mut self, number: usize, error: io::Error) {
        if let Some(connection) = &mut self.connections[number] {
            connection.end(Some(error));
        }
    }

    /// The socket is writable, or has connected. True if the connection is now ready for the protocol.
    fn go_on(&mut self, number: usize) -> io::Result<bool> {
        let Some(connection) = &mut self.connections[number] else { return Ok(false) };
        let held_back = connection.holds_back();
        let was_connected = connection.connected;
        let connected = connection.go_on()?;
        self.gauges.flushed(held_back, connection.holds_back());
        if !was_connected && connected {
            self.gauges.connected(Some(connection.connecting_since), self.gauges.now);
            self.ring.receive(slot(number))?;
        }
        if !connected || connection.holds_back() {
            self.ring.watch_writable(slot(number))?;
        }
        Ok(!was_connected && connected && connection.is_open())
    }

    /// Continues the TLS handshake with the received bytes; true when it is complete.
    fn shake_hands(&mut self, number: usize) -> io::Result<bool> {
        self.decrypt(number)?;
        Ok(self.connections[number].as_ref().is_some_and(UringConnection::is_open))
    }

    /// Decrypts received bytes into `plain`, and sends what TLS has to reply.
    fn decrypt(&mut self, number: usize) -> io::Result<()> {
        self.plain.clear();
        self.cipher.clear();
        let Some(channel) =
            self.connections[number].as_mut().and_then(|connection| connection.tls.as_deref_mut())
        else {
            return Ok(());
        };
        let decrypted = channel.receive(self.ring.received(), &mut self.plain, &mut self.cipher);
        let sent = if self.cipher.is_empty() { Ok(()) } else { self.write_cipher(number) };
        decrypted?;
        sent
    }

    /// Sends encrypted bytes.
    fn write_cipher(&mut self, number: usize) -> io::Result<()> {
        let cipher = std::mem::take(&mut self.cipher);
        let sent = self.write(number, &cipher);
        self.cipher = cipher;
        sent
    }
}

/// The ring's number of a connection.
fn slot(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Driver for UringDriver {
    fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    fn usage(&mut self) -> DriverUsage {
        self.gauges.usage(self.wakeups.polled())
    }

    fn event_loop(&self) -> EventLoop {
        EventLoop::IoUring
    }

    fn connect(&mut self, number: usize, address: &Address, transport: &Transport) -> io::Result<()> {
        self.close(number);
        let connection = UringConnection::open(address, transport, self.clock.now())?;
        self.ring.attach(slot(number), connection.socket.as_fd())?;
        self.connections[number] = Some(connection);
        self.ring.watch_writable(slot(number))
    }

    fn channel_binding(&self, number: usize) -> Option<&[u8]> {
        self.connections[number].as_ref().and_then(UringConnection::channel_binding)
    }

    fn send(&mut self, number: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let Some(connection) = &mut self.connections[number] else {
            bytes.clear();
            return Err(io::ErrorKind::NotConnected.into());
        };
        let result = if let Some(error) = connection.take_failure() {
            Err(error)
        } else if let Some(channel) = &mut connection.tls {
            self.cipher.clear();
            channel.send(bytes, &mut self.cipher);
            self.write_cipher(number)
        } else {
            self.write(number, bytes)
        };
        bytes.clear();
        result
    }

    fn holds_back(&self, number: usize) -> bool {
        self.connections[number].as_ref().is_some_and(UringConnection::holds_back)
    }

    fn receive(&mut self, number: usize) -> Receive<'_> {
        if self.heard.take_if(|heard| *heard == number).is_some() {
            let Some(connection) = &self.connections[number] else { return Receive::Empty };
            if connection.tls.is_none() {
                return Receive::Bytes(self.ring.received());
            }
            if let Err(error) = self.decrypt(number) {
                self.give_up(number, error);
            } else if !self.plain.is_empty() {
                return Receive::Bytes(&self.plain);
            }
        }
        self.connections[number].as_mut().map_or(Receive::Empty, UringConnection::receive_end)
    }

    fn close(&mut self, number: usize) {
        let Some(connection) = self.connections[number].take() else { return };
        self.heard.take_if(|heard| *heard == number);
        self.gauges.flushed(connection.holds_back(), false);
        // A kernel that accepts no requests reports this again when waiting.
        let _ = self.ring.detach(slot(number));
        let _ = self.collect_unsent();
    }

    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp> {
        self.heard = None;
        let mut now = self.clock.now();
        self.wakeups.begin(now);
        loop {
            let has_events = self.ring.has_events();
            let sleep = if has_events { Duration::ZERO } else { self.wakeups.sleep(deadline.since(now)) };
            self.ring.wait(sleep)?;
            let from = std::mem::replace(&mut now, self.clock.now());
            self.gauges.pass(now);
            self.collect_unsent()?;
            if self.ring.has_events() || from >= deadline {
                break;
            }
            self.wakeups.nothing_happened(from, sleep, now);
            if now >= deadline {
                break;
            }
        }
        self.left = EVENTS_PER_WAIT;
        Ok(now)
    }

    fn next_event(&mut self) -> Option<Event> {
        while self.left > 0 {
            self.heard = None;
            let (slot, event) = self.ring.next_event()?;
            self.left -= 1;
            if let Some(event) = self.notice(slot as usize, event) {
                return Some(event);
            }
        }
        None
    }

    fn run_shell(
        &mut self,
        command: &[u8],
        capture: bool,
        is_over: Option<IsOver<'_>>,
    ) -> io::Result<Option<ShellAnswer>> {
        shell::run(command, capture, is_over.map(|is_over| || is_over(self.clock.now())))
    }
}
