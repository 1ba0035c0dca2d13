//! A worker's statistics in the making: the only thing of this crate on the hot path.
//! It neither locks nor allocates after creation, and decides nothing about warm-up or reporting:
//! samples that should not count are simply not given to it. Called by the engine's workers.

use std::time::Duration;

use crate::timestamp::saturating_nanos;
use crate::{Ending, Interval, Sample, ScriptStats, Timestamp};

/// Counts samples into per-script statistics until they are handed over.
#[derive(Debug)]
pub struct Recorder {
    /// Response times above this are late; `u64::MAX` when there is no limit.
    latency_limit_ns: u64,
    scripts: Vec<ScriptStats>,
}

impl Recorder {
    /// A recorder for that many scripts. Succeeded transactions whose response time is above
    /// `latency_limit` are counted as late.
    pub fn new(scripts: usize, latency_limit: Option<Duration>) -> Recorder {
        Recorder {
            latency_limit_ns: latency_limit.map_or(u64::MAX, saturating_nanos),
            scripts: vec![ScriptStats::new(); scripts],
        }
    }

    /// Counts one transaction. No allocation, no lock, well under 50 ns.
    ///
    /// # Panics
    /// Unless `scheduled ≤ started ≤ finished` and the script is one of the plan's.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        let Sample { script, scheduled, started, finished, tries, ending } = *sample;
        assert!(
            scheduled <= started && started <= finished,
            "a sample must be scheduled, started, finished in order"
        );
        let stats = &mut self.scripts[script];
        let response_ns = finished.as_nanos() - scheduled.as_nanos();
        stats.counts.count(ending, tries, response_ns > self.latency_limit_ns);
        if ending == Ending::Succeeded {
            stats.response.record_ns(response_ns);
            stats.service.record_ns(finished.as_nanos() - started.as_nanos());
        }
    }

    /// Hands over everything recorded since the last time as the interval from `start` to `end`, and
    /// goes on with the memory of `spare`, an interval that is no longer needed.
    ///
    /// A spare that was not cleared is cleared here; clearing it before ([`Interval::clear`]) on
    /// another thread keeps that work, some 50 µs per script, off the worker.
    ///
    /// # Panics
    /// If `spare` is for another number of scripts or `end` is before `start`.
    pub fn hand_over(&mut self, start: Timestamp, end: Timestamp, mut spare: Interval) -> Interval {
        assert!(start <= end, "an interval must not end before it starts");
        assert_eq!(spare.scripts.len(), self.scripts.len(), "a spare interval must be for the same scripts");
        spare.clear();
        std::mem::swap(&mut self.scripts, &mut spare.scripts);
        spare.start = start;
        spare.end = end;
        spare.scripts.iter().for_each(ScriptStats::check);
        spare
    }
}
