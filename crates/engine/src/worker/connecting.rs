//! How a worker's clients get in, before the run: many at a time, none waiting for another.
//! The first that cannot get in ends the attempt; once all are in, `worker` takes over.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stats::Timestamp;
use wire::StartupError;

use super::{STOP_CHECK, Worker};
use crate::client::Turn;
use crate::driver::{Driver, Event, Receive};
use crate::error::{ConnectReason, EngineError};

/// Clients of one worker that are connecting at the same time. The server starts a process for each,
/// so more would only wait there.
const CONNECTING_MAX: usize = 32;
/// How long to leave a server alone whose queue of new connections is full.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(2);

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
    /// Connects all clients, or says which one could not and why.
    pub(crate) fn connect(&mut self, stop: &AtomicBool) -> Result<(), EngineError> {
        let clients = self.seats.len();
        let mut entrance = Entrance { connected: vec![false; clients], ..Entrance::default() };
        let mut now = self.driver.now();
        while entrance.next < clients || entrance.under_way > 0 {
            if stop.load(Ordering::Relaxed) {
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
                    Event::Connected(seat) => self.greet(seat, now)?,
                    Event::Readable(seat) => self.welcome(seat, &mut entrance)?,
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
        while entrance.next < self.seats.len() && entrance.under_way < CONNECTING_MAX {
            let seat = entrance.next;
            match self.driver.connect(seat, &self.load.plan.address) {
                Ok(()) => entrance.full_since = None,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let since = *entrance.full_since.get_or_insert(now);
                    if now >= since + self.load.plan.connect_timeout {
                        return Err(self.timed_out(seat));
                    }
                    entrance.pause_until = Some(now + QUEUE_FULL_WAIT);
                    return Ok(());
                }
                Err(error) => return Err(self.refused(seat, ConnectReason::Transport(error))),
            }
            entrance.next += 1;
            entrance.under_way += 1;
            entrance.deadlines.push_back((now + self.load.plan.connect_timeout, seat));
        }
        Ok(())
    }

    fn greet(&mut self, seat: usize, now: Timestamp) -> Result<(), EngineError> {
        let Self { load, seats, out, .. } = self;
        seats[seat].client.greet(&mut Turn { load, out, now });
        self.answer(seat)
    }

    /// Takes in what the server says to a newcomer.
    fn welcome(&mut self, seat: usize, entrance: &mut Entrance) -> Result<(), EngineError> {
        loop {
            let Self { driver, seats, out, .. } = self;
            let ready = match driver.receive(seat) {
                Receive::Empty => return Ok(()),
                Receive::Bytes(bytes) => seats[seat].client.start_up(bytes, out),
                Receive::Closed(cause) => {
                    let reason = match (seats[seat].client.take_error(), cause) {
                        (Some(error), _) => ConnectReason::Startup(StartupError::Server(error)),
                        (None, Some(error)) => ConnectReason::Transport(error),
                        (None, None) => ConnectReason::Closed,
                    };
                    return Err(self.refused(seat, reason));
                }
            };
            match ready {
                Ok(true) if !entrance.connected[seat] => {
                    entrance.connected[seat] = true;
                    entrance.under_way -= 1;
                }
                Ok(_) => {}
                Err(error) => return Err(self.refused(seat, ConnectReason::Startup(error))),
            }
            self.answer(seat)?;
        }
    }

    fn answer(&mut self, seat: usize) -> Result<(), EngineError> {
        if self.out.is_empty() {
            return Ok(());
        }
        // A failed send shows again as a closed connection, with the server's reason before it.
        match self.driver.send(seat, &mut self.out) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                Err(self.refused(seat, ConnectReason::Transport(error)))
            }
            _ => Ok(()),
        }
    }

    fn check_deadlines(&mut self, now: Timestamp, entrance: &mut Entrance) -> Result<(), EngineError> {
        while let Some((deadline, seat)) = entrance.deadlines.front().copied() {
            if entrance.connected[seat] {
                entrance.deadlines.pop_front();
            } else if now >= deadline {
                return Err(self.timed_out(seat));
            } else {
                break;
            }
        }
        Ok(())
    }

    fn timed_out(&self, seat: usize) -> EngineError {
        self.refused(seat, ConnectReason::TimedOut(self.load.plan.connect_timeout))
    }

    fn refused(&self, seat: usize, reason: ConnectReason) -> EngineError {
        let client = self.seats[seat].client.number();
        EngineError::Connect { client, address: self.load.plan.address.clone(), reason }
    }
}
