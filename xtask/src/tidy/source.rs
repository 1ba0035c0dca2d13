//! Rust source as the rules want to see it: with comments and literals blanked, so that a word in a
//! string is no code, and with test code blanked for the rules that bind production code only.
//! Not a parser: it knows literals, comments and braces, and no more.

use std::ops::Range;

/// A stretch of source that is not code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stretch {
    Comment,
    /// A string or a character.
    Literal,
}

/// The text with each comment and each literal replaced by blanks; lines stay where they are.
pub fn mask(text: &str) -> String {
    without(text, &[Stretch::Comment, Stretch::Literal])
}

/// The text with each comment replaced by blanks; lines stay where they are.
pub fn without_comments(text: &str) -> String {
    without(text, &[Stretch::Comment])
}

fn without(text: &str, blanked: &[Stretch]) -> String {
    let bytes = text.as_bytes();
    let mut left = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        match stretch_at(bytes, at) {
            Some((stretch, end)) => {
                if blanked.contains(&stretch) {
                    blank(&mut left[at..end]);
                }
                at = end;
            }
            None => at += 1,
        }
    }
    String::from_utf8(left).expect("only whole characters are blanked")
}

/// Where the items under `#[cfg(test)]` are in masked text, attribute included.
pub fn test_items(masked: &str) -> Vec<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let mut items = Vec::new();
    let mut from = 0;
    while let Some(found) = masked[from..].find(MARK) {
        let start = from + found;
        from = end_of_item(masked, start + MARK.len());
        items.push(start..from);
    }
    items
}

/// The text with these parts replaced by blanks; lines stay where they are.
pub fn without_parts(text: &str, parts: &[Range<usize>]) -> String {
    let mut left = text.as_bytes().to_vec();
    for part in parts {
        blank(&mut left[part.clone()]);
    }
    String::from_utf8(left).expect("only whole characters are blanked")
}

/// A function and the lines of code from its `fn` to its closing brace.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// Lines that are not blank once comments and literals are.
    pub code_lines: usize,
}

/// Every function with a body in masked text, nested ones too.
pub fn functions(masked: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in masked.match_indices("fn ") {
        let starts_word = at == 0 || !is_word(masked.as_bytes()[at - 1]);
        let name: String =
            masked[at + 3..].chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !starts_word || name.is_empty() {
            continue;
        }
        let end = end_of_item(masked, at);
        if masked[at..end].ends_with('}') {
            let line = masked[..at].matches('\n').count() + 1;
            found.push(Function { name, line, code_lines: code_lines(&masked[at..end]) });
        }
    }
    found
}

/// Lines that hold code: not blank once comments and literals are.
pub fn code_lines(masked: &str) -> usize {
    masked.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Where the item that `from` is in ends: after its `;`, or after the brace that closes its body.
fn end_of_item(masked: &str, from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in masked.bytes().enumerate().skip(from) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    masked.len()
}

/// If a comment or a literal begins at `at`: which, and where it ends.
fn stretch_at(bytes: &[u8], at: usize) -> Option<(Stretch, usize)> {
    let comment = |end| Some((Stretch::Comment, end));
    let literal = |end| Some((Stretch::Literal, end));
    match (bytes[at], bytes.get(at + 1)) {
        (b'/', Some(b'/')) => comment(find(bytes, at, b'\n')),
        (b'/', Some(b'*')) => comment(end_of_block_comment(bytes, at)),
        (b'"', _) => literal(end_of_string(bytes, at + 1)),
        (b'\'', Some(b'\\')) => literal((find(bytes, at + 3, b'\'') + 1).min(bytes.len())),
        (b'\'', Some(&next)) => {
            let end = at + 1 + utf8_length(next);
            if bytes.get(end) == Some(&b'\'') { literal(end + 1) } else { None }
        }
        (b'r', Some(b'"' | b'#')) if starts_raw_string(bytes, at) => {
            end_of_raw_string(bytes, at + 1).and_then(literal)
        }
        _ => None,
    }
}

fn end_of_block_comment(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut depth) = (start + 2, 1_usize);
    while at < bytes.len() && depth > 0 {
        match (bytes[at], bytes.get(at + 1)) {
            (b'/', Some(b'*')) => (at, depth) = (at + 2, depth + 1),
            (b'*', Some(b'/')) => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

fn end_of_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether the `r` at `at` can begin a raw string: no word runs into it but the prefixes `b` and `c`.
fn starts_raw_string(bytes: &[u8], at: usize) -> bool {
    match at.checked_sub(1).map(|before| bytes[before]) {
        Some(b'b' | b'c') => at < 2 || !is_word(bytes[at - 2]),
        Some(before) => !is_word(before),
        None => true,
    }
}

/// `at` is where the number signs begin; none if no quote follows them (a raw identifier).
fn end_of_raw_string(bytes: &[u8], at: usize) -> Option<usize> {
    let signs = bytes[at..].iter().take_while(|&&byte| byte == b'#').count();
    let open = at + signs;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let closing: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', signs)).collect();
    let found = bytes[open + 1..].windows(closing.len()).position(|window| window == closing);
    Some(found.map_or(bytes.len(), |found| open + 1 + found + closing.len()))
}

fn find(bytes: &[u8], from: usize, wanted: u8) -> usize {
    (from..bytes.len()).find(|&at| bytes[at] == wanted).unwrap_or(bytes.len())
}

fn utf8_length(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn blank(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, gone: &[&str], kept: &[&str]) {
        let masked = mask(text);
        assert_eq!(masked.len(), text.len());
        for word in gone {
            assert!(!masked.contains(word), "{word} is still in {masked:?}");
        }
        for word in kept {
            assert!(masked.contains(word), "{word} is gone from {masked:?}");
        }
    }

    #[test]
    fn comments_and_strings_are_blanked_and_code_is_kept() {
        check("a(); // gone\nb();", &["gone"], &["a();", "b();"]);
        check("a(); /* gone /* gone */ gone */ b();", &["gone", "*"], &["a();", "b();"]);
        check(r#"f("gone \" gone", 'q', b"gone")"#, &["gone", "q"], &["f("]);
        check(r###"f(r#"gone " gone"#, br"gone") kept"###, &["gone"], &["f(", "kept"]);
        check(r"f('\'', '\\', '{', 'ü') kept", &["{", "ü"], &["f(", "kept"]);
    }

    #[test]
    fn comments_alone_are_blanked_where_literals_count() {
        let text = "a(\"// kept\"); // gone\n/* gone\n */ b('/');";
        assert_eq!(without_comments(text), "a(\"// kept\");        \n       \n    b('/');");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        check("fn f<'a>(x: &'a str, r#type: u8) { kept }", &[], &["'a>", "r#type", "kept"]);
        check("let number = 1; for r in x {}", &[], &["number", "for r in"]);
    }

    #[test]
    fn test_code_is_no_production_code() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn gone() { if x { } } }\nfn b() {}\n#[cfg(test)]\nuse gone;\nfn c() {}";
        let masked = mask(text);
        let left = without_parts(&masked, &test_items(&masked));
        assert!(!left.contains("gone"));
        for kept in ["fn a()", "fn b()", "fn c()"] {
            assert!(left.contains(kept));
        }
    }

    #[test]
    fn functions_are_measured_in_lines_of_code() {
        let text = "trait T { fn no_body(&self); }\n\nfn f(\n    x: [u8; 2],\n) {\n    // a comment\n\n    g(\"}\");\n}\n";
        assert_eq!(functions(&mask(text)), [Function { name: "f".into(), line: 3, code_lines: 5 }]);
    }
}
