//! Formats of numbers: significant digits, thousands separators, units. The only module that converts microseconds to
//! other units.

/// Significant digits of a single figure: the precision of the histograms.
const SIGNIFICANT_DIGITS: usize = 3;

/// Significant digits of rates: one more, because runs are compared to a tenth of a percent.
const RATE_DIGITS: usize = 4;

/// Maximum number of decimals in a table.
const DECIMALS_MAX: usize = 3;

/// No-break space, between a number and its unit. The output has ordinary spaces instead, so that text search works:
/// see [`with_ordinary_spaces`].
pub(crate) const TIE: char = '\u{a0}';
const TIE_TEXT: &str = "\u{a0}";

/// The sign of a number below zero, U+2212: as wide as a plus, and no line breaks behind it.
pub(crate) const MINUS: char = '−';

/// Replaces no-break spaces for output.
pub fn with_ordinary_spaces(text: &str) -> String {
    text.replace(TIE, " ")
}

/// Units of latencies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    Seconds,
}

const UNITS: [Unit; 3] = [Unit::Microseconds, Unit::Milliseconds, Unit::Seconds];

impl Unit {
    /// The unit in which a typical value has one to three digits before the point.
    pub(crate) fn for_typical(us: f64) -> Unit {
        let small_enough = |unit: &Unit| magnitude(unit.of(us), SIGNIFICANT_DIGITS) < 3;
        UNITS.into_iter().find(small_enough).unwrap_or(Unit::Seconds)
    }

    /// Converts microseconds to this unit.
    pub(crate) fn of(self, us: f64) -> f64 {
        match self {
            Unit::Microseconds => us,
            Unit::Milliseconds => us / 1e3,
            Unit::Seconds => us / 1e6,
        }
    }

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Unit::Microseconds => "µs",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
        }
    }
}

/// Power of ten of the first digit after rounding to this many significant digits: 2 for 123, but 3 for 999.6 in three
/// digits. Zero for zero, NaN and infinity.
fn magnitude(value: f64, significant: usize) -> i32 {
    let scientific = format!("{value:.*e}", significant.saturating_sub(1));
    scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// Decimals for this many significant digits, at most [`DECIMALS_MAX`]. Zero for large values and for zero.
pub(crate) fn decimals_for(value: f64, significant: usize) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    let after_first = i32::try_from(significant).map_or(0, |digits| digits - 1);
    usize::try_from(after_first - magnitude(value, significant)).unwrap_or(0).min(DECIMALS_MAX)
}

/// Decimals of a table with this smallest typical value.
pub(crate) fn decimals_of_table(smallest_typical: f64) -> usize {
    decimals_for(smallest_typical, SIGNIFICANT_DIGITS)
}

/// Decimals of rates with this minimum.
pub(crate) fn decimals_of_rates(smallest: f64) -> usize {
    decimals_for(smallest, RATE_DIGITS)
}

/// Fixed number of decimals, with thousands separators and a minus sign: `12,345.6`, `−3`.
pub fn fixed(value: f64, decimals: usize) -> String {
    let plain = format!("{value:.decimals$}");
    let whole_len = plain.find('.').unwrap_or(plain.len());
    let mut out = String::with_capacity(plain.len() + plain.len() / 3);
    for (at, character) in plain.char_indices() {
        let before_point = at < whole_len && character.is_ascii_digit();
        if before_point && !out.is_empty() && !out.ends_with(MINUS) && (whole_len - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(if character == '-' { MINUS } else { character });
    }
    out
}

/// An integer with thousands separators: `12,345`.
pub fn count(number: u64) -> String {
    fixed(number as f64, 0)
}

/// A count with its noun: `1 client`, `8 clients`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{}{TIE}{}", count(number), if number == 1 { one } else { many })
}

/// A rate: four significant digits, or all digits before the point.
pub fn rate(per_second: f64) -> String {
    fixed(per_second, decimals_for(per_second, RATE_DIGITS))
}

/// From this half-width on, as a share of the rate, an interval decides on the digits.
const WIDE_SHARE: f64 = 0.1;
/// And from this one on, on the digits behind the point.
const KNOWN_SHARE: f64 = 0.01;

