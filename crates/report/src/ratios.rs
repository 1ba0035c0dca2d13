//! The one form of ratios in all reports: `×1.22 (1.04 … 1.42)` and, below a factor of two, the change in per cent beside
//! it: `+22 %`. The interval says how many digits make sense.

use crate::figures::{TIE, fixed};

/// From this factor on, up or down, a change is told as a factor: `×18` says more than `+1,704 %`.
const LARGE: f64 = 2.0;
/// An interval that holds 1 and whose ends are so far apart says nothing.
const HOPELESS: f64 = 100.0;
/// Decimals at most.
const DECIMALS_MAX: i32 = 6;
/// A ratio that is so near to 1 is shown as 1: more decimals would say nothing.
const ONE_WITHIN: f64 = 1e-6;

/// `×1.22 (1.04 … 1.42)`; without an interval `×1.22`.
pub(crate) fn ratio(value: f64, interval: Option<(f64, f64)>) -> String {
    let range = range(value, interval).map_or(String::new(), |range| format!(" ({range})"));
    self::value(value, interval) + &range
}

/// `×1.22`, with the digits that its interval makes sense of.
pub(crate) fn value(value: f64, interval: Option<(f64, f64)>) -> String {
    if !value.is_finite() {
        return "—".to_owned();
    }
    format!("×{}", number(value, interval))
}

/// `1.04 … 1.42`; of ends that are shown alike, `± < 0.1 %`.
pub(crate) fn range(value: f64, interval: Option<(f64, f64)>) -> Option<String> {
    let (low, high) = interval?;
    let decimals = decimals(value, interval);
    let [shown_low, shown_high] = [low, high].map(|bound| end(bound, decimals));
    if shown_low == shown_high && high > 0.0 {
        let tenths = ((high - low) / (high + low) * 1_000.0).ceil().max(1.0);
        return Some(format!("±{TIE}<{TIE}{}{TIE}%", fixed(tenths / 10.0, 1)));
    }
    Some(format!("{shown_low}{TIE}…{TIE}{shown_high}"))
}

/// `18 (13 to 25)`, for sentences that have the words for it.
pub(crate) fn factor_in_words(value: f64, interval: Option<(f64, f64)>) -> String {
    // Of a ratio below 1, the factor is how many times less.
    let is_less = value < 1.0;
    let value = if is_less { 1.0 / value } else { value };
    let interval = interval.map(|(low, high)| if is_less { (1.0 / high, 1.0 / low) } else { (low, high) });
    let decimals = decimals(value, interval);
    let range = interval.map(|(low, high)| format!(" ({} to {})", end(low, decimals), end(high, decimals)));
    number(value, interval) + &range.unwrap_or_default()
}

/// Whether a ratio is told as a factor alone.
pub(crate) fn is_large(value: f64) -> bool {
    value >= LARGE || value <= 1.0 / LARGE
}

/// `+22 %`, `−4.2 %`; `None` for what is told as a factor alone.
pub(crate) fn change(value: f64, interval: Option<(f64, f64)>) -> Option<String> {
    if is_large(value) || !value.is_finite() {
        return None;
    }
    let percent = (value - 1.0) * 100.0;
    let decimals = (decimals(value, interval) - 2).clamp(0, 2);
    let text = fixed(percent.abs(), usize::try_from(decimals).unwrap_or(0));
    let sign = match percent {
        _ if is_zero(&text) => "",
        ..0.0 => "−",
        _ => "+",
    };
    Some(format!("{sign}{text}{TIE}%"))
}

/// `4.2 %` of `×1.042` and of `×0.958`: for sentences that have the direction as a word.
pub(crate) fn size(value: f64, interval: Option<(f64, f64)>) -> Option<String> {
    Some(change(value, interval)?.trim_start_matches(['+', '−']).to_owned())
}

/// Whether an interval is so wide that it says nothing of the ratio.
pub(crate) fn says_nothing(interval: Option<(f64, f64)>) -> bool {
    interval.is_some_and(|(low, high)| {
        let is_open = !(low > 0.0 && high.is_finite());
        low <= 1.0 && high >= 1.0 && (is_open || high / low >= HOPELESS)
    })
}

fn number(value: f64, interval: Option<(f64, f64)>) -> String {
    if value >= 1e6 && value.is_finite() {
        return format!("{value:.1e}");
    }
    bound(value, decimals(value, interval))
}

/// An end that is not 0 is not shown as 0.
fn bound(value: f64, decimals: i32) -> String {
    let text = fixed(value, usize::try_from(decimals).unwrap_or(0));
    if value > 0.0 && is_zero(&text) { with_decimals(value, decimals_of(value, 1)) } else { text }
}

/// An end that is not 1 is not shown as 1: whether the interval holds it is the answer.
fn end(value: f64, decimals: i32) -> String {
    let text = bound(value, decimals);
    let is_shown_as_one = text.parse() == Ok(1.0);
    if is_shown_as_one && !is_one(value) {
        with_decimals(value, decimals_of((value - 1.0).abs(), 1))
    } else {
        text
    }
}

