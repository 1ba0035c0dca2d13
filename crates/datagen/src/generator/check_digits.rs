//! From the settings of `luhn` and `ean` to numbers with a check digit: lengths and prefixes of the types of the extension
//! isn. Used by `compile`; `text` writes the digits.

use super::node::Kind;
use super::numbers::{Space, draw};
use super::target::Target;
use super::text::{CheckDigit, CheckedNumber, power};
use crate::directive::Settings;
use crate::error::Checked;
use crate::schema::Type;

/// Length, prefix and check digit of the types of the extension isn.
const NUMBERS: [(&str, u32, &str, CheckDigit); 8] = [
    ("ean13", 13, "", CheckDigit::Ean),
    ("isbn", 10, "", CheckDigit::Modulo11),
    ("isbn13", 13, "978", CheckDigit::Ean),
    ("issn", 8, "", CheckDigit::Modulo11),
    ("issn13", 13, "977", CheckDigit::Ean),
    ("ismn", 13, "9790", CheckDigit::Ean),
    ("ismn13", 13, "9790", CheckDigit::Ean),
    ("upc", 12, "", CheckDigit::Ean),
];

/// `luhn` and `ean`.
pub(crate) fn checked_number(name: &str, settings: &Settings, target: Target<'_>, key: u64) -> Checked<Kind> {
    let (length, prefix, check) = if name == "luhn" {
        let length = settings.integer("length").unwrap_or(16);
        let Some(length) = u32::try_from(length).ok().filter(|length| (2..=19).contains(length)) else {
            return Err(settings.fault("length", "length of luhn is from 2 to 19 digits"));
        };
        (length, "", CheckDigit::Luhn)
    } else {
        let wanted = if let Type::Ean(name) = target.kind { name } else { "ean13" };
        let row = NUMBERS.iter().find(|(name, ..)| *name == wanted);
        row.map_or((13, "", CheckDigit::Ean), |(_, length, prefix, check)| (*length, *prefix, *check))
    };
    let prefix = settings.text("prefix").unwrap_or(prefix).to_owned();
    let digits = prefix.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || prefix.len() + 2 > length as usize {
        return Err(settings.fault("prefix", format!("prefix is at most {} digits", length - 2)));
    }
    let free = power(10, length - 1 - u32::try_from(prefix.len()).unwrap_or(0));
    let complete = settings.has("size") || settings.has("mult");
    let size = if complete { free } else { target.rows.min(free) };
    let draw = draw(settings, &target, key, Space { size, offset: 0, complete })?;
    Ok(Kind::Checked(CheckedNumber { draw, prefix, length, check }))
}
