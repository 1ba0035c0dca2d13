//! The end of a worker's clients and of its run: aborted clients, an early end, and the transactions that were started
//! or scheduled and will not finish.

use stats::{Ending, Limit, Timestamp};

use super::{Run, not_run};
use crate::abort::{AbortCause, AbortedClient};
use crate::driver::Driver;
use crate::plan::Compatibility;
use crate::timeline::Timeline;
use crate::tracer::{ClientEvent, CommitEvent, CommitReply};
use crate::worker::slot::ClientSlot;

impl<'r, 'p: 'r, D: Driver> Run<'r, 'p, D> {
    pub(super) fn abort(&mut self, slot: usize, aborted: AbortedClient, now: Timestamp) {
        self.sessions.context.holds = false;
        if let Some(token) = self.sessions.slots[slot].client.doubt_commit() {
            let reply = CommitReply::Unknown(aborted.cause.last_word().map(|error| error.sqlstate));
            self.sessions.context.tracer.commit(&CommitEvent::Ended { token, now, reply });
        }
        if self.sessions.slots[slot].client.in_transaction {
            // In pgbench a transaction ends with its script.
            let over = aborted.cause == AbortCause::UnfinishedTransaction;
            let succeeded = over && self.plan.compatibility == Compatibility::Pgbench;
            let ending = if succeeded { Ending::Succeeded } else { Ending::Unfinished };
            self.end_transaction(slot, ending, now);
        }
        self.sessions.slots[slot].connecting_since = None;
        self.reassign(slot, now);
        self.sessions.context.report(&ClientEvent::Aborted(&aborted));
        self.aborted.push(aborted);
        self.sessions.abandon(slot);
        self.end_client(slot, now);
        if self.plan.exit_on_abort {
            self.stopping.stop.ask();
        }
    }

    /// The worker cannot continue: aborts all its clients.
    pub(super) fn abort_all(&mut self, cause: &AbortCause, now: Timestamp) {
        for slot in 0..self.sessions.slots.len() {
            if self.sessions.slots[slot].active {
                let client = self.sessions.slots[slot].client.number;
                let aborted = AbortedClient { client, place: None, cause: cause.clone() };
                self.abort(slot, aborted, now);
            }
        }
    }

    /// The client is done, unless an arrival is returned that it can take.
    pub(super) fn end_client(&mut self, slot: usize, now: Timestamp) {
        self.sessions.slots[slot].active = false;
        self.sessions.slots[slot].is_held = false;
        self.sessions.slots[slot].is_resting = false;
        self.active -= 1;
        self.finished = self.finished.max(now);
    }

    /// A client returns its transaction; another one may run it.
    pub(super) fn reassign(&mut self, slot: usize, now: Timestamp) {
        let Some(transaction) = self.sessions.slots[slot].next.take() else { return };
        let scheduled = transaction.arrival.scheduled;
        let slots = &mut self.sessions.slots;
        if let Some(taker) = self.pacing.reassign(transaction, slots, now, &self.stopping.timeline) {
            if std::mem::take(&mut slots[taker].lacks_arrival) {
                slots[taker].active = true;
                self.active += 1;
            }
            self.set_timer(taker, scheduled);
        }
    }

    /// The run ends earlier than planned: clients with timers after the end are done.
    #[cold]
    pub(super) fn end_early(&mut self, timeline: Timeline, now: Timestamp) {
        self.stopping.timeline = timeline;
        if let Some(end) = timeline.end {
            self.sessions.context.end_at(end);
            self.measurement.end_at(end);
        }
        for slot in 0..self.sessions.slots.len() {
            let ClientSlot { next, timer, connecting_since, active, is_resting, .. } =
                &mut self.sessions.slots[slot];
            let later = next.as_ref().is_some_and(|next| timeline.is_over(next.arrival.scheduled));
            let later = later || *is_resting && timer.is_some_and(|timer| timeline.is_over(timer));
            if *active && later && connecting_since.is_none() {
                (*next, *timer, *is_resting) = (None, None, false);
                self.end_client(slot, now);
            }
        }
    }

    /// Accounts for transactions that were started or scheduled and will not finish, and sends the last interval.
    /// Returns the time when the last client was done.
    pub(super) fn account(&mut self, interrupted: bool) -> Timestamp {
        let now = self.sessions.driver.now();
        if interrupted {
            self.pass(now);
        }
        for slot in 0..self.sessions.slots.len() {
            if self.sessions.slots[slot].client.in_transaction {
                self.end_transaction(slot, Ending::Unfinished, now);
            }
            if let Some(transaction) = self.sessions.slots[slot].next.take() {
                self.pacing.put_back(transaction);
            }
        }
        let finished = if interrupted { now } else { self.finished };
        if self.plan.compatibility == Compatibility::Pgmeter {
            self.count_missed(interrupted, finished);
        }
        self.measurement.close(finished);
        finished
    }

    /// Counts the arrivals before `finished` that no client has taken. Those that exceeded the latency limit before the end
    /// were skipped.
    fn count_missed(&mut self, interrupted: bool, finished: Timestamp) {
        let (until, most) = match (self.plan.limit, self.stopping.timeline.end) {
            (_, Some(end)) => (end.min(finished), u64::MAX),
            // At most as many as the clients would still have run.
            (Limit::TransactionsPerClient(limit), None) if interrupted => {
                let active = self.sessions.slots.iter().filter(|slot| slot.active);
                let left = active.map(|slot| limit.saturating_sub(slot.transactions));
                (finished, left.fold(0, u64::saturating_add))
            }
            _ => return,
        };
        let mut measured = 0;
        while measured < most
            && let Some(transaction) = self.pacing.next_missed(until)
        {
            let scheduled = transaction.arrival.scheduled;
            let is_paused = self.pausing.covers(scheduled);
            let is_too_late = self.plan.latency_limit.is_some_and(|limit| scheduled + limit < until);
            // A pause does not count as a delay.
            let (ending, ended) = match (is_paused, is_too_late) {
                (true, _) => (Ending::Skipped, scheduled),
                (false, true) => (Ending::Skipped, finished),
                (false, false) => (Ending::Unfinished, finished),
            };
            let sample = not_run(&transaction, ending, ended);
            if ending == Ending::Skipped {
                // Each skipped transaction is shown, as one of the first client.
                measured += u64::from(self.record(0, &sample));
                continue;
            }
            if let Some(reconnecting) = &mut self.reconnecting {
                reconnecting.log.affect(&sample);
            }
            measured += u64::from(self.measurement.record(&sample));
        }
    }
}