fn is_one(value: f64) -> bool {
    (value - 1.0).abs() < ONE_WITHIN
}

fn with_decimals(value: f64, decimals: i32) -> String {
    fixed(value, usize::try_from(decimals.clamp(0, DECIMALS_MAX)).unwrap_or(0))
}

fn is_zero(text: &str) -> bool {
    text.chars().all(|character| matches!(character, '0' | '.'))
}

/// Decimals for so many significant digits of a value.
// Exponents of doubles.
#[allow(clippy::cast_possible_truncation)]
fn decimals_of(value: f64, significant: i32) -> i32 {
    if value > 0.0 && value.is_finite() { significant - 1 - value.log10().floor() as i32 } else { 0 }
}

/// Two digits of half the interval, one from a ratio of 10 on, and no more than tell a tenth of a per cent; without an
/// interval, three digits of the ratio.
fn decimals(value: f64, interval: Option<(f64, f64)>) -> i32 {
    let (least, most) = match value {
        10.0.. => (0, 1),
        2.0.. => (1, 2),
        0.1.. => (2, 3),
        _ => (2, decimals_of(value, 3).min(DECIMALS_MAX)),
    };
    let wanted = match interval {
        // An effect that is not there needs no digits.
        Some((low, high)) if is_one(low) && is_one(high) => least,
        Some((low, high)) if high > low => {
            let digits = if value >= 10.0 { 1 } else { 2 };
            decimals_of((high - low) / 2.0, digits)
        }
        _ => decimals_of(value, 3),
    };
    let least = if value < 0.1 { decimals_of(value, 2).max(least) } else { least };
    wanted.clamp(least.min(most), most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::with_ordinary_spaces;

    fn check(value: f64, interval: Option<(f64, f64)>, expected: &str) {
        let change = change(value, interval).map_or(String::new(), |change| format!(" {change}"));
        assert_eq!(with_ordinary_spaces(&(ratio(value, interval) + &change)), expected);
    }

    #[test]
    fn ratios_have_one_form_and_are_changes_in_per_cent_too_below_two() {
        check(1.22, Some((1.04, 1.42)), "×1.22 (1.04 … 1.42) +22 %");
        check(1.042, Some((1.029, 1.056)), "×1.042 (1.029 … 1.056) +4.2 %");
        check(0.996, Some((0.979, 1.013)), "×0.996 (0.979 … 1.013) −0.4 %");
        check(18.04, Some((13.2, 24.7)), "×18 (13 … 25)");
        check(3.42, Some((3.1, 3.8)), "×3.42 (3.10 … 3.80)");
        check(0.005, Some((0.0048, 0.0052)), "×0.00500 (0.00480 … 0.00520)");
        check(0.076_789, Some((0.076_788, 0.076_79)), "×0.0768 (± < 0.1 %)");
        check(1.25, Some((1.249_99, 1.250_01)), "×1.250 (± < 0.1 %) +25.0 %");
        check(1.32, None, "×1.32 +32 %");
        check(148.4, None, "×148");
        check(1.0, Some((1.0, 1.0)), "×1.00 (± < 0.1 %) 0 %");
        check(1.000_000_000_2, Some((0.999_999_9, 1.000_000_1)), "×1.00 (± < 0.1 %) 0 %");
        check(1.000_2, Some((0.999_999_9, 1.000_4)), "×1.000 (1.000 … 1.0004) 0.0 %");
        check(1.2, Some((0.02, 7.1)), "×1.20 (0.02 … 7.10) +20 %");
        check(1.01, Some((1.000_04, 1.02)), "×1.010 (1.00004 … 1.020) +1.0 %");
        check(69_264_729.0, None, "×6.9e7");
    }

    #[test]
    fn sentences_say_a_large_factor_as_one() {
        assert_eq!(factor_in_words(18.04, Some((13.2, 24.7))), "18 (13 to 25)");
        assert_eq!(factor_in_words(1.0 / 18.04, Some((1.0 / 24.7, 1.0 / 13.2))), "18 (13 to 25)");
        assert_eq!(size(0.958, Some((0.944, 0.971))).map(|it| with_ordinary_spaces(&it)).unwrap(), "4.2 %");
    }

    #[test]
    fn an_interval_that_says_nothing_is_one_that_holds_1_and_is_very_wide() {
        for (interval, expected) in [
            ((0.000_000_01, 69_264_729.0), true),
            ((0.2, 7.1), false),
            ((1.2, 900.0), false),
            ((0.0, 2.0), true),
            ((0.5, f64::INFINITY), true),
        ] {
            assert_eq!(says_nothing(Some(interval)), expected, "{interval:?}");
        }
        assert!(!says_nothing(None));
    }
}
