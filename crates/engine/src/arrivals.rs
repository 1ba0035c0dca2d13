//! The scheduled starts of transactions: when a client becomes free, or from a fixed schedule.
//!
//! With a rate, arrivals are generated from the seed alone, as a Poisson process unless the plan has another law of gaps
//! or a rate that changes. They do not depend on the server, so a slow server cannot reduce them (no coordinated
//! omission): an arrival without a free client waits, and its response time counts from its scheduled start. By default
//! all workers share one process; in pgbench's compatibility each worker has its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use script::Random;
use stats::Timestamp;
use stats::rate::ArrivalTimes;

/// A scheduled start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    pub(crate) scheduled: Timestamp,
    /// Index in the run, from 0 over all workers, if its script and random numbers depend on it.
    pub(crate) number: Option<u64>,
}

/// The scheduled starts of one worker.
#[derive(Debug)]
pub(crate) enum Arrivals {
    /// Closed loop: the next transaction starts when its client becomes free.
    Closed,
    /// Open loop.
    Open {
        stream: Stream,
        /// Returned arrivals; the earliest is taken first.
        returned: BinaryHeap<Reverse<Arrival>>,
    },
}

/// Source of a worker's arrivals.
#[derive(Clone, Debug)]
pub(crate) enum Stream {
    /// This worker's own process.
    Own(MicrosecondGaps),
    /// A part of the process that all workers share.
    Dealt(Dealt),
}

/// A Poisson process: exponential gaps with the given mean in whole microseconds, as in pgbench (reference, section
/// 14).
#[derive(Clone, Debug)]
pub(crate) struct MicrosecondGaps {
    random: Random,
    mean_gap_us: f64,
    last: Timestamp,
}

/// A worker's part of the run's arrivals. Each worker generates all arrivals and keeps its own.
#[derive(Clone, Debug)]
pub(crate) struct Dealt {
    gaps: Gaps,
    /// Index of the next arrival.
    number: u64,
    /// How many arrivals of other ranks come before this rank's next one, and its index among those of the rank.
    before: u64,
    within: u64,
    deal: Deal,
}

/// The assignment of arrivals to ranks and workers. Every n-th arrival belongs to a rank. Of these, in each round of as
/// many arrivals as the rank has clients, a worker gets as many as it has clients, in turns with the others. With equal
/// numbers of clients every n-th arrival of the rank is its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deal {
    pub(crate) rank: u64,
    pub(crate) ranks: u64,
    pub(crate) worker: u64,
    pub(crate) workers: u64,
    pub(crate) clients: u64,
}

/// The gaps of all arrivals of a run.
#[derive(Clone, Debug)]
enum Gaps {
    /// A Poisson process of a constant rate.
    Constant(NanosecondGaps),
    /// Any other process.
    Changing(Box<ChangingGaps>),
}

/// Arrivals by inversion of the integral of the rate.
#[derive(Clone, Debug)]
struct ChangingGaps {
    random: Random,
    times: ArrivalTimes,
    start: Timestamp,
}

/// A time after each run: no arrival comes any more.
const NEVER: Timestamp = Timestamp::from_nanos(u64::MAX);

/// Exponential gaps, summed up without accumulating error: the fraction of a nanosecond is carried to the next gap.
#[derive(Clone, Debug)]
struct NanosecondGaps {
    random: Random,
    mean_gap_ns: f64,
    last: Timestamp,
    /// Fraction of a nanosecond, below 1.
    cut_off_ns: f64,
}

impl Arrivals {
    /// Arrivals from a process, or a closed loop.
    pub(crate) fn of(stream: Option<Stream>) -> Self {
        stream.map_or(Self::Closed, |stream| Self::Open { stream, returned: BinaryHeap::new() })
    }

    /// The next scheduled start, in the past or in the future.
    pub(crate) fn next(&mut self, now: Timestamp) -> Arrival {
        match self {
            Self::Closed => Arrival { scheduled: now, number: None },
            Self::Open { stream, returned } => match returned.pop() {
                Some(Reverse(arrival)) => arrival,
                None => stream.next(),
            },
        }
    }

