//! What the recorder costs: nanoseconds per sample and microseconds per hand-over. A measurement to
//! look at, not a test: `cargo run --release --package pgmeter-stats --example recorder_cost`.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use pgmeter_stats::{Ending, Interval, Recorder, Sample, Timestamp};

const SAMPLES: usize = 1 << 16;
const ROUNDS: usize = 100;

fn main() {
    println!("{:<44} {:>9} {:>9}", "ns per sample", "best", "median");
    for (name, rated) in [("closed loop, 50 µs to 5 ms", false), ("with a rate, lag 0 to 1 ms", true)] {
        let samples = samples(rated);
        let mut recorder = Recorder::new(2, Some(Duration::from_millis(2)));
        let record_all =
            |recorder: &mut Recorder| samples.iter().for_each(|sample| recorder.record(black_box(sample)));
        record_all(&mut recorder);
        let round = || {
            let begun = Instant::now();
            record_all(&mut recorder);
            begun.elapsed()
        };
        let (best, median) = best_and_median(round);
        let per_sample = |time: Duration| time.as_secs_f64() * 1e9 / SAMPLES as f64;
        println!("{name:<44} {:>9.1} {:>9.1}", per_sample(best), per_sample(median));
    }
    hand_over();
}

/// Of many rounds: what others on the machine take away shows in the median first, in the best last.
fn best_and_median(round: impl FnMut() -> Duration) -> (Duration, Duration) {
    let mut times: Vec<Duration> = std::iter::repeat_with(round).take(ROUNDS).collect();
    times.sort_unstable();
    (times[0], times[ROUNDS / 2])
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
        Sample {
            script: number % 2,
            scheduled,
            started,
            finished,
            tries: 1,
            business: 1,
            ending: Ending::Succeeded,
        }
    };
    (0..SAMPLES).map(sample).collect()
}

fn hand_over() {
    println!("{:<44} {:>9} {:>9}", "µs for one script", "best", "median");
    let samples: Vec<Sample> = samples(false).iter().map(|sample| Sample { script: 0, ..*sample }).collect();
    let mut recorder = Recorder::new(1, None);
    for (name, clear_before) in
        [("hand-over, spare cleared before", true), ("hand-over, spare not cleared", false)]
    {
        let mut spare = Some(Interval::new(1));
        print_microseconds(name, || {
            samples.iter().for_each(|sample| recorder.record(sample));
            spare.iter_mut().filter(|_| clear_before).for_each(Interval::clear);
            let begun = Instant::now();
            spare = spare.take().map(|spare| recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, spare));
            begun.elapsed()
        });
    }
    samples.iter().for_each(|sample| recorder.record(sample));
    let interval = recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, Interval::new(1));
    let mut all = interval.clone();
    print_microseconds("merging an interval", || {
        let begun = Instant::now();
        all.merge(black_box(&interval));
        begun.elapsed()
    });
}

fn print_microseconds(name: &str, round: impl FnMut() -> Duration) {
    let (best, median) = best_and_median(round);
    println!("{name:<44} {:>9.1} {:>9.1}", best.as_secs_f64() * 1e6, median.as_secs_f64() * 1e6);
}
