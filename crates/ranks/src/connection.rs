//! The descriptor of the process manager: whole requests out, lines in, each with a time limit. Called by `job`;
//! `protocol` knows what the lines mean.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::RanksError;
use crate::clocks::{Moment, Timeout};
use crate::protocol::{Lines, Reply, Request};

/// Longest sleep in a wait. After it, the caller checks for signals, which another thread may have received.
const SLEEP: Duration = Duration::from_millis(100);
/// Bytes of one read.
const READ_BYTES: usize = 4096;

/// The connection to the process manager.
#[derive(Debug)]
pub(crate) struct Connection {
    descriptor: OwnedFd,
    lines: Lines,
}

/// The result of a wait.
#[derive(Debug)]
pub(crate) enum Received {
    /// A reply, and when it came.
    Reply(Reply, Moment),
    /// No reply arrived within the longest sleep.
    Nothing,
}

impl Connection {
    pub(crate) fn new(descriptor: OwnedFd) -> Connection {
        Connection { descriptor, lines: Lines::default() }
    }

    /// Writes a request; `false` if the process manager no longer accepts data.
    pub(crate) fn send(&self, request: &Request<'_>) -> Result<bool, RanksError> {
        let line = request.line();
        let mut rest = line.as_bytes();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        while !rest.is_empty() {
            match send(&self.descriptor, rest, flags) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                Err(error) => return Err(failure(error)),
            }
        }
        Ok(true)
    }

    /// Waits for a line, at most until the timeout and at most for one sleep. `request` is named in errors.
    pub(crate) fn receive(
        &mut self,
        timeout: &Timeout,
        request: &'static str,
    ) -> Result<Received, RanksError> {
        loop {
            if let Some(line) = self.lines.next(request)? {
                return Ok(Received::Reply(Reply::parse(line, request)?, Moment::now()));
            }
            let mut buffer = [0; READ_BYTES];
            match recv(&self.descriptor, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return Err(RanksError::Gone),
                Ok((_, count)) => self.lines.push(&buffer[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let sleep = timeout.remaining().unwrap_or_default().min(SLEEP);
                    if !self.wait_for_bytes(sleep)? {
                        return Ok(Received::Nothing);
                    }
                }
                Err(error) => return Err(failure(error)),
            }
        }
    }

    /// Whether bytes arrived; `false` after an interrupted wait.
    fn wait_for_bytes(&self, limit: Duration) -> Result<bool, RanksError> {
        let sleep = Timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
        let mut descriptors = [PollFd::new(&self.descriptor, PollFlags::IN)];
        match poll(&mut descriptors, Some(&sleep)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(failure(error)),
        }
    }
}

fn failure(error: Errno) -> RanksError {
    match error {
        Errno::PIPE | Errno::CONNRESET => RanksError::Gone,
        other => RanksError::Connection(io::Error::from(other)),
    }
}
