//! Draws of numbers: each is a function of a key and the number of a draw alone. Most generators map such a number to a
//! value.

use std::sync::Arc;

use super::random_bits::random;
use super::weighted::Weighted;

/// Which value is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Row of the table, from 0.
    pub row: u64,
    /// Rows of the table.
    pub rows: u64,
    /// Number of the draw: the row, or a function of it within repetitions and shares.
    pub index: u64,
    /// For unique columns: the number of the value among all values of the generator.
    pub rank: Option<u64>,
}

impl Cell {
    /// Draw `number` of at most `most` within this one.
    pub fn nested(self, number: u64, most: u64) -> Self {
        Self { index: self.index.wrapping_mul(most).wrapping_add(number), rank: None, ..self }
    }

    pub fn with_rank(self, rank: Option<u64>) -> Self {
        Self { rank, ..self }
    }
}

/// How a number is selected. Parameters were checked by the compiler.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Sub {
    Serial,
    Uniform,
    Serand,
    Power {
        alpha: f64,
    },
    Scale {
        alpha: f64,
    },
    Zipfian {
        parameter: f64,
    },
    Gaussian {
        parameter: f64,
    },
    Exponential {
        parameter: f64,
    },
    /// Position of the row at a rate that grows exponentially, by this factor from first to last.
    Growth {
        factor: f64,
    },
    /// Around the position of the row, within this share of the values.
    Drift {
        width: f64,
    },
    /// Exact shares, between sorted and in random order.
    Weighted(Arc<Weighted>),
}

/// Names of [`Sub`], for messages.
pub(crate) const SUBS: [&str; 11] = [
    "serial",
    "uniform",
    "serand",
    "power",
    "scale",
    "zipfian",
    "gaussian",
    "exponential",
    "growth",
    "drift",
    "weighted",
];

/// A number from 0 to `size` − 1, and its mapping.
#[derive(Clone, Debug)]
pub(crate) struct Draw {
    pub key: u64,
    /// At least 1, at most `i64::MAX`.
    pub size: u64,
    pub sub: Sub,
    pub xor: u64,
    /// Coprime to the size.
    pub step: u64,
    /// Less than the size.
    pub shift: u64,
    pub offset: i64,
}

impl Draw {
    /// `offset` + [`Draw::base`].
    #[inline]
    pub fn number(&self, cell: Cell) -> i64 {
        self.offset.wrapping_add_unsigned(self.base(cell))
    }

    /// In `0..size`.
    #[inline]
    pub fn base(&self, cell: Cell) -> u64 {
        let mut value = match cell.rank {
            Some(rank) => rank.min(self.size - 1),
            None => self.select(cell),
        };
        if self.xor != 0 {
            value = self.xored(value);
        }
        if self.step != 1 || self.shift != 0 {
            let product = u128::from(self.step) * u128::from(value) + u128::from(self.shift);
            value = u64::try_from(product % u128::from(self.size)).unwrap_or(0);
        }
        value
    }

    /// Counts from the offset upwards.
    pub fn is_plain_serial(&self) -> bool {
        self.sub == Sub::Serial && self.xor == 0 && self.step == 1 && self.shift == 0
    }

    /// Each of the first `rows` draws has its own value.
    pub fn is_serial(&self, rows: u64) -> bool {
        let differs = match &self.sub {
            Sub::Serial | Sub::Serand => true,
            Sub::Weighted(weighted) => weighted.is_uniform(),
            _ => false,
        };
        differs && self.size >= rows
    }

    /// Some values are drawn more often than others.
    pub fn is_skewed(&self) -> bool {
        match &self.sub {
            Sub::Serial | Sub::Serand | Sub::Uniform => false,
            Sub::Weighted(weighted) => !weighted.is_uniform(),
            _ => true,
        }
    }

    #[inline]
    fn select(&self, cell: Cell) -> u64 {
        let size = self.size;
        let last = size.cast_signed() - 1;
        let random = || random(self.key, cell.index);
        match &self.sub {
            Sub::Serial => cell.index % size,
            Sub::Serand if cell.index < size => cell.index,
            Sub::Uniform | Sub::Serand => random().range(size - 1),
            Sub::Power { alpha } => self.share(random().next_f64().powf(*alpha)),
            Sub::Scale { alpha } => {
                let v = random().next_f64();
                self.share(v / ((1.0 - alpha) * v + alpha))
            }
            Sub::Zipfian { parameter } => random().zipfian(0, last, *parameter).cast_unsigned(),
            Sub::Gaussian { parameter } => {
                random().gaussian(0, last, *parameter).cast_unsigned().min(size - 1)
            }
            Sub::Exponential { parameter } => {
                random().exponential(0, last, *parameter).cast_unsigned().min(size - 1)
            }
            Sub::Growth { factor } => {
                let factor = *factor;
                let position = self.position(cell);
                // Inverse of N(t) = (factor^t − 1) / (factor − 1), the rows until t at the rate factor^t.
                let time =
                    if factor == 1.0 { position } else { (position * (factor - 1.0)).ln_1p() / factor.ln() };
                self.share(time)
            }
            Sub::Drift { width } => {
                let center = self.position(cell);
                let normal = random().gaussian(-1_000_000, 1_000_000, 3.0);
                #[expect(clippy::cast_precision_loss, reason = "a million fits")]
                let position = center + width * normal as f64 / 1e6;
                self.share(position.rem_euclid(1.0))
            }
            Sub::Weighted(weighted) => weighted.base(cell.index),
        }
    }

