//! Benchmarks of recording: a sample, a completed command, handing over an interval, and merging one: `cargo bench
//! --package pgmeter-stats`.

use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use pgmeter_stats::{CommandTable, Ending, Interval, Recorder, Sample, Timestamp};

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

fn recorder(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recorder");
    group.throughput(Throughput::Elements(SAMPLES as u64));
    for (name, rated) in [("samples of a closed loop", false), ("samples under a rate", true)] {
        let samples = samples(rated);
        let mut recorder = Recorder::new(2, Some(Duration::from_millis(2)));
        group.bench_function(name, |bencher| {
            bencher.iter(|| samples.iter().for_each(|sample| recorder.record(sample)));
        });
    }
    let mut commands = CommandTable::new([3]);
    group.bench_function("commands", |bencher| {
        bencher.iter(|| (0..SAMPLES).for_each(|number| commands.complete(0, number % 3, number as u64)));
    });
    group.finish();
}

fn interval(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("interval");
    let mut recorder = Recorder::new(2, None);
    let samples = samples(true);
    let recorded = |recorder: &mut Recorder| {
        samples.iter().for_each(|sample| recorder.record(sample));
        recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, Interval::new(2))
    };
    let used = recorded(&mut recorder);
    let mut all = used.clone();
    group.bench_function("merge", |bencher| bencher.iter(|| all.merge(&used)));
    group.bench_function("hand over, spare cleared before", |bencher| {
        let mut hand_over = |spare| recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, spare);
        bencher.iter_batched(|| Interval::new(2), &mut hand_over, BatchSize::LargeInput);
    });
    group.bench_function("hand over, spare not cleared", |bencher| {
        let mut hand_over = |spare| recorder.hand_over(Timestamp::ZERO, Timestamp::ZERO, spare);
        bencher.iter_batched(|| used.clone(), &mut hand_over, BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, recorder, interval);
criterion_main!(benches);