    /// Returns an arrival from [`Arrivals::next`] that its client will not run.
    pub(crate) fn put_back(&mut self, arrival: Arrival) {
        if let Self::Open { returned, .. } = self {
            returned.push(Reverse(arrival));
        }
    }

    /// Whether a rate fixes the starts.
    pub(crate) fn are_scheduled(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether an arrival determines its script and random numbers.
    pub(crate) fn are_numbered(&self) -> bool {
        matches!(self, Self::Open { stream: Stream::Dealt(_), .. })
    }

    /// Removes the next untaken arrival before `end`.
    pub(crate) fn next_missed(&mut self, end: Timestamp) -> Option<Arrival> {
        if !self.are_scheduled() {
            return None;
        }
        let arrival = self.next(end);
        (arrival.scheduled < end).then_some(arrival)
    }
}

const MICROS_PER_SECOND: f64 = 1e6;
const NANOS_PER_SECOND: f64 = 1e9;

impl Stream {
    /// The process of one of `workers` workers with the total rate `rate_per_s`, from `start` on.
    pub(crate) fn own(rate_per_s: f64, workers: usize, random: Random, start: Timestamp) -> Self {
        let mean_gap_us = MICROS_PER_SECOND / rate_per_s * workers as f64;
        Self::Own(MicrosecondGaps { random, mean_gap_us, last: start })
    }

    /// One worker's part of the run's process.
    pub(crate) fn dealt(rate_per_s: f64, deal: Deal, random: Random, start: Timestamp) -> Self {
        let mean_gap_ns = NANOS_PER_SECOND / rate_per_s;
        Self::of_gaps(
            Gaps::Constant(NanosecondGaps { random, mean_gap_ns, last: start, cut_off_ns: 0.0 }),
            deal,
        )
    }

    /// The same for arrivals at these times after `start`.
    pub(crate) fn dealt_at(times: ArrivalTimes, deal: Deal, random: Random, start: Timestamp) -> Self {
        Self::of_gaps(Gaps::Changing(Box::new(ChangingGaps { random, times, start })), deal)
    }

    fn of_gaps(gaps: Gaps, deal: Deal) -> Self {
        Self::Dealt(Dealt { gaps, number: 0, before: deal.rank, within: 0, deal })
    }

    fn next(&mut self) -> Arrival {
        match self {
            Self::Own(gaps) => {
                let gap = Duration::from_micros(gaps.random.poisson_delay_us(gaps.mean_gap_us));
                gaps.last = gaps.last + gap;
                Arrival { scheduled: gaps.last, number: None }
            }
            Self::Dealt(dealt) => loop {
                let scheduled = dealt.gaps.next();
                let number = dealt.number;
                dealt.number += 1;
                if dealt.before > 0 {
                    dealt.before -= 1;
                    continue;
                }
                dealt.before = dealt.deal.ranks - 1;
                let within = dealt.within;
                dealt.within += 1;
                if dealt.deal.is_of_worker(within) {
                    return Arrival { scheduled, number: Some(number) };
                }
            },
        }
    }
}

impl Deal {
    /// Whether the rank's arrival with this index is the worker's.
    fn is_of_worker(&self, within: u64) -> bool {
        within % self.clients % self.workers == self.worker
    }
}

impl Gaps {
    fn next(&mut self) -> Timestamp {
        match self {
            Self::Constant(gaps) => gaps.next(),
            Self::Changing(gaps) => gaps.next(),
        }
    }
}

impl ChangingGaps {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
    fn next(&mut self) -> Timestamp {
        let Self { random, times, start } = self;
        let after_s = times.next_s(&mut || random.next_f64());
        after_s.map_or(NEVER, |s| *start + Duration::from_nanos((s * NANOS_PER_SECOND) as u64))
    }
}

impl NanosecondGaps {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
    fn next(&mut self) -> Timestamp {
        // Inversion: −ln U is exponential with mean 1 for U uniform in (0, 1].
        let uniform = 1.0 - self.random.next_f64();
        let gap_ns = self.mean_gap_ns * -uniform.ln() + self.cut_off_ns;
        let whole_ns = gap_ns.floor();
        self.cut_off_ns = gap_ns - whole_ns;
        self.last = self.last + Duration::from_nanos(whole_ns as u64);
        self.last
    }
}

#[cfg(test)]
mod tests;
