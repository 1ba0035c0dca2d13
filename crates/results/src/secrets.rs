//! Where the secrets are in text that users and servers wrote: connection strings and URIs, command lines, scripts,
//! JSON, TOML. Finds ranges and replaces them by a mask; which texts are looked through is decided by `safe_text`,
//! `plan` and the store. It knows secrets by the names before them, so it is no scanner for secrets of any kind:
//! docs/record.md lists what it knows.

mod code;
mod names;
mod values;

use std::ops::Range;

use code::Code;
pub use names::is_secret_name;
use names::{Name, Strength};
use values::Value;

/// What stands where a secret stood; quotes around it stay.
pub(crate) const MASK: &str = "***";

/// How a text is to be read.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command line, a connection string, a message, a configuration file.
    Plain,
    /// A script or a statement: outside of literals, comments and meta commands a bare word is a column, not a secret.
    Sql,
}

/// The text without its secrets.
pub(crate) fn mask(text: &str, kind: Kind) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for range in ranges(text, kind) {
        out.push_str(&text[done..range.start]);
        out.push_str(MASK);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// The value of a name as it may be shown: masked as a whole if the name says that it is secret.
pub(crate) fn mask_named(name: &str, value: &str) -> String {
    match names::strength(name) {
        Some(Strength::Always) if !value.is_empty() => MASK.to_owned(),
        Some(Strength::UnlessNumber) if !value.is_empty() && !values::is_number(value) => MASK.to_owned(),
        _ => mask(value, Kind::Plain),
    }
}

/// What is to be masked, in order and without overlaps.
fn ranges(text: &str, kind: Kind) -> Vec<Range<usize>> {
    let code = match kind {
        Kind::Plain => Code::none(),
        Kind::Sql => Code::of(text),
    };
    let mut found = uri_passwords(text);
    let mut from = 0;
    while let Some(name) = names::next(text, from) {
        from = name.end;
        let Some(value) = value_of(text, &name, &code) else { continue };
        if !value.secret.is_empty() {
            found.push(value.secret.clone());
        }
        // Text that may be outside of the value is looked through too.
        from = from.max(value.earliest_end);
        if value.earliest_end == text.len() {
            break;
        }
    }
    found.extend(set_commands(text));
    merged(found)
}

fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// What stands after a secret's name, if it is a value.
fn value_of(text: &str, name: &Name, code: &Code) -> Option<Value> {
    let (separator, start) = values::separator(text, name)?;
    let value = values::value(text, start, separator, name)?;
    let is_code = code.holds(name.start);
    (!values::stays(text, &value, name, is_code)).then_some(value)
}

/// The passwords of `scheme://user:password@host`. Where the user's part ends is decided as libpq does
/// (`conninfo_uri_parse_options`): at an `@` before any `/`. A URI that libpq refuses may have its `@` later.
fn uri_passwords(text: &str) -> Vec<Range<usize>> {
    const SCHEME_END: &str = "://";
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(SCHEME_END) {
        let start = from + at + SCHEME_END.len();
        from = start;
        let rest = &text[start..];
        let end = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
        let next = rest[..end].find(SCHEME_END).unwrap_or(end);
        let authority = &rest[..next];
        let before_slash = authority.find('/').unwrap_or(authority.len());
        let is_postgres = ["postgres", "postgresql"].iter().any(|scheme| text[..start - 3].ends_with(scheme));
        let later_at = || {
            let before_query = authority.find('?').unwrap_or(authority.len());
            authority[..before_query].rfind('@').filter(|_| is_postgres)
        };
        let last_at = authority[..before_slash].rfind('@').or_else(later_at);
        let Some(last_at) = last_at else { continue };
        let Some(colon) = authority[..last_at].find(':') else { continue };
        if colon + 1 < last_at {
            found.push(start + colon + 1..start + last_at);
        }
    }
    found
}

/// `\set` and `\setshell` with a secret's name: the rest of the line, unless an expression computes it.
fn set_commands(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (begin, content) = (at, line.trim_end());
        at += line.len();
        let command = content.trim_start();
        let Some(word_end) = command.find(char::is_whitespace) else { continue };
        let is_set = command[..word_end].eq_ignore_ascii_case("\\set");
        if !is_set && !command[..word_end].eq_ignore_ascii_case("\\setshell") {
            continue;
        }
        let rest = command[word_end..].trim_start();
        let Some(name_end) = rest.find(char::is_whitespace) else { continue };
        let value = rest[name_end..].trim_start();
        let is_computed = is_set && value.contains(['(', ':']);
        let is_secret = match names::strength(&rest[..name_end]) {
            Some(Strength::Always) => true,
            Some(Strength::UnlessNumber) => !values::is_number(value),
            None => false,
        };
        if is_secret && !is_computed && !value.is_empty() {
            let start = begin + content.len() - value.len();
            found.push(start..begin + content.len());
        }
    }
    found
}

#[cfg(test)]
mod tests;
