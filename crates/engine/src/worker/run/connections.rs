//! The connections of a running worker's clients: one for each transaction, and those that replace lost ones. Ends the
//! transactions of clients that lose a connection, and continues those that have one.

use std::io;

use stats::{AttemptOutcome, Timestamp};

use super::Run;
use crate::abort::{AbortCause, AbortedClient};
use crate::client::Loss;
use crate::driver::Driver;
use crate::worker::reconnecting::{RESPONSE_CHECK, attempt_outcome, loss_cause};
use crate::worker::sessions::ConnectFailure;
use crate::worker::slot::{ClientSlot, ScheduledTransaction};

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    /// Connects a client for one transaction, while the other clients continue. Without a rate the transaction is
    /// scheduled when the client is connected, so that connecting is not part of its latency; with a rate it is
    /// (reference, section 13).
    pub(super) fn reconnect(&mut self, slot: usize, transaction: ScheduledTransaction, now: Timestamp) {
        let link = self.sessions.load.script_links[transaction.script];
        self.sessions.connecting.add(self.sessions.load.connection(slot, link));
        let own = &mut self.sessions.slots[slot];
        own.next = Some(transaction);
        own.connecting_since = Some(now);
        self.start_connects(now);
    }

    /// Starts as many connections as the limit allows; none after the end of starts.
    pub(super) fn start_connects(&mut self, now: Timestamp) {
        if self.stopping.timeline.is_over(now) {
            if self.population.is_some() {
                self.stop_renewing(now);
            }
            while let Some(connection) = self.sessions.connecting.waiting.pop_front() {
                let (slot, _) = self.sessions.load.slot_and_link(connection);
                if !self.sessions.slots[slot].active {
                    continue;
                }
                self.sessions.slots[slot].connecting_since = None;
                self.reassign(slot, now);
                self.end_client(slot, now);
            }
        }
        while let Err(failure) = self.sessions.start_connects(now) {
            self.connect_failed(failure, now);
        }
    }

    /// Processes the server's messages during start-up; a connected client starts its transaction.
    pub(super) fn receive_startup(&mut self, slot: usize, link: usize, connection: usize, now: Timestamp) {
        match self.sessions.receive_startup(connection) {
            Ok(false) => return,
            Ok(true) if self.sessions.slots[slot].out.is_some() => self.connected_again(slot, link, now),
            Ok(true) if self.is_renewing(slot) => self.renewed(slot, now),
            Ok(true) => self.begin_connected(slot, now),
            Err(failure) => self.connect_failed(failure, now),
        }
        self.receive(slot, link, now);
    }

    /// The client is connected: starts its transaction, unless the time for starts is over. A connection is measured
    /// if its transaction is; the warm-up's are not in the connection statistics.
    fn begin_connected(&mut self, slot: usize, now: Timestamp) {
        let timeline = self.stopping.timeline;
        let own = &mut self.sessions.slots[slot];
        let Some(since) = own.connecting_since.take() else { return };
        if let Some(transaction) = &mut own.next
            && !self.pacing.is_scheduled()
        {
            transaction.arrival.scheduled = now;
        }
        let scheduled = own.next.as_ref().map_or(now, |transaction| transaction.arrival.scheduled);
        own.warmup = scheduled < timeline.measure;
        if !own.warmup {
            self.reconnects.count += 1;
            self.reconnects.time += now.since(since);
        }
        if timeline.is_over(now) {
            self.reassign(slot, now);
            self.disconnect(slot);
            self.end_client(slot, now);
        } else if let Some(transaction) = own.next.take() {
            self.begin(slot, transaction, now);
        }
    }

    /// Closes the connection of an ended transaction.
    pub(super) fn disconnect(&mut self, slot: usize) {
        let begun = self.sessions.driver.now();
        self.sessions.terminate(slot, self.sessions.slots[slot].client.link);
        if !self.sessions.slots[slot].warmup {
            self.reconnects.time += self.sessions.driver.now().since(begun);
        }
    }

    /// Aborts only the client that cannot connect, unless it tries again.
    pub(super) fn connect_failed(&mut self, failure: ConnectFailure, now: Timestamp) {
        let ConnectFailure { slot, link, client, address, reason } = failure;
        if self.sessions.slots[slot].out.is_some() {
            self.attempt_failed(slot, link, attempt_outcome(&reason), now);
            return;
        }
        if self.is_renewing(slot) && self.renewal_failed(slot, loss_cause(&reason), now) {
            return;
        }
        let cause = AbortCause::Connecting { address, reason: reason.to_string().into() };
        self.abort(slot, AbortedClient { client, place: None, cause }, now);
    }

    /// A client has lost a connection: its transaction ends, and it begins to connect again.
    #[cold]
    pub(super) fn lose(&mut self, slot: usize, loss: Loss, now: Timestamp) {
        let Loss { link, cause, ending, is_aside } = loss;
        self.sessions.context.out.clear();
        self.sessions.driver.close(self.sessions.load.connection(slot, link));
        // The next transaction on this connection finds out that it is lost.
        if is_aside {
            return;
        }
        // A commit that still waits must not be sent on the next connection.
        self.commits.forget(slot);
        self.sessions.context.holds = false;
        let client = self.sessions.slots[slot].client.number;
        if let Some(reconnecting) = &mut self.reconnecting {
            reconnecting.log.lost(slot, client as u64, cause, now);
        }
        if let Some(ending) = ending {
            self.end_transaction(slot, ending, now);
        }
        self.sessions.slots[slot].timer = None;
        self.sessions.slots[slot].is_held = false;
        self.ready.retain(|ready| *ready != slot);
        self.yielded.retain(|yielded| *yielded != slot);
        self.reassign(slot, now);
        if self.stopping.timeline.is_over(now) || self.pacing.has_reached_limit(&self.sessions.slots[slot]) {
            self.end_client(slot, now);
        } else if let Some(reconnecting) = &mut self.reconnecting {
            self.sessions.slots[slot].connecting_since = Some(now);
            reconnecting.begin(&mut self.sessions, slot, link, now);
        }
    }

    /// Makes the attempts that are due, and ends those that take too long; after the end of starts, the clients that are
    /// not connected are done.
    pub(super) fn attempt_due(&mut self, now: Timestamp) {
        let Some(reconnecting) = &mut self.reconnecting else { return };
        if self.stopping.timeline.is_over(now) {
            let slots = if reconnecting.stop() { self.sessions.slots.len() } else { 0 };
            for slot in 0..slots {
                if self.sessions.slots[slot].active && self.sessions.slots[slot].out.is_some() {
                    self.sessions.slots[slot].connecting_since = None;
                    self.sessions.abandon(slot);
                    self.end_client(slot, now);
                }
            }
            return;
        }
        reconnecting.attempt_due(&mut self.sessions, now);
    }

    /// An attempt to connect again has failed.
    fn attempt_failed(&mut self, slot: usize, link: usize, outcome: AttemptOutcome, now: Timestamp) {
        if let Some(reconnecting) = &mut self.reconnecting {
            reconnecting.failed(&mut self.sessions, slot, link, outcome, now);
        }
    }

    /// A connection is made again; the client continues once it has all of them.
    fn connected_again(&mut self, slot: usize, link: usize, now: Timestamp) {
        let Some(reconnecting) = &mut self.reconnecting else { return };
        if !reconnecting.succeeded(&mut self.sessions, slot, link, now) {
            return;
        }
        self.sessions.slots[slot].connecting_since = None;
        self.has_new_session(slot, now);
        if self.stopping.timeline.is_over(now) {
            self.end_client(slot, now);
        } else {
            self.release(slot, now);
        }
    }

    /// Gives up the connections whose replies are overdue.
    pub(super) fn check_responses(&mut self, now: Timestamp) {
        let Some(limit) = self.plan.response_timeout.filter(|_| now >= self.response_check) else { return };
        self.response_check = now + RESPONSE_CHECK.min(limit / 4);
        for slot in 0..self.sessions.slots.len() {
            let ClientSlot { client, warmup, active, .. } = &mut self.sessions.slots[slot];
            let is_overdue = client.waits_since().is_some_and(|since| now >= since + limit);
            if !*active || !is_overdue {
                continue;
            }
            let error =
                io::Error::new(io::ErrorKind::TimedOut, format!("no reply within {} s", limit.as_secs_f64()));
            let turn = &mut self.sessions.context.turn(now, *warmup);
            let step = client.lose_connection(client.link, Some(&error), self.commits.sent(slot), turn);
            self.act(slot, step, now);
        }
    }
}