/// A rate with no digits that its interval makes meaningless: `1,477` of ± 2 %, `1,500` of ± 20 %, `1` of ± 100 %.
pub(crate) fn rate_known_to(per_second: f64, half_width_share: f64) -> String {
    match half_width_share {
        ..WIDE_SHARE => rate(per_second),
        ..1.0 => {
            let (rounded, decimals) = known_to(per_second, half_width_share);
            fixed(rounded, decimals)
        }
        _ => {
            let (rounded, decimals) = rounded(per_second, 1);
            fixed(rounded, decimals)
        }
    }
}

/// A figure without the digits that its interval, a share of it, makes meaningless, and its decimals.
pub(crate) fn known_to(figure: f64, half_width_share: f64) -> (f64, usize) {
    match half_width_share {
        WIDE_SHARE.. => rounded(figure, 2),
        // Digits before the point stay.
        KNOWN_SHARE.. => (figure, decimals_for(figure, SIGNIFICANT_DIGITS)),
        _ => (figure, DECIMALS_MAX),
    }
}

/// To so many significant digits, and its decimals.
fn rounded(figure: f64, digits: usize) -> (f64, usize) {
    // As text and back.
    let rounded: f64 = format!("{figure:.*e}", digits - 1).parse().unwrap_or(figure);
    (rounded, decimals_for(rounded, digits))
}

/// A measured latency with its unit: `6.48 ms`.
pub fn latency(us: f64) -> String {
    let unit = Unit::for_typical(us);
    let value = unit.of(us);
    format!("{}{TIE}{}", fixed(value, decimals_for(value, SIGNIFICANT_DIGITS)), unit.symbol())
}

/// A latency with no digits that its interval makes meaningless: `6.48 ms` of ± 2 %, `6.5 ms` of ± 20 %.
pub(crate) fn latency_known_to(us: f64, half_width_share: f64) -> String {
    if half_width_share < WIDE_SHARE {
        return latency(us);
    }
    let (us, _) = known_to(us, half_width_share);
    let unit = Unit::for_typical(us);
    let (value, decimals) = known_to(unit.of(us), half_width_share);
    format!("{}{TIE}{}", fixed(value, decimals), unit.symbol())
}

/// A requested latency, without trailing zeros: `10 ms`.
pub(crate) fn asked_latency(us: f64) -> String {
    let unit = Unit::for_typical(us);
    format!("{}{TIE}{}", as_asked(unit.of(us)), unit.symbol())
}

/// A measured time in seconds: `10.0 s`; in a smaller unit if it would round to `0.0 s`.
pub(crate) fn measured_seconds(seconds: f64) -> String {
    if 0.0 < seconds && seconds < 0.05 {
        return latency(seconds * 1e6);
    }
    format!("{}{TIE}s", fixed(seconds, usize::from(seconds < 100.0)))
}

/// A requested time, without trailing zeros: `2 s`, `0.5 s`.
pub(crate) fn asked_seconds(seconds: f64) -> String {
    format!("{}{TIE}s", as_asked(seconds))
}

