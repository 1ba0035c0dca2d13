//! Benchmarks of recording: a sample, a completed command, handing over an interval, and merging one: `cargo bench
//! --package pgmeter-stats`.

#[path = "../../../benchmarks/timing.rs"]
mod timing;

use std::time::Duration;

use pgmeter_stats::{CommandTable, Ending, Interval, Recorder, Sample, Timestamp};

use timing::Timing;

const SAMPLES: usize = 1 << 16;

/// Pseudo-random, log-uniform latencies of two scripts, 50 µs to 5 ms: a wide range that touches many cache lines.
fn samples(rated: bool) -> Vec<Sample> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut uniform = move || {
        // Marsaglia's xorshift64, sufficient to spread samples over the buckets.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let sample = |number: usize| {
        let scheduled = Timestamp::from_nanos(number as u64 * 10_000);
        let lag = if rated { Duration::from_secs_f64(uniform() * 1e-3) } else { Duration::ZERO };
        let started = scheduled + lag;
        let finished = started + Duration::from_secs_f64(50e-6 * 100f64.powf(uniform()));
        let ending = Ending::Succeeded;
        Sample {
            script: number % 2,
            scheduled,
            started,
            finished,
            tries: 1,
            business: 1,
            ending,
            traffic: pgmeter_stats::Traffic::default(),
        }
    };
    (0..SAMPLES).map(sample).collect()
}

fn main() {
    let mut timing = Timing::new("recorder");
    for (name, rated) in [("samples of a closed loop", false), ("samples under a rate", true)] {
        let samples = samples(rated);
        let mut recorder = Recorder::new(2, Some(Duration::from_millis(2)));
        timing.piece(name, SAMPLES as u64, || samples.iter().for_each(|sample| recorder.record(sample)));
    }
    let mut commands = CommandTable::new([3]);
    timing.piece("commands", SAMPLES as u64, || {
        (0..SAMPLES).for_each(|number| commands.complete(0, number % 3, number as u64));
    });
    let mut recorder = Recorder::new(2, None);
    samples(true).iter().for_each(|sample| recorder.record(sample));
    let used = recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, Interval::new(2));
    let mut all = used.clone();
    timing.piece("merge an interval", 1, || all.merge(&used));
    let mut hand_over = |spare| recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, spare);
    timing.piece_with("hand over, spare cleared before", || Interval::new(2), &mut hand_over);
    timing.piece_with("hand over, spare not cleared", || used.clone(), &mut hand_over);
}
