//! A percentile of latency that a user names, such as p95 or p99.9. Text in options, records and reports; exact in
//! between, so that two of them can be compared.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A percentile above 0 and below 100, in hundredths: 9,990 is p99.9.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentile(u16);

/// Hundredths of a per cent in one.
const WHOLE: u16 = 10_000;

impl Percentile {
    /// The median.
    pub const P50: Percentile = Percentile(5_000);
    /// The 99th percentile.
    pub const P99: Percentile = Percentile(9_900);

    /// As a share: 0.999 for p99.9.
    pub fn share(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// Transactions that a figure needs at least, so that one of them is expected beyond the percentile: 100 for p99,
    /// 1,000 for p99.9. A median is one of any number.
    pub fn transactions_min(self) -> u64 {
        if self == Percentile::P50 {
            return 1;
        }
        WHOLE.div_ceil(self.0.min(WHOLE - self.0)).into()
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, hundredths) = (self.0 / 100, self.0 % 100);
        match hundredths {
            0 => write!(f, "p{whole}"),
            _ if hundredths.is_multiple_of(10) => write!(f, "p{whole}.{}", hundredths / 10),
            _ => write!(f, "p{whole}.{hundredths:02}"),
        }
    }
}

/// A text that is no percentile.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a percentile is p and a number above 0 and below 100 with at most two decimals, such as p95 or p99.9"
)]
pub struct NotAPercentile;

impl FromStr for Percentile {
    type Err = NotAPercentile;

    fn from_str(text: &str) -> Result<Percentile, NotAPercentile> {
        let number = text.strip_prefix(['p', 'P']).ok_or(NotAPercentile)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let decimals = decimals.trim_end_matches('0');
        if !are_digits(whole) || !(decimals.is_empty() || are_digits(decimals)) || decimals.len() > 2 {
            return Err(NotAPercentile);
        }
        let hundredths: u32 = format!("{whole}{decimals:0<2}").parse().map_err(|_| NotAPercentile)?;
        let hundredths = u16::try_from(hundredths).map_err(|_| NotAPercentile)?;
        (1..WHOLE).contains(&hundredths).then_some(Percentile(hundredths)).ok_or(NotAPercentile)
    }
}

impl Serialize for Percentile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Percentile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Percentile {
    fn schema_name() -> Cow<'static, str> {
        "Percentile".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^p[0-9]{1,2}(\\.[0-9]{1,2})?$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_read_and_shown_in_one_way() {
        for (text, shown, share) in [
            ("p95", "p95", 0.95),
            ("P99.9", "p99.9", 0.999),
            ("p99.90", "p99.9", 0.999),
            ("p99.99", "p99.99", 0.9999),
            ("p0.05", "p0.05", 0.0005),
            ("p5.0", "p5", 0.05),
        ] {
            let percentile: Percentile = text.parse().expect(text);
            assert_eq!((percentile.to_string().as_str(), percentile.share()), (shown, share), "{text}");
            let json = serde_json::to_string(&percentile).unwrap();
            assert_eq!(json, format!("\"{shown}\""));
            assert_eq!(serde_json::from_str::<Percentile>(&json).unwrap(), percentile);
        }
        for wrong in [
            "", "p", "95", "p0", "p0.00", "p100", "p101", "p-5", "p+5", "p1e1", "p99.999", "p95%", "p.5",
            "pé",
        ] {
            assert_eq!(wrong.parse::<Percentile>(), Err(NotAPercentile), "{wrong}");
        }
    }

    #[test]
    fn a_percentile_needs_a_transaction_beyond_it() {
        for (text, least) in
            [("p50", 1), ("p90", 10), ("p95", 20), ("p99", 100), ("p99.9", 1_000), ("p10", 10)]
        {
            assert_eq!(text.parse::<Percentile>().unwrap().transactions_min(), least, "{text}");
        }
    }
}