/// A requested number, without trailing zeros: `1,500`, `0.25`.
pub(crate) fn as_asked(number: f64) -> String {
    fixed(number, DECIMALS_MAX).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Half the width of an interval: its longer side, because lower bounds are cut off at zero.
pub(crate) fn half_width(figure: f64, low: f64, high: f64) -> f64 {
    (high - figure).max(figure - low)
}

/// `± 1.2 %` of a figure; `None` if the interval's half-width is 100 % or more.
pub(crate) fn plus_minus(figure: f64, low: f64, high: f64) -> Option<String> {
    let half = half_width(figure, low, high);
    (half < figure).then(|| format!("±{TIE}{}", percent(half, figure)))
}

/// Text for figures for which [`plus_minus`] returns `None`.
pub(crate) const UNKNOWN_SIZE: &str = "known to no better than ±\u{a0}100\u{a0}%";

/// A percentage: `12 %`, `0.24 %`. Nonzero shares that round to zero are `< 0.01 %`; shares below 100 % are never shown
/// as `100 %`, but as `99.7 %`.
pub fn percent(part: f64, whole: f64) -> String {
    let percent = if whole > 0.0 { part / whole * 100.0 } else { 0.0 };
    if percent > 0.0 && percent < 0.01 {
        return format!("<{TIE}0.01{TIE}%");
    }
    // Keeps one decimal, so that the share does not round to 100.
    if (99.5..100.0).contains(&percent) {
        return format!("{:.1}{TIE}%", percent.min(99.9));
    }
    format!("{}{TIE}%", fixed(percent, decimals_for(percent, 2).min(2)))
}

/// A share and the half-width of its interval in percentage points: `45 ± 3 %`; without an interval `45 %`.
pub(crate) fn share(share: f64, interval: Option<results::ShareInterval>) -> String {
    const POINTS: f64 = 100.0;
    let Some(results::ShareInterval { low, high }) = interval else { return percent(share, 1.0) };
    let half = half_width(share, low, high) * POINTS;
    // The share has no more decimals than the half-width.
    let decimals = decimals_for(half, 1).min(2);
    format!("{}{TIE}±{TIE}{}{TIE}%", fixed(share * POINTS, decimals), fixed(half, decimals))
}

/// A ratio without its sign: `1.04`, `63.1`.
pub(crate) fn factor(value: f64) -> String {
    match value {
        value if value >= 1e6 || (value < 1e-3 && value > 0.0) => format!("{value:.1e}"),
        value if value >= 100.0 => fixed(value, 0),
        value if value >= 10.0 => fixed(value, 1),
        value if value < 0.01 && value > 0.0 => fixed(value, 4),
        value if value < 0.1 && value > 0.0 => fixed(value, 3),
        value => fixed(value, 2),
    }
}

/// A mean of counts: three significant digits, or `< 0.001`.
pub(crate) fn number(value: f64) -> String {
    if value > 0.0 && value < 0.001 {
        return "< 0.001".to_owned();
    }
    fixed(value, decimals_for(value, 3))
}

/// A size as PostgreSQL shows it: `612 bytes`, `67 MB`; a mean of less than ten bytes with its digits: `0.250 bytes`.
pub(crate) fn bytes(value: f64) -> String {
    if value > 0.0 && value < 10.0 && value.fract() != 0.0 {
        return format!("{}{TIE}bytes", number(value));
    }
    // Not below 0, and `as` saturates.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let size = sql::size_pretty(value.abs().round() as u64).replace(' ', TIE_TEXT);
    if value < 0.0 { format!("{MINUS}{size}") } else { size }
}

/// A round size of an axis, without rounding: `512 kB`, `2 MB`.
pub(crate) fn asked_bytes(value: f64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "TB"), (1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let mut in_unit = UNITS.iter().map(|(size, unit)| (value / *size as f64, *unit));
    let whole = in_unit.find(|(number, _)| *number >= 1.0 && number.fract() == 0.0);
    whole.map_or_else(|| bytes(value), |(number, unit)| format!("{number}{TIE}{unit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_no_more_digits_than_its_interval() {
        let interval = |low, high| Some(results::ShareInterval { low, high });
        assert_eq!(with_ordinary_spaces(&share(0.4512, None)), "45 %");
        assert_eq!(with_ordinary_spaces(&share(0.4512, interval(0.42, 0.48))), "45 ± 3 %");
        assert_eq!(with_ordinary_spaces(&share(0.4512, interval(0.447, 0.455))), "45.1 ± 0.4 %");
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, shown) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), shown);
        }
        assert_eq!(fixed(-1234.5, 1), "−1,234.5");
        assert_eq!(fixed(-123.0, 0), "−123");
        assert_eq!(fixed(f64::INFINITY, 2), "inf");
        assert_eq!(fixed(f64::NAN, 2), "NaN");
    }

    #[test]
    fn a_latency_has_three_digits_and_the_unit_that_suits_it() {
        for (us, shown) in [
            (0.0, "0 µs"),
            (0.512, "0.512 µs"),
            (8.127, "8.13 µs"),
            (9.996, "10.0 µs"),
            (61.23, "61.2 µs"),
            (999.4, "999 µs"),
            (999.6, "1.00 ms"),
            (6_482.0, "6.48 ms"),
            (13_400.0, "13.4 ms"),
            (999_500.0, "1.00 s"),
            (59_940_000.0, "59.9 s"),
            (3_600_000_000.0, "3,600 s"),
        ] {
            assert_eq!(with_ordinary_spaces(&latency(us)), shown);
        }
    }

    #[test]
    fn a_rate_has_four_digits_or_all_before_the_point() {
        for (tps, shown) in
            [(0.0, "0"), (1.23456, "1.235"), (98.765, "98.77"), (1_234.5, "1,234"), (123_456.7, "123,457")]
        {
            assert_eq!(rate(tps), shown);
        }
    }

    #[test]
    fn a_rate_has_no_more_digits_than_its_interval() {
        for (tps, half, shown) in [
            (1_477.3, 0.02, "1,477"),
            (1_477.3, 0.2, "1,500"),
            (1_477.3, 1.0, "1,000"),
            (1.477, 1.3, "1"),
            (14.77, 0.15, "15"),
            (0.0, 2.0, "0"),
        ] {
            assert_eq!(rate_known_to(tps, half), shown, "{tps} ± {half}");
        }
    }

    #[test]
    fn a_figure_has_no_more_decimals_than_its_interval() {
        for (figure, half, known) in [
            (31.614, 0.17, (32.0, 0)),
            (2.808, 0.23, (2.8, 1)),
            (7.159, 0.096, (7.159, 2)),
            (6_857.0, 0.25, (6_900.0, 0)),
            (0.4711, 2.0, (0.47, 2)),
            (7.159, 0.005, (7.159, 3)),
        ] {
            assert_eq!(known_to(figure, half), known, "{figure} ± {half}");
        }
        for (us, half, shown) in [
            (6_482.0, 0.02, "6.48 ms"),
            (6_482.0, 0.2, "6.5 ms"),
            (999.6, 0.5, "1.0 ms"),
            (474.0, 3.0, "470 µs"),
        ] {
            assert_eq!(with_ordinary_spaces(&latency_known_to(us, half)), shown);
        }
    }

    #[test]
    fn numbers_that_were_asked_for_look_as_they_were_typed() {
        assert_eq!(with_ordinary_spaces(&asked_seconds(10.0)), "10 s");
        assert_eq!(with_ordinary_spaces(&asked_seconds(0.5)), "0.5 s");
        assert_eq!(as_asked(1_500.0), "1,500");
        assert_eq!(as_asked(0.0), "0");
        assert_eq!(with_ordinary_spaces(&asked_latency(10_000.0)), "10 ms");
        assert_eq!(with_ordinary_spaces(&measured_seconds(10.0031)), "10.0 s");
        assert_eq!(with_ordinary_spaces(&measured_seconds(600.4)), "600 s");
        assert_eq!(with_ordinary_spaces(&measured_seconds(0.014)), "14.0 ms");
        assert_eq!(with_ordinary_spaces(&measured_seconds(0.0)), "0.0 s");
    }

    #[test]
    fn an_interval_as_wide_as_its_figure_is_no_plus_minus() {
        assert_eq!(
            plus_minus(100.0, 98.0, 102.0).map(|it| with_ordinary_spaces(&it)).as_deref(),
            Some("± 2.0 %")
        );
        // The lower bound is cut off at zero, so the longer side counts.
        assert_eq!(plus_minus(100.0, 0.0, 230.0), None);
        assert_eq!(plus_minus(0.0, 0.0, 0.0), None);
    }

    #[test]
    fn a_share_that_is_not_nothing_does_not_look_like_nothing() {
        assert_eq!(with_ordinary_spaces(&percent(0.0, 10.0)), "0 %");
        assert_eq!(with_ordinary_spaces(&percent(1.0, 1e6)), "< 0.01 %");
        assert_eq!(with_ordinary_spaces(&percent(24.0, 10_000.0)), "0.24 %");
        assert_eq!(with_ordinary_spaces(&percent(1.0, 8.0)), "12 %");
        assert_eq!(with_ordinary_spaces(&percent(1.0, 0.0)), "0 %");
    }

    #[test]
    fn bytes_have_the_unit_that_suits_them() {
        for (value, shown) in [
            (0.0, "0 bytes"),
            (0.25, "0.250 bytes"),
            (612.4, "612 bytes"),
            (1.0, "1 byte"),
            (1_214.0, "1214 bytes"),
            (67_199_000.0, "64 MB"),
            (-67_199_000.0, "−64 MB"),
        ] {
            assert_eq!(with_ordinary_spaces(&bytes(value)), shown);
        }
    }

    #[test]
    fn a_tick_of_sizes_is_exact() {
        let [kb, mb] = [1024.0, 1_048_576.0];
        for (value, shown) in
            [(0.0, "0 bytes"), (512.0 * kb, "512 kB"), (1_500.0 * kb, "1500 kB"), (2.0 * mb, "2 MB")]
        {
            assert_eq!(with_ordinary_spaces(&asked_bytes(value)), shown);
        }
    }

    #[test]
    fn what_is_next_to_nothing_is_not_nothing() {
        assert_eq!(
            (number(0.0).as_str(), number(0.0001).as_str(), number(12.345).as_str()),
            ("0", "< 0.001", "12.3")
        );
    }
}
