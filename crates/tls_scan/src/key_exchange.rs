//! How a server exchanges keys: the group or the finite field, and the size of its numbers.
//! `answer` reads it, `weakness` judges it.

use serde::Serialize;

use crate::group;

/// Parameters of an exchange of keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum KeyExchange {
    /// A registered group.
    Group {
        /// Its name.
        name: String,
        /// Size of the curve or the field; 0 if unknown, or for a hybrid.
        bits: u32,
    },
    /// A prime that the server chose.
    FiniteField {
        /// Its size.
        bits: u32,
    },
    /// A curve without a name.
    ExplicitCurve,
}

impl KeyExchange {
    /// The registered group with this number.
    pub(crate) fn in_group(code: u16) -> KeyExchange {
        let (name, bits) = group::named(code);
        KeyExchange::Group { name, bits }
    }
}

/// The length of a number without its leading zeros.
pub(crate) fn bits(number: &[u8]) -> u32 {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let rest = &number[zeros..];
    let leading = rest.first().map_or(0, |byte| byte.leading_zeros());
    u32::try_from(rest.len()).unwrap_or(u32::MAX).saturating_mul(8).saturating_sub(leading)
}
