//! What the recorder costs: nanoseconds per sample and microseconds per hand-over. A measurement to
//! look at, not a test: `cargo run --release --package pgmeter-stats --example recorder_cost`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use pgmeter_stats::{Ending, Interval, Recorder, Sample, Timestamp};

const SAMPLES: usize = 1 << 16;
const ROUNDS: u32 = 100;

fn main() {
    println!("{:<44} {:>9}", "samples", "ns/sample");
    for (name, rated) in [("closed loop, 50 µs to 5 ms", false), ("with a rate, lag 0 to 1 ms", true)] {
        let samples = samples(rated);
        let mut recorder = Recorder::new(2, Some(Duration::from_millis(2)));
        let record_all =
            |recorder: &mut Recorder| samples.iter().for_each(|sample| recorder.record(black_box(sample)));
        record_all(&mut recorder);
        let begun = Instant::now();
        (0..ROUNDS).for_each(|_| record_all(&mut recorder));
        let per_sample = begun.elapsed().as_secs_f64() * 1e9 / f64::from(ROUNDS) / SAMPLES as f64;
        println!("{name:<44} {per_sample:>9.1}");
    }
    hand_over();
}

/// Pseudo-random, log-uniform latencies of two scripts: a wide spread, unkind to the caches.
fn samples(rated: bool) -> Vec<Sample> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut uniform = move || {
        // Marsaglia's xorshift64: good enough to spread samples over the buckets.
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
        Sample { script: number % 2, scheduled, started, finished, tries: 1, ending: Ending::Succeeded }
    };
    (0..SAMPLES).map(sample).collect()
}

fn hand_over() {
    let mut recorder = Recorder::new(1, None);
    let mut spare = Interval::new(1);
    let samples: Vec<Sample> = samples(false).iter().map(|sample| Sample { script: 0, ..*sample }).collect();
    let (mut dirty, mut cleared) = (Duration::ZERO, Duration::ZERO);
    for round in 0..ROUNDS {
        samples.iter().for_each(|sample| recorder.record(sample));
        if round % 2 == 0 {
            spare.clear();
        }
        let begun = Instant::now();
        spare = recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, spare);
        *(if round % 2 == 0 { &mut cleared } else { &mut dirty }) += begun.elapsed();
    }
    for (name, time) in [("spare cleared before", cleared), ("spare not cleared", dirty)] {
        println!("hand-over, {name:<33} {:>9.1} µs", time.as_secs_f64() * 1e6 / f64::from(ROUNDS / 2));
    }
    let (interval, mut all) = (recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, spare), Interval::new(1));
    all.merge(&interval);
    let begun = Instant::now();
    (0..ROUNDS).for_each(|_| all.merge(black_box(&interval)));
    println!(
        "{:<44} {:>9.1} µs",
        "merging an interval of one script",
        begun.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS)
    );
}
