//! A time in the past as users write it: how long ago, or a date. Pure; the caller reads the clock.
//! Used by the list of stored results.

use std::time::Duration;

use results::UtcTime;

use crate::spec::options::duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Parses `2h` or `7d`, which count back from `now`, or `2026-11-01` or `2026-11-01T12:00`, both UTC.
///
/// # Errors
/// A description of the expected value.
pub fn since(text: &str, now: UtcTime) -> Result<UtcTime, String> {
    let expected = || {
        "expected a time such as 2h or 7d, which counts back from now, or a date such as 2026-11-01 or 2026-11-01T12:00"
            .to_owned()
    };
    for rest in ["T00:00:00Z", ":00Z", "Z", ""] {
        if let Ok(time) = UtcTime::try_from(format!("{}{rest}", text.trim().replacen(' ', "T", 1))) {
            return Ok(time);
        }
    }
    let days = text.trim().strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
    let ago =
        days.map(|days| DAY.saturating_mul(days)).or_else(|| duration(text).ok()).ok_or_else(expected)?;
    let ago_millis = i64::try_from(ago.as_millis()).map_err(|_| expected())?;
    Ok(UtcTime::from_unix_millis(now.unix_millis().saturating_sub(ago_millis)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_so_long_ago_or_a_date() {
        let now = UtcTime::try_from("2026-11-23T10:00:00.000Z".to_owned()).unwrap();
        for (text, expected) in [
            ("2h", "2026-11-23T08:00:00.000Z"),
            ("90s", "2026-11-23T09:58:30.000Z"),
            ("7d", "2026-11-16T10:00:00.000Z"),
            ("2026-11-01", "2026-11-01T00:00:00.000Z"),
            ("2026-11-01T12:30", "2026-11-01T12:30:00.000Z"),
            ("2026-11-01 12:30:15", "2026-11-01T12:30:15.000Z"),
            ("2026-11-01T12:30:15.250Z", "2026-11-01T12:30:15.250Z"),
        ] {
            assert_eq!(since(text, now).map(|time| time.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "2", "yesterday", "2026-13-01", "-2h", "2026-11-01T25:00", "99999999999d"] {
            assert!(since(text, now).is_err_and(|why| why.starts_with("expected a time")), "{text}");
        }
    }
}
