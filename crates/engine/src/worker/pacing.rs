//! Selects the next transaction of a free client: script and start time, or the end. Closed and open loop look the
//! same here; `arrivals` distinguishes them. `run` executes and records the transaction.

use std::time::Duration;

use script::Random;
use stats::{Limit, Timestamp};

use super::slot::{ClientSlot, ScheduledTransaction};
use crate::arrivals::{Arrival, Arrivals};
use crate::load::Load;
use crate::plan::Compatibility;
use crate::timeline::Timeline;

/// The next action of a free client.
pub(super) enum Next {
    Transaction(ScheduledTransaction),
    /// The transaction is already later than the limit allows; ask again.
    Skip(ScheduledTransaction),
    /// The client has run all its transactions, or the time for starts is over.
    Nothing,
    /// No arrival is left, unless one is returned.
    NoArrival,
}

/// State of the selection.
pub(super) struct Pacing<'p> {
    load: &'p Load<'p>,
    arrivals: Arrivals,
    /// Random stream for selecting scripts.
    chooser: Random,
    /// Begin of measuring, from which the times of changes count.
    measure: Timestamp,
}

impl<'p> Pacing<'p> {
    pub(super) fn new(load: &'p Load<'p>, worker: usize, chooser: Random, start: Timestamp) -> Self {
        let measure = start + load.plan.warmup;
        Self { load, arrivals: load.arrivals(worker, start), chooser, measure }
    }

    /// Whether a rate fixes the starts.
    #[inline]
    pub(super) fn is_scheduled(&self) -> bool {
        self.arrivals.are_scheduled()
    }

    /// Whether the client has run all its transactions.
    #[inline]
    pub(super) fn has_reached_limit(&self, slot: &ClientSlot) -> bool {
        match self.load.plan.limit {
            Limit::TransactionsPerClient(limit) => slot.transactions >= limit,
            Limit::Duration(_) => false,
        }
    }

    /// The client's next transaction. Unless the arrival determines the script, it is selected before the start time
    /// is known and kept when transactions are skipped, as in pgbench (reference, section 13).
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
            if self.arrivals.are_numbered() { None } else { kept.or_else(|| Some(self.choose_script(now))) };
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

    /// A closed loop never waits, keeps or skips a transaction.
    #[inline(always)]
    fn next_at_once(&mut self, now: Timestamp, timeline: &Timeline) -> Next {
        if timeline.is_over(now) {
            return Next::NoArrival;
        }
        let arrival = Arrival { scheduled: now, number: None };
        Next::Transaction(ScheduledTransaction { script: self.choose_script(now), arrival, draws: None })
    }

    /// The transaction of an arrival. Either the arrival determines script and random numbers, or the script is the
    /// one already `chosen`, or a new selection.
    fn transaction(&mut self, arrival: Arrival, chosen: Option<usize>) -> ScheduledTransaction {
        let Some(number) = arrival.number else {
            let script = chosen.unwrap_or_else(|| self.choose_script(arrival.scheduled));
            return ScheduledTransaction { script, arrival, draws: None };
        };
        let mut draws = self.load.draws_of_arrival(number);
        let script = self.load.choose_script(&mut draws, arrival.scheduled.since(self.measure));
        ScheduledTransaction { script, arrival, draws: Some(draws) }
    }

    /// Selects the script of a transaction at this time from the worker's random stream.
    #[inline]
    pub(super) fn choose_script(&mut self, at: Timestamp) -> usize {
        self.load.choose_script(&mut self.chooser, at.since(self.measure))
    }

    /// Whether the number of working clients changes.
    #[inline]
    pub(super) fn has_client_stages(&self) -> bool {
        !self.load.plan.changes.clients.is_empty()
    }

    /// How long a client without work rests: `None` if it has work, otherwise until it has, or until the end.
    #[cold]
    pub(super) fn rests_until(
        &self,
        worker: usize,
        slot: usize,
        now: Timestamp,
        timeline: &Timeline,
    ) -> Option<Timestamp> {
        if timeline.is_over(now) {
            return None;
        }
        let at_s = now.since(self.measure).as_secs_f64();
        let works_s = self.load.client_works_at(worker, slot, at_s);
        let end = timeline.end.unwrap_or(now);
        match works_s {
            Some(works_s) if works_s <= at_s => None,
            // Rounded up, so that the client has work when it looks again.
            Some(works_s) => {
                Some(end.min(self.measure + Duration::from_secs_f64(works_s) + Duration::from_nanos(1)))
            }
            None => Some(end),
        }
    }

    /// Removes the next transaction scheduled before `until` that no client has taken.
    pub(super) fn next_missed(&mut self, until: Timestamp) -> Option<ScheduledTransaction> {
        let arrival = self.arrivals.next_missed(until)?;
        Some(self.transaction(arrival, None))
    }

    /// A client returns its arrival without running it.
    pub(super) fn put_back(&mut self, transaction: ScheduledTransaction) {
        self.arrivals.put_back(transaction.arrival);
    }

    /// Passes an arrival that its client will not run to another client and returns that client: one that found no
    /// arrival left, otherwise one that waits for a later arrival, which is returned in turn. If there is neither,
    /// the next free client gets it.
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
