//! The clients of one worker and their connections. Connects many clients concurrently, and closes them. The same
//! code connects all clients before a run and, with a connection per transaction, a client during it. The caller
//! handles failed connections.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::time::Duration;

use connect::Address;
use stats::Timestamp;
use wire::StartupError;

use super::STOP_CHECK;
use super::context::ClientContext;
use super::slot::ClientSlot;
use crate::client::Client;
use crate::driver::{Driver, Event, Receive};
use crate::error::{ConnectReason, EngineError};
use crate::load::{Load, Share};
use crate::stopping::{RunningSession, Stop};

/// Maximum number of clients of a worker that connect at the same time. The server starts a process for each, so more
/// would only wait there.
const CONNECTING_MAX: usize = 32;
/// Pause before the next attempt if the server's queue of new connections is full.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(2);

/// The clients of a worker.
pub(super) struct Sessions<'p, D> {
    pub(super) load: &'p Load<'p>,
    pub(super) driver: D,
    pub(super) slots: Vec<ClientSlot>,
    pub(super) context: ClientContext<'p>,
    pub(super) connecting: ConnectQueue,
}

/// Connections to make, and those in progress, by the driver's numbers.
#[derive(Default)]
pub(super) struct ConnectQueue {
    /// Waiting until fewer than [`CONNECTING_MAX`] are in progress.
    pub(super) waiting: VecDeque<usize>,
    /// In progress, in the order of their start, with the start time.
    begun: VecDeque<(Timestamp, usize)>,
    /// Those whose server had a full queue of new connections.
    refused: VecDeque<usize>,
    /// Time of the next attempt for these.
    pub(super) retry_at: Option<Timestamp>,
    /// Whether only [`CONNECTING_MAX`] may be in progress.
    pub(super) is_limited: bool,
}

/// A failed connection.
pub(super) struct ConnectFailure {
    pub(super) slot: usize,
    pub(super) link: usize,
    pub(super) client: usize,
    pub(super) address: Address,
    pub(super) reason: ConnectReason,
}

impl From<ConnectFailure> for EngineError {
    fn from(failure: ConnectFailure) -> Self {
        let ConnectFailure { slot: _, link: _, client, address, reason } = failure;
        Self::Connect { client, address, reason }
    }
}

impl ConnectQueue {
    pub(super) fn add(&mut self, connection: usize) {
        self.waiting.push_back(connection);
    }

    /// Whether another connection may be started.
    pub(super) fn has_room(&self) -> bool {
        (self.begun.len() < CONNECTING_MAX || !self.is_limited) && !self.waiting.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.begun.is_empty()
    }

    /// The next connection to start now.
    fn next(&mut self, now: Timestamp) -> Option<usize> {
        self.retry_at = self.retry_at.filter(|at| now < *at);
        if self.retry_at.is_none()
            && let Some(connection) = self.refused.pop_front()
        {
            return Some(connection);
        }
        while self.has_room() {
            let connection = self.waiting.pop_front()?;
            self.begun.push_back((now, connection));
            if self.retry_at.is_none() {
                return Some(connection);
            }
            self.refused.push_back(connection);
        }
        None
    }

    /// The server's queue of new connections is full.
    fn retry(&mut self, connection: usize, now: Timestamp) {
        self.refused.push_front(connection);
        self.retry_at = Some(now + QUEUE_FULL_WAIT);
    }

    /// The connection is made or no longer needed.
    fn remove(&mut self, connection: usize) {
        if let Some(at) = self.begun.iter().position(|(_, begun)| *begun == connection) {
            self.begun.remove(at);
            self.refused.retain(|refused| *refused != connection);
        } else {
            self.waiting.retain(|waiting| *waiting != connection);
        }
    }

    /// A connection that has been in progress for `limit`.
    fn timed_out(&self, now: Timestamp, limit: Duration) -> Option<usize> {
        self.begun.front().filter(|(since, _)| now >= *since + limit).map(|(_, connection)| *connection)
    }
}

impl<'p, D: Driver> Sessions<'p, D> {
    pub(super) fn new(load: &'p Load<'p>, share: &Share, driver: D) -> Self {
        let slots: Vec<_> = share
            .clients
            .iter()
            .map(|number| ClientSlot::new(Client::new(number, load), load.think_draws_of_client(number)))
            .collect();
        Self {
            load,
            driver,
            slots,
            context: ClientContext::new(load),
            connecting: ConnectQueue { is_limited: true, ..ConnectQueue::default() },
        }
    }

    /// Connects all clients, or returns the first failure. Does nothing if clients connect for each transaction.
    pub(super) fn connect_all(&mut self, stop: &Stop<'_>) -> Result<(), EngineError> {
        if self.load.plan.reconnect {
            return Ok(());
        }
        (0..self.slots.len() * self.load.links.len()).for_each(|connection| self.connecting.add(connection));
        let mut now = self.driver.now();
        while !self.connecting.is_empty() {
            if stop.is_asked() {
                return Err(EngineError::InterruptedBeforeStart);
            }
            self.start_connects(now)?;
            let wake = self.connecting.retry_at.unwrap_or(now + STOP_CHECK);
            now = self
                .driver
                .wait(wake)
                .map_err(|error| EngineError::System { what: "wait for its sockets", error })?;
            while let Some(event) = self.driver.next_event() {
                match event {
                    Event::Connected(connection) => self.send_startup(connection, now)?,
                    // Once connected, the server may send more.
                    Event::Readable(connection) => while self.receive_startup(connection)? {},
                    Event::Drained(_) => {}
                }
            }
            if let Some(failure) = self.timed_out(now) {
                return Err(failure.into());
            }
        }
        Ok(())
    }

