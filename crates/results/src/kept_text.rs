//! The text of a file as the store keeps it: with its secrets masked, and then with the hash of the original, so that it
//! is known whether the file has changed. In JSON, a text without secrets is a string.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::secrets::{self, Kind};

/// A text without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct KeptText {
    text: String,
    /// Of the original, in hexadecimal; `None` if nothing was masked.
    sha256: Option<String>,
}

impl KeptText {
    /// A file by its name: what ends in `.toml` is configuration, anything else a script.
    pub fn of_file(name: &str, original: &str) -> KeptText {
        let kind = if name.to_ascii_lowercase().ends_with(".toml") { Kind::Plain } else { Kind::Sql };
        KeptText::new(original.as_bytes(), original, kind)
    }

    /// A script, as it was read and in UTF-8.
    pub fn of_script(original: &[u8], shown: &str) -> KeptText {
        KeptText::new(original, shown, Kind::Sql)
    }

    fn new(original: &[u8], shown: &str, kind: Kind) -> KeptText {
        let text = secrets::mask(shown, kind);
        let sha256 = (text != shown).then(|| hash(original));
        KeptText { text, sha256 }
    }

    /// The text, secrets masked.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The hash of the original in hexadecimal, if secrets were masked.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// Whether this is what was kept of `original`.
    pub fn is_of(&self, original: &str) -> bool {
        match &self.sha256 {
            Some(sha256) => *sha256 == hash(original.as_bytes()),
            None => self.text == original,
        }
    }
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Plain(String),
    Masked { text: String, sha256: String, masked: bool },
}

impl From<Stored> for KeptText {
    fn from(stored: Stored) -> KeptText {
        match stored {
            Stored::Plain(text) => KeptText { text, sha256: None },
            Stored::Masked { text, sha256, masked: _ } => KeptText { text, sha256: Some(sha256) },
        }
    }
}

impl From<KeptText> for Stored {
    fn from(kept: KeptText) -> Stored {
        let KeptText { text, sha256 } = kept;
        match sha256 {
            None => Stored::Plain(text),
            Some(sha256) => Stored::Masked { text, sha256, masked: true },
        }
    }
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
