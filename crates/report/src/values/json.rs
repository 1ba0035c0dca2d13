//! Records and fields as JSON, indented. The one module that writes it for reports; what would steer a terminal stands as
//! its code.

use serde::Serialize;

/// The document; ends with a line end.
pub(crate) fn json(document: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(document).expect("the documents have string keys only");
    results::escaped_json(json + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::{Fields, fields};

    #[test]
    fn fields_have_their_order_and_what_is_unknown_is_null_or_absent() {
        let sorted: Fields<'_> = [("z", 1_u32), ("y", 2)].into_iter().collect();
        let document =
            fields! { "b" => 1.0, "a" => None::<u32>, "list" => vec!["x\u{1b}"], "sorted" => sorted }
                .and("known", Some(true))
                .and("unknown", None::<bool>);
        let words: Vec<String> = json(&document).split_whitespace().map(str::to_owned).collect();
        assert_eq!(
            words.join(" "),
            r#"{ "b": 1.0, "a": null, "list": [ "x\u001b" ], "sorted": { "y": 2, "z": 1 }, "known": true }"#
        );
    }
}
