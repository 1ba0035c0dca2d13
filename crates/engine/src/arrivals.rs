//! When transactions are scheduled to start: as soon as a client is free, or on a fixed plan.
//!
//! Under a rate the arrivals are a Poisson stream drawn from the seed alone. They are fixed before the
//! server is looked at, so a slow server cannot thin them out (no coordinated omission): an arrival
//! that finds no free client waits, and its response time counts from its scheduled start. By default
//! there is one stream for all workers, dealt out to them; compatible with pgbench, each worker has its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use script::Random;
use stats::Timestamp;

/// When a transaction is scheduled to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    pub(crate) scheduled: Timestamp,
    /// Which one of the run it is, from 0 over all workers, if its script and its draws depend on that.
    pub(crate) number: Option<u64>,
}

/// One worker's scheduled starts.
#[derive(Debug)]
pub(crate) enum Arrivals {
    /// Closed loop: the next transaction is scheduled when its client becomes free.
    Closed,
    /// Open loop.
    Open {
        stream: Stream,
        /// Given back; the earliest is taken first.
        returned: BinaryHeap<Reverse<Arrival>>,
    },
}

/// Where the arrivals of one worker come from.
#[derive(Clone, Debug)]
pub(crate) enum Stream {
    /// A stream of this worker's own.
    Own(MicrosecondGaps),
    /// A part of the stream that all workers share.
    Dealt(Dealt),
}

/// A Poisson stream: exponential gaps with the given mean, in whole microseconds as pgbench draws
/// them (reference, section 14).
#[derive(Clone, Debug)]
pub(crate) struct MicrosecondGaps {
    random: Random,
    mean_gap_us: f64,
    last: Timestamp,
}

/// A worker's part of the one Poisson stream of the run. Each worker draws the whole of it and keeps what is its own.
#[derive(Clone, Debug)]
pub(crate) struct Dealt {
    gaps: NanosecondGaps,
    /// Of the next arrival.
    number: u64,
    deal: Deal,
}

/// Which arrivals are whose: of each round of as many arrivals as there are clients, a worker gets as many as it has
/// clients, taking turns with the others. With as many clients for each it is every so many-th.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deal {
    pub(crate) worker: u64,
    pub(crate) workers: u64,
    pub(crate) clients: u64,
}

/// Exponential gaps, summed up without an error that grows: what is cut off at a nanosecond is kept for the next one.
#[derive(Clone, Debug)]
struct NanosecondGaps {
    random: Random,
    mean_gap_ns: f64,
    last: Timestamp,
    /// Below 1.
    cut_off_ns: f64,
}

impl Arrivals {
    /// Those of a stream, or of none.
    pub(crate) fn of(stream: Option<Stream>) -> Self {
        stream.map_or(Self::Closed, |stream| Self::Open { stream, returned: BinaryHeap::new() })
    }

    /// The next transaction's turn, which may be in the past or in the future.
    pub(crate) fn next(&mut self, now: Timestamp) -> Arrival {
        match self {
            Self::Closed => Arrival { scheduled: now, number: None },
            Self::Open { stream, returned } => match returned.pop() {
                Some(Reverse(arrival)) => arrival,
                None => stream.next(),
            },
        }
    }

    /// Gives back what [`Arrivals::next`] returned, because its client will not take it.
    pub(crate) fn put_back(&mut self, arrival: Arrival) {
        if let Self::Open { returned, .. } = self {
            returned.push(Reverse(arrival));
        }
    }

    /// Whether starts are fixed by a rate.
    pub(crate) fn are_scheduled(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether an arrival decides which script runs and what it draws.
    pub(crate) fn are_numbered(&self) -> bool {
        matches!(self, Self::Open { stream: Stream::Dealt(_), .. })
    }

    /// The next arrival before `end` that nobody has taken; it is used up.
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
    /// The stream of one of `workers` workers that together make `rate_per_s`, beginning at `start`.
    pub(crate) fn own(rate_per_s: f64, workers: usize, random: Random, start: Timestamp) -> Self {
        let mean_gap_us = MICROS_PER_SECOND / rate_per_s * workers as f64;
        Self::Own(MicrosecondGaps { random, mean_gap_us, last: start })
    }

    /// What is dealt to one worker of the stream of the whole run.
    pub(crate) fn dealt(rate_per_s: f64, deal: Deal, random: Random, start: Timestamp) -> Self {
        let mean_gap_ns = NANOS_PER_SECOND / rate_per_s;
        let gaps = NanosecondGaps { random, mean_gap_ns, last: start, cut_off_ns: 0.0 };
        Self::Dealt(Dealt { gaps, number: 0, deal })
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
                if dealt.deal.is_ours(number) {
                    return Arrival { scheduled, number: Some(number) };
                }
            },
        }
    }
}

impl Deal {
    fn is_ours(&self, number: u64) -> bool {
        number % self.clients % self.workers == self.worker
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
