//! Stands in for `uring` on systems that have no io_uring: can be asked for, and never be had.
//! The worker then takes epoll, or whatever the system has in its place.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use connect::{Address, Transport};
use sockets::Clock;
use stats::Timestamp;

use crate::driver::{Driver, Event, IsOver, Receive, ShellAnswer};

/// There is none.
pub(crate) struct UringDriver(Infallible);

impl UringDriver {
    /// Says so.
    pub(crate) fn new(_clock: Clock, _connections: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Driver for UringDriver {
    fn now(&mut self) -> Timestamp {
        match self.0 {}
    }

    fn cpu_time(&mut self) -> Duration {
        match self.0 {}
    }

    fn connect(&mut self, _connection: usize, _address: &Address, _transport: &Transport) -> io::Result<()> {
        match self.0 {}
    }

    fn send(&mut self, _connection: usize, _bytes: &mut Vec<u8>) -> io::Result<()> {
        match self.0 {}
    }

    fn receive(&mut self, _connection: usize) -> Receive<'_> {
        match self.0 {}
    }

    fn close(&mut self, _connection: usize) {
        match self.0 {}
    }

    fn wait(&mut self, _deadline: Timestamp) -> io::Result<Timestamp> {
        match self.0 {}
    }

    fn next_event(&mut self) -> Option<Event> {
        match self.0 {}
    }

    fn run_shell(
        &mut self,
        _command: &[u8],
        _capture: bool,
        _is_over: Option<IsOver<'_>>,
    ) -> io::Result<Option<ShellAnswer>> {
        match self.0 {}
    }
}
