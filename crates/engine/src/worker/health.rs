//! Measures a worker's loop over the measured window: number and lateness of wake-ups, and the resource use of its
//! thread and sockets at both ends. The cost is one addition per wake-up, and one histogram entry per wake-up with a
//! due timer. Evaluated by `results`.

use stats::{Distribution, Timestamp, WorkerHealth};

use crate::driver::{Driver, DriverUsage};

/// State of the measurement.
pub(super) struct Health {
    wakeups: u64,
    lateness: Distribution,
    /// Start of the window.
    begun: Option<Mark>,
    /// Time after which nothing could start, if transactions continued then.
    over: Option<Mark>,
}

/// Readings of the driver at one end of the window.
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

    /// Starts the measured window; earlier values do not count.
    pub(super) fn begin<D: Driver>(&mut self, now: Timestamp, driver: &mut D) {
        self.wakeups = 0;
        self.lateness.clear();
        self.begun = Some(Mark::new(now, driver));
    }

    /// Nothing can start any more. Waiting for the last transactions is not part of the window if they never end.
    #[inline]
    pub(super) fn end_window<D: Driver>(&mut self, now: Timestamp, driver: &mut D) {
        if self.over.is_none() {
            self.over = Some(Mark::new(now, driver));
        }
    }

    /// The loop has waited and woke at `woke`. `timer` is the requested time of waking, if any. An event before that
    /// time says nothing about the timer; if the loop woke later than that time, for whatever reason, it was late by
    /// the difference.
    #[inline]
    pub(super) fn woke(&mut self, woke: Timestamp, timer: Option<Timestamp>) {
        self.wakeups += 1;
        if let Some(timer) = timer
            && woke >= timer
        {
            self.lateness.record_ns(woke.as_nanos() - timer.as_nanos());
        }
    }

    /// The statistics at the worker's end; all zero if the window never began.
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
