//! Records and fields as JSON, indented. The one module that writes it for reports; what would steer a terminal stands as
//! its code.

use serde::Serialize;

/// The document; ends with a line end.
pub(crate) fn json(document: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(document).expect("the documents have string keys only");
    results::escaped_json(json + "\n")
}
