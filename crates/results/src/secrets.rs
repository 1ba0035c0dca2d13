//! Detection of secrets in text of users and servers: connection strings and URIs, command lines, scripts, JSON, TOML.
//! Finds ranges and masks them; `safe_text`, `plan` and the store choose the texts. Secrets are recognised by the names
//! before them only; docs/record.md lists these names.

mod code;
mod names;
mod values;

use std::ops::Range;

use code::Code;
pub use names::is_secret_name;
use names::{Name, Strength};
use values::Value;

/// Replacement of a secret; surrounding quotes stay.
pub(crate) const MASK: &str = "***";

/// Syntax of a text.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command line, connection string, message or configuration file.
    Plain,
    /// A script or statement: outside of literals, comments and meta commands, an unquoted word is a column and not a
    /// secret.
    Sql,
}

/// The text with masked secrets.
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

/// The value of a name; masked completely if the name is that of a secret.
pub(crate) fn mask_named(name: &str, value: &str) -> String {
    match names::strength(name) {
        Some(Strength::Always) if !value.is_empty() => MASK.to_owned(),
        Some(Strength::UnlessNumber) if !value.is_empty() && !values::is_number(value) => MASK.to_owned(),
        _ => mask(value, Kind::Plain),
    }
}

/// The ranges of secrets in a command line or connection string, in bytes.
pub fn secret_ranges(text: &str) -> Vec<Range<usize>> {
    ranges(text, Kind::Plain)
}

/// The ranges to mask, in order and without overlaps.
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
        // Text that may be outside of the value is searched too.
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

/// The value after a secret's name; `None` if no value follows.
fn value_of(text: &str, name: &Name, code: &Code) -> Option<Value> {
    let (separator, start) = values::separator(text, name)?;
    let value = values::value(text, start, separator, name)?;
    let is_code = code.holds(name.start);
    (!values::stays(text, &value, name, is_code)).then_some(value)
}

/// The passwords of `scheme://user:password@host`. As in libpq (`conninfo_uri_parse_options`), the user's part ends at
/// an `@` before any `/`. In a URI that libpq rejects, the `@` may be later.
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

/// `\set` and `\setshell` with a secret's name: the rest of the line, unless it is an expression.
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
