//! Values after a secret's name, in all supported notations. If the end of a quoted value is ambiguous, the longest
//! reading is masked, and the search for names continues after the shortest.

use std::ops::Range;

use super::names::{Name, Strength};

/// Separator between a name and its value.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// `=`, also `:=` and `=>`.
    Equals,
    /// A colon after a quoted name: JSON.
    Colon,
    /// A comma after a quoted name: arguments of a function.
    Comma,
    /// Blanks, comments or `TO`: SQL's `PASSWORD '…'`, `OPTIONS (token '…')`, `SET app.token TO '…'`.
    Blank,
}

/// A value.
#[derive(Debug)]
pub(super) struct Value {
    /// The range to mask, without surrounding quotes.
    pub(super) secret: Range<usize>,
    /// Its end in the shortest reading.
    pub(super) earliest_end: usize,
    /// The value is not quoted.
    is_bare: bool,
}

/// Maximum digits of a number: SQL's `bigint` with its sign.
const NUMBER_LENGTH_MAX: usize = 20;

/// Whether the text is a number.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.len() <= NUMBER_LENGTH_MAX && is_plain && digits.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a value stays unmasked although its name is that of a secret.
pub(super) fn stays(text: &str, value: &Value, name: &Name, is_code: bool) -> bool {
    let content = &text[value.secret.clone()];
    let are_numbers = content.split(',').all(|item| is_number(item.trim()));
    if name.strength == Strength::UnlessNumber && are_numbers {
        return true;
    }
    if !value.is_bare {
        return false;
    }
    let is_parameter = content.strip_prefix('$').is_some_and(is_number);
    // Unquoted words in SQL are columns, functions or script variables; only numbers are literals.
    let is_number = content.starts_with(|first: char| first.is_ascii_digit() || "-+.".contains(first));
    let is_expression = is_code && !is_number && !is_custom_setting(text, name);
    let lower = content.to_ascii_lowercase();
    let is_flag = matches!(lower.as_str(), "null" | "true" | "false" | "on" | "off" | "default");
    // `KEY=VALUE` in a message.
    let is_placeholder =
        name.is_plain_key && content.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b',');
    is_parameter || is_expression || is_flag || is_placeholder
}

/// `SET app.token = word`, where an unquoted word is a literal (manual, SET).
fn is_custom_setting(text: &str, name: &Name) -> bool {
    let before = text[..name.start].trim_end();
    let word = before.rsplit(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let sets = ["set", "local", "session"].iter().any(|known| word.eq_ignore_ascii_case(known));
    sets && text[name.start..name.end].contains('.')
}

/// The separator between name and value, and the start of the value; `None` if no value follows.
pub(super) fn separator(text: &str, name: &Name) -> Option<(Separator, usize)> {
    let before = text[..name.start].chars().next_back();
    let mut rest = &text[name.end..];
    // The closing quote of the name; `\"` in JSON within a string.
    let unescaped = rest.trim_start_matches('\\');
    let is_quoted = matches!(before, Some('"' | '\'')) && unescaped.starts_with(before?);
    if is_quoted {
        rest = &unescaped[1..];
    }
    let after = skip_blanks(rest);
    let at = |rest: &str| text.len() - rest.len();
    for sign in [":=", "=>", "==", "="] {
        if let Some(value) = after.strip_prefix(sign) {
            return Some((Separator::Equals, at(skip_blanks(value))));
        }
    }
    if is_quoted {
        let (separator, value) = match after.chars().next()? {
            ':' => (Separator::Colon, &after[1..]),
            ',' if before == Some('\'') => (Separator::Comma, &after[1..]),
            _ => return None,
        };
        return Some((separator, at(skip_blanks(value))));
    }
    let after = skip_comments(rest);
    let word = after.get(..2).filter(|word| word.eq_ignore_ascii_case("to"));
    let value = match word {
        Some(_) if after[2..].starts_with(char::is_whitespace) => skip_comments(&after[2..]),
        _ => after,
    };
    Some((Separator::Blank, at(value)))
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start()
}

/// Skips blanks and SQL comments.
fn skip_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        text = if text.starts_with("--") {
            text.find('\n').map_or("", |end| &text[end..])
        } else if let Some(comment) = text.strip_prefix("/*") {
            comment.find("*/").map_or("", |end| &comment[end + 2..])
        } else {
            return text;
        };
    }
}

/// The value at this position; `None` if there is none.
pub(super) fn value(text: &str, start: usize, separator: Separator, name: &Name) -> Option<Value> {
    let rest = &text[start..];
    if let Some(prefix) = literal_prefix(rest) {
        let is_escape = rest[..prefix].eq_ignore_ascii_case("e");
        return Some(quoted(text, start + prefix, is_escape));
    }
    if rest.starts_with('$')
        && let Some(value) = dollar_quoted(text, start)
    {
        return Some(value);
    }
    if separator == Separator::Blank || separator == Separator::Comma {
        let is_prose = separator == Separator::Comma || name.is_plain_key;
        return (rest.starts_with('"') && !is_prose).then(|| quoted(text, start, false));
    }
    let escapes = rest.len() - rest.trim_start_matches('\\').len();
    match rest[escapes..].chars().next()? {
        quote @ ('"' | '\'') if escapes > 0 => Some(escaped_quote(text, start, escapes, quote)),
        '"' => Some(quoted(text, start, false)),
        '[' | '{' => Some(nested(text, start)),
        _ => Some(bare(text, start, separator, name)),
    }
}

