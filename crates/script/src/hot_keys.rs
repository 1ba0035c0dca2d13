//! `random_hot(low, high, share, of, moves)`: a contiguous range of hot keys that moves over all keys with time. Called by
//! the function table, in the extended dialect; pgbench has nothing like it. Keys are numbered from 0 here, as u64, so
//! that any bounds are possible.

use crate::random::Random;

/// The hot keys at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotKeys {
    low: i64,
    /// Number of the last key.
    last: u64,
    /// Number of the first hot key. The hot keys may reach over the last key and continue at the first.
    first_hot: u64,
    /// The number of hot keys, less 1.
    hot_last: u64,
}

impl HotKeys {
    /// `fraction` of the keys `low..=high`, rounded, at least one. Each `moves_s` seconds, if that is not 0, the next
    /// ones beside them become hot instead; `elapsed_ns` is the time, which may be negative. So over time each key is hot
    /// equally often.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction is no more precise than a double; floats saturate, and the rest is at most the last key"
    )]
    pub(crate) fn new(low: i64, high: i64, fraction: f64, moves_s: f64, elapsed_ns: i64) -> Self {
        debug_assert!(low <= high, "empty range {low}..={high}");
        let last = high.wrapping_sub(low).cast_unsigned();
        let keys = i128::from(last) + 1;
        let hot = ((keys as f64 * fraction).round() as i128).clamp(1, keys);
        let first_hot = if moves_s > 0.0 {
            let moves_ns = ((moves_s * 1e9).round() as i64).max(1);
            let moved = elapsed_ns.div_euclid(moves_ns);
            // The product is at most 2^63 × 2^64.
            (i128::from(moved) * hot).rem_euclid(keys) as u64
        } else {
            0
        };
        Self { low, last, first_hot, hot_last: (hot - 1) as u64 }
    }

    /// A key: one of the hot keys with a probability of `share`, otherwise one of all keys.
    pub(crate) fn draw(&self, share: f64, random: &mut Random) -> i64 {
        let number = if random.next_f64() < share {
            let within = random.range(self.hot_last);
            let to_last = self.last - self.first_hot;
            if within <= to_last { self.first_hot + within } else { within - to_last - 1 }
        } else {
            random.range(self.last)
        };
        self.low.wrapping_add_unsigned(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// All hot keys of a few.
    fn hot(keys: &HotKeys) -> Vec<i64> {
        let mut random = Random::from_seed(7);
        let mut all: Vec<_> = (0..2000).map(|_| keys.draw(1.0, &mut random)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn hot_at(elapsed_ns: i64) -> Vec<i64> {
        hot(&HotKeys::new(1, 10, 0.3, 2.0, elapsed_ns))
    }

    #[test]
    fn the_hot_keys_move_to_the_next_ones_at_their_times_and_wrap_around() {
        assert_eq!(hot_at(0), [1, 2, 3]);
        assert_eq!(hot_at(2 * SECOND - 1), [1, 2, 3]);
        assert_eq!(hot_at(2 * SECOND), [4, 5, 6]);
        assert_eq!(hot_at(4 * SECOND), [7, 8, 9]);
        assert_eq!(hot_at(6 * SECOND), [1, 2, 10], "10, and then again from the first");
        assert_eq!(hot_at(8 * SECOND), [3, 4, 5]);
        assert_eq!(hot_at(20 * SECOND), [1, 2, 3], "ten moves are one round of these keys");
        // Before measuring begins, the times are the same multiples.
        assert_eq!(hot_at(-1), [8, 9, 10]);
        assert_eq!(hot_at(-2 * SECOND), [8, 9, 10]);
        assert_eq!(hot_at(-2 * SECOND - 1), [5, 6, 7]);
    }

    #[test]
    fn over_time_each_key_is_hot_equally_often() {
        for (keys, fraction) in [(10, 0.3), (10, 0.5), (12, 0.75), (7, 1.0), (9, 0.01)] {
            let mut times = vec![0; 12];
            // A multiple of every round.
            for moved in 0..keys {
                let at = HotKeys::new(0, keys - 1, fraction, 1.0, moved * SECOND);
                hot(&at).into_iter().for_each(|key| times[usize::try_from(key).expect("small")] += 1);
            }
            let first = times[0];
            assert!(first > 0, "{keys} {fraction}");
            assert!(
                times.iter().zip(0..keys).all(|(times, _)| *times == first),
                "{keys} {fraction}: {times:?}"
            );
        }
    }

    #[test]
    fn a_time_may_have_fractions_and_zero_is_never() {
        let at = |moves_s, elapsed_ns| hot(&HotKeys::new(1, 10, 0.3, moves_s, elapsed_ns));
        assert_eq!(at(0.25, SECOND / 4 - 1), [1, 2, 3]);
        assert_eq!(at(0.25, SECOND / 4), [4, 5, 6]);
        assert_eq!(at(1e-12, 1), [4, 5, 6], "a nanosecond is the shortest time");
        for never in [0.0, -0.0, f64::INFINITY, 1e300] {
            assert_eq!(at(never, i64::MAX - 1), [1, 2, 3], "{never}");
        }
    }

    #[test]
    fn the_number_of_hot_keys_is_rounded_and_at_least_one() {
        let size = |keys, fraction| HotKeys::new(1, keys, fraction, 0.0, 0).hot_last + 1;
        assert_eq!([size(100, 0.29), size(100, 0.07), size(1000, 0.1)], [29, 7, 100]);
        assert_eq!([size(10, 0.04), size(10, 1e-300), size(1, 0.5), size(10, 0.96)], [1, 1, 1, 10]);
        let one = HotKeys::new(5, 5, 0.5, 1.0, 77 * SECOND);
        assert_eq!(hot(&one), [5]);
        assert_eq!(one.draw(0.0, &mut Random::from_seed(1)), 5);
    }

    #[test]
    fn all_64_bit_keys_are_possible() {
        let all = |fraction, elapsed_ns| HotKeys::new(i64::MIN, i64::MAX, fraction, 1.0, elapsed_ns);
        assert_eq!((all(1.0, 5 * SECOND).hot_last, all(1.0, 5 * SECOND).first_hot), (u64::MAX, 0));
        assert_eq!((all(0.5, SECOND).hot_last, all(0.5, SECOND).first_hot), ((1 << 63) - 1, 1 << 63));
        assert_eq!(all(1e-30, 3 * SECOND).first_hot, 3);
        let mut random = Random::from_seed(3);
        for elapsed_ns in [i64::MIN, -1, 0, SECOND, i64::MAX] {
            for share in [0.0, 0.5, 1.0] {
                let (mut below, mut above) = (0, 0);
                for _ in 0..100 {
                    let key = all(0.9, elapsed_ns).draw(share, &mut random);
                    *(if key < 0 { &mut below } else { &mut above }) += 1;
                }
                assert!(below > 20 && above > 20, "{elapsed_ns} {share}: {below} {above}");
            }
        }
        let upper = all(0.5, SECOND);
        assert!((0..1000).all(|_| upper.draw(1.0, &mut random) >= 0), "the upper half is hot");
        let next = HotKeys::new(i64::MIN, i64::MAX, 1e-30, 1e-9, i64::MIN);
        assert_eq!(next.first_hot, 1 << 63, "minus 2^63 keys, of 2^64");
    }

    #[test]
    fn the_draws_have_their_shares() {
        // 20 keys, of which the four from 18 on are hot (18, 19, 20, 1); 80 % of the draws are hot ones.
        let keys = HotKeys { low: 1, last: 19, first_hot: 17, hot_last: 3 };
        let (mut random, mut counts) = (Random::from_seed(42), [0_u32; 20]);
        for _ in 0..100_000 {
            counts[usize::try_from(keys.draw(0.8, &mut random) - 1).expect("a key")] += 1;
        }
        let deviation = |(key, found): (i32, u32)| {
            let expected = if [18, 19, 20, 1].contains(&key) { 20_000.0 + 1_000.0 } else { 1_000.0 };
            (f64::from(found) - expected).powi(2) / expected
        };
        let chi_square: f64 = (1..).zip(counts).map(deviation).sum();
        // With 19 degrees of freedom, 43.8 is exceeded with a probability of 0.1 %.
        assert!(chi_square < 43.8, "chi-square {chi_square}: {counts:?}");
    }
}
