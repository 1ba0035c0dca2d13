//! Properties for arbitrary samples: nothing is lost, merging is adding, quantiles are those of the sorted values,
//! and encoding is lossless. Unit tests are next to the code.

use std::time::Duration;

use hdrhistogram::serialization::{Serializer, V2Serializer};
use proptest::collection::vec;
use proptest::prelude::*;
use stats::{
    Completions, Distribution, EncodedInterval, Ending, Failure, HIGHEST_TRACKED_NS, Interval, Recorder,
    Sample, Summary, Timestamp,
};

// In its own tests the package has another name than in the rest of the workspace.
use pgmeter_stats as stats;

const SCRIPTS: usize = 3;
const LATENCY_LIMIT: Duration = Duration::from_millis(10);

/// A latency of any magnitude, from zero to far beyond the histogram's range.
fn any_latency_ns() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => (0u32..64, any::<u64>()).prop_map(|(bits, noise)| noise >> bits),
        1 => Just(0),
        1 => Just(u64::MAX),
        1 => HIGHEST_TRACKED_NS - 2..HIGHEST_TRACKED_NS + 2,
    ]
}

/// A realistic latency: up to an hour.
fn plausible_latency_ns() -> impl Strategy<Value = u64> {
    (22u32..63, any::<u64>()).prop_map(|(bits, noise)| noise >> bits)
}

fn any_ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        6 => Just(Ending::Succeeded),
        1 => Just(Ending::Failed(Failure::Serialization)),
        1 => Just(Ending::Failed(Failure::Deadlock)),
        1 => Just(Ending::Failed(Failure::Other)),
        1 => Just(Ending::Skipped),
        1 => Just(Ending::Unfinished),
    ]
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let times = (0u64..1 << 50, 0u64..1 << 40, any_latency_ns());
    (0..SCRIPTS, times, 0u32..5, 1u64..100, any_ending()).prop_map(
        |(script, (scheduled, lag, service), tries, business, ending)| {
            let scheduled = Timestamp::from_nanos(scheduled);
            let started = scheduled + Duration::from_nanos(lag);
            Sample {
                script,
                scheduled,
                started,
                finished: started + Duration::from_nanos(service),
                tries,
                business,
                ending,
                traffic: pgmeter_stats::Traffic::default(),
            }
        },
    )
}

fn record_all(samples: &[Sample]) -> Interval {
    let mut recorder = Recorder::new(SCRIPTS, Some(LATENCY_LIMIT));
    samples.iter().for_each(|sample| recorder.record(sample));
    let interval = recorder.hand_over(Timestamp::ZERO, Timestamp::from_nanos(1), Interval::new(SCRIPTS));
    // The first completion of a millisecond depends on the order, which these samples lack.
    Interval { completions: Completions::new(), ..interval }
}

fn distribution(values_ns: &[u64]) -> Distribution {
    let mut distribution = Distribution::new();
    values_ns.iter().for_each(|&value_ns| distribution.record_ns(value_ns));
    distribution
}

/// The value that at least the share `q` of the sorted values does not exceed.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `q` is between 0 and 1
fn exact_quantile_ns(sorted_ns: &[u64], q: f64) -> u64 {
    let rank = (q * sorted_ns.len() as f64).ceil() as usize;
    sorted_ns[rank.max(1) - 1]
}

