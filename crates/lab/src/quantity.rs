//! Amounts with their units, as files and options have them: `60s`, `10ms`, `100Mbit`. A number without a unit is none:
//! nobody should have to guess whether 90 are seconds or minutes. Whoever reads a value adds where it stands.

use std::time::Duration;

const TIMES: [(&str, f64); 5] = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0)];
const RATES: [(&str, f64); 3] = [("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9)];

/// Nobody waits longer for a trial, and sums of such times stay times.
const LONGEST: Duration = Duration::from_secs(31 * 24 * 3600);

/// A time such as `60s`, `20min` or `2h`; zero is one. What is none is told what was expected.
///
/// # Errors
/// What was expected, as the rest of a sentence.
pub fn duration(text: &str) -> Result<Duration, String> {
    let seconds = with_unit(text, &TIMES, "60s")?;
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= LONGEST);
    time.ok_or_else(|| "a time of at most 744h, which is a month".to_owned())
}

/// A bandwidth such as `100Mbit`, in bits per second.
pub(crate) fn bits_per_s(text: &str) -> Result<f64, String> {
    let bits = with_unit(text, &RATES, "100Mbit")?;
    if bits >= 1.0 { Ok(bits) } else { Err("a bandwidth above zero".to_owned()) }
}

/// What a time is expected to be, where it is no text.
pub(crate) fn expected_duration() -> String {
    expected(&TIMES, "60s")
}

/// What a bandwidth is expected to be, where it is no text.
pub(crate) fn expected_bandwidth() -> String {
    expected(&RATES, "100Mbit")
}

fn expected(units: &[(&str, f64)], example: &str) -> String {
    let names: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
    format!("a number with a unit ({}), such as \"{example}\"", names.join(", "))
}

/// A number and its unit, of those in the table.
fn with_unit(text: &str, units: &[(&str, f64)], example: &str) -> Result<f64, String> {
    let wrong = || expected(units, example);
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    if number.is_finite() && number >= 0.0 { Ok(number * factor) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_a_bare_number_is_none() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("90s"), Ok(90.0));
        assert_eq!(seconds(" 1.5 h "), Ok(5400.0));
        assert_eq!((seconds("20min"), seconds("0us")), (Ok(1200.0), Ok(0.0)));
        let expected = "a number with a unit (us, ms, s, min, h), such as \"60s\"";
        for wrong in ["90", "", "h", "2 hours", "-1s", "nans", "infs", "1e999s"] {
            assert_eq!(seconds(wrong), Err(expected.to_owned()), "{wrong}");
        }
        assert_eq!(seconds("744h"), Ok(744.0 * 3600.0));
        for wrong in ["745h", "99999999999999999999h"] {
            assert_eq!(seconds(wrong), Err("a time of at most 744h, which is a month".to_owned()), "{wrong}");
        }
        assert_eq!(bits_per_s("1.5Mbit"), Ok(1.5e6));
    }
}
