//! A running relay.
//! It has its own thread; dropping it ends the thread and closes all connections.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use mio::{Poll, Waker};
use sockets::{Endpoint as Address, Listener};

use crate::config::Config;
use crate::error::RelayError;
use crate::error_reports::ErrorReports;
use crate::faults::Fault;
use crate::service::{Request, Service, WAKER};
use crate::statistics::Statistics;

/// A running relay.
pub struct Relay {
    address: Address,
    waker: Waker,
    /// Dropping the sender and waking the thread ends it.
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<io::Result<Statistics>>>,
    error_reports: Receiver<String>,
}

impl Relay {
    /// Listens and relays. The server may start later.
    ///
    /// # Errors
    /// The configuration is invalid; the relay cannot listen on the address; the system refuses a poll or a thread.
    pub fn start(config: Config) -> Result<Self, RelayError> {
        config.check()?;
        let listener = Listener::bind(&config.listen)
            .map_err(|error| RelayError::Listen { address: config.listen.to_string(), error })?;
        let address = listener.endpoint().clone();
        let (requests, asked) = mpsc::channel();
        let system = RelayError::system;
        let poll = Poll::new().map_err(system("wait for sockets"))?;
        let waker = Waker::new(poll.registry(), WAKER).map_err(system("wait for sockets"))?;
        let (reports, error_reports) = ErrorReports::new();
        let service =
            Service::new(poll, listener, config, asked, reports).map_err(system("wait for sockets"))?;
        let thread = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || service.run())
            .map_err(system("start a thread"))?;
        Ok(Self { address, waker, requests: Some(requests), thread: Some(thread), error_reports })
    }

    /// The address that it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Statistics since the previous call.
    ///
    /// # Errors
    /// The relay's thread has ended unexpectedly.
    pub fn take_statistics(&self) -> Result<Statistics, RelayError> {
        self.ask(Request::Statistics)
    }

    /// Begins a fault of the network; returns its number. It is in effect when this function returns.
    ///
    /// # Errors
    /// Too many faults are active, or the relay's thread has ended unexpectedly.
    pub fn begin(&self, fault: Fault) -> Result<u64, RelayError> {
        self.ask(|answer| Request::Begin(fault, answer))?
    }

    /// Ends a fault; returns whether it was active.
    ///
    /// # Errors
    /// The relay's thread has ended unexpectedly.
    pub fn end(&self, number: u64) -> Result<bool, RelayError> {
        self.ask(|answer| Request::End(number, answer))
    }

    /// Ends all faults; returns their number.
    ///
    /// # Errors
    /// The relay's thread has ended unexpectedly.
    pub fn heal(&self) -> Result<usize, RelayError> {
        self.ask(Request::Heal)
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<T, RelayError> {
        let (answer, answered) = mpsc::channel();
        let asked = self.requests.as_ref().is_some_and(|requests| requests.send(request(answer)).is_ok());
        if !asked || self.waker.wake().is_err() {
            return Err(RelayError::Gone);
        }
        answered.recv().map_err(|_| RelayError::Gone)
    }

    /// Messages about failed connections since the previous call, one sentence each.
    pub fn error_reports(&self) -> impl Iterator<Item = String> {
        self.error_reports.try_iter()
    }

    /// Whether the relay's thread is running.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends the relay; returns the statistics since the previous call of [`Relay::take_statistics`].
    ///
    /// # Errors
    /// The relay's thread has ended unexpectedly, or cannot be woken.
    pub fn stop(mut self) -> Result<Statistics, RelayError> {
        self.finish().ok_or(RelayError::Gone)?.map_err(RelayError::system("wait for sockets"))
    }

    fn finish(&mut self) -> Option<io::Result<Statistics>> {
        self.requests = None;
        let thread = self.thread.take()?;
        // If waking fails, the thread is abandoned, because joining it would block.
        self.waker.wake().ok()?;
        thread.join().ok()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // `stop` reports the result.
        let _ = self.finish();
    }
}
