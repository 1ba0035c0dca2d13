//! Both kinds of arrival processes: times, shares and rates. The engine's use of them is tested in virtual time and
//! over real sockets.

use proptest::prelude::*;

use super::*;

fn seconds(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

fn own(rate_per_s: f64, seed: u64) -> Arrivals {
    Arrivals::of(Some(Stream::own(rate_per_s, 1, Random::from_seed(seed), Timestamp::ZERO)))
}

fn dealt(rate_per_s: f64, deal: Deal, seed: u64) -> Arrivals {
    Arrivals::of(Some(Stream::dealt(rate_per_s, deal, Random::from_seed(seed), Timestamp::ZERO)))
}

const ALL: Deal = Deal { rank: 0, ranks: 1, worker: 0, workers: 1, clients: 1 };

/// A process of each kind.
fn streams(rate_per_s: f64, seed: u64) -> [Arrivals; 2] {
    [own(rate_per_s, seed), dealt(rate_per_s, ALL, seed)]
}

fn missed(arrivals: &mut Arrivals, until: Timestamp) -> Vec<Arrival> {
    std::iter::from_fn(|| arrivals.next_missed(until)).collect()
}

#[test]
fn a_closed_loop_schedules_when_asked() {
    let mut arrivals = Arrivals::of(None);
    let now = Timestamp::from_nanos(77);
    assert_eq!(arrivals.next(now), Arrival { scheduled: now, number: None });
    assert_eq!(arrivals.next_missed(now), None);
}

#[test]
fn an_open_loop_does_not_look_at_now() {
    for (mut early, mut late) in streams(1000.0, 1).into_iter().zip(streams(1000.0, 1)) {
        for k in 0..1000 {
            assert_eq!(early.next(Timestamp::ZERO), late.next(seconds(k)));
        }
    }
}

#[test]
fn an_open_loop_keeps_its_rate() {
    // At a million per second a bias of a thousandth of a nanosecond in each gap would show.
    for rate_per_s in [500.0, 20_000.0, 1e6, 3e7] {
        let count = 200_000;
        let mut arrivals = dealt(rate_per_s, ALL, 42);
        let last = (0..count).map(|_| arrivals.next(Timestamp::ZERO).scheduled).last().expect("arrivals");
        let expected_ns = f64::from(count) / rate_per_s * 1e9;
        let deviations = (last.as_nanos() as f64 / expected_ns - 1.0) * f64::from(count).sqrt();
        assert!(deviations.abs() < 4.0, "{rate_per_s} per second: {deviations} standard deviations off");
    }
}

#[test]
fn whole_nanoseconds_lose_nothing_of_the_gaps() {
    // 30 million per second: gaps of 33 ns on average, of which rounding would lose half a nanosecond each.
    let mut gaps = NanosecondGaps {
        random: Random::from_seed(9),
        mean_gap_ns: 100.0 / 3.0,
        last: Timestamp::ZERO,
        cut_off_ns: 0.0,
    };
    let mut random = Random::from_seed(9);
    let mut exact_ns = 0.0;
    for _ in 0..1_000_000 {
        let last = gaps.next();
        exact_ns -= (1.0 - random.next_f64()).ln() * (100.0 / 3.0);
        assert!((exact_ns - last.as_nanos() as f64).abs() < 1.01, "{exact_ns} and {last:?}");
    }
}

#[test]
fn gaps_are_exponential() {
    let mut arrivals = dealt(1000.0, ALL, 3);
    let times: Vec<u64> = (0..100_000).map(|_| arrivals.next(Timestamp::ZERO).scheduled.as_nanos()).collect();
    let longer = |than: f64| {
        let longer = times.windows(2).filter(|pair| (pair[1] - pair[0]) as f64 > than * 1e6).count();
        longer as f64 / (times.len() - 1) as f64
    };
    for mean_gaps in [0.1_f64, 0.5, 1.0, 2.0, 5.0] {
        let expected = (-mean_gaps).exp();
        let tolerance = 4.0 * (expected * (1.0 - expected) / times.len() as f64).sqrt();
        assert!(
            (longer(mean_gaps) - expected).abs() < tolerance,
            "longer than {mean_gaps}: {}",
            longer(mean_gaps)
        );
    }
}

#[test]
fn the_stream_of_a_seed_stays_what_it_is() {
    // If these values change, a record's seed no longer repeats its run.
    let mut arrivals = dealt(1000.0, ALL, 42);
    let times = [(); 5].map(|()| arrivals.next(Timestamp::ZERO).scheduled.as_nanos());
    assert_eq!(times, [533_926, 799_777, 1_078_182, 1_144_516, 1_159_469]);
}

#[test]
fn an_arrival_that_is_put_back_is_taken_again_the_earliest_first() {
    for mut arrivals in streams(1000.0, 7) {
        let taken = [(); 3].map(|()| arrivals.next(Timestamp::ZERO));
        for arrival in [taken[2], taken[0], taken[1]] {
            arrivals.put_back(arrival);
        }
        assert_eq!([(); 3].map(|()| arrivals.next(Timestamp::ZERO)), taken);
        for arrival in taken {
            arrivals.put_back(arrival);
        }
        assert_eq!(arrivals.next_missed(taken[1].scheduled), Some(taken[0]));
        assert_eq!(arrivals.next_missed(taken[1].scheduled), None);
    }
}

#[test]
fn an_arrival_that_is_put_back_is_drained_with_the_others() {
    for (mut arrivals, mut untouched) in streams(1000.0, 7).into_iter().zip(streams(1000.0, 7)) {
        let first = arrivals.next(Timestamp::ZERO);
        arrivals.put_back(first);
        assert_eq!(missed(&mut arrivals, seconds(1)), missed(&mut untouched, seconds(1)));
    }
}

proptest! {
    #[test]
    fn what_is_dealt_to_the_workers_is_the_whole_stream_and_nothing_twice(
        seed: u64,
        workers in 1..9_u64,
        clients_more in 0..9_u64,
        rate_per_s in 1.0..1e6,
    ) {
        let (clients, rounds) = (workers + clients_more, 5);
        let mut whole = dealt(rate_per_s, ALL, seed);
        let whole: Vec<Arrival> = (0..clients * rounds).map(|_| whole.next(Timestamp::ZERO)).collect();
        let mut together = Vec::new();
        for worker in 0..workers {
            let mut part = dealt(rate_per_s, Deal { worker, workers, clients, ..ALL }, seed);
            // As many as the worker has clients, in each round.
            let share = (clients - worker).div_ceil(workers) * rounds;
            together.extend((0..share).map(|_| part.next(Timestamp::ZERO)));
        }
        together.sort();
        prop_assert_eq!(together, whole);
    }

    #[test]
    fn arrivals_are_numbered_in_the_order_of_their_times(seed: u64, rate_per_s in 1.0..1e8) {
        let mut arrivals = dealt(rate_per_s, ALL, seed);
        let taken: Vec<Arrival> = (0..200).map(|_| arrivals.next(Timestamp::ZERO)).collect();
        prop_assert!(taken.is_sorted_by_key(|arrival| arrival.scheduled));
        prop_assert!(taken.iter().map(|arrival| arrival.number).eq((0..200).map(Some)));
    }
}
