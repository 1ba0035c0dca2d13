//! No text of a record reaches a terminal as it is: in a record with something of everything, each text in its turn is
//! one that steers terminals, and every form that may be shown on one is looked through.

use pgmeter_report::{Run, TextStyle};
use results::Record;
use serde_json::Value;
use std::path::Path;
use testkit::extent::choose;

use crate::pages::example::{self, Example};
use crate::pages::forms::{csv, html, json, markdown, text, text_of};

/// Sets a title, hides what follows, and turns the direction of writing; in UTF-8 `\u{9b}` begins a sequence too. The
/// last one stands for a byte that is not UTF-8.
const STEERING: &str = "\x1b]0;title\x07\u{9b}8m\u{202e}\r\x08\u{10ff9b}";

/// Paths to all texts of a document.
fn texts(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(path.to_owned()),
        Value::Array(items) => {
            // Others are of the same kind.
            for (index, item) in items.iter().enumerate().take(choose(1, 2)) {
                texts(item, &format!("{path}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                texts(field, &format!("{path}/{name}"), found);
            }
        }
        _ => {}
    }
}

fn steers(shown: &str) -> bool {
    shown.chars().any(|character| results::steers(character) && character != '\n' && character != '\t')
}

#[test]
fn no_text_of_a_record_steers_a_terminal() {
    let document: Value =
        serde_json::from_str(&example::full(&Example { seconds: 3, ..Example::default() }).to_json())
            .expect("it is JSON");
    let mut paths = Vec::new();
    texts(&document, "", &mut paths);
    let style = TextStyle { colour: false, width: 100 };
    let change = |document: &mut Value, path: &str| {
        let place = document.pointer_mut(path).expect("it is there");
        let before = place.as_str().unwrap_or_default().to_owned();
        *place = Value::String(format!("{before}{STEERING}"));
    };
    let read = |document: &Value| Record::from_json(document.to_string().as_bytes(), Path::new("r.json"));
    // The others are words that are known or are not.
    let is_free = |path: &&String| {
        let mut changed = document.clone();
        change(&mut changed, path);
        read(&changed).is_ok()
    };
    let free: Vec<&String> = paths.iter().filter(is_free).collect();
    assert!(free.len() > 40, "{} of {} texts can be changed", free.len(), paths.len());
    // Texts that are near each other in the record are changed in documents of their own: one may hide the other.
    let documents = choose(8, free.len());
    for first in 0..documents {
        let mut changed = document.clone();
        let path: Vec<&String> = free.iter().copied().skip(first).step_by(documents).collect();
        path.iter().for_each(|path| change(&mut changed, path));
        let record = read(&changed).expect("each of them can be changed");
        let run = || Run { name: "a", record: &record };
        let shown = [
            ("text", text(&record, &style)),
            ("side by side", text_of(&[run(), run()], &style)),
            ("page", html(&[run()])),
            ("markdown", markdown(&[run()])),
            ("csv", csv(&[run()])),
            ("json", json(&[run()])),
        ];
        for (form, shown) in shown {
            assert!(!steers(&shown), "one of {path:?} steers as {form}: {shown:?}");
        }
    }
}
