//! The rim between a worker and the world: sockets, waiting, and the clock.
//!
//! A driver moves bytes and tells the time; it knows nothing of transactions. `net` is the real one;
//! the tests have one in virtual time.

use std::io;
use std::time::Duration;

use connect::{Address, Transport};
use stats::Timestamp;

/// Something that happened to a connection while waiting. Connections are numbered by the worker,
/// from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The transport is connected, TLS included; nothing of the protocol has been sent yet.
    Connected(usize),
    /// There may be bytes to [`Driver::receive`], or the connection was closed or broken.
    Readable(usize),
}

/// What [`Driver::receive`] found.
#[derive(Debug)]
pub enum Receive<'a> {
    /// Some bytes; ask again, there may be more.
    Bytes(&'a [u8]),
    /// Nothing more for now.
    Empty,
    /// The peer closed the connection, or it broke for the given reason.
    Closed(Option<io::Error>),
}

/// How a command of the shell ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellAnswer {
    /// Its exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// The first line of its output, with its line feed, if that was to be captured.
    pub output: Vec<u8>,
}

/// How the workers of a run waited for their sockets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventLoop {
    /// Linux's io_uring.
    IoUring,
    /// The portable poll, epoll on Linux.
    Epoll {
        /// Why io_uring could not be had; `None` where it was not asked for.
        because: Option<String>,
    },
    /// A driver of the caller's, such as the one in virtual time.
    Other,
}

/// What a driver, its thread and its process have used up to now, and what held them up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverUsage {
    /// CPU time of the whole process, user and system.
    pub process_cpu: Duration,
    /// CPU time of the calling thread, user and system.
    pub thread_cpu: Duration,
    /// Time that this thread was ready to run and had no core; `None` if the system does not tell.
    pub run_queue: Option<Duration>,
    /// Sends that were not taken whole at once.
    pub sends_held_back: u64,
    /// Time during which at least one connection had bytes that its socket had not taken.
    pub held_back: Duration,
    /// The shortest time that a transport took to connect, TLS not included.
    pub shortest_connect: Option<Duration>,
}

/// Whether nothing is to be waited for any longer at a time.
pub type IsOver<'a> = &'a dyn Fn(Timestamp) -> bool;

/// Sockets and a clock, for one worker.
pub trait Driver {
    /// Reads the clock.
    fn now(&mut self) -> Timestamp;

    /// What has been used so far.
    fn usage(&mut self) -> DriverUsage;

    /// How it waits.
    fn event_loop(&self) -> EventLoop {
        EventLoop::Other
    }

    /// Begins to connect, through TLS if the transport says so; an [`Event`] follows. `WouldBlock` means: too busy,
    /// try again a little later.
    fn connect(&mut self, connection: usize, address: &Address, transport: &Transport) -> io::Result<()>;

    /// What SCRAM is bound to on this connection (`tls-server-end-point`); nothing without TLS.
    fn channel_binding(&self, _connection: usize) -> Option<&[u8]> {
        None
    }

    /// Sends all of `bytes` and leaves it empty, at the latest when waiting; what the socket does not take at once
    /// is kept and sent later. An error means that the connection is lost; a send that fails only when waiting shows
    /// as a closed connection.
    fn send(&mut self, connection: usize, bytes: &mut Vec<u8>) -> io::Result<()>;

    /// Takes what has arrived. Must be asked until it says [`Receive::Empty`] or [`Receive::Closed`]
    /// after each [`Event::Readable`].
    fn receive(&mut self, connection: usize) -> Receive<'_>;

    /// Forgets the connection and closes its socket.
    fn close(&mut self, connection: usize);

    /// Waits until something happens or `deadline` is reached, and returns the time at which it woke.
    /// A deadline in the past looks for events without waiting.
    fn wait(&mut self, deadline: Timestamp) -> io::Result<Timestamp>;

    /// The events of the last wait, one by one.
    fn next_event(&mut self) -> Option<Event>;

    /// Runs a command through the shell and waits for its end, which keeps all clients of this worker waiting. Its
    /// output goes where ours goes, unless it is to be captured. Once `is_over` says so for the time it is, the command
    /// and all that it has started are killed, and there is no answer; without `is_over` it is waited for.
    fn run_shell(
        &mut self,
        command: &[u8],
        capture: bool,
        is_over: Option<IsOver<'_>>,
    ) -> io::Result<Option<ShellAnswer>>;
}
