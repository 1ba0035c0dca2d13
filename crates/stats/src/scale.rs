//! The scale of a workload's tables: a number of units that need not be whole. Printed and stored without a fraction
//! if it is whole.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A scale: from 0, of empty tables, to [`Scale::MAX`].
#[derive(Clone, Copy, Debug)]
pub struct Scale(f64);

impl Scale {
    /// One unit.
    pub const ONE: Scale = Scale(1.0);
    /// The greatest scale, as in pgbench.
    pub const MAX: u32 = i32::MAX.unsigned_abs();

    /// The scale of a number; `None` if it is out of range or not a number.
    pub fn new(units: f64) -> Option<Scale> {
        // Also turns -0 into 0.
        (0.0..=f64::from(Self::MAX)).contains(&units).then_some(Scale(units + 0.0))
    }

    /// As a number.
    pub fn units(self) -> f64 {
        self.0
    }

    /// The whole number; `None` if it has a fraction.
    pub fn whole(self) -> Option<u32> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to MAX")]
        (self.0.fract() == 0.0).then_some(self.0 as u32)
    }
}

impl Default for Scale {
    fn default() -> Self {
        Scale::ONE
    }
}

impl From<u32> for Scale {
    /// Numbers above [`Scale::MAX`] become it.
    fn from(units: u32) -> Self {
        Scale(f64::from(units.min(Self::MAX)))
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = text.trim().parse().ok().and_then(Scale::new).filter(|scale| scale.0 > 0.0);
        units.ok_or_else(|| format!("expected a number above 0, at most {}, such as 10 or 0.01", Self::MAX))
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl PartialEq for Scale {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl PartialEq<u32> for Scale {
    fn eq(&self, other: &u32) -> bool {
        self.whole() == Some(*other)
    }
}

impl Eq for Scale {}

impl PartialOrd for Scale {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scale {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Scale {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Serialize for Scale {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.whole() {
            Some(whole) => serializer.serialize_u32(whole),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Scale {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let units = f64::deserialize(deserializer)?;
        Scale::new(units).ok_or_else(|| de::Error::custom(format!("{units} is not a scale")))
    }
}

impl JsonSchema for Scale {
    fn schema_name() -> Cow<'static, str> {
        "Scale".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": Self::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_scale_has_no_fraction_in_texts() {
        for (text, shown, whole) in [
            ("1", "1", Some(1)),
            ("10.0", "10", Some(10)),
            ("0.01", "0.01", None),
            ("1e3", "1000", Some(1000)),
        ] {
            let scale: Scale = text.parse().expect(text);
            assert_eq!((scale.to_string().as_str(), scale.whole()), (shown, whole));
            assert_eq!(serde_json::to_string(&scale).expect("a number"), shown);
            assert_eq!(serde_json::from_str::<Scale>(shown).expect(shown), scale);
        }
    }

    #[test]
    fn numbers_that_are_no_scale_are_refused() {
        for text in ["0", "-1", "nan", "inf", "2147483648", "x", ""] {
            assert!(text.parse::<Scale>().is_err(), "{text}");
        }
        assert_eq!(Scale::new(-0.0).map(|scale| scale.to_string()).as_deref(), Some("0"));
        assert!(serde_json::from_str::<Scale>("-1").is_err());
    }
}
