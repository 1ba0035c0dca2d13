//! The clients of one worker and their connections: how these are made, many at a time and none waiting for another,
//! and how they are closed. The same dialogue connects all clients before a run and, where each transaction has a
//! connection of its own, a client during it; what a connection that failed means is decided by the caller.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::time::Duration;

use connect::Address;
use stats::Timestamp;
use wire::StartupError;

use super::STOP_CHECK;
use super::context::ClientContext;
use super::pacing::ScheduledTransaction;
use crate::client::Client;
use crate::driver::{Driver, Event, Receive};
use crate::error::{ConnectReason, EngineError};
use crate::load::{Load, Share};
use crate::stopping::{RunningSession, Stop};

/// Clients of one worker that are connecting at the same time. The server starts a process for each, so more would
/// only wait there.
const CONNECTING_MAX: usize = 32;
/// How long to leave a server alone whose queue of new connections is full.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(2);

/// See the module.
pub(super) struct Sessions<'p, D> {
    pub(super) load: &'p Load<'p>,
    pub(super) driver: D,
    pub(super) slots: Vec<ClientSlot>,
    pub(super) context: ClientContext<'p>,
    pub(super) connecting: ConnectQueue,
}

/// A client and what the worker knows about it.
pub(super) struct ClientSlot {
    pub(super) client: Client,
    /// The transaction that it will start when its timer fires, or when it is connected.
    pub(super) next: Option<ScheduledTransaction>,
    /// The script that it will run, chosen before arrivals were skipped.
    pub(super) kept_script: Option<usize>,
    /// It is done because no arrival was left; it takes one that is returned.
    pub(super) lacks_arrival: bool,
    /// The timer that counts; others of this client are out of date.
    pub(super) timer: Option<Timestamp>,
    /// Since when it has been waiting for the connection of its next transaction.
    pub(super) connecting_since: Option<Timestamp>,
    /// Counted towards a limit per client.
    pub(super) transactions: u64,
    /// Shown to the tracer.
    pub(super) shown: u64,
    /// Its transaction was scheduled in the warm-up.
    pub(super) warmup: bool,
    pub(super) active: bool,
}

/// Connections that are to be made, and those that are being made. Connections have the driver's numbers.
#[derive(Default)]
pub(super) struct ConnectQueue {
    /// They wait until fewer than [`CONNECTING_MAX`] are being made.
    pub(super) waiting: VecDeque<usize>,
    /// Those that are being made, in the order in which that was begun, and since when.
    begun: VecDeque<(Timestamp, usize)>,
    /// Those of them for which the server's queue of new connections was full.
    refused: VecDeque<usize>,
    /// When these are tried again.
    pub(super) retry_at: Option<Timestamp>,
}

/// A connection that could not be made.
pub(super) struct ConnectFailure {
    pub(super) slot: usize,
    pub(super) client: usize,
    pub(super) address: Address,
    pub(super) reason: ConnectReason,
}

impl From<ConnectFailure> for EngineError {
    fn from(failure: ConnectFailure) -> Self {
        let ConnectFailure { slot: _, client, address, reason } = failure;
        Self::Connect { client, address, reason }
    }
}

impl ClientSlot {
    fn new(client: Client) -> Self {
        Self {
            client,
            next: None,
            kept_script: None,
            lacks_arrival: false,
            timer: None,
            connecting_since: None,
            transactions: 0,
            shown: 0,
            warmup: false,
            active: false,
        }
    }
}

impl ConnectQueue {
    pub(super) fn add(&mut self, connection: usize) {
        self.waiting.push_back(connection);
    }

    /// Another connection may be begun.
    pub(super) fn has_room(&self) -> bool {
        self.begun.len() < CONNECTING_MAX && !self.waiting.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.begun.is_empty()
    }

    /// The next connection that may be tried now.
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

    /// The connection is made, or is not wanted any more.
    fn remove(&mut self, connection: usize) {
        if let Some(at) = self.begun.iter().position(|(_, begun)| *begun == connection) {
            self.begun.remove(at);
            self.refused.retain(|refused| *refused != connection);
        } else {
            self.waiting.retain(|waiting| *waiting != connection);
        }
    }

    /// A connection that has been under way for as long as `limit`.
    fn timed_out(&self, now: Timestamp, limit: Duration) -> Option<usize> {
        self.begun.front().filter(|(since, _)| now >= *since + limit).map(|(_, connection)| *connection)
    }
}

impl<'p, D: Driver> Sessions<'p, D> {
    pub(super) fn new(load: &'p Load<'p>, share: &Share, driver: D) -> Self {
        let slots: Vec<_> =
            share.clients.clone().map(|number| ClientSlot::new(load.client(number))).collect();
        Self { load, driver, slots, context: ClientContext::new(load), connecting: ConnectQueue::default() }
    }

    /// Connects all clients, or says which one could not and why. Nothing is to be done where clients connect for
    /// each transaction.
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
                    // Once it is connected, the server may say more.
                    Event::Readable(connection) => while self.receive_startup(connection)? {},
                }
            }
            if let Some(failure) = self.timed_out(now) {
                return Err(failure.into());
            }
        }
        Ok(())
    }

    /// Starts as many connects as there is room for.
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

    /// The transport is connected: the protocol's start-up begins.
    pub(super) fn send_startup(&mut self, connection: usize, now: Timestamp) -> Result<(), ConnectFailure> {
        let (slot, link) = self.load.slot_and_link(connection);
        let Self { driver, slots, context, .. } = self;
        let binding = driver.channel_binding(connection);
        slots[slot].client.send_startup(link, binding, &mut context.turn(now, false));
        self.send_answer(connection)
    }

    /// Takes in what the server says during start-up. True when the client is connected by that, and there may be more
    /// to receive; false when nothing more has come.
    pub(super) fn receive_startup(&mut self, connection: usize) -> Result<bool, ConnectFailure> {
        let (slot, link) = self.load.slot_and_link(connection);
        loop {
            let Self { driver, slots, context, .. } = self;
            let client = &mut slots[slot].client;
            let ready = match driver.receive(connection) {
                Receive::Empty => return Ok(false),
                Receive::Bytes(bytes) => {
                    client.receive_startup(link, bytes, &mut context.out).map_err(ConnectReason::Startup)
                }
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
        // A failed send shows again as a closed connection, with the server's reason before it.
        match self.driver.send(connection, &mut self.context.out) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(self.failure(connection, ConnectReason::Transport(error)))
            }
            _ => Ok(()),
        }
    }

    /// A connection that takes longer than the plan allows. Called again until it returns `None`.
    pub(super) fn timed_out(&mut self, now: Timestamp) -> Option<ConnectFailure> {
        let limit = self.load.plan.connect_timeout;
        let connection = self.connecting.timed_out(now, limit)?;
        Some(self.failure(connection, ConnectReason::TimedOut(limit)))
    }

    fn failure(&self, connection: usize, reason: ConnectReason) -> ConnectFailure {
        let (slot, link) = self.load.slot_and_link(connection);
        let client = &self.slots[slot].client;
        let address = client.host(link, self.load).address.clone();
        ConnectFailure { slot, client: client.number, address, reason }
    }

    /// Closes all connections of a client that cannot go on.
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
            // A server that is gone already needs no Terminate message.
            let _ = self.driver.send(connection, out);
        }
        self.driver.close(connection);
    }

    /// Ends all sessions. When interrupted, returns those whose command still runs.
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
