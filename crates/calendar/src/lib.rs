//! Calendar time and its formats. Only this crate and `ranks`, which compares the clocks of machines, read the wall
//! clock. The wall clock can jump, so durations are measured with the monotonic clock.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::{Date, Month, OffsetDateTime};

/// A point of calendar time in UTC, with milliseconds. In JSON as RFC 3339, `2026-11-21T12:03:01.250Z`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"))]
pub struct UtcTime {
    unix_millis: i64,
}

const MILLIS_PER_SECOND: i64 = 1_000;
const MILLIS_PER_DAY: i64 = 86_400 * MILLIS_PER_SECOND;

/// `0000-01-01T00:00:00.000Z` and `9999-12-31T23:59:59.999Z`, the range of RFC 3339.
const UNIX_MILLIS_MIN: i64 = -719_528 * MILLIS_PER_DAY;
const UNIX_MILLIS_MAX: i64 = 2_932_897 * MILLIS_PER_DAY - 1;

/// Time since 1970 by the host's clock, with its full resolution: for the epoch times of logs.
pub fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl UtcTime {
    /// The current time by the host's clock.
    pub fn now() -> UtcTime {
        UtcTime::from_unix_millis(i64::try_from(unix_now().as_millis()).unwrap_or(i64::MAX))
    }

    /// From milliseconds since 1970; clamped to the years 0 to 9999, the range of RFC 3339.
    pub fn from_unix_millis(unix_millis: i64) -> UtcTime {
        UtcTime { unix_millis: unix_millis.clamp(UNIX_MILLIS_MIN, UNIX_MILLIS_MAX) }
    }

    /// Milliseconds since 1970.
    pub fn unix_millis(self) -> i64 {
        self.unix_millis
    }

    /// For file names: `2026-11-21T120301Z`, which sorts by time and has no colon.
    pub fn file_name_part(self) -> String {
        let (date, (hour, minute, second)) = (self.date_time().date(), self.date_time().to_hms());
        format!("{date}T{hour:02}{minute:02}{second:02}Z")
    }

    fn date_time(self) -> OffsetDateTime {
        let seconds = self.unix_millis.div_euclid(MILLIS_PER_SECOND);
        OffsetDateTime::from_unix_timestamp(seconds).expect("the years 0 to 9999 are within its range")
    }

    /// Parses the format of [`fmt::Display`]. The fraction is optional and may have up to nine digits, of which three
    /// are used. A leap second becomes the following second.
    fn parse(text: &str) -> Option<UtcTime> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()) && (1..=9).contains(&fraction.len());
        let month = Month::try_from(u8::try_from(month).ok()?).ok()?;
        let date =
            Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?).ok()?;
        if !digits || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let millis: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
        let midnight = date.midnight().assume_utc().unix_timestamp();
        let seconds = midnight + hour * 3_600 + minute * 60 + second;
        Some(UtcTime::from_unix_millis(seconds * MILLIS_PER_SECOND + millis))
    }
}

/// Parses three numbers with these numbers of digits.
fn numbers(text: &str, separator: char, lengths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let part = parts.next()?;
        let digits = part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        *number = part.parse().ok().filter(|_| digits)?;
    }
    parts.next().is_none().then_some(numbers)
}

impl fmt::Display for UtcTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, (hour, minute, second)) = (self.date_time().date(), self.date_time().to_hms());
        let millis = self.unix_millis.rem_euclid(MILLIS_PER_SECOND);
        write!(formatter, "{date}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

impl From<UtcTime> for String {
    fn from(time: UtcTime) -> String {
        time.to_string()
    }
}

impl TryFrom<String> for UtcTime {
    type Error = String;

    fn try_from(text: String) -> Result<UtcTime, String> {
        UtcTime::parse(&text)
            .ok_or_else(|| format!("\"{text}\" is not a UTC time like 2026-11-21T12:03:01.250Z"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339_says() {
        let written = |unix_millis| UtcTime::from_unix_millis(unix_millis).to_string();
        assert_eq!(written(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(written(1_795_262_581_250), "2026-11-21T12:03:01.250Z");
        assert_eq!(written(951_868_799_999), "2000-02-29T23:59:59.999Z");
        assert_eq!(written(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(written(i64::MIN), "0000-01-01T00:00:00.000Z");
        assert_eq!(written(i64::MAX), "9999-12-31T23:59:59.999Z");
        assert_eq!(UtcTime::from_unix_millis(1_795_262_581_250).file_name_part(), "2026-11-21T120301Z");
    }

    #[test]
    fn the_fraction_may_have_any_length_or_be_missing() {
        let millis = |text: &str| UtcTime::parse(text).map(UtcTime::unix_millis);
        assert_eq!(millis("1970-01-01T00:00:01Z"), Some(1_000));
        assert_eq!(millis("1970-01-01T00:00:01.5Z"), Some(1_500));
        assert_eq!(millis("1970-01-01T00:00:01.123456789Z"), Some(1_123));
        assert_eq!(millis("1969-12-31T23:59:60Z"), Some(0));
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in [
            "",
            "Z",
            "2026-11-21",
            "2026-11-21T12:03:01",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1é0Z",
            "+026-01-01T00:00:00Z",
            "2026-01-01-01T00:00:00Z",
        ] {
            assert_eq!(UtcTime::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_time_is_read_back_as_written(unix_millis in UNIX_MILLIS_MIN..=UNIX_MILLIS_MAX) {
            let time = UtcTime::from_unix_millis(unix_millis);
            prop_assert_eq!(UtcTime::parse(&time.to_string()), Some(time));
        }
    }
}
