//! A connection for each transaction: made when it starts, closed when it ends, while the other clients go on.
//!
//! Without a rate the transaction is scheduled for the moment at which the client is in, so that connecting is not
//! part of its latency; under a rate it is (reference, section 13). Who does not get in is aborted, alone.
//! A connection is measured if its transaction is: those of the warm-up are not in the connection figures.

use std::collections::VecDeque;
use std::io::ErrorKind;

use stats::Timestamp;
use wire::StartupError;

use super::connecting::{CONNECTING_MAX, QUEUE_FULL_WAIT};
use super::pacing::Booking;
use super::{Shift, Worker};
use crate::abort::{AbortCause, AbortedClient};
use crate::driver::{Driver, Receive};
use crate::error::ConnectReason;
use crate::outcome::Reconnects;

/// The clients on their way in, and what it took those who are.
#[derive(Default)]
pub(super) struct Reconnecting {
    /// Of the measured transactions.
    pub(super) reconnects: Reconnects,
    /// They wait until fewer than [`CONNECTING_MAX`] are under way; their waiting is part of what connecting takes.
    queue: VecDeque<usize>,
    /// Since when who has been under way, in order; some are in since.
    under_way: VecDeque<(Timestamp, usize)>,
    /// How many of these are not in yet.
    count: usize,
}

impl Reconnecting {
    /// One more may be let in.
    pub(super) fn has_room(&self) -> bool {
        self.count < CONNECTING_MAX && !self.queue.is_empty()
    }

    /// A client is under way no more, if it was.
    pub(super) fn forget(&mut self, under_way_since: &mut Option<Timestamp>) {
        if under_way_since.take().is_some() {
            self.count -= 1;
        }
    }
}

