//! TOML to trees and back: written with inline tables and lists alone, whatever the document was written with. Places
//! and comments are lost.

use toml_edit::{Document, Item, TableLike, Value};

use super::Tree;

impl Tree {
    /// The tree of a document that can be read.
    pub fn from_toml(document: &str) -> Option<Tree> {
        let document = Document::parse(document).ok()?;
        Some(of_table(document.as_table()))
    }

    /// The document; a tree that is no table becomes one.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        match self {
            Tree::Table(entries) => {
                for (key, value) in entries {
                    write_text(key, &mut out);
                    out.push_str(" = ");
                    write(value, &mut out);
                    out.push('\n');
                }
            }
            other => {
                out.push_str("name = ");
                write(other, &mut out);
            }
        }
        out
    }
}

fn of_table(table: &dyn TableLike) -> Tree {
    Tree::Table(table.iter().map(|(key, item)| (key.to_owned(), of_item(item))).collect())
}

fn of_item(item: &Item) -> Tree {
    match item {
        Item::None => Tree::Table(Vec::new()),
        Item::Value(value) => of_value(value),
        Item::Table(table) => of_table(table),
        Item::ArrayOfTables(tables) => Tree::List(tables.iter().map(|table| of_table(table)).collect()),
    }
}

fn of_value(value: &Value) -> Tree {
    match value {
        Value::String(text) => Tree::Text(text.value().clone()),
        Value::Integer(number) => Tree::Bare(number.value().to_string()),
        // With a point, or it would be another kind of number.
        Value::Float(number) => Tree::Bare(format!("{:?}", number.value()).replace("NaN", "nan")),
        Value::Boolean(truth) => Tree::Bare(truth.value().to_string()),
        Value::Datetime(date) => Tree::Bare(date.value().to_string()),
        Value::Array(items) => Tree::List(items.iter().map(of_value).collect()),
        Value::InlineTable(table) => of_table(table),
    }
}

fn write(tree: &Tree, out: &mut String) {
    match tree {
        Tree::Bare(value) => out.push_str(value),
        Tree::Text(text) => write_text(text, out),
        Tree::List(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push_str(", ");
            }
            out.push(']');
        }
        Tree::Table(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                write_text(key, out);
                out.push_str(" = ");
                write(value, out);
            }
            out.push('}');
        }
    }
}

/// A basic string, every character that is no plain ASCII as its code.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            ' '..='~' if !matches!(character, '"' | '\\') => out.push(character),
            other => *out += &format!("\\U{:08x}", u32::from(other)),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_in_another_form_has_the_same_tree() {
        let text = "a = 1\nb = 2.0\n[c]\nd = \"x\\\"\\u00e9\"\n[[e]]\nf = [true, 1e300]\n[[e]]\n\"g h\" = { i = -inf }\n";
        let tree = Tree::from_toml(text).expect("TOML");
        let again = tree.to_toml();
        assert_ne!(again, text);
        assert_eq!(Tree::from_toml(&again), Some(tree));
    }
}