    /// Starts as many connections as the limit allows.
    pub(super) fn start_connects(&mut self, now: Timestamp) -> Result<(), ConnectFailure> {
        while let Some(connection) = self.connecting.next(now) {
            let (slot, link) = self.load.slot_and_link(connection);
            let host = self.slots[slot].client.choose_host(link, self.load);
            match self.driver.connect(connection, &host.address, &host.transport) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.connecting.retry(connection, now),
                Err(error) => return Err(self.failure(connection, ConnectReason::Transport(error))),
            }
        }
        Ok(())
    }

    /// The transport is connected: starts the protocol's start-up.
    pub(super) fn send_startup(&mut self, connection: usize, now: Timestamp) -> Result<(), ConnectFailure> {
        let (slot, link) = self.load.slot_and_link(connection);
        let Self { driver, slots, context, .. } = self;
        let binding = driver.channel_binding(connection);
        let begun = slots[slot].client.send_startup(link, binding, &mut context.turn(now, false));
        begun.map_err(|reason| self.failure(connection, reason))?;
        self.send_answer(connection)
    }

    /// Processes the server's messages during start-up. Returns true if the client is now connected and more bytes
    /// may be available, false if nothing more is available.
    pub(super) fn receive_startup(&mut self, connection: usize) -> Result<bool, ConnectFailure> {
        let (slot, link) = self.load.slot_and_link(connection);
        loop {
            let Self { load, driver, slots, context, .. } = self;
            let client = &mut slots[slot].client;
            let ready = match driver.receive(connection) {
                Receive::Empty => return Ok(false),
                Receive::Bytes(bytes) => client.receive_startup(link, bytes, load, &mut context.out),
                Receive::Closed(cause) => Err(match (client.take_error(link), cause) {
                    (Some(error), _) => ConnectReason::Startup(StartupError::Server(error)),
                    (None, Some(error)) => ConnectReason::Transport(error),
                    (None, None) => ConnectReason::Closed,
                }),
            };
            match ready {
                Ok(ready) => {
                    self.send_answer(connection)?;
                    if ready {
                        self.connecting.remove(connection);
                        return Ok(true);
                    }
                }
                Err(reason) => return Err(self.failure(connection, reason)),
            }
        }
    }

    fn send_answer(&mut self, connection: usize) -> Result<(), ConnectFailure> {
        if self.context.out.is_empty() {
            return Ok(());
        }
        // A failed send appears again as a closed connection, after the server's reason.
        match self.driver.send(connection, &mut self.context.out) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(self.failure(connection, ConnectReason::Transport(error)))
            }
            _ => Ok(()),
        }
    }

    /// A connection that exceeds the plan's time limit. Called until it returns `None`.
    pub(super) fn timed_out(&mut self, now: Timestamp) -> Option<ConnectFailure> {
        let limit = self.load.plan.connect_timeout;
        let connection = self.connecting.timed_out(now, limit)?;
        Some(self.failure(connection, ConnectReason::TimedOut(limit)))
    }

    pub(super) fn failure(&self, connection: usize, reason: ConnectReason) -> ConnectFailure {
        let (slot, link) = self.load.slot_and_link(connection);
        let client = &self.slots[slot].client;
        let address = client.host(link, self.load).address.clone();
        ConnectFailure { slot, link, client: client.number, address, reason }
    }

    /// The bytes of the client's transaction that are about to be sent.
    #[inline]
    pub(super) fn count_sent(&mut self, slot: usize) {
        self.slots[slot].client.count_sent(self.context.out.len());
    }

    /// Closes all connections of an aborted client.
    pub(super) fn abandon(&mut self, slot: usize) {
        self.context.out.clear();
        for connection in self.load.connections_of(slot) {
            self.connecting.remove(connection);
            self.driver.close(connection);
        }
    }

    /// Ends the session on one connection and closes it.
    pub(super) fn terminate(&mut self, slot: usize, link: usize) {
        let connection = self.load.connection(slot, link);
        let out = &mut self.context.out;
        out.clear();
        self.slots[slot].client.terminate(link, out);
        if !out.is_empty() {
            // A closed connection needs no Terminate message.
            let _ = self.driver.send(connection, out);
        }
        self.driver.close(connection);
    }

    /// Ends all sessions. If interrupted, returns those with a running statement.
    pub(super) fn terminate_all(&mut self, interrupted: bool) -> Vec<RunningSession> {
        let mut running = Vec::new();
        for slot in 0..self.slots.len() {
            let client = &self.slots[slot].client;
            if interrupted {
                let target = self.load.links[client.link];
                let host = client.host_index();
                running.extend(client.running().map(|key| RunningSession { target, host, key: key.clone() }));
            }
            (0..self.load.links.len()).for_each(|link| self.terminate(slot, link));
        }
        running
    }
}
