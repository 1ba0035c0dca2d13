//! `sub=weighted`: each value has exactly its share of the rows, in an order between sorted and random. Used for columns
//! that are learnt from a live table.
//!
//! The rows stand for their positions among the sorted values. A part of them stays in place, and the others are permuted
//! among themselves, so the correlation of position and row is the part that stays. No earlier row is remembered.

use super::draw::mix;
use crate::directive::Settings;
use crate::error::Checked;

/// Which position of the sorted values a row takes, and the value at a position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighted {
    /// Ends of the positions of the first values, which have weights.
    ends: Vec<u64>,
    /// Number of values.
    size: u64,
    /// At least 1.
    rows: u64,
    /// Rows that are not in place.
    moved: u64,
    /// The order of the rows is the opposite of that of the values.
    descends: bool,
    /// Of the permutation.
    seed: i64,
}

/// Most weights of one column.
const WEIGHTS_MAX: usize = 100_000;

/// Rows that estimate a correlation: PostgreSQL's own estimate from 30,000 rows is not better.
const SIMULATED_MAX: u64 = 10_000;

impl Weighted {
    /// Shares of the first values; the other values share the rest equally. If all values have weights, only the ratio of
    /// the weights counts. `correlation` is from −1 to 1.
    pub fn new(weights: &[f64], size: u64, rows: u64, correlation: f64, key: u64) -> Self {
        let rows = rows.max(1);
        let sum: f64 = weights.iter().sum();
        let scale = if weights.len() as u64 >= size && sum > 0.0 { 1.0 / sum } else { 1.0 };
        let mut total = 0.0;
        let ends = weights.iter().map(|weight| {
            total += weight * scale;
            part(rows, total)
        });
        let ends: Vec<u64> = ends.collect();
        let moved = rows - part(rows, correlation.abs());
        Self { ends, size, rows, moved, descends: correlation < 0.0, seed: mix(key).cast_signed() }
    }

    /// From the directives `weights` and `correlation`.
    pub fn read(settings: &Settings, size: u64, rows: u64, key: u64) -> Checked<Self> {
        let text = settings.text("weights").unwrap_or("");
        let weights: Option<Vec<f64>> = text
            .split(',')
            .filter(|weight| !weight.is_empty())
            .map(|weight| {
                weight.trim().parse().ok().filter(|weight: &f64| weight.is_finite() && *weight >= 0.0)
            })
            .collect();
        let Some(weights) = weights else {
            let message =
                "weights are shares of the first values, separated by commas, as in weights=0.5,0.2";
            return Err(settings.fault("weights", message));
        };
        if weights.len() as u64 > size || weights.len() > WEIGHTS_MAX {
            let most = size.min(WEIGHTS_MAX as u64);
            let message = format!("there are {} weights, and {most} values may have one", weights.len());
            return Err(settings.fault("weights", message));
        }
        let sum: f64 = weights.iter().sum();
        let all = weights.len() as u64 == size;
        if (all && sum <= 0.0) || (!all && sum > 1.0 + 1e-9) {
            let message = if all {
                "at least one weight must be more than 0".to_owned()
            } else {
                format!("the weights of some of the values have the sum {sum}, and at most 1 is possible")
            };
            return Err(settings.fault("weights", message));
        }
        let correlation = settings.number("correlation").unwrap_or(0.0);
        if !(-1.0..=1.0).contains(&correlation) {
            return Err(
                settings.fault("correlation", format!("correlation is from -1 to 1, not {correlation}"))
            );
        }
        Ok(Self::new(&weights, size, rows, correlation, key))
    }

    /// Whether all values have the same share.
    pub fn is_uniform(&self) -> bool {
        self.ends.is_empty()
    }

    /// Rows that are in place, of a million.
    pub fn in_place(&self) -> u64 {
        let share = u128::from(self.rows - self.moved) * 1_000_000 / u128::from(self.rows);
        u64::try_from(share).unwrap_or(0)
    }

    /// The same order of the rows for another number of values, all with the same share.
    pub fn resized(&self, size: u64) -> Self {
        Self { ends: Vec::new(), size, ..self.clone() }
    }

    /// The value of a row.
    pub fn base(&self, row: u64) -> u64 {
        self.value(self.position(row % self.rows))
    }

    fn position(&self, row: u64) -> u64 {
        let (rows, moved) = (u128::from(self.rows), u128::from(self.moved));
        // Rows that are moved have equal distances: the number of them before a row is known without memory.
        let before = |row: u128| row * moved / rows;
        let number = before(u128::from(row));
        let position = if before(u128::from(row) + 1) > number {
            let number = u64::try_from(number).unwrap_or(0);
            let other = script::permute(number.cast_signed(), self.moved.cast_signed(), self.seed);
            // The row whose successor is the first with other + 1 moved rows before it.
            let next = (u128::from(other.cast_unsigned()) + 1) * rows;
            u64::try_from(next.div_ceil(moved) - 1).unwrap_or(0)
        } else {
            row
        };
        if self.descends { self.rows - 1 - position } else { position }
    }