impl<D: Driver> Worker<'_, D> {
    /// Connects a client for a transaction.
    pub(super) fn reconnect(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        self.seats[seat].booking = Some(booking);
        self.seats[seat].connecting_since = Some(now);
        self.reconnecting.queue.push_back(seat);
        self.admit(now, shift);
    }

    /// Lets the next ones go, as many as there is room for.
    pub(super) fn admit(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        while self.reconnecting.has_room() {
            let Some(seat) = self.reconnecting.queue.pop_front() else { return };
            if self.seats[seat].connecting_since.is_none() {
                continue;
            }
            if shift.timeline.is_over(now) {
                self.seats[seat].connecting_since = None;
                self.pass_on_booking(seat, now, shift);
                self.finish(seat, now, shift);
                continue;
            }
            self.seats[seat].under_way_since = Some(now);
            self.reconnecting.count += 1;
            self.reconnecting.under_way.push_back((now, seat));
            self.knock(seat, now, shift);
        }
    }

    /// Begins to connect; tries again a little later if the server's queue of new connections is full.
    pub(super) fn knock(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        let Some(link) = self.booked_link(seat) else { return };
        let host = self.seats[seat].client.choose_host(link, self.load);
        match self.driver.connect(self.connection(seat, link), &host.address, &host.transport) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.set_alarm(seat, now + QUEUE_FULL_WAIT)
            }
            Err(error) => self.turn_away(seat, &ConnectReason::Transport(error), now, shift),
        }
    }

    /// The transport is connected: introduces the client.
    pub(super) fn introduce(&mut self, seat: usize, link: usize, now: Timestamp, shift: &mut Shift<'_>) {
        if self.seats[seat].connecting_since.is_some() {
            let connection = self.connection(seat, link);
            let Self { driver, seats, workbench, .. } = self;
            let binding = driver.channel_binding(connection);
            seats[seat].client.greet(link, binding, &mut workbench.turn(now, false));
            self.answer_doorkeeper(seat, link, now, shift);
        }
    }

    /// Takes in what the server says to a newcomer; once it is in, its transaction begins.
    pub(super) fn hear_doorkeeper(
        &mut self,
        seat: usize,
        link: usize,
        now: Timestamp,
        shift: &mut Shift<'_>,
    ) {
        let connection = self.connection(seat, link);
        while self.seats[seat].connecting_since.is_some() {
            let Self { driver, seats, workbench, .. } = self;
            let client = &mut seats[seat].client;
            let heard = match driver.receive(connection) {
                Receive::Empty => return,
                Receive::Bytes(bytes) => {
                    client.start_up(link, bytes, &mut workbench.out).map_err(ConnectReason::Startup)
                }
                Receive::Closed(cause) => Err(match (client.take_error(link), cause) {
                    (Some(error), _) => ConnectReason::Startup(StartupError::Server(error)),
                    (None, Some(error)) => ConnectReason::Transport(error),
                    (None, None) => ConnectReason::Closed,
                }),
            };
            match heard {
                Ok(false) => self.answer_doorkeeper(seat, link, now, shift),
                Ok(true) => self.enter(seat, now, shift),
                Err(reason) => self.turn_away(seat, &reason, now, shift),
            }
        }
        self.receive(seat, link, now, shift);
    }

    fn answer_doorkeeper(&mut self, seat: usize, link: usize, now: Timestamp, shift: &mut Shift<'_>) {
        if self.workbench.out.is_empty() {
            return;
        }
        // A failed send shows again as a closed connection, with the server's reason before it.
        match self.driver.send(self.connection(seat, link), &mut self.workbench.out) {
            Err(error) if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
                self.turn_away(seat, &ConnectReason::Transport(error), now, shift);
            }
            _ => {}
        }
    }

    /// The client is in: begins its transaction, unless the time for that is over.
    fn enter(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        let Some(since) = self.seats[seat].connecting_since.take() else { return };
        self.reconnecting.forget(&mut self.seats[seat].under_way_since);
        let arrival = self.seats[seat].booking.as_ref().map(|booking| booking.arrival.scheduled);
        let scheduled = arrival.filter(|_| shift.arrivals.are_scheduled()).unwrap_or(now);
        self.seats[seat].warmup = scheduled < shift.timeline.measure;
        if !self.seats[seat].warmup {
            self.reconnecting.reconnects.count += 1;
            self.reconnecting.reconnects.time += now.since(since);
        }
        if shift.timeline.is_over(now) {
            self.pass_on_booking(seat, now, shift);
            self.leave(seat);
            return self.finish(seat, now, shift);
        }
        if let Some(mut booking) = self.seats[seat].booking.take() {
            if !shift.arrivals.are_scheduled() {
                booking.arrival.scheduled = now;
            }
            self.begin(seat, booking, now, shift);
        }
    }

    /// Closes the connection of the transaction that is over.
    pub(super) fn leave(&mut self, seat: usize) {
        let begun = self.driver.now();
        self.close_link(seat, self.seats[seat].client.link());
        if !self.seats[seat].warmup {
            self.reconnecting.reconnects.time += self.driver.now().since(begun);
        }
    }

    /// Looks for clients that have been connecting for too long.
    pub(super) fn check_patience(&mut self, now: Timestamp, shift: &mut Shift<'_>) {
        let limit = self.load.plan.connect_timeout;
        while let Some((since, seat)) = self.reconnecting.under_way.front().copied() {
            if self.seats[seat].under_way_since == Some(since) {
                if now < since + limit {
                    return;
                }
                self.turn_away(seat, &ConnectReason::TimedOut(limit), now, shift);
            }
            self.reconnecting.under_way.pop_front();
        }
    }

    /// The client did not get in.
    fn turn_away(&mut self, seat: usize, reason: &ConnectReason, now: Timestamp, shift: &mut Shift<'_>) {
        let link = self.booked_link(seat).unwrap_or(0);
        let client = &self.seats[seat].client;
        let address = client.host(link, self.load).address.clone();
        let cause = AbortCause::Connecting { address, reason: reason.to_string().into() };
        let client = client.number();
        self.abort(seat, AbortedClient { client, place: None, cause }, now, shift);
    }

    /// The link of the transaction to come.
    fn booked_link(&self, seat: usize) -> Option<usize> {
        self.seats[seat].booking.as_ref().map(|booking| self.load.script_links[booking.script])
    }
}
