//! Counts of a column's values, as bars of text: what `--explain` shows. Many different numbers are counted in ranges,
//! dates by days, months or years.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

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

/// Bars of values that are all different.
const EXAMPLES_MAX: usize = 5;

/// Characters of the longest bar.
const BAR_LENGTH: usize = 40;

/// Characters of a label.
const LABEL_LENGTH: usize = 40;

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
            && let Some(ranges) = ranges(&bars).or_else(|| periods(&bars))
        {
            return Self { draws, nulls, distinct, bars: ranges, others: 0 };
        }
        bars.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        // Of texts that are all different, a few examples are enough.
        let differ = bars.len() > BARS_MAX && bars.first().is_some_and(|(_, count)| *count == 1);
        let shown = if differ { EXAMPLES_MAX } else { BARS_MAX };
        let others = bars.iter().skip(shown).map(|(_, count)| count).sum();
        bars.truncate(shown);
        Self { draws, nulls, distinct, bars, others }
    }
}

impl Histogram {
    /// A line for each bar: label, share in percent, bar. Control characters in labels are escaped.
    pub fn text(&self) -> String {
        let mut bars: Vec<(String, u64)> =
            self.bars.iter().map(|(label, count)| (shown(label), *count)).collect();
        let counted: u64 = self.bars.iter().map(|(_, count)| count).sum();
        if self.others > 0 {
            let values = self.distinct.saturating_sub(self.bars.len() as u64);
            bars.push((format!("({values} other values)"), self.others));
        }
        if self.nulls > 0 {
            bars.push(("NULL".to_owned(), self.nulls));
        }
        let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
        let width = bars.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        let draws = (counted + self.others + self.nulls).max(1);
        let mut text = String::new();
        for (label, count) in bars {
            let length = usize::try_from(count * BAR_LENGTH as u64 / most).unwrap_or(0);
            let bar = "#".repeat(length);
            let line = format!("{label:width$}  {:>6.2} %  {bar}", share(count, draws) * 100.0);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// Share of NULL.
    pub fn null_share(&self) -> f64 {
        share(self.nulls, self.draws.max(1))
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for readers")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// A label on one line.
fn shown(label: &str) -> String {
    if label.is_empty() {
        return "''".to_owned();
    }
    let escaped: Vec<char> =
        label
            .chars()
            .take(LABEL_LENGTH + 1)
            .flat_map(|character| {
                if character.is_control() { character.escape_default().collect() } else { vec![character] }
            })
            .collect();
    if escaped.len() <= LABEL_LENGTH {
        return escaped.into_iter().collect();
    }
    escaped.into_iter().take(LABEL_LENGTH - 1).chain(['…']).collect()
}

/// Counts by days, months or years, if all values are dates or timestamps.
fn periods(values: &[(String, u64)]) -> Option<Vec<(String, u64)>> {
    let is_date = |value: &str| {
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = value.as_bytes();
        bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-') && value.get(..4).is_some_and(digits)
    };
    if !values.iter().all(|(value, _)| is_date(value)) {
        return None;
    }
    // Lengths of a day, a month and a year in YYYY-MM-DD.
    [10, 7, 4].iter().find_map(|length| {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (value, count) in values {
            *counts.entry(value.get(..*length)?).or_default() += count;
        }
        let bars = counts.into_iter().map(|(period, count)| (period.to_owned(), count)).collect::<Vec<_>>();
        (bars.len() <= BARS_MAX).then_some(bars)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_shares_and_hide_control_characters() {
        let values = ["a", "a", "b\t\u{1b}", ""];
        let write = |row: u64, out: &mut Vec<u8>| {
            let value = values.get(usize::try_from(row).expect("small"));
            out.extend_from_slice(value.unwrap_or(&"").as_bytes());
            value.is_some()
        };
        let histogram = Histogram::new(0..5, write);
        let full = "#".repeat(BAR_LENGTH);
        let half = "#".repeat(BAR_LENGTH / 2);
        let expected = format!(
            "a           40.00 %  {full}\n''          20.00 %  {half}\nb\\t\\u{{1b}}   20.00 %  {half}\nNULL        20.00 %  {half}\n"
        );
        assert_eq!(histogram.text(), expected);
        assert_eq!((histogram.distinct, histogram.null_share()), (3, 0.2));
    }

    #[test]
    fn many_values_are_counted_in_ranges_periods_or_shown_as_examples() {
        let histogram = |write: &dyn Fn(u64) -> String| {
            Histogram::new(0..100, |row, out| {
                out.extend_from_slice(write(row).as_bytes());
                true
            })
        };
        let first = |histogram: &Histogram| histogram.bars.first().cloned().expect("a bar");
        let numbers = histogram(&|row| row.to_string());
        assert_eq!((first(&numbers), numbers.bars.len()), (("0 to 4".to_owned(), 5), 20));
        let days = histogram(&|row| format!("2024-{:02}-{:02}", row / 25 + 1, row % 25 + 1));
        assert_eq!((first(&days), days.bars.len()), (("2024-01".to_owned(), 25), 4));
        let texts = histogram(&|row| format!("text {row}"));
        assert_eq!((first(&texts).1, texts.bars.len(), texts.others), (1, EXAMPLES_MAX, 95));
    }
}