    fn value(&self, position: u64) -> u64 {
        let weighted = self.ends.len() as u64;
        let start = self.ends.last().copied().unwrap_or(0);
        if position < start || weighted >= self.size {
            let value = self.ends.partition_point(|end| *end <= position) as u64;
            return value.min(self.size - 1);
        }
        let (values, rows) = (self.size - weighted, self.rows - start);
        let value = u128::from(position - start) * u128::from(values) / u128::from(rows.max(1));
        weighted + u64::try_from(value).unwrap_or(0).min(values - 1)
    }
}

/// A share of the rows, rounded.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of rows; saturates"
)]
fn part(rows: u64, share: f64) -> u64 {
    ((rows as f64 * share).round() as u64).min(rows)
}

/// The directive `correlation` for values with these shares, so that PostgreSQL's statistic `correlation` has this value.
/// The two differ, because PostgreSQL counts equal values as sorted.
pub fn correlation_directive(weights: &[f64], size: u64, rows: u64, statistic: f64) -> f64 {
    let rows = rows.clamp(1, SIMULATED_MAX);
    let size = size.clamp(weights.len().max(1) as u64, rows.max(weights.len() as u64));
    let of = |directive: f64| statistic_of(&Weighted::new(weights, size, rows, directive, 1), rows);
    let (mut low, mut high) = (-1.0, 1.0);
    if statistic >= of(high) {
        return high;
    }
    for _ in 0..20 {
        let middle = f64::midpoint(low, high);
        if of(middle) < statistic { low = middle } else { high = middle }
    }
    (low * 1000.0).round() / 1000.0
}

/// PostgreSQL's correlation of values and rows (src/backend/commands/analyze.c, compute_scalar_stats): of the ranks of the
/// values, equal ones in the order of their rows, and the rows.
#[expect(clippy::cast_precision_loss, reason = "at most 10,000 rows")]
fn statistic_of(weighted: &Weighted, rows: u64) -> f64 {
    let mut sorted: Vec<(u64, u64)> = (0..rows).map(|row| (weighted.base(row), row)).collect();
    sorted.sort_unstable();
    let count = rows as f64;
    let sum: f64 = sorted.iter().enumerate().map(|(rank, (_, row))| rank as f64 * *row as f64).sum();
    let single = count * (count - 1.0) / 2.0;
    let squares = (count - 1.0) * count * (2.0 * count - 1.0) / 6.0;
    let variance = count * squares - single * single;
    if variance == 0.0 { 1.0 } else { (count * sum - single * single) / variance }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(weighted: &Weighted, rows: u64) -> Vec<u64> {
        let mut counts = vec![0; usize::try_from(weighted.size).expect("small")];
        (0..rows).for_each(|row| counts[usize::try_from(weighted.base(row)).expect("small")] += 1);
        counts
    }

    #[test]
    fn each_value_has_exactly_its_share_of_the_rows_in_any_order() {
        for correlation in [-1.0, -0.3, 0.0, 0.001, 0.5, 1.0] {
            let weighted = Weighted::new(&[0.5, 0.2], 5, 1000, correlation, 7);
            assert_eq!(counts(&weighted, 1000), [500, 200, 100, 100, 100], "{correlation}");
        }
        assert_eq!(counts(&Weighted::new(&[3.0, 1.0], 2, 1000, 0.2, 7), 1000), [750, 250]);
        assert_eq!(counts(&Weighted::new(&[], 1000, 1000, 0.9, 7), 1000), vec![1; 1000]);
    }

    #[test]
    fn a_correlation_is_reached_as_postgresql_measures_it() {
        let rows = 10_000;
        for (weights, size) in [(&[][..], rows), (&[][..], 50), (&[0.6, 0.1][..], 1000), (&[0.9, 0.1][..], 2)]
        {
            for statistic in [0.98, 0.95, 0.9] {
                let directive = correlation_directive(weights, size, rows, statistic);
                let weighted = Weighted::new(weights, size, rows, directive, 99);
                let reached = statistic_of(&weighted, rows);
                assert!((reached - statistic).abs() < 0.02, "{weights:?} {size}: {statistic}, {reached}");
            }
        }
        for statistic in [-1.0, -0.6, 0.0, 0.3, 1.0] {
            let directive = correlation_directive(&[], rows, rows, statistic);
            assert!((directive - statistic).abs() < 0.03, "{directive} {statistic}");
            let reached = statistic_of(&Weighted::new(&[], rows, rows, directive, 99), rows);
            assert!((reached - statistic).abs() < 0.03, "{reached} {statistic}");
        }
    }
}
