//! Names of secrets.
//! A name consists of letters, digits and `_.-%`; percent-encoding is decoded, as libpq does in URIs.

/// Classes of names.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// Every value is secret.
    Always,
    /// Numbers are not secret, because benchmarks number their keys.
    UnlessNumber,
}

/// Parts of names whose values are always secret.
const SECRET_PARTS: [&str; 5] = ["password", "passwd", "pwd", "secret", "token"];
/// A part of names whose values are secret unless they are numbers.
const KEY_PART: &str = "key";
/// Together with `key`, these parts mark the name of a secret.
const OPENING_PARTS: [&str; 7] = ["api", "access", "auth", "private", "encrypt", "signing", "licen"];
/// Names with such a part whose values are a method, a path or a flag (manual: runtime-config, libpq).
const NO_SECRETS: [&str; 8] = [
    "keyword",
    "password_encryption",
    "password_required",
    "sslkey",
    "sslkeylogfile",
    "ssl_key_file",
    "primary_key",
    "foreign_keys",
];

/// Whether values of this name are masked: it contains `password`, `passwd`, `pwd`, `secret`, `token` or `key`, in any
/// case, and is not a setting known to be harmless. Numbers are not masked if the name contains only `key`; for
/// `api_key` and similar names they are.
pub fn is_secret_name(name: &str) -> bool {
    strength(name).is_some()
}

pub(super) fn strength(name: &str) -> Option<Strength> {
    let name = decoded(name).to_ascii_lowercase();
    if NO_SECRETS.contains(&name.as_str()) {
        return None;
    }
    if SECRET_PARTS.iter().any(|part| name.contains(part)) {
        return Some(Strength::Always);
    }
    let opens = OPENING_PARTS.iter().any(|part| name.contains(part));
    name.contains(KEY_PART).then_some(if opens { Strength::Always } else { Strength::UnlessNumber })
}

/// A secret's name in a text.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) strength: Strength,
    /// The name is exactly `key`, a common word in prose.
    pub(super) is_plain_key: bool,
}

/// The next name of a secret from this position.
pub(super) fn next(text: &str, from: usize) -> Option<Name> {
    let mut at = from;
    loop {
        let start = at + text[at..].find(is_part)?;
        let end = text[start..].find(|c| !is_part(c)).map_or(text.len(), |length| start + length);
        if let Some(strength) = strength(&text[start..end]) {
            let is_plain_key = text[start..end].eq_ignore_ascii_case(KEY_PART);
            return Some(Name { start, end, strength, is_plain_key });
        }
        at = end;
    }
}

fn is_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.' | '-' | '%')
}

/// The name with decoded percent-encoding (libpq, `conninfo_uri_decode`).
fn decoded(name: &str) -> String {
    if !name.contains('%') {
        return name.to_owned();
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let code = match (first, after) {
            (b'%', [high, low, behind @ ..]) => {
                digit(*high).zip(digit(*low)).map(|(high, low)| (high << 4 | low, behind))
            }
            _ => None,
        };
        let (byte, behind) = code.unwrap_or((*first, rest));
        bytes.push(byte);
        rest = behind;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
