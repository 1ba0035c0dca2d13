//! What a free client does next: which script, when, or nothing any more. Closed loop and open loop are the same
//! here; `arrivals` knows the difference. It runs and records nothing; the loop does.

use script::Random;
use stats::{Limit, Timestamp};

use super::sessions::ClientSlot;
use crate::arrivals::{Arrival, Arrivals};
use crate::load::Load;
use crate::plan::Compatibility;
use crate::timeline::Timeline;

/// A transaction to come.
#[derive(Clone, Debug)]
pub(super) struct ScheduledTransaction {
    pub(super) script: usize,
    pub(super) arrival: Arrival,
    /// What its script draws from, if that is not the client's own stream.
    pub(super) draws: Option<Random>,
}

/// What is next for a client that is free.
pub(super) enum Next {
    Transaction(ScheduledTransaction),
    /// This one is later already than the limit allows; ask again.
    Skip(ScheduledTransaction),
    /// It has run as many transactions as it should, or nothing may start any more.
    Nothing,
    /// No arrival is left, as long as none is returned.
    NoArrival,
}

/// See the module.
pub(super) struct Pacing<'p> {
    load: &'p Load<'p>,
    arrivals: Arrivals,
    /// Draws scripts.
    chooser: Random,
}

impl<'p> Pacing<'p> {
    pub(super) fn new(load: &'p Load<'p>, worker: usize, chooser: Random, start: Timestamp) -> Self {
        Self { load, arrivals: load.arrivals(worker, start), chooser }
    }

    /// Whether starts are fixed by a rate.
    #[inline]
    pub(super) fn is_scheduled(&self) -> bool {
        self.arrivals.are_scheduled()
    }

    /// Whether the client has run as many transactions as it should.
    #[inline]
    pub(super) fn has_reached_limit(&self, slot: &ClientSlot) -> bool {
        match self.load.plan.limit {
            Limit::TransactionsPerClient(limit) => slot.transactions >= limit,
            Limit::Duration(_) => false,
        }
    }

    /// The client's next transaction. Where an arrival does not decide about it, the script is chosen before its time
    /// is known and kept when transactions are skipped, as pgbench does (reference, section 13).
    #[inline]
    pub(super) fn next(&mut self, slot: &mut ClientSlot, now: Timestamp, timeline: &Timeline) -> Next {
        if self.has_reached_limit(slot) {
            return Next::Nothing;
        }
        if !self.is_scheduled() {
            return self.next_at_once(now, timeline);
        }
        let kept = slot.kept_script.take();
        let chosen =
            if self.arrivals.are_numbered() { None } else { kept.or_else(|| Some(self.choose_script())) };
        let arrival = self.arrivals.next(now);
        if timeline.is_over(arrival.scheduled) {
            return Next::NoArrival;
        }
        if timeline.is_over(now) {
            self.arrivals.put_back(arrival);
            return Next::Nothing;
        }
        let transaction = self.transaction(arrival, chosen);
        if self.load.plan.latency_limit.is_none_or(|limit| arrival.scheduled + limit >= now) {
            return Next::Transaction(transaction);
        }
        slot.kept_script = chosen;
        Next::Skip(transaction)
    }

    /// In a closed loop nothing is waited for, kept or skipped.
    #[inline(always)]
    fn next_at_once(&mut self, now: Timestamp, timeline: &Timeline) -> Next {
        if timeline.is_over(now) {
            return Next::NoArrival;
        }
        let arrival = Arrival { scheduled: now, number: None };
        Next::Transaction(ScheduledTransaction { script: self.choose_script(), arrival, draws: None })
    }

    /// The transaction of an arrival, which brings its script and its draws along; otherwise the script is the one that
    /// was `chosen`, or is now.
    fn transaction(&mut self, arrival: Arrival, chosen: Option<usize>) -> ScheduledTransaction {
        let Some(number) = arrival.number else {
            let script = chosen.unwrap_or_else(|| self.choose_script());
            return ScheduledTransaction { script, arrival, draws: None };
        };
        let mut draws = self.load.draws_of_arrival(number);
        let script = self.load.choose_script(&mut draws);
        ScheduledTransaction { script, arrival, draws: Some(draws) }
    }

    /// Draws the next script from the worker's own stream.
    #[inline]
    pub(super) fn choose_script(&mut self) -> usize {
        self.load.choose_script(&mut self.chooser)
    }

    /// The next transaction scheduled before `until` that no client has taken; it is used up.
    pub(super) fn next_missed(&mut self, until: Timestamp) -> Option<ScheduledTransaction> {
        let arrival = self.arrivals.next_missed(until)?;
        Some(self.transaction(arrival, None))
    }

    /// A client will not start the transaction that it was going to: the arrival is for others.
    pub(super) fn put_back(&mut self, transaction: ScheduledTransaction) {
        self.arrivals.put_back(transaction.arrival);
    }

    /// Gives a transaction that its client will not start to another one, and says to which: one that found no arrival
    /// left, or else one that waits for a later arrival, which it returns. Where there is neither, the next free client
    /// will take it.
    pub(super) fn reassign(
        &mut self,
        transaction: ScheduledTransaction,
        slots: &mut [ClientSlot],
        now: Timestamp,
        timeline: &Timeline,
    ) -> Option<usize> {
        if self.load.plan.compatibility == Compatibility::Pgbench || !self.is_scheduled() {
            return None;
        }
        let taker = if timeline.is_over(now) { None } else { taker(slots, transaction.arrival) };
        let Some(taker) = taker else {
            self.put_back(transaction);
            return None;
        };
        if let Some(later) = slots[taker].next.replace(transaction) {
            self.put_back(later);
        }
        Some(taker)
    }
}

fn taker(slots: &[ClientSlot], arrival: Arrival) -> Option<usize> {
    let waits_for = |slot: &ClientSlot| {
        slot.next.as_ref().filter(|_| slot.connecting_since.is_none()).map(|next| next.arrival)
    };
    let idle = slots.iter().position(|slot| slot.lacks_arrival);
    idle.or_else(|| {
        let (last, later) = slots.iter().map(waits_for).enumerate().max_by_key(|(_, arrival)| *arrival)?;
        later.filter(|later| *later > arrival).map(|_| last)
    })
}
