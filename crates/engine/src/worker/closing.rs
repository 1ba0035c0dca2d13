//! The end of a worker's run: what was begun or scheduled and will not be finished is accounted for, the last
//! interval handed over, and the server told good-bye.

use stats::{Ending, Sample, Timestamp};

use super::pacing::Booking;
use super::{Seat, Shift, Worker};
use crate::cancelling::RunningSession;
use crate::driver::Driver;
use crate::outcome::Exceeded;
use crate::plan::{Limit, Manner};

impl<D: Driver> Worker<'_, D> {
    /// Accounts for what is left and hands over the last interval. Returns when the last client was done.
    pub(super) fn close(&mut self, interrupted: bool, shift: &mut Shift<'_>) -> Timestamp {
        let now = self.driver.now();
        if interrupted {
            self.pass(now, shift);
        }
        for seat in 0..self.seats.len() {
            if self.seats[seat].client.in_transaction() {
                self.record(seat, Ending::Unfinished, now, shift);
            }
            if let Some(booking) = self.seats[seat].booking.take() {
                shift.arrivals.put_back(booking.arrival);
            }
        }
        let finished = if interrupted { now } else { shift.finished };
        if self.load.plan.manner == Manner::Pgmeter {
            self.drain(interrupted, finished, shift);
        }
        shift.measurement.close(finished, shift.sink);
        finished
    }

    /// What has been exceeded by now, if anything: what is still under way has had all the time that it is given.
    #[inline]
    pub(super) fn exceeded(&mut self, now: Timestamp, shift: &Shift<'_>) -> Option<Exceeded> {
        if shift.timeline.is_over(now) {
            self.health.is_over(now, &mut self.driver);
        }
        shift.stop.exceeded(self.load.plan, &shift.timeline, now)
    }

    /// Enough is known: nothing starts from `end` on, as if the plan had said so. Who waits for a moment after that is
    /// done.
    #[inline]
    pub(super) fn end_early(&mut self, end: Timestamp, now: Timestamp, shift: &mut Shift<'_>) {
        let Some(timeline) = shift.timeline.ending_at(end) else { return };
        shift.timeline = timeline;
        self.workbench.end_at(end);
        for seat in 0..self.seats.len() {
            let Seat { booking, connecting_since, active, .. } = &self.seats[seat];
            let later = booking.as_ref().is_some_and(|booking| timeline.is_over(booking.arrival.scheduled));
            if *active && later && connecting_since.is_none() {
                (self.seats[seat].booking, self.seats[seat].alarm) = (None, None);
                self.finish(seat, now, shift);
            }
        }
    }

    /// Counts the arrivals before `finished` that nobody has taken.
    fn drain(&mut self, interrupted: bool, finished: Timestamp, shift: &mut Shift<'_>) {
        let (until, most) = match (self.load.plan.limit, shift.timeline.end) {
            (_, Some(end)) => (end.min(finished), u64::MAX),
            // Not more than the clients would still have run.
            (Limit::TransactionsPerClient(limit), None) if interrupted => {
                let active = self.seats.iter().filter(|seat| seat.active);
                let left =
                    |sum: u64, transactions: u64| sum.saturating_add(limit.saturating_sub(transactions));
                (finished, active.map(|seat| seat.transactions).fold(0, left))
            }
            _ => return,
        };
        let mut measured = 0;
        while measured < most
            && let Some(arrival) = shift.arrivals.next_missed(until)
        {
            let Booking { script, .. } = self.book(arrival, None);
            let sample = Sample {
                script,
                scheduled: arrival.scheduled,
                started: finished,
                finished,
                tries: 0,
                business: 1,
                ending: Ending::Unfinished,
            };
            measured += u64::from(shift.measurement.record(&sample));
        }
    }

    /// Says good-bye to the server. When interrupted, returns the sessions whose command still runs.
    pub(super) fn hang_up(&mut self, interrupted: bool) -> Vec<RunningSession> {
        let mut running = Vec::new();
        for seat in 0..self.seats.len() {
            let client = &self.seats[seat].client;
            if interrupted {
                let target = self.load.links[client.link()];
                let host = client.host_index();
                running.extend(client.running().map(|key| RunningSession { target, host, key: key.clone() }));
            }
            for link in 0..self.load.links.len() {
                self.close_link(seat, link);
            }
        }
        running
    }

    /// Says good-bye on one connection and closes it.
    pub(super) fn close_link(&mut self, seat: usize, link: usize) {
        let connection = self.connection(seat, link);
        let out = &mut self.workbench.out;
        out.clear();
        self.seats[seat].client.terminate(link, out);
        if !out.is_empty() {
            // A server that is gone already needs no good-bye.
            let _ = self.driver.send(connection, out);
        }
        self.driver.close(connection);
    }
}
