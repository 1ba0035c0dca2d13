//! Counts of a column's values: what `--explain` shows. Many different numbers are counted in ranges; the caller draws the
//! bars.

use std::collections::HashMap;

/// How often values occur. Many different numbers are counted in ranges.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Values counted, NULL included.
    pub draws: u64,
    /// Of which NULL.
    pub nulls: u64,
    /// Different values.
    pub distinct: u64,
    /// Labels with their counts: values by falling count, or ranges of numbers in their order.
    pub bars: Vec<(String, u64)>,
    /// Values without a bar.
    pub others: u64,
}

/// Bars of one histogram: they fit on a screen.
const BARS_MAX: usize = 20;

impl Histogram {
    pub(crate) fn new(
        rows: impl Iterator<Item = u64>,
        mut write: impl FnMut(u64, &mut Vec<u8>) -> bool,
    ) -> Self {
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        let (mut draws, mut nulls) = (0, 0);
        let mut value = Vec::new();
        for row in rows {
            value.clear();
            draws += 1;
            if write(row, &mut value) {
                match counts.get_mut(&value) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(value.clone(), 1)),
                }
            } else {
                nulls += 1;
            }
        }
        let distinct = counts.len() as u64;
        let mut bars: Vec<(String, u64)> = counts
            .into_iter()
            .map(|(value, count)| (String::from_utf8_lossy(&value).into_owned(), count))
            .collect();
        if bars.len() > BARS_MAX
            && let Some(ranges) = ranges(&bars)
        {
            return Self { draws, nulls, distinct, bars: ranges, others: 0 };
        }
        bars.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let others = bars.iter().skip(BARS_MAX).map(|(_, count)| count).sum();
        bars.truncate(BARS_MAX);
        Self { draws, nulls, distinct, bars, others }
    }
}

/// Counts by ranges of equal width, if all values are numbers.
fn ranges(values: &[(String, u64)]) -> Option<Vec<(String, u64)>> {
    let numbers: Option<Vec<(f64, u64)>> = values
        .iter()
        .map(|(value, count)| {
            value.parse().ok().filter(|number: &f64| number.is_finite()).map(|number| (number, *count))
        })
        .collect();
    let numbers = numbers?;
    let low = numbers.iter().map(|(number, _)| *number).fold(f64::INFINITY, f64::min);
    let high = numbers.iter().map(|(number, _)| *number).fold(f64::NEG_INFINITY, f64::max);
    let whole = numbers.iter().all(|(number, _)| number.fract() == 0.0);
    #[expect(clippy::cast_precision_loss, reason = "20")]
    let bars = BARS_MAX as f64;
    let width = if whole { ((high - low + 1.0) / bars).ceil() } else { (high - low) / bars };
    let mut counts = vec![0; BARS_MAX];
    for (number, count) in numbers {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, then limited"
        )]
        let bar = (((number - low) / width) as usize).min(BARS_MAX - 1);
        counts[bar] += count;
    }
    let label = |bar: usize| {
        #[expect(clippy::cast_precision_loss, reason = "20")]
        let start = low + width * bar as f64;
        if whole {
            format!("{start:.0} to {:.0}", (start + width - 1.0).min(high))
        } else {
            format!("{start:.4} to {:.4}", start + width)
        }
    };
    let used = if whole { (((high - low) / width).floor() + 1.0).min(bars) } else { bars };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 20")]
    counts.truncate(used as usize);
    Some(counts.into_iter().enumerate().map(|(bar, count)| (label(bar), count)).collect())
}
