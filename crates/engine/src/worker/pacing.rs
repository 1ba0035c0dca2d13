//! What a free client does next: which script, when, or nothing any more. Closed loop and open loop are the same
//! here; `arrivals` knows the difference.

use stats::{Ending, Sample, Timestamp};

use super::{Shift, Worker};
use crate::client::Step;
use crate::driver::Driver;
use crate::plan::{Limit, Manner};

/// Transactions of clients that never have to wait are run in rounds of at most this many, so that
/// they do not starve the others.
const ROUND: usize = 64;

/// A transaction to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booking {
    pub(super) script: usize,
    pub(super) scheduled: Timestamp,
}

impl<D: Driver> Worker<'_, D> {
    /// Runs one round of the clients that never wait, each at a time of its own.
    pub(super) fn run_eager(&mut self, shift: &mut Shift<'_>) {
        for _ in 0..self.eager.len().min(ROUND) {
            let Some(seat) = self.eager.pop_front() else { return };
            let now = self.driver.now();
            self.pass(now, shift);
            self.release(seat, now, shift);
        }
    }

    /// A client is free: gives it the next transaction, now or later, or ends it. The script is chosen before its
    /// time is known and kept when transactions are skipped, as pgbench does (reference, section 13).
    pub(super) fn release(&mut self, seat: usize, now: Timestamp, shift: &mut Shift<'_>) {
        if self.has_had_its_share(seat) {
            return self.finish(seat, now, shift);
        }
        let script = self.choose_script();
        let Some(scheduled) = self.next_arrival(seat, script, now, shift) else {
            return self.finish(seat, now, shift);
        };
        let booking = Booking { script, scheduled };
        if scheduled > now {
            self.seats[seat].booking = Some(booking);
            self.set_alarm(seat, scheduled);
        } else {
            self.start(seat, booking, now, shift);
        }
    }

    /// Whether the client has run as many transactions as it should.
    fn has_had_its_share(&self, seat: usize) -> bool {
        match self.load.plan.limit {
            Limit::TransactionsPerClient(limit) => self.seats[seat].transactions >= limit,
            Limit::Duration(_) => false,
        }
    }

    /// When the client's next transaction starts; `None`: never. Those that would be too late are skipped.
    fn next_arrival(
        &mut self,
        seat: usize,
        script: usize,
        now: Timestamp,
        shift: &mut Shift<'_>,
    ) -> Option<Timestamp> {
        loop {
            let scheduled = shift.arrivals.next(now);
            if shift.timeline.is_over(scheduled) {
                return None;
            }
            if shift.timeline.is_over(now) {
                shift.arrivals.put_back(scheduled);
                return None;
            }
            if self.load.plan.latency_limit.is_none_or(|limit| scheduled + limit >= now) {
                return Some(scheduled);
            }
            self.skip(seat, Booking { script, scheduled }, now, shift);
            if self.has_had_its_share(seat) {
                return None;
            }
        }
    }

    /// Counts a transaction that is not run, because it is later already than the limit allows.
    fn skip(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        let Booking { script, scheduled } = booking;
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
    pub(super) fn start(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        if self.load.plan.reconnect {
            self.reconnect(seat, booking, now, shift);
        } else {
            self.begin(seat, booking, now, shift);
        }
    }

    /// Begins a transaction.
    pub(super) fn begin(&mut self, seat: usize, booking: Booking, now: Timestamp, shift: &mut Shift<'_>) {
        let Booking { script, scheduled } = booking;
        let warmup = scheduled < shift.timeline.measure;
        self.seats[seat].warmup = warmup;
        let step = self.seats[seat].client.begin(script, scheduled, &mut self.workbench.turn(now, warmup));
        let mut ended_at = now;
        if matches!(step, Step::Ended(_)) {
            ended_at = self.driver.now();
            self.pass(ended_at, shift);
        }
        if self.act(seat, step, ended_at, shift) {
            self.eager.push_back(seat);
        }
    }

    /// Draws the next script; nothing is drawn when there is only one.
    pub(super) fn choose_script(&mut self) -> usize {
        let scripts = &self.load.plan.scripts;
        if scripts.len() == 1 {
            return 0;
        }
        let mut drawn = self.chooser.range(self.total_weight - 1);
        for (index, script) in scripts.iter().enumerate() {
            let weight = u64::from(script.weight);
            if drawn < weight {
                return index;
            }
            drawn -= weight;
        }
        unreachable!("a draw below the total weight falls into one of the weights")
    }

    /// A client will not start the transaction that it was going to: the arrival is for others. Who of them waits
    /// for a later one takes it, and leaves that to whoever is free next.
    pub(super) fn pass_on_booking(&mut self, seat: usize, shift: &mut Shift<'_>) {
        let Some(Booking { scheduled, .. }) = self.seats[seat].booking.take() else { return };
        if self.load.plan.manner == Manner::Pgbench || !shift.arrivals.are_scheduled() {
            return;
        }
        let waits_for = |heir: &usize| {
            let heir = &self.seats[*heir];
            heir.booking.filter(|_| heir.connecting_since.is_none()).map(|booking| booking.scheduled)
        };
        let last = (0..self.seats.len()).max_by_key(waits_for);
        let heir =
            last.and_then(|heir| Some((heir, waits_for(&heir)?))).filter(|(_, later)| *later > scheduled);
        let Some((heir, later)) = heir else { return shift.arrivals.put_back(scheduled) };
        shift.arrivals.put_back(later);
        if let Some(booking) = &mut self.seats[heir].booking {
            booking.scheduled = scheduled;
        }
        self.set_alarm(heir, scheduled);
    }
}
