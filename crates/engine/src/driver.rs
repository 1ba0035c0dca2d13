//! The interface between a worker and its environment: sockets, waiting, and the clock.
//!
//! A driver moves bytes and returns the time; it is independent of transactions. `net` contains the real drivers; the
//! tests have one in virtual time.

use std::io;
use std::time::Duration;

use connect::{Address, Transport};
use serde::{Deserialize, Serialize};
use stats::Timestamp;

/// An event on a connection during a wait. The worker numbers its connections from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The transport is connected, including TLS; no byte of the protocol was sent yet.
    Connected(usize),
    /// Bytes may be available for [`Driver::receive`], or the connection was closed or lost.
    Readable(usize),
    /// The socket has accepted all bytes that [`Driver::holds_back`] was about.
    Drained(usize),
}

/// Result of [`Driver::receive`].
#[derive(Debug)]
pub enum Receive<'a> {
    /// Some bytes; there may be more.
    Bytes(&'a [u8]),
    /// Nothing more at the moment.
    Empty,
    /// The peer closed the connection, or it was lost for the given reason.
    Closed(Option<io::Error>),
}

/// Result of a shell command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellAnswer {
    /// Exit status; `None` if a signal terminated it.
    pub status: Option<i32>,
    /// First line of the output with its newline, if it was captured.
    pub output: Vec<u8>,
}

/// How the workers of a run wait for their sockets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventLoop {
    /// Linux's io_uring.
    IoUring,
    /// Portable polling, epoll on Linux.
    Epoll {
        /// Why io_uring is not available; `None` if it was not requested.
        because: Option<String>,
    },
    /// A driver of the caller, such as the one in virtual time.
    Other,
}

/// Resource use of a driver and its thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverUsage {
    /// CPU time of the calling thread, user and system.
    pub thread_cpu: Duration,
    /// Time that this thread was runnable without a core; `None` if the system does not report it.
    pub run_queue: Option<Duration>,
    /// Number of sends that were not accepted completely at once.
    pub sends_held_back: u64,
    /// Time during which at least one connection had bytes that its socket had not accepted.
    pub held_back: Duration,
    /// Shortest time to connect a transport, without TLS.
    pub shortest_connect: Option<Duration>,
}

/// Whether to stop waiting at a given time.
pub type IsOver<'a> = &'a dyn Fn(Timestamp) -> bool;

/// Sockets and a clock for one worker.
pub trait Driver {
    /// Reads the clock.
    fn now(&mut self) -> Timestamp;

    /// The resource use so far.
    fn usage(&mut self) -> DriverUsage;

    /// How it waits for its sockets.
    fn event_loop(&self) -> EventLoop {
        EventLoop::Other
    }

    /// Starts connecting, with TLS if the transport requires it; an [`Event`] follows. `WouldBlock` means that the
    /// server is busy and a retry is needed.
    fn connect(&mut self, connection: usize, address: &Address, transport: &Transport) -> io::Result<()>;

    /// The channel binding for SCRAM on this connection (`tls-server-end-point`); `None` without TLS.
    fn channel_binding(&self, _connection: usize) -> Option<&[u8]> {
        None
    }

    /// Sends all of `bytes` and empties it, at the latest in the next wait. Bytes that the socket does not accept are
    /// kept and sent later. An error means that the connection is lost; a send that fails during a wait appears as a
    /// closed connection.
    fn send(&mut self, connection: usize, bytes: &mut Vec<u8>) -> io::Result<()>;

    /// Whether the socket has not accepted all sent bytes, as far as this is known; [`Event::Drained`] follows. Bytes that
    /// are sent in the next wait are not counted.
    fn holds_back(&self, _connection: usize) -> bool {
        false
    }

    /// Receives available bytes. After each [`Event::Readable`] it must be called until it returns [`Receive::Empty`]
    /// or [`Receive::Closed`].
    fn receive(&mut self, connection: usize) -> Receive<'_>;

    /// Closes the socket and forgets the connection.
    fn close(&mut self, connection: usize);

    /// Waits until an event or `deadline`, and returns the time of waking. With a deadline in the past it checks for
    /// events without waiting.
    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp>;

    /// Returns the events of the last wait, one by one.
    fn next_event(&mut self) -> Option<Event>;

    /// Runs a command with the shell and waits for its end, which delays all clients of this worker. Its output goes
    /// to our standard output unless it is captured. When `is_over` returns true, the command and its child processes
    /// are killed and there is no result; without `is_over` there is no limit.
    fn run_shell(
        &mut self,
        command: &[u8],
        capture: bool,
        is_over: Option<IsOver<'_>>,
    ) -> io::Result<Option<ShellAnswer>>;
}
