//! The driver for real sockets: non-blocking TCP and Unix sockets over the portable `mio` (epoll on
//! Linux), edge-triggered, each socket registered once.
//!
//! An edge means "read until nothing is left". A read that does not fill the buffer has emptied the
//! socket (epoll(7), questions and answers), so the usual reply costs one system call, not two; unless
//! the peer has closed, for then the end itself is still to be read and no other edge will tell.

use std::io;
use std::time::Duration;

use connect::Address;
use mio::{Events, Interest, Poll, Registry, Token};
use stats::Timestamp;

use crate::clock::{Clock, process_cpu_time};
use crate::driver::{Driver, Event, Receive, ShellAnswer};

use alarm::Alarm;
use stream::{Stream, Unsent};

mod alarm;
mod shell;
mod stream;

/// Events taken from the kernel per wake-up; more wait for the next one.
const EVENTS_PER_WAIT: usize = 256;
/// Bytes read per system call; replies of usual transactions fit many times.
const READ_BUFFER_BYTES: usize = 64 * 1024;
/// The token of the alarm; connections have theirs from 0 up.
const ALARM: Token = Token(usize::MAX);

/// The sockets of one worker.
pub(crate) struct NetDriver {
    clock: Clock,
    poll: Poll,
    events: Events,
    /// What the last wait brought, in reverse order.
    ready: Vec<Event>,
    connections: Vec<Option<Connection>>,
    buffer: Box<[u8]>,
    alarm: Alarm,
}

struct Connection {
    stream: Stream,
    connected: bool,
    /// There may be bytes in the socket.
    readable: bool,
    /// The peer has closed its side: no edge follows, so the socket must be read to its end.
    ended: bool,
    /// Why connecting or writing failed; handed over once all that had arrived is read.
    broken: Option<io::Error>,
    unsent: Unsent,
}

impl NetDriver {
    /// A driver for up to `connections` connections.
    pub(crate) fn new(clock: Clock, connections: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let alarm = Alarm::new(poll.registry(), ALARM)?;
        Ok(Self {
            clock,
            poll,
            events: Events::with_capacity(EVENTS_PER_WAIT),
            ready: Vec::with_capacity(EVENTS_PER_WAIT),
            connections: (0..connections).map(|_| None).collect(),
            buffer: vec![0; READ_BUFFER_BYTES].into_boxed_slice(),
            alarm,
        })
    }
}

impl Driver for NetDriver {
    fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    fn cpu_time(&mut self) -> Duration {
        process_cpu_time()
    }

    fn connect(&mut self, number: usize, address: &Address) -> io::Result<()> {
        let mut stream = Stream::connect(address)?;
        stream.register(self.poll.registry(), number)?;
        let unsent = Unsent::default();
        let (connected, readable, ended) = (false, false, false);
        self.connections[number] =
            Some(Connection { stream, connected, readable, ended, broken: None, unsent });
        Ok(())
    }

    fn send(&mut self, number: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let result = match self.connections[number].as_mut() {
            Some(connection) => connection.send(bytes, self.poll.registry(), number),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        bytes.clear();
        result
    }

    fn receive(&mut self, number: usize) -> Receive<'_> {
        let Some(connection) = self.connections[number].as_mut() else { return Receive::Empty };
        if connection.readable {
            match connection.stream.read_some(&mut self.buffer) {
                Ok(Some(0)) => return Receive::Closed(connection.broken.take()),
                Ok(Some(count)) => {
                    connection.readable = connection.ended || count == self.buffer.len();
                    return Receive::Bytes(&self.buffer[..count]);
                }
                Ok(None) => connection.readable = false,
                Err(error) => return Receive::Closed(Some(connection.broken.take().unwrap_or(error))),
            }
        }
        match connection.broken.take() {
            Some(error) => Receive::Closed(Some(error)),
            None => Receive::Empty,
        }
    }

    fn close(&mut self, number: usize) {
        // Dropping the socket closes it, which also removes it from the poll.
        self.connections[number] = None;
    }

    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp> {
        let timeout = self.alarm.set(deadline, self.clock.now())?;
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        let now = self.clock.now();
        self.ready.clear();
        for event in &self.events {
            if event.token() == ALARM {
                self.alarm.rang();
                continue;
            }
            let number = event.token().0;
            if let Some(connection) = self.connections[number].as_mut() {
                self.ready.extend(connection.notice(event, self.poll.registry(), number));
            }
        }
        self.ready.reverse();
        Ok(now)
    }

    fn next_event(&mut self) -> Option<Event> {
        self.ready.pop()
    }

    fn run_shell(&mut self, command: &[u8], capture: bool) -> io::Result<ShellAnswer> {
        shell::run(command, capture)
    }
}

impl Connection {
    /// Turns a notice of the kernel into an event for the worker, if it means anything to it.
    fn notice(&mut self, notice: &mio::event::Event, registry: &Registry, number: usize) -> Option<Event> {
        let done = if self.connected {
            self.flush(notice, registry, number)
        } else {
            match self.finish_connecting(registry, number) {
                Ok(true) => return Some(Event::Connected(number)),
                Ok(false) => return None,
                Err(error) => Err(error),
            }
        };
        self.ended |= notice.is_read_closed() || notice.is_error();
        if let Err(error) = done {
            self.readable = true;
            self.broken = Some(error);
            return Some(Event::Readable(number));
        }
        if notice.is_readable() || self.ended {
            self.readable = true;
            return Some(Event::Readable(number));
        }
        None
    }

    fn finish_connecting(&mut self, registry: &Registry, number: usize) -> io::Result<bool> {
        self.connected = self.stream.finish_connecting()?;
        if self.connected {
            self.stream.watch(registry, number, Interest::READABLE)?;
        }
        Ok(self.connected)
    }

    /// Writes now what the socket takes, keeps the rest for when it is writable again.
    fn send(&mut self, bytes: &[u8], registry: &Registry, number: usize) -> io::Result<()> {
        if !self.unsent.is_empty() {
            self.unsent.keep(bytes);
            return Ok(());
        }
        // What the peer said before it went is worth reading although no edge has told of it yet.
        let written = self.stream.write_some(bytes).inspect_err(|_| self.readable = true)?;
        if written < bytes.len() {
            self.unsent.keep(&bytes[written..]);
            self.stream.watch(registry, number, Interest::READABLE | Interest::WRITABLE)?;
        }
        Ok(())
    }

    /// Goes on sending what was left, if the socket takes more now.
    fn flush(&mut self, notice: &mio::event::Event, registry: &Registry, number: usize) -> io::Result<()> {
        if self.unsent.is_empty() || !notice.is_writable() {
            return Ok(());
        }
        self.unsent.flush_to(&mut self.stream)?;
        if self.unsent.is_empty() {
            self.stream.watch(registry, number, Interest::READABLE)?;
        }
        Ok(())
    }
}
