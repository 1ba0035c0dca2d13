//! The random streams of pgbench 15 and newer, bit for bit: xoroshiro128** seeded by splitmix64, and its distributions.
//! There is one stream per client and purpose; a copy of a stream has the same state, so that a retried transaction
//! gets the same numbers. `stats` has another splitmix64: six lines do not justify a dependency between two independent
//! crates.

use std::f64::consts::PI;

/// One stream of random numbers. Cheap to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: [u64; 2],
}

impl Random {
    /// The stream of this seed. Every seed is valid.
    pub fn from_seed(seed: u64) -> Self {
        let mut seed = seed;
        let state = [splitmix64(&mut seed), splitmix64(&mut seed)];
        // The generator would stay at zero.
        if state == [0, 0] {
            return Self { state: [0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f] };
        }
        Self { state }
    }

    /// The next 64 bits (xoroshiro128**, Blackman and Vigna 2018).
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [first, second] = self.state;
        let mixed = first ^ second;
        self.state = [first.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Uniform in [0, 1), with 52 random bits.
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// Uniform in 0..=`last`. Draws nothing for a `last` of 0.
    #[inline]
    pub fn range(&mut self, last: u64) -> u64 {
        let Some(highest_bit) = last.checked_ilog2() else { return 0 };
        loop {
            let draw = self.next_u64() >> (63 - highest_bit);
            if draw <= last {
                return draw;
            }
        }
    }

    /// Uniform in `low..=high`, which must not be empty.
    #[inline]
    pub fn integer(&mut self, low: i64, high: i64) -> i64 {
        debug_assert!(low <= high, "empty range {low}..={high}");
        low.wrapping_add_unsigned(self.range(high.wrapping_sub(low).cast_unsigned()))
    }

    /// Exponential distribution in `low..=high`, decreasing upwards at a rate given by `parameter` > 0.
    pub fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        let uniform = 1.0 - self.next_f64();
        let unit = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        spread(low, high, unit)
    }

    /// Normal distribution in `low..=high` around the middle, truncated at `parameter` ≥ 2 standard deviations.
    pub fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let unit = loop {
            let normal = self.normal();
            if -parameter <= normal && normal < parameter {
                break (normal + parameter) / (parameter * 2.0);
            }
        };
        spread(low, high, unit)
    }

    /// In `low..=high`, the k-th value with a probability proportional to k^−`parameter` (between 1.001 and 1000).
    /// Draws nothing for a single value.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as pgbench, x ≤ count")]
    pub fn zipfian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let count = high.wrapping_sub(low).wrapping_add(1);
        if count <= 1 {
            return low;
        }
        low.wrapping_sub(1).wrapping_add(self.zipfian_rank(count as f64, parameter) as i64)
    }

    /// In `low..=high`, which must not be empty, the k-th value below the highest one with a probability proportional to
    /// (k + 1)^−`parameter`. Unlike pgbench's distributions, it takes any bounds.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "of more than 2^53 values, some of the least likely are never drawn"
    )]
    pub fn latest(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        debug_assert!(low <= high, "empty range {low}..={high}");
        let farthest = high.wrapping_sub(low).cast_unsigned();
        if farthest == 0 {
            return high;
        }
        let distance = (self.zipfian_rank(farthest as f64 + 1.0, parameter) - 1.0) as u64;
        high.wrapping_sub_unsigned(distance.min(farthest))
    }

    /// A whole number from 1 to `count`, x with a probability proportional to x^−`parameter`. (Devroye 1986, "Non-Uniform
    /// Random Variate Generation", p. 550.)
    fn zipfian_rank(&mut self, count: f64, parameter: f64) -> f64 {
        let base = 2.0_f64.powf(parameter - 1.0);
        loop {
            let first = self.next_f64();
            let second = self.next_f64();
            let x = first.powf(-1.0 / (parameter - 1.0)).floor();
            let t = (1.0 + 1.0 / x).powf(parameter - 1.0);
            if second * x * (t - 1.0) / (base - 1.0) <= t / base && x <= count {
                return x;
            }
        }
    }

    /// Time to the next arrival of a Poisson process, in whole microseconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
    pub fn poisson_delay_us(&mut self, mean_us: f64) -> u64 {
        let uniform = 1.0 - self.next_f64();
        (-uniform.ln() * mean_us + 0.5) as u64
    }

    /// A standard normal number (Box and Muller 1958); the second of the pair is discarded, as in pgbench.
    pub fn normal(&mut self) -> f64 {
        let radius = 1.0 - self.next_f64();
        let angle = 1.0 - self.next_f64();
        (-2.0 * radius.ln()).sqrt() * (2.0 * PI * angle).sin()
    }
}

/// Maps [0, 1) to `low..=high`.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "as pgbench")]
fn spread(low: i64, high: i64, unit: f64) -> i64 {
    let count = high.wrapping_sub(low).wrapping_add(1);
    low.wrapping_add((count as f64 * unit) as i64)
}

/// One output of splitmix64 (Steele, Lea and Flood 2014).
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
