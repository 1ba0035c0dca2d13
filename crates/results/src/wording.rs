//! How numbers stand in the sentences that records hold: few digits, and a unit.
//! Reports have their own way, with more digits; these sentences are kept, and read by people and not by programs.

/// Digits after the point that give a value three in all.
fn decimals(value: f64) -> usize {
    match value {
        value if value >= 99.95 => 0,
        value if value >= 9.995 => 1,
        _ => 2,
    }
}

/// A share of a whole: `63 %`, `2.4 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent > 0.0 && percent < 9.95);
    format!("{percent:.decimals$} %")
}

/// A time: `3.10 ms`.
pub(crate) fn time(us: f64) -> String {
    let (value, unit) = match us {
        us if us < 999.5 => (us, "µs"),
        us if us < 999_500.0 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    format!("{value:.*} {unit}", decimals(value))
}

/// A number of things, thousands apart: `12,345`.
pub(crate) fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A rate: `231,000`, `0.50`.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second < 99.95 && per_second.fract() != 0.0 {
        return format!("{per_second:.*}", decimals(per_second));
    }
    // Rates are far from where whole numbers end.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    number(per_second.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_digits_and_their_unit() {
        assert_eq!([0.0, 0.024, 0.0996, 0.63, 1.0].map(percent), ["0 %", "2.4 %", "10 %", "63 %", "100 %"]);
        let times = [0.0, 3.1234, 61.23, 999.4, 999.6, 13_400.0, 2_000_000.0].map(time);
        assert_eq!(times, ["0.00 µs", "3.12 µs", "61.2 µs", "999 µs", "1.00 ms", "13.4 ms", "2.00 s"]);
        assert_eq!([0, 999, 1_000, 1_234_567].map(number), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.5, 10.0, 1_500.4, f64::NAN].map(rate), ["0.50", "10", "1,500", "0"]);
    }
}