/// Length of the prefix of an SQL literal: `E'…'`, `U&'…'`; `None` without a single quote.
fn literal_prefix(rest: &str) -> Option<usize> {
    let prefixes = ["", "e", "n", "b", "x", "u&"];
    prefixes.into_iter().map(str::len).zip(prefixes).find_map(|(length, prefix)| {
        let fits = rest.get(..length)?.eq_ignore_ascii_case(prefix);
        (fits && rest[length..].starts_with('\'')).then_some(length)
    })
}

/// `'…'` and `"…"`, from the opening quote.
fn quoted(text: &str, start: usize, has_escapes: bool) -> Value {
    let quote = &text[start..=start];
    // TOML's multi-line strings; in a literal, a nested literal with doubled quotes.
    let count = text[start..].bytes().take_while(|byte| *byte == quote.as_bytes()[0]).count();
    let after = start + count;
    let opens = text[after..]
        .starts_with(|next: char| !(",;)&".contains(next) || next.is_whitespace() && count == 2));
    if count > 1
        && opens
        && let Some(length) = text[after..].find(&text[start..after])
    {
        let end = after + length;
        let earliest_end = if count == 2 { after } else { end + count };
        return Value { secret: after..end, earliest_end, is_bare: false };
    }
    let plain = after_quote(text, start, false).and_then(|end| continued(text, end, quote));
    let escaped = after_quote(text, start, true).and_then(|end| continued(text, end, quote));
    let plain = if has_escapes { escaped } else { plain };
    let inner = |end: Option<usize>| end.map_or(text.len(), |end| end - 1);
    let secret = start + 1..inner(plain).max(inner(escaped));
    let earliest_end = plain.unwrap_or(text.len()).min(escaped.unwrap_or(text.len()));
    Value { secret, earliest_end, is_bare: false }
}

/// Continuation of a literal on a later line (manual, "String Constants"). `None` if it is not closed.
fn continued(text: &str, end: usize, quote: &str) -> Option<usize> {
    let mut end = end;
    loop {
        let rest = &text[end..];
        let after = skip_comments(rest);
        let gap = &rest[..rest.len() - after.len()];
        if quote != "'" || !gap.contains('\n') || !after.starts_with(quote) {
            return Some(end);
        }
        end = after_quote(text, text.len() - after.len(), false)?;
    }
}

/// Position after the closing quote of the quote at `start`; doubled quotes are skipped. `None` if it is not closed.
pub(super) fn after_quote(text: &str, start: usize, has_escapes: bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(start)?;
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if has_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The content of the dollar-quoted string at `start`, and the position after it.
pub(super) fn after_dollar_quote(text: &str, start: usize) -> Option<(Range<usize>, usize)> {
    let begin = dollar_quote_end(text, start)?;
    let mark = &text[start..begin];
    let inner = begin..begin + text[begin..].find(mark)?;
    Some((inner.clone(), inner.end + mark.len()))
}

/// Position after the opening `$tag$` at `start`.
fn dollar_quote_end(text: &str, start: usize) -> Option<usize> {
    let tag = text[start + 1..].split_once('$')?.0;
    let is_tag = tag.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !tag.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then_some(start + tag.len() + 2)
}

/// `$$…$$`, up to the end of the text if it is not closed; `None` if it is not a dollar quote.
fn dollar_quoted(text: &str, start: usize) -> Option<Value> {
    if let Some((secret, earliest_end)) = after_dollar_quote(text, start) {
        return Some(Value { secret, earliest_end, is_bare: false });
    }
    let secret = dollar_quote_end(text, start)?..text.len();
    Some(Value { secret, earliest_end: text.len(), is_bare: false })
}

/// `\"…\"`: JSON within a string; each quote follows the same number of backslashes.
fn escaped_quote(text: &str, start: usize, escapes: usize, quote: char) -> Value {
    let open = start + escapes + 1;
    let bytes = text.as_bytes();
    let mut at = open;
    while let Some(length) = text[at..].find(quote) {
        let place = at + length;
        let behind = bytes[open..place].iter().rev().take_while(|byte| **byte == b'\\').count();
        if behind <= escapes {
            return Value { secret: open..place - behind, earliest_end: place + 1, is_bare: false };
        }
        at = place + 1;
    }
    Value { secret: open..text.len(), earliest_end: text.len(), is_bare: false }
}

/// A complete list or object.
fn nested(text: &str, start: usize) -> Value {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Value { secret: start + 1..at, earliest_end: at + 1, is_bare: false };
        }
    }
    Value { secret: start + 1..text.len(), earliest_end: text.len(), is_bare: false }
}

/// An unquoted value: up to a blank; after a backslash, up to the next blank. A closing bracket or quote around it is
/// excluded.
fn bare(text: &str, start: usize, separator: Separator, name: &Name) -> Value {
    let is_in_uri = matches!(text[..name.start].chars().next_back(), Some('?' | '&'));
    let rest = &text[start..];
    let mut end = rest.len();
    let mut escaped = false;
    for (at, character) in rest.char_indices() {
        let ends = match separator {
            _ if escaped => false,
            _ if is_in_uri && character == '&' => true,
            Separator::Colon => character.is_whitespace() || matches!(character, ',' | '}' | ']'),
            Separator::Equals | Separator::Comma | Separator::Blank => character.is_whitespace(),
        };
        if ends {
            end = at;
            break;
        }
        escaped = !escaped && character == '\\';
    }
    let content = rest[..end].trim_end_matches(['"', '\'', ')', ']', '}', ';', ',', '$']);
    Value { secret: start..start + content.len(), earliest_end: start + content.len(), is_bare: true }
}
