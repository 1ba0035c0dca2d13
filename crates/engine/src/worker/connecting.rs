//! How a worker's clients get in, before the run: many at a time, none waiting for another.
//! The first that cannot get in ends the attempt; once all are in, `worker` takes over.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::time::Duration;

use stats::Timestamp;
use wire::StartupError;

use super::{STOP_CHECK, Worker};
use crate::driver::{Driver, Event, Receive};
use crate::error::{ConnectReason, EngineError};
use crate::stopping::Stop;

/// Clients of one worker that are connecting at the same time. The server starts a process for each,
/// so more would only wait there.
pub(super) const CONNECTING_MAX: usize = 32;
/// How long to leave a server alone whose queue of new connections is full.
pub(super) const QUEUE_FULL_WAIT: Duration = Duration::from_millis(2);

/// Clients on their way in.
#[derive(Default)]
struct Entrance {
    /// The next one to begin.
    next: usize,
    /// Under way, with the moment by which each must be in, in order.
    deadlines: VecDeque<(Timestamp, usize)>,
    connected: Vec<bool>,
    under_way: usize,
    /// The server's queue was full.
    pause_until: Option<Timestamp>,
    /// Since then it has been full whenever it was asked.
    full_since: Option<Timestamp>,
}

impl<D: Driver> Worker<'_, D> {
    /// Connects all clients, or says which one could not and why. Nothing is to be done where clients connect for
    /// each transaction.
    pub(crate) fn connect(&mut self, stop: &Stop<'_>) -> Result<(), EngineError> {
        if self.load.plan.reconnect {
            return Ok(());
        }
        let connections = self.seats.len() * self.load.links.len();
        let mut entrance = Entrance { connected: vec![false; connections], ..Entrance::default() };
        let mut now = self.driver.now();
        while entrance.next < connections || entrance.under_way > 0 {
            if stop.is_asked() {
                return Err(EngineError::InterruptedBeforeStart);
            }
            self.begin_connecting(now, &mut entrance)?;
            let wake = entrance.pause_until.unwrap_or(now + STOP_CHECK);
            now = self
                .driver
                .wait(wake)
                .map_err(|error| EngineError::System { what: "wait for its sockets", error })?;
            while let Some(event) = self.driver.next_event() {
                match event {
                    Event::Connected(connection) => self.greet(connection, now)?,
                    Event::Readable(connection) => self.welcome(connection, &mut entrance)?,
                }
            }
            self.check_deadlines(now, &mut entrance)?;
        }
        Ok(())
    }

    fn begin_connecting(&mut self, now: Timestamp, entrance: &mut Entrance) -> Result<(), EngineError> {
        if entrance.pause_until.take_if(|until| *until > now).is_some() {
            entrance.pause_until = Some(now + QUEUE_FULL_WAIT);
            return Ok(());
        }
        entrance.pause_until = None;
        while entrance.next < entrance.connected.len() && entrance.under_way < CONNECTING_MAX {
            let connection = entrance.next;
            let (seat, link) = self.seat_of(connection);
            let host = self.seats[seat].client.choose_host(link, self.load);
            match self.driver.connect(connection, &host.address, &host.transport) {
                Ok(()) => entrance.full_since = None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let since = *entrance.full_since.get_or_insert(now);
                    if now >= since + self.load.plan.connect_timeout {
                        return Err(self.timed_out(connection));
                    }
                    entrance.pause_until = Some(now + QUEUE_FULL_WAIT);
                    return Ok(());
                }
                Err(error) => return Err(self.refused(connection, ConnectReason::Transport(error))),
            }
            entrance.next += 1;
            entrance.under_way += 1;
            entrance.deadlines.push_back((now + self.load.plan.connect_timeout, connection));
        }
        Ok(())
    }

    fn greet(&mut self, connection: usize, now: Timestamp) -> Result<(), EngineError> {
        let (seat, link) = self.seat_of(connection);
        let Self { driver, seats, workbench, .. } = self;
        let binding = driver.channel_binding(connection);
        seats[seat].client.greet(link, binding, &mut workbench.turn(now, false));
        self.answer(connection)
    }

    /// Takes in what the server says to a newcomer.
    fn welcome(&mut self, connection: usize, entrance: &mut Entrance) -> Result<(), EngineError> {
        let (seat, link) = self.seat_of(connection);
        loop {
            let Self { driver, seats, workbench, .. } = self;
            let ready = match driver.receive(connection) {
                Receive::Empty => return Ok(()),
                Receive::Bytes(bytes) => seats[seat].client.start_up(link, bytes, &mut workbench.out),
                Receive::Closed(cause) => {
                    let reason = match (seats[seat].client.take_error(link), cause) {
                        (Some(error), _) => ConnectReason::Startup(StartupError::Server(error)),
                        (None, Some(error)) => ConnectReason::Transport(error),
                        (None, None) => ConnectReason::Closed,
                    };
                    return Err(self.refused(connection, reason));
                }
            };
            match ready {
                Ok(true) if !entrance.connected[connection] => {
                    entrance.connected[connection] = true;
                    entrance.under_way -= 1;
                }
                Ok(_) => {}
                Err(error) => return Err(self.refused(connection, ConnectReason::Startup(error))),
            }
            self.answer(connection)?;
        }
    }

    fn answer(&mut self, connection: usize) -> Result<(), EngineError> {
        if self.workbench.out.is_empty() {
            return Ok(());
        }
        // A failed send shows again as a closed connection, with the server's reason before it.
        match self.driver.send(connection, &mut self.workbench.out) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(self.refused(connection, ConnectReason::Transport(error)))
            }
            _ => Ok(()),
        }
    }

    fn check_deadlines(&mut self, now: Timestamp, entrance: &mut Entrance) -> Result<(), EngineError> {
        while let Some((deadline, connection)) = entrance.deadlines.front().copied() {
            if entrance.connected[connection] {
                entrance.deadlines.pop_front();
            } else if now >= deadline {
                return Err(self.timed_out(connection));
            } else {
                break;
            }
        }
        Ok(())
    }

    fn timed_out(&self, connection: usize) -> EngineError {
        self.refused(connection, ConnectReason::TimedOut(self.load.plan.connect_timeout))
    }

    fn refused(&self, connection: usize, reason: ConnectReason) -> EngineError {
        let (seat, link) = self.seat_of(connection);
        let client = &self.seats[seat].client;
        let address = client.host(link, self.load).address.clone();
        EngineError::Connect { client: client.number(), address, reason }
    }
}
