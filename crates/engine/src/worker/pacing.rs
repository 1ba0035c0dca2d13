//! What a free client does next: which script, when, or nothing any more. Closed loop and open loop are the same
//! here; `arrivals` knows the difference.

use std::time::Duration;

use script::Random;
use stats::{Ending, Sample, Timestamp};

use super::{Seat, Shift, Worker};
use crate::arrivals::Arrival;
use crate::client::Step;
use crate::driver::Driver;
use crate::plan::{Limit, Manner};

/// Transactions of clients that never have to wait are run in rounds of at most this length and this many, so that
/// they do not starve the others. A look at the sockets takes a fiftieth of the one; the other is there for a clock
/// that goes in large steps.
const ROUND: Duration = Duration::from_micros(20);
const ROUND_TRANSACTIONS: usize = 512;

/// Arrivals that a client skips before it lets the others have their turn, and the loop look at the stop flag.
const SKIPS: usize = 256;

/// A transaction to come.
#[derive(Clone, Debug)]
pub(super) struct Booking {
    pub(super) script: usize,
    pub(super) arrival: Arrival,
    /// What its script draws from, if that is not the client's own stream.
    pub(super) draws: Option<Random>,
}

/// What is next for a client that is free.
enum Next {
    Transaction(Booking),
    /// It has skipped many arrivals, and more may follow.
    MoreToSkip,
    /// It has run as many transactions as it should, or nothing may start any more.
    Nothing,
    /// No arrival is left, as long as none is given back.
    NoArrival,
}

