//! Versions of documents: the current version is read directly, earlier ones are upgraded first, unknown ones are
//! rejected. Used for all JSON documents.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::ResultsError;
use crate::safe_text::in_one_line;

/// Upgrades a document from version n, from 1, to n + 1. It must tolerate missing or unexpected values, which parsing
/// then rejects.
type Upgrader = fn(&mut Map<String, Value>);

/// Kinds of documents. A changed format requires an upgrader here, and a test with a document of the previous version.
pub(crate) const RECORD: Format = Format { upgraders: &[] };
pub(crate) const STEPS: Format = Format { upgraders: &[] };
pub(crate) const COMPARISON: Format = Format { upgraders: &[] };
pub(crate) const SEARCH: Format = Format { upgraders: &[] };

/// A kind of document with a `schema_version`.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Format {
    /// Upgraders in order, from version 1.
    upgraders: &'static [Upgrader],
}

/// The only field that all versions share.
#[derive(Deserialize)]
struct Versioned {
    schema_version: u64,
}

impl Format {
    /// The version that is written, and the newest that can be read.
    #[allow(clippy::cast_possible_truncation)] // a handful
    pub(crate) const fn version(&self) -> u32 {
        1 + self.upgraders.len() as u32
    }

    /// Parses `json` as a document of the current version; messages refer to it as `path`.
    pub(crate) fn read<T: DeserializeOwned>(&self, json: &[u8], path: &Path) -> Result<T, ResultsError> {
        // Parse errors of serde quote the content.
        let not_a_record =
            |what: &str| ResultsError::NotARecord { path: path.to_owned(), what: in_one_line(what) };
        let unreadable = |error: serde_json::Error| not_a_record(&error.to_string());
        let Versioned { schema_version: found } = serde_json::from_slice(json).map_err(unreadable)?;
        if found > u64::from(self.version()) {
            return Err(ResultsError::OtherSchema {
                path: path.to_owned(),
                found,
                supported: self.version(),
            });
        }
        let Some(before) = usize::try_from(found).unwrap_or(0).checked_sub(1) else {
            return Err(not_a_record("no pgmeter ever wrote schema 0"));
        };
        let missing = self.upgraders.get(before..).unwrap_or_default();
        if missing.is_empty() {
            return serde_json::from_slice(json).map_err(unreadable);
        }
        let mut document: Map<String, Value> = serde_json::from_slice(json).map_err(unreadable)?;
        missing.iter().for_each(|upgrade| upgrade(&mut document));
        document.insert("schema_version".to_owned(), self.version().into());
        serde_json::from_value(document.into()).map_err(unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 2 replaces `length_ms` by `length_s`, version 3 adds a name.
    const THIRD: Format = Format {
        upgraders: &[
            |document| {
                let length_ms = document.remove("length_ms").and_then(|length| length.as_f64());
                document.insert("length_s".to_owned(), length_ms.map(|length_ms| length_ms / 1e3).into());
            },
            |document| drop(document.insert("name".to_owned(), "unnamed".into())),
        ],
    };

    #[derive(Debug, PartialEq, Deserialize)]
    struct Document {
        schema_version: u32,
        length_s: f64,
        name: String,
    }

    fn read(json: &str) -> Result<Document, String> {
        THIRD.read(json.as_bytes(), Path::new("d.json")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_document_of_any_earlier_version_is_upgraded_step_by_step() {
        let document = |name: &str| Ok(Document { schema_version: 3, length_s: 1.5, name: name.to_owned() });
        assert_eq!(read(r#"{"schema_version": 1, "length_ms": 1500}"#), document("unnamed"));
        assert_eq!(read(r#"{"schema_version": 2, "length_s": 1.5}"#), document("unnamed"));
        assert_eq!(read(r#"{"schema_version": 3, "length_s": 1.5, "name": "x"}"#), document("x"));
    }

    #[test]
    fn a_document_that_an_upgrade_cannot_complete_is_refused_and_so_is_one_of_an_unknown_version() {
        insta::assert_snapshot!(read(r#"{"schema_version": 1}"#).unwrap_err(), @"d.json is not a readable record: invalid type: null, expected f64; name a file that pgmeter wrote, unchanged");
        assert!(read(r#"{"schema_version": 4}"#).unwrap_err().contains("has schema 4"));
        assert!(read(r#"{"schema_version": 0}"#).unwrap_err().contains("no pgmeter ever wrote schema 0"));
    }
}
