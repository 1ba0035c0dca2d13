//! The driver over readiness: non-blocking TCP and Unix sockets over the portable `mio` (epoll on
//! Linux), edge-triggered, each socket registered once.
//!
//! An edge means "read until nothing is left". A read that does not fill the buffer has emptied the
//! socket (epoll(7), questions and answers), so the usual reply costs one system call, not two; unless
//! the peer has closed, for then the end itself is still to be read and no other edge will tell.

use std::io;

use connect::{Address, Transport};
use mio::Poll;
use sockets::{Clock, TimedPoll, Wakeups};
use stats::Timestamp;

use super::gauges::Gauges;
use super::{EVENTS_PER_WAIT, shell};
use crate::driver::{Driver, DriverUsage, Event, EventLoop, IsOver, Receive, ShellAnswer};

use connection::{Buffers, EpollConnection};

mod connection;

/// Bytes per read; larger than many replies of usual transactions.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// The sockets of one worker.
pub(crate) struct EpollDriver {
    clock: Clock,
    poll: TimedPoll,
    /// Events of the last wait, in reverse order.
    ready: Vec<Event>,
    connections: Vec<Option<EpollConnection>>,
    buffers: Buffers,
    gauges: Gauges,
    /// Why io_uring is not used.
    because: Option<String>,
}

impl EpollDriver {
    /// A driver for up to `connections` connections.
    pub(crate) fn new(clock: Clock, connections: usize, because: Option<String>) -> io::Result<Self> {
        let poll = TimedPoll::new(Poll::new()?, clock, EVENTS_PER_WAIT, Wakeups::default())?;
        Ok(Self {
            clock,
            poll,
            ready: Vec::with_capacity(EVENTS_PER_WAIT),
            connections: (0..connections).map(|_| None).collect(),
            buffers: Buffers {
                input: vec![0; READ_BUFFER_BYTES].into_boxed_slice(),
                plain: Vec::new(),
                cipher: Vec::new(),
            },
            gauges: Gauges::default(),
            because,
        })
    }
}

impl Driver for EpollDriver {
    fn now(&mut self) -> Timestamp {
        self.clock.now()
    }

    fn usage(&mut self) -> DriverUsage {
        self.gauges.usage(self.poll.polled())
    }

    fn event_loop(&self) -> EventLoop {
        EventLoop::Epoll { because: self.because.clone() }
    }

    fn connect(&mut self, number: usize, address: &Address, transport: &Transport) -> io::Result<()> {
        let begun = self.clock.now();
        let connection = EpollConnection::open(number, address, transport, self.poll.registry(), begun)?;
        self.connections[number] = Some(connection);
        Ok(())
    }

    fn channel_binding(&self, number: usize) -> Option<&[u8]> {
        self.connections[number].as_ref().and_then(EpollConnection::channel_binding)
    }

    fn send(&mut self, number: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let result = match self.connections[number].as_mut() {
            Some(connection) => {
                let held_back = connection.holds_back();
                let sent = connection.send(bytes, &mut self.buffers, self.poll.registry());
                self.gauges.sent(held_back, connection.holds_back());
                sent
            }
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        bytes.clear();
        result
    }

    fn holds_back(&self, number: usize) -> bool {
        self.connections[number].as_ref().is_some_and(EpollConnection::holds_back)
    }

    fn receive(&mut self, number: usize) -> Receive<'_> {
        match self.connections[number].as_mut() {
            Some(connection) => connection.receive(&mut self.buffers, self.poll.registry()),
            None => Receive::Empty,
        }
    }

    fn close(&mut self, number: usize) {
        // Dropping the socket closes it, which also removes it from the poll.
        let closed = self.connections[number].take();
        self.gauges.flushed(closed.is_some_and(|connection| connection.holds_back()), false);
    }

    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp> {
        let Self { poll, ready, connections, buffers, gauges, .. } = self;
        ready.clear();
        let now = poll.wait(Some(deadline), |registry, now, events| {
            gauges.pass(now);
            for event in events {
                if let Some(connection) = connections[event.token().0].as_mut() {
                    let held_back = connection.holds_back();
                    ready.extend(connection.notice(event, buffers, registry));
                    if held_back && !connection.holds_back() {
                        ready.push(Event::Drained(event.token().0));
                    }
                    gauges.flushed(held_back, connection.holds_back());
                    gauges.connected(connection.take_connecting_since(), now);
                }
            }
            !ready.is_empty()
        })?;
        self.ready.reverse();
        Ok(now)
    }

    fn next_event(&mut self) -> Option<Event> {
        self.ready.pop()
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
