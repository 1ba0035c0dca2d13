//! A relay that runs: where it listens, what it says of itself. It works in a thread of its own and ends when it is
//! dropped; then all its connections are closed and nothing is left of it.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use mio::{Poll, Waker};
use sockets::{Endpoint as Address, Listener};

use crate::config::Config;
use crate::error::RelayError;
use crate::error_reports::ErrorReports;
use crate::service::{Service, StatisticsRequest, WAKER};
use crate::statistics::Statistics;

/// A running relay.
pub struct Relay {
    address: Address,
    waker: Waker,
    /// Its thread ends when this is dropped and the waker tells it.
    requests: Option<Sender<StatisticsRequest>>,
    thread: Option<JoinHandle<io::Result<Statistics>>>,
    error_reports: Receiver<String>,
}

impl Relay {
    /// Listens, and relays from then on. The server need not be there yet.
    ///
    /// # Errors
    /// The configuration makes no sense; nobody can listen there; the system refuses a poll or a thread.
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

    /// Where it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it has done since it was last asked; what is told here is not told again.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn take_statistics(&self) -> Result<Statistics, RelayError> {
        let (answer, answered) = mpsc::channel();
        let asked = self.requests.as_ref().is_some_and(|requests| requests.send(answer).is_ok());
        if !asked || self.waker.wake().is_err() {
            return Err(RelayError::Gone);
        }
        answered.recv().map_err(|_| RelayError::Gone)
    }

    /// What went wrong since it was last asked, a sentence each; most of the time nothing.
    pub fn error_reports(&self) -> impl Iterator<Item = String> {
        self.error_reports.try_iter()
    }

    /// Whether it still relays.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends it; says what it has done since it was last asked.
    ///
    /// # Errors
    /// It had ended by itself, or cannot be told to end.
    pub fn stop(mut self) -> Result<Statistics, RelayError> {
        self.end().ok_or(RelayError::Gone)?.map_err(RelayError::system("wait for sockets"))
    }

    fn end(&mut self) -> Option<io::Result<Statistics>> {
        self.requests = None;
        let thread = self.thread.take()?;
        // A waker that fails leaves the thread behind rather than the caller waiting for it.
        self.waker.wake().ok()?;
        thread.join().ok()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // How it ended is told by `stop`.
        let _ = self.end();
    }
}