    /// The row's middle in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "a share; its last bits do not matter")]
    fn position(&self, cell: Cell) -> f64 {
        ((cell.row as f64 + 0.5) / cell.rows.max(1) as f64).min(1.0)
    }

    /// The value at a share of the size.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates, and NaN becomes 0"
    )]
    fn share(&self, share: f64) -> u64 {
        ((self.size as f64 * share) as u64).min(self.size - 1)
    }

    /// Exclusive or within the largest block of a power of two that contains the value: the result stays in the range.
    fn xored(&self, value: u64) -> u64 {
        let (mut start, mut left) = (0, self.size);
        while left > 0 {
            let block = 1_u64 << left.ilog2();
            if value < start + block {
                return start + ((value - start) ^ (self.xor & (block - 1)));
            }
            start += block;
            left -= block;
        }
        value
    }
}

/// Greatest common divisor.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A length from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub min: u32,
    pub max: u32,
}

impl Lengths {
    /// Uniform, a function of `bits`.
    pub fn pick(self, bits: u64) -> u32 {
        let count = u64::from(self.max - self.min) + 1;
        self.min + u32::try_from(bits % count).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random_bits::key_of;
    use super::*;

    fn draw(size: u64, sub: Sub) -> Draw {
        Draw { key: key_of(1, "t.c"), size, sub, xor: 0, step: 1, shift: 0, offset: 0 }
    }

    fn counts(draw: &Draw, draws: u64) -> Vec<u64> {
        let mut counts = vec![0; usize::try_from(draw.size).expect("small")];
        for row in 0..draws {
            let cell = Cell { row, rows: draws, index: row, rank: None };
            counts[usize::try_from(draw.base(cell)).expect("small")] += 1;
        }
        counts
    }

    /// Chi-square of the counts against expected shares; the limit is the 0.1 % quantile for 9 degrees of freedom.
    fn check_shares(sub: Sub, shares: [f64; 10]) {
        let draws = 100_000.0;
        let counts = counts(&draw(10, sub.clone()), 100_000);
        let sum: f64 = shares.iter().sum();
        let chi: f64 = counts
            .iter()
            .zip(shares)
            .map(|(count, share)| {
                #[expect(clippy::cast_precision_loss, reason = "small")]
                let (count, expected) = (*count as f64, share / sum * draws);
                (count - expected).powi(2) / expected
            })
            .sum();
        assert!(chi < 27.9, "{sub:?}: {counts:?}, chi-square {chi}");
    }

    #[test]
    fn draws_have_the_distribution_of_their_name() {
        check_shares(Sub::Uniform, [1.0; 10]);
        let k = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0_f64];
        check_shares(Sub::Zipfian { parameter: 1.5 }, k.map(|k| k.powf(-1.5)));
        check_shares(Sub::Exponential { parameter: 2.5 }, k.map(|k| (-2.5 * (k - 1.0) / 10.0).exp()));
        // floor(size · u^alpha) = k for u from (k/size)^(1/alpha) to ((k+1)/size)^(1/alpha).
        let alpha = -10.0_f64.ln() / 0.3_f64.ln();
        let power = k.map(|k| (k / 10.0).powf(1.0 / alpha) - ((k - 1.0) / 10.0).powf(1.0 / alpha));
        check_shares(Sub::Power { alpha }, power);
        assert!((power[0] - 0.3).abs() < 1e-9);
        let alpha = 0.3 * 9.0 / 0.7;
        let quantile = |x: f64| alpha * x / (1.0 + (alpha - 1.0) * x);
        check_shares(Sub::Scale { alpha }, k.map(|k| quantile(k / 10.0) - quantile((k - 1.0) / 10.0)));
    }

    #[test]
    fn a_gaussian_draw_is_symmetric_around_the_middle() {
        let counts = counts(&draw(10, Sub::Gaussian { parameter: 2.5 }), 100_000);
        assert!(counts[4] > 2 * counts[1] && counts[1] > counts[0], "{counts:?}");
        assert!(counts[0].abs_diff(counts[9]) < counts[0] / 4, "{counts:?}");
    }

    #[test]
    fn a_growing_rate_puts_more_rows_into_later_periods_by_its_factor() {
        let counts = counts(&draw(100, Sub::Growth { factor: 8.0 }), 1_000_000);
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let ratio = counts[99] as f64 / counts[0] as f64;
        assert!((7.5..8.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_hot_set_drifts_with_the_row() {
        let draw = draw(1000, Sub::Drift { width: 0.02 });
        for row in 0..1000 {
            let base = draw.base(Cell { row, rows: 1000, index: row, rank: None });
            let distance = base.abs_diff(row).min(1000 - base.abs_diff(row));
            assert!(distance <= 21, "row {row}: {base}");
        }
    }

    #[test]
    fn xor_step_and_shift_are_bijections() {
        for size in [1_u64, 2, 7, 10, 16, 100, 1000] {
            let step = (3..).find(|step| gcd(*step, size) == 1).expect("a prime");
            let draw = Draw { xor: 0x5555, step, shift: size / 2, ..draw(size, Sub::Serial) };
            let mut seen = counts(&draw, size);
            seen.dedup();
            assert_eq!(seen, [1], "size {size}");
        }
    }

    #[test]
    fn serial_and_serand_count_first() {
        assert_eq!(counts(&draw(10, Sub::Serial), 20), vec![2; 10]);
        assert_eq!(counts(&draw(10, Sub::Serand), 10), vec![1; 10]);
    }
}
