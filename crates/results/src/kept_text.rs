//! The text of a file in the store: secrets are masked, and a hash of the original then allows detection of changes. In
//! JSON, a text without secrets is a string.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secrets::{self, Kind};

/// A text with masked secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeptText {
    /// The text had no secrets.
    Plain(String),
    /// Secrets were masked.
    Masked {
        /// The text with masked secrets.
        text: String,
        /// SHA-256 of the original, in hexadecimal.
        sha256: String,
        /// Always true, for readers of the JSON.
        masked: bool,
    },
}

impl KeptText {
    /// A file by its name: `.toml` is configuration, anything else a script.
    pub fn of_file(name: &str, original: &str) -> KeptText {
        let kind = if name.to_ascii_lowercase().ends_with(".toml") { Kind::Plain } else { Kind::Sql };
        KeptText::new(original.as_bytes(), original, kind)
    }

    /// A script, as bytes and in UTF-8.
    pub fn of_script(original: &[u8], shown: &str) -> KeptText {
        KeptText::new(original, shown, Kind::Sql)
    }

    fn new(original: &[u8], shown: &str, kind: Kind) -> KeptText {
        let text = secrets::mask(shown, kind);
        if text == shown {
            return KeptText::Plain(text);
        }
        KeptText::Masked { text, sha256: hash(original), masked: true }
    }

    /// The text, secrets masked.
    pub fn text(&self) -> &str {
        let (KeptText::Plain(text) | KeptText::Masked { text, .. }) = self;
        text
    }

    /// Whether it was made from `original`.
    pub fn is_of(&self, original: &str) -> bool {
        match self {
            KeptText::Plain(text) => text == original,
            KeptText::Masked { sha256, .. } => *sha256 == hash(original.as_bytes()),
        }
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_masked_text_is_known_again_by_its_hash_and_another_by_itself() {
        let check = |name: &str, original: &str, other: &str, json: &str| {
            let kept = KeptText::of_file(name, original);
            assert!(kept.is_of(original) && !kept.is_of(other) && !kept.is_of(""), "{name}");
            assert_eq!(serde_json::to_string(&kept).unwrap(), json);
            assert_eq!(serde_json::from_str::<KeptText>(json).unwrap(), kept);
        };
        check("a.sql", "SELECT 1;", "SELECT 2;", r#""SELECT 1;""#);
        check(
            "a.sql",
            "PASSWORD 'abc'",
            "PASSWORD '***'",
            r#"{"text":"PASSWORD '***'","sha256":"259e9c83f3a53d367ffb3a965ed154c090cea0946b1bfc5a887371ed67dfae49","masked":true}"#,
        );
    }
}
