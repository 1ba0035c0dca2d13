//! Dates and times as numbers and as text: days and seconds since 1970-01-01, proleptic Gregorian. Pure arithmetic; no
//! clock.

use super::literal::{integer, padded};

/// Seconds of a day.
pub(crate) const DAY_S: i64 = 86_400;

/// Days since 1970-01-01 of a date (Hinnant, "chrono-Compatible Low-Level Date Algorithms").
pub(crate) fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of such a number.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * of_era + of_era / 4 - of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days that PostgreSQL's date and timestamp both can hold and that have a year of four digits.
pub(crate) const DAYS: std::ops::RangeInclusive<i64> = -719_162..=2_932_896;

/// `YYYY-MM-DD`.
pub(crate) fn write_date(out: &mut Vec<u8>, number: i64) {
    let (year, month, day) = civil(number);
    padded(out, year.unsigned_abs(), 4);
    out.push(b'-');
    padded(out, month.unsigned_abs(), 2);
    out.push(b'-');
    padded(out, day.unsigned_abs(), 2);
}

/// `HH:MM:SS` of a second of the day.
pub(crate) fn write_time(out: &mut Vec<u8>, second: i64) {
    let second = second.rem_euclid(DAY_S).unsigned_abs();
    padded(out, second / 3600, 2);
    out.push(b':');
    padded(out, second / 60 % 60, 2);
    out.push(b':');
    padded(out, second % 60, 2);
}

/// `YYYY-MM-DD HH:MM:SS`.
pub(crate) fn write_timestamp(out: &mut Vec<u8>, second: i64) {
    write_date(out, second.div_euclid(DAY_S));
    out.push(b' ');
    write_time(out, second.rem_euclid(DAY_S));
}

/// `YYYY-MM-DD`.
pub(crate) fn read_date(text: &str) -> Option<i64> {
    let mut parts = text.trim().splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?);
    let valid = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let number = valid.then(|| days(year, month, day))?;
    (civil(number) == (year, month, day)).then_some(number)
}

/// `HH:MM[:SS]`, as the second of the day.
pub(crate) fn read_time(text: &str) -> Option<i64> {
    let mut parts = text.trim().splitn(3, ':').map(str::parse::<i64>);
    let (hour, minute) = (parts.next()?.ok()?, parts.next()?.ok()?);
    let second = parts.next().transpose().ok()?.unwrap_or(0);
    let valid = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    valid.then_some(hour * 3600 + minute * 60 + second)
}

/// `YYYY-MM-DD[ HH:MM[:SS]]`, with a space or a T, as seconds since 1970. An offset such as `+02` or `-03:30` counts.
pub(crate) fn read_timestamp(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.split_once([' ', 'T']) {
        None => Some(read_date(text)? * DAY_S),
        Some((date, time)) => {
            let sign = time.find(['+', '-']);
            let (time, zone) = time.split_at(sign.unwrap_or(time.len()));
            let time = read_time(time.get(..8).unwrap_or(time))?;
            Some(read_date(date)? * DAY_S + time - read_offset(zone).unwrap_or(0))
        }
    }
}

/// Seconds east of Greenwich.
fn read_offset(text: &str) -> Option<i64> {
    let digits = text.get(1..)?;
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let seconds =
        hours.parse::<i64>().ok()? * 3600 + minutes.get(..2).unwrap_or(minutes).parse::<i64>().ok()? * 60;
    Some(if text.starts_with('-') { -seconds } else { seconds })
}

/// Units of the generator `interval`, with their text.
pub(crate) const UNITS: [(&str, &str); 6] =
    [("s", " s"), ("m", " min"), ("h", " h"), ("d", " days"), ("mon", " mons"), ("y", " years")];

/// `12 days`.
pub(crate) fn write_interval(out: &mut Vec<u8>, number: i64, unit: &str) {
    integer(out, number);
    out.extend_from_slice(unit.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written_alike() {
        for text in ["1970-01-01", "2000-02-29", "1900-02-28", "0001-01-01", "9999-12-31", "2024-12-31"] {
            let mut out = Vec::new();
            write_date(&mut out, read_date(text).expect(text));
            assert_eq!(String::from_utf8_lossy(&out), text);
        }
        assert_eq!(read_date("1970-01-02"), Some(1));
        assert_eq!(
            (read_date("0001-01-01"), read_date("9999-12-31")),
            (Some(*DAYS.start()), Some(*DAYS.end()))
        );
        for wrong in ["", "2023-02-29", "2023-13-01", "2023-1", "x-1-1", "10000-01-01"] {
            assert_eq!(read_date(wrong), None, "{wrong}");
        }
        let mut out = Vec::new();
        write_timestamp(&mut out, read_timestamp("1969-12-31T23:59:58").expect("a time"));
        assert_eq!(String::from_utf8_lossy(&out), "1969-12-31 23:59:58");
        let offset = read_timestamp("2024-01-01 01:00:00-03:30");
        assert_eq!(offset, read_timestamp("2024-01-01 04:30:00"));
        assert_eq!(read_timestamp("2024-01-01 02:00:00+02"), read_timestamp("2024-01-01"));
    }
}
