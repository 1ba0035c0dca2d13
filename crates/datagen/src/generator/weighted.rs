//! `sub=weighted`: each value has exactly its share of the rows, in an order between sorted and random. Used for columns
//! that are learnt from a live table.
//!
//! The rows stand for their positions among the sorted values. A part of them stays in place, and the others are permuted
//! among themselves, so the correlation of position and row is the part that stays. No earlier row is remembered.

use super::random_bits::mix;
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

/// Combinations of values of several columns, a different one for each row. Each column has as many of its values as the
/// rows permit, all with about the same share. The rows are in an order of [`Weighted`].
#[derive(Clone, Debug)]
pub(crate) struct Combinations {
    order: Weighted,
    /// Numbers of values, the first of the column that changes most slowly.
    counts: Vec<u64>,
}

impl Combinations {
    pub fn new(order: &Weighted, counts: Vec<u64>) -> Self {
        Self { order: order.clone(), counts }
    }

    /// The value of a row in the column at this place in the order of `counts`.
    pub fn value(&self, row: u64, place: usize) -> u64 {
        let rows = u128::from(self.order.rows);
        let mut position = self.order.position(row % self.order.rows);
        for (number, &count) in self.counts.iter().enumerate() {
            let all = product(&self.counts[number..]);
            if all <= rows {
                // All combinations of the columns that are left occur.
                let combination = u128::from(position) * all / rows;
                let digit = combination / product(&self.counts[place + 1..]) % u128::from(self.counts[place]);
                return u64::try_from(digit).unwrap_or(0);
            }
            if number == place {
                return part_of(position, count, self.order.rows);
            }
            position = self.exchanged(position, count);
        }
        0
    }

    /// The position of a row by the next column: the rows of one value are at equal distances, so that they have
    /// different values there. Those of the next value lie between them.
    fn exchanged(&self, position: u64, count: u64) -> u64 {
        let rows = self.order.rows;
        let groups = count.min(rows);
        let group = part_of(position, groups, rows);
        let start = |group: u64| {
            let rows_before = (u128::from(group) * u128::from(rows)).div_ceil(u128::from(groups));
            u64::try_from(rows_before).unwrap_or(0)
        };
        let (least, longer) = (rows / groups, rows % groups);
        // Groups with one row more come first: their last rows are those at the end.
        let longer_before = start(group) - group * least;
        let is_longer = start(group + 1) - start(group) > least;
        let at = |number: u64, of: u64| {
            script::permute(number.cast_signed(), of.cast_signed(), self.order.seed).cast_unsigned()
        };
        let offset = if is_longer {
            at(longer_before, longer)
        } else {
            longer + at(group - longer_before, groups - longer)
        };
        (position - start(group)) * groups + offset
    }
}

/// Which of so many parts of the rows a position is in.
fn part_of(position: u64, parts: u64, rows: u64) -> u64 {
    u64::try_from(u128::from(position) * u128::from(parts) / u128::from(rows)).unwrap_or(0)
}

fn product(counts: &[u64]) -> u128 {
    counts.iter().fold(1, |product: u128, count| product.saturating_mul(u128::from(*count)))
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
    use std::collections::HashSet;

    use super::*;

    /// For very different numbers of rows and values, with and without common factors.
    #[test]
    fn combinations_differ_and_each_column_has_all_values_that_the_rows_permit() {
        let sizes = [1, 5, 20, 97, 360, 1000];
        let mut lists: Vec<Vec<u64>> = Vec::new();
        for (first, second) in sizes.iter().flat_map(|first| sizes.map(|second| (*first, second))) {
            lists.push(vec![first, second]);
            lists.push(vec![first, 7, second]);
        }
        for counts in &lists {
            for rows in [1_u64, 7, 100, 360, 1001] {
                if product(counts) < u128::from(rows) {
                    continue;
                }
                let own = Combinations::new(&Weighted::new(&[], 1, rows, 0.5, 7), counts.clone());
                let of = |row| (0..counts.len()).map(|place| own.value(row, place)).collect::<Vec<_>>();
                let all: Vec<Vec<u64>> = (0..rows).map(of).collect();
                let distinct: HashSet<&Vec<u64>> = all.iter().collect();
                assert_eq!(distinct.len(), all.len(), "{counts:?}, {rows} rows");
                for (place, count) in counts.iter().enumerate() {
                    let mut found = vec![0; usize::try_from(*count).expect("small")];
                    all.iter().for_each(|values| found[usize::try_from(values[place]).expect("small")] += 1);
                    let distinct = found.iter().filter(|rows| **rows > 0).count() as u64;
                    assert_eq!(distinct, rows.min(*count), "{counts:?}, {rows} rows, column {place}");
                    let most = 2 * rows.div_ceil(*count);
                    assert!(found.iter().all(|rows| *rows <= most), "{counts:?}, {rows} rows: {found:?}");
                }
            }
        }
    }

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
        let rows = 5_000;
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
