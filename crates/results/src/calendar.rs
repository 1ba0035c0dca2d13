//! The calendar: the only module that asks what time of day it is, and how that is written.
//! Durations are never measured with it, since it can jump. Called once per run by `cli`.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point of calendar time in UTC, to the millisecond. In JSON as RFC 3339, `2026-11-21T12:03:01.250Z`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$"))]
pub struct UtcTime {
    unix_millis: i64,
}

const MILLIS_PER_SECOND: i64 = 1_000;
const SECONDS_PER_DAY: i64 = 86_400;
const MILLIS_PER_DAY: i64 = SECONDS_PER_DAY * MILLIS_PER_SECOND;

/// `0000-01-01T00:00:00.000Z` and `9999-12-31T23:59:59.999Z`, the range of RFC 3339.
const UNIX_MILLIS_MIN: i64 = -719_528 * MILLIS_PER_DAY;
const UNIX_MILLIS_MAX: i64 = 2_932_897 * MILLIS_PER_DAY - 1;

/// The time since 1970 began by the host's clock, as fine as that is: for the epoch times of logs.
pub fn unix_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl UtcTime {
    /// The time it is now, by the host's clock.
    pub fn now() -> UtcTime {
        UtcTime::from_unix_millis(i64::try_from(unix_now().as_millis()).unwrap_or(i64::MAX))
    }

    /// That many milliseconds after 1970 began; kept within the years 0 to 9999, which RFC 3339 can write.
    pub fn from_unix_millis(unix_millis: i64) -> UtcTime {
        UtcTime { unix_millis: unix_millis.clamp(UNIX_MILLIS_MIN, UNIX_MILLIS_MAX) }
    }

    /// Milliseconds since 1970 began.
    pub fn unix_millis(self) -> i64 {
        self.unix_millis
    }

    /// For file names: `2026-11-21T120301Z`, which sorts by time and has no colon.
    pub fn file_name_part(self) -> String {
        let Civil { year, month, day, hour, minute, second, millis: _ } = self.civil();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}{minute:02}{second:02}Z")
    }

    fn civil(self) -> Civil {
        let (year, month, day) = civil_from_days(self.unix_millis.div_euclid(MILLIS_PER_DAY));
        let millis_of_day = self.unix_millis.rem_euclid(MILLIS_PER_DAY);
        let second_of_day = millis_of_day / MILLIS_PER_SECOND;
        let (hour, minute, second) = (second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60);
        Civil { year, month, day, hour, minute, second, millis: millis_of_day % MILLIS_PER_SECOND }
    }

    /// Reads what [`fmt::Display`] writes; the fraction may be missing or have up to nine digits, of
    /// which three are kept. A leap second is read as the second after it.
    fn parse(text: &str) -> Option<UtcTime> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let digits = fraction.bytes().all(|byte| byte.is_ascii_digit()) && (1..=9).contains(&fraction.len());
        let days = days_from_civil(year, month, day);
        let real = hour < 24 && minute < 60 && second <= 60 && civil_from_days(days) == (year, month, day);
        if !digits || !real {
            return None;
        }
        let millis: i64 = format!("{fraction:0<3}")[..3].parse().ok()?;
        let seconds = days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second;
        Some(UtcTime::from_unix_millis(seconds * MILLIS_PER_SECOND + millis))
    }
}

struct Civil {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    millis: i64,
}

/// Three numbers of so many digits each.
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

/// Year, month and day of the Gregorian calendar, from days since 1970 began. Howard Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin in March, so that the
/// leap day is a year's last; 400 years have 146,097 days.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The other way; same source, `days_from_civil`. Dates that do not exist give some other day.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for UtcTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil { year, month, day, hour, minute, second, millis } = self.civil();
        write!(formatter, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
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
