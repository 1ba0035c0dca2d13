//! JSON to trees and back. The document must be JSON for `serde_json`; what it cannot hold, such as a number beyond all
//! doubles, is written all the same.

use serde_json::Value;

use super::Tree;

impl Tree {
    /// The tree of a document that can be read.
    pub fn from_json(document: &[u8]) -> Option<Tree> {
        serde_json::from_slice(document).ok().map(of_value)
    }

    /// The document.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write(self, &mut out);
        out
    }
}

fn of_value(value: Value) -> Tree {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Tree::Bare(value.to_string()),
        Value::String(text) => Tree::Text(text),
        Value::Array(items) => Tree::List(items.into_iter().map(of_value).collect()),
        Value::Object(entries) => {
            Tree::Table(entries.into_iter().map(|(key, value)| (key, of_value(value))).collect())
        }
    }
}

fn write(tree: &Tree, out: &mut String) {
    match tree {
        Tree::Bare(value) => out.push_str(value),
        Tree::Text(text) => *out += &Value::from(text.as_str()).to_string(),
        Tree::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Tree::Table(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                *out += &Value::from(key.as_str()).to_string();
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}