impl<D: Driver> Worker<'_, D> {
    /// Runs one round of the clients that never wait. The moment at which one transaction ended is that at which the
    /// next begins.
    pub(super) fn run_eager(&mut self, shift: &mut Shift<'_>) {
        if self.eager.is_empty() {
            return;
        }
        let begin = self.tell_time(shift);
        let end = begin + ROUND;
        let short = self.may_compute(begin, shift);
        let mut again = None;
        for _ in 0..ROUND_TRANSACTIONS {
            let Some(seat) = again.take().or_else(|| self.eager.pop_front()) else { return };
            if short && self.compute(seat, shift) {
                // Who is alone need not queue.
                if self.eager.is_empty() {
                    again = Some(seat);
                } else {
                    self.eager.push_back(seat);
                }
            } else if !short {
                self.release(seat, self.told, shift);
            }
            if self.told >= end {
                break;
            }
        }
        self.eager.extend(again);
    }

    /// Whether scripts that only compute may go the short way from now on: in a closed loop, when the warm-up is over,
    /// and where nobody looks at single transactions or connects for each.
    fn may_compute(&self, now: Timestamp, shift: &Shift<'_>) -> bool {
        !shift.arrivals.are_scheduled()
            && now >= shift.timeline.measure
            && !self.load.plan.reconnect
            && self.workbench.is_private()
    }

    /// A client is free: runs its next transaction, if its script only computes, from its begin to its record without a
    /// look at what could only happen to others. True if it is free again; everything else goes the usual way.
    #[inline(always)]
    fn compute(&mut self, seat: usize, shift: &mut Shift<'_>) -> bool {
        let begun = self.told;
        if self.has_had_its_share(seat) || shift.timeline.is_over(begun) {
            self.release(seat, begun, shift);
            return false;
        }
        let script = self.choose_script();
        if !self.load.only_computes[script] {
            let arrival = Arrival { scheduled: begun, number: None };
            self.begin(seat, Booking { script, arrival, draws: None }, begun, shift);
            return false;
        }
        let Self { load, workbench, seats, .. } = self;
        let place = &mut seats[seat];
        if let Err((done, error)) = place.client.compute(script, load, workbench.witness()) {
            place.warmup = false;
            let step = place.client.fail_computing(done, *error, &mut workbench.turn(begun, false));
            return self.act(seat, step, begun, shift);
        }
        place.transactions += 1;
        workbench.count_computed(script);
        let ended = self.tell_time(shift);
        shift.measurement.record_prompt(script, begun, ended);
        true
    }

    /// A client is free: gives it the next transaction, now or later, or ends it.
    pub(super) fn release(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        match self.next_transaction(seat, now, shift) {
            Next::Transaction(booking) if booking.arrival.scheduled > now => {
                self.set_alarm(seat, booking.arrival.scheduled);
                self.seats[seat].booking = Some(booking);
            }
            Next::Transaction(booking) => {
                let now = if shift.arrivals.are_scheduled() { self.tell_time(shift) } else { now };
                self.start(seat, booking, now, shift);
            }
            Next::MoreToSkip => {
                // So that the round comes to its end.
                self.tell_time(shift);
                self.eager.push_back(seat);
            }
            Next::Nothing => self.finish(seat, now, shift),
            Next::NoArrival => {
                self.seats[seat].on_call = true;
                self.finish(seat, now, shift);
            }
        }
    }

    /// Reads the clock: of what is scheduled, the moment at which it begins is told apart from that at which the loop
    /// woke.
    #[inline]
    pub(super) fn tell_time(&mut self, shift: &mut Shift<'_>) -> Timestamp {
        self.told = self.driver.now();
        self.pass(self.told, shift);
        self.told
    }

    /// Whether the client has run as many transactions as it should.
    fn has_had_its_share(&self, seat: usize) -> bool {
        match self.load.plan.limit {
            Limit::TransactionsPerClient(limit) => self.seats[seat].transactions >= limit,
            Limit::Duration(_) => false,
        }
    }

    /// The client's next transaction. Those that would be too late are skipped. Where an arrival does not decide about
    /// it, the script is chosen before its time is known and kept when transactions are skipped, as pgbench does
    /// (reference, section 13).
    #[inline]
    fn next_transaction(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) -> Next {
        if self.has_had_its_share(seat) {
            return Next::Nothing;
        }
        if !shift.arrivals.are_scheduled() {
            return self.next_at_once(now, shift);
        }
        let kept = self.seats[seat].script_kept.take();
        let chosen =
            if shift.arrivals.are_numbered() { None } else { kept.or_else(|| Some(self.choose_script())) };
        for _ in 0..SKIPS {
            let arrival = shift.arrivals.next(now);
            if shift.timeline.is_over(arrival.scheduled) {
                return Next::NoArrival;
            }
            if shift.timeline.is_over(now) {
                shift.arrivals.put_back(arrival);
                return Next::Nothing;
            }
            let booking = self.book(arrival, chosen);
            if self.load.plan.latency_limit.is_none_or(|limit| arrival.scheduled + limit >= now) {
                return Next::Transaction(booking);
            }
            self.skip(seat, booking, now, shift);
            if self.has_had_its_share(seat) {
                return Next::Nothing;
            }
        }
        self.seats[seat].script_kept = chosen;
        Next::MoreToSkip
    }

    /// In a closed loop nothing is waited for, kept or skipped.
    #[inline(always)]
    fn next_at_once(&mut self, now: Timestamp, shift: &Shift<'_>) -> Next {
        if shift.timeline.is_over(now) {
            return Next::NoArrival;
        }
        let arrival = Arrival { scheduled: now, number: None };
        Next::Transaction(Booking { script: self.choose_script(), arrival, draws: None })
    }

    /// The transaction of an arrival, which brings its script and its draws along; otherwise the script is the one that
    /// was `chosen`, or is now.
    pub(super) fn book(&mut self, arrival: Arrival, chosen: Option<usize>) -> Booking {
        let Some(number) = arrival.number else {
            let script = chosen.unwrap_or_else(|| self.choose_script());
            return Booking { script, arrival, draws: None };
        };
        let mut draws = self.load.draws_of_arrival(number);
        let script = self.load.choose_script(&mut draws);
        Booking { script, arrival, draws: Some(draws) }
    }

    /// Counts a transaction that is not run, because it is later already than the limit allows.
    fn skip(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        let Booking { script, arrival: Arrival { scheduled, .. }, .. } = booking;
        let ending = Ending::Skipped;
        let sample = Sample { script, scheduled, started: now, finished: now, tries: 0, business: 1, ending };
        let seat = &mut self.seats[seat];
        seat.shown += 1;
        self.workbench.show(seat.client.number(), seat.shown, &sample);
        if shift.measurement.record(&sample) {
            seat.transactions += 1;
        }
    }

    /// It is time for a transaction: begins it, once there is a connection for it.
    #[inline]
    pub(super) fn start(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        if self.load.plan.reconnect {
            self.reconnect(seat, booking, now, shift);
        } else {
            self.begin(seat, booking, now, shift);
        }
    }

    /// Begins a transaction.
    #[inline]
    pub(super) fn begin(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        let Booking { script, arrival: Arrival { scheduled, .. }, draws } = booking;
        let Seat { client, warmup, .. } = &mut self.seats[seat];
        *warmup = scheduled < shift.timeline.measure;
        if let Some(draws) = draws {
            client.draw_from(draws);
        }
        let step = client.begin(script, scheduled, &mut self.workbench.turn(now, *warmup));
        let ended_at = if let Step::Ended(_) = step { self.tell_time(shift) } else { now };
        match step {
            // The short way: nothing to send, nobody to see off.
            Step::Ended(ending) if self.workbench.out.is_empty() && !self.load.plan.reconnect => {
                self.record(seat, ending, ended_at, shift);
                self.eager.push_back(seat);
            }
            step => {
                if self.act(seat, step, ended_at, shift) {
                    self.eager.push_back(seat);
                }
            }
        }
    }

    /// Draws the next script from the worker's own stream.
    fn choose_script(&mut self) -> usize {
        self.load.choose_script(&mut self.chooser)
    }

    /// A client will not start the transaction that it was going to: the arrival is for others. Who had found none
    /// left takes it; else who waits for a later one, and leaves that to whoever is free next.
    pub(super) fn pass_on_booking(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        let Some(booking) = self.seats[seat].booking.take() else { return };
        if self.load.plan.manner == Manner::Pgbench || !shift.arrivals.are_scheduled() {
            return;
        }
        let Some(heir) = self.heir(booking.arrival, now, shift) else {
            return shift.arrivals.put_back(booking.arrival);
        };
        self.set_alarm(heir, booking.arrival.scheduled);
        let heir = &mut self.seats[heir];
        if std::mem::take(&mut heir.on_call) {
            heir.active = true;
            shift.active += 1;
        }
        if let Some(later) = heir.booking.replace(booking) {
            shift.arrivals.put_back(later.arrival);
        }
    }

    /// Who can take an arrival that was given back.
    fn heir(&self, arrival: Arrival, now: Timestamp, shift: &Shift<'_>) -> Option<usize> {
        if shift.timeline.is_over(now) {
            return None;
        }
        let waits_for = |heir: &usize| {
            let Seat { booking, connecting_since, .. } = &self.seats[*heir];
            booking.as_ref().filter(|_| connecting_since.is_none()).map(|booking| booking.arrival)
        };
        let idle = self.seats.iter().position(|seat| seat.on_call);
        idle.or_else(|| {
            let last = (0..self.seats.len()).max_by_key(waits_for)?;
            waits_for(&last).filter(|later| *later > arrival).map(|_| last)
        })
    }
}
