//! How a worker's loop itself fares, over the measured window: how often it woke and how late, and what its thread
//! and its sockets say at both ends of the window. It costs the loop an addition for each wake-up, and one record in
//! a histogram for each that a timer was due at. Judged by `results`.

use stats::{Distribution, Timestamp, WorkerHealth};

use crate::driver::{Driver, DriverUsage};

/// See the module.
pub(super) struct Health {
    wakeups: u64,
    lateness: Distribution,
    /// Where the window began.
    begun: Option<Mark>,
    /// Where nothing could start any more, if transactions went on then.
    over: Option<Mark>,
}

/// What the driver said at one end of the window.
#[derive(Clone, Copy)]
struct Mark {
    at: Timestamp,
    usage: DriverUsage,
}

impl Mark {
    fn new<D: Driver>(at: Timestamp, driver: &mut D) -> Self {
        Self { at, usage: driver.usage() }
    }
}

impl Health {
    pub(super) fn new() -> Self {
        Self { wakeups: 0, lateness: Distribution::new(), begun: None, over: None }
    }

    /// The measured window begins: what was before does not count.
    pub(super) fn begin<D: Driver>(&mut self, now: Timestamp, driver: &mut D) {
        self.wakeups = 0;
        self.lateness.clear();
        self.begun = Some(Mark::new(now, driver));
    }

    /// Nothing can start any more. Waiting for the last transactions is no part of the window if they never end.
    #[inline]
    pub(super) fn end_window<D: Driver>(&mut self, now: Timestamp, driver: &mut D) {
        if self.over.is_none() {
            self.over = Some(Mark::new(now, driver));
        }
    }

    /// The loop has waited and woke at `woke`. `timer` is the moment to come that it had asked to be woken for, if
    /// there was one: an event that came before it has nothing to do with it, but whatever woke a loop that slept on
    /// beyond that moment, it was late by so much.
    #[inline]
    pub(super) fn woke(&mut self, woke: Timestamp, timer: Option<Timestamp>) {
        self.wakeups += 1;
        if let Some(timer) = timer
            && woke >= timer
        {
            self.lateness.record_ns(woke.as_nanos() - timer.as_nanos());
        }
    }

    /// The worker is done: what it says of itself. All zero if the window never began.
    pub(super) fn finish<D: Driver>(
        self,
        worker: usize,
        clients: usize,
        cut_off: bool,
        driver: &mut D,
    ) -> WorkerHealth {
        let now = Mark::new(driver.now(), driver);
        let Self { wakeups, lateness, begun, over } = self;
        let end = over.filter(|_| cut_off).unwrap_or(now);
        let (begin, wakeups) = begun.map_or((end, 0), |begin| (begin, wakeups));
        let nanos = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let run_queue =
            end.usage.run_queue.zip(begin.usage.run_queue).map(|(end, begin)| end.saturating_sub(begin));
        WorkerHealth {
            worker,
            clients,
            span_ns: nanos(end.at.since(begin.at)),
            cpu_ns: nanos(end.usage.thread_cpu.saturating_sub(begin.usage.thread_cpu)),
            run_queue_ns: run_queue.map(nanos),
            wakeups,
            wakeup_lateness: if begun.is_some() { lateness } else { Distribution::new() },
            sends_held_back: end.usage.sends_held_back.saturating_sub(begin.usage.sends_held_back),
            held_back_ns: nanos(end.usage.held_back.saturating_sub(begin.usage.held_back)),
            shortest_connect_ns: now.usage.shortest_connect.map(nanos),
        }
    }
}