fn merged(mut left: Interval, right: &Interval) -> Interval {
    left.merge(right);
    left
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testkit::extent::choose(12, 64)))]

    #[test]
    fn merging_is_associative_and_equals_recording_everything_at_once(
        first in vec(any_sample(), 0..40),
        second in vec(any_sample(), 0..40),
        third in vec(any_sample(), 0..40),
    ) {
        let [a, b, c] = [&first, &second, &third].map(|samples| record_all(samples));
        let at_once = record_all(&[first, second, third].concat());
        prop_assert_eq!(&merged(merged(a.clone(), &b), &c), &at_once);
        prop_assert_eq!(&merged(a.clone(), &merged(b.clone(), &c)), &at_once);
        prop_assert_eq!(&merged(merged(c.clone(), &a), &b), &at_once);
        let summary = Summary::of([&a, &b, &c], Duration::from_secs(1));
        prop_assert_eq!(&summary.total, &at_once.total());
        prop_assert_eq!(&summary.scripts, &at_once.scripts);
    }

    #[test]
    fn every_sample_is_counted_once_however_slow(samples in vec(any_sample(), 0..200)) {
        let total = record_all(&samples).total();
        let that = |wanted: &dyn Fn(&Sample) -> bool| samples.iter().filter(|sample| wanted(sample)).count() as u64;
        let succeeded = |sample: &Sample| sample.ending == Ending::Succeeded;
        prop_assert_eq!(total.counts.scheduled, samples.len() as u64);
        prop_assert_eq!(total.counts.succeeded, that(&succeeded));
        prop_assert_eq!(total.counts.failed, that(&|sample| matches!(sample.ending, Ending::Failed(_))));
        prop_assert_eq!(total.counts.skipped, that(&|sample| sample.ending == Ending::Skipped));
        prop_assert_eq!(total.counts.unfinished, that(&|sample| sample.ending == Ending::Unfinished));
        prop_assert_eq!(total.counts.retried, that(&|sample| sample.tries > 1));
        prop_assert_eq!(
            total.counts.late,
            that(&|sample| succeeded(sample) && sample.finished.since(sample.scheduled) > LATENCY_LIMIT)
        );
        prop_assert_eq!(total.response.count(), total.counts.succeeded);
        let slowest = samples.iter().filter(|sample| succeeded(sample))
            .map(|sample| sample.finished.as_nanos() - sample.scheduled.as_nanos()).max();
        prop_assert_eq!(total.response.max_ns(), slowest);
        let business = samples.iter().filter(|sample| succeeded(sample)).map(|sample| sample.business).sum::<u64>();
        prop_assert_eq!(total.counts.business, business);
        let lag = |sample: &Sample| sample.started.as_nanos() - sample.scheduled.as_nanos();
        let lag_max_ns = samples.iter().filter(|sample| succeeded(sample)).map(lag).max();
        prop_assert_eq!(total.lag_max_ns, lag_max_ns.unwrap_or(0));
        prop_assert_eq!(total.lag_quantile_ns(1.0), lag_max_ns);
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values_to_three_digits(
        mut values_ns in vec(any_latency_ns(), 1..300),
        quantiles in vec(0.0..=1.0f64, 10),
    ) {
        let distribution = distribution(&values_ns);
        values_ns.sort_unstable();
        for q in quantiles.into_iter().chain([0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0]) {
            let exact = exact_quantile_ns(&values_ns, q);
            let shown = distribution.quantile_ns(q).unwrap();
            if exact <= HIGHEST_TRACKED_NS {
                prop_assert!(shown.abs_diff(exact) <= exact / 1000, "q {} is {}, not {}", q, exact, shown);
            } else {
                prop_assert!(shown >= HIGHEST_TRACKED_NS && shown <= values_ns[values_ns.len() - 1]);
            }
        }
    }

    #[test]
    fn extremes_sums_and_overflow_are_exact(values_ns in vec(any_latency_ns(), 1..300)) {
        let distribution = distribution(&values_ns);
        prop_assert_eq!(distribution.count(), values_ns.len() as u64);
        prop_assert_eq!(distribution.min_ns(), values_ns.iter().min().copied());
        prop_assert_eq!(distribution.max_ns(), values_ns.iter().max().copied());
        prop_assert_eq!(distribution.quantile_ns(1.0), distribution.max_ns());
        prop_assert_eq!(distribution.moments().sum_ns, values_ns.iter().map(|&v| u128::from(v)).sum::<u128>());
        let beyond = values_ns.iter().filter(|&&value_ns| value_ns > HIGHEST_TRACKED_NS).count();
        prop_assert_eq!(distribution.overflow(), beyond as u64);
    }

    #[test]
    fn mean_and_deviation_are_those_of_two_passes_over_the_values(
        base_ns in 0u64..1 << 40,
        spread_ns in vec(plausible_latency_ns(), 1..300),
    ) {
        let values_ns: Vec<u64> = spread_ns.iter().map(|spread| base_ns + spread).collect();
        let distribution = distribution(&values_ns);
        let n = values_ns.len() as f64;
        let mean = values_ns.iter().map(|&v| v as f64).sum::<f64>() / n;
        let stddev = (values_ns.iter().map(|&v| (v as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
        prop_assert!((distribution.mean_ns().unwrap() - mean).abs() <= mean * 1e-12 + 1e-6);
        prop_assert!((distribution.stddev_ns().unwrap() - stddev).abs() <= stddev * 1e-9 + mean * 1e-9 + 1e-6);
    }

    #[test]
    fn decoding_gives_back_what_was_encoded(values_ns in vec(any_latency_ns(), 0..300)) {
        let original = distribution(&values_ns);
        let bytes = original.encode_v2();
        prop_assert_eq!(&Distribution::decode_v2_with(&bytes, original.moments()), &Ok(original.clone()));
    }

    #[test]
    fn the_encoding_is_byte_for_byte_that_of_the_histogram_crate(values_ns in vec(0..=HIGHEST_TRACKED_NS, 0..300)) {
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_TRACKED_NS, 3).unwrap();
        values_ns.iter().for_each(|&value_ns| theirs.record(value_ns).unwrap());
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&theirs, &mut bytes).unwrap();
        prop_assert_eq!(distribution(&values_ns).encode_v2(), bytes);
    }

    #[test]
    fn quantiles_are_those_of_the_histogram_crate(
        values_ns in vec(0..=HIGHEST_TRACKED_NS, 1..300),
        q in prop_oneof![4 => 0.0..=1.0, 1 => Just(0.5), 1 => Just(0.0)],
    ) {
        let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_TRACKED_NS, 3).unwrap();
        values_ns.iter().for_each(|&value_ns| theirs.record(value_ns).unwrap());
        let ours = distribution(&values_ns);
        let extremes = (ours.min_ns().unwrap(), ours.max_ns().unwrap());
        let expected = theirs.value_at_quantile(q).clamp(extremes.0, extremes.1);
        prop_assert_eq!(ours.quantile_ns(q), Some(expected));
    }

    #[test]
    fn the_text_of_an_interval_is_lossless(
        samples in vec(any_sample(), 0..60),
        ticks in vec((0u64..1_100_000_000, 0u64..5_000_000), 0..60),
        begin in 0u64..1 << 50,
        at_once in any::<bool>(),
    ) {
        let begin = Timestamp::from_nanos(begin);
        let mut recorder = Recorder::new(SCRIPTS, Some(LATENCY_LIMIT)).starting_at(begin);
        for sample in &samples {
            let started = if at_once { sample.scheduled } else { sample.started };
            recorder.record(&Sample { started, ..*sample });
        }
        let mut ticks = ticks;
        ticks.sort_unstable();
        for (after_ns, took_ns) in ticks {
            let started = begin + Duration::from_nanos(after_ns);
            recorder.record_prompt(0, started, started + Duration::from_nanos(took_ns));
        }
        let interval = recorder.hand_over(begin, begin + Duration::from_secs(1), Interval::new(SCRIPTS));
        let text = serde_json::to_string(&EncodedInterval::new(&interval, begin)).unwrap();
        let encoded: EncodedInterval = serde_json::from_str(&text).unwrap();
        let mut read = Interval::new(SCRIPTS);
        prop_assert_eq!(encoded.decode_into(&mut read, begin), Ok(()));
        // Unfinished transactions that were scheduled before the start count from the start.
        let mut there = Interval::new(SCRIPTS);
        prop_assert_eq!(encoded.decode_into(&mut there, Timestamp::ZERO), Ok(()));
        prop_assert_eq!(&there.scripts, &interval.scripts);
        prop_assert_eq!(&read.scripts, &interval.scripts);
        prop_assert_eq!((read.start, read.end), (interval.start, interval.end));
        let is_late = |sample: &Sample| sample.ending != Ending::Unfinished || sample.scheduled >= begin;
        if samples.iter().all(is_late) {
            prop_assert_eq!(read.completions, interval.completions);
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_but_never_panic(
        values_ns in vec(any_latency_ns(), 0..20),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        cut in any::<prop::sample::Index>(),
    ) {
        let original = distribution(&values_ns);
        let mut bytes = original.encode_v2();
        let kept = cut.index(bytes.len() + 1);
        prop_assert!(kept == bytes.len() || Distribution::decode_v2_with(&bytes[..kept], original.moments()).is_err());
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = Distribution::decode_v2_with(&bytes, original.moments()) {
            prop_assert_eq!(read.quantile_ns(0.5).is_some(), !read.is_empty());
            prop_assert_eq!(read.moments(), original.moments());
        }
    }
}
