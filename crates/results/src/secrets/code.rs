//! Which parts of a script are SQL itself: what is outside of literals, comments and meta commands. Follows the server's
//! scanner (scan.l) with `standard_conforming_strings` on.

use std::ops::Range;

use super::values::{after_dollar_quote, after_quote};

/// The parts of a text that are SQL, in order.
#[derive(Debug)]
pub(super) struct Code(Vec<Range<usize>>);

impl Code {
    pub(super) fn none() -> Code {
        Code(Vec::new())
    }

    pub(super) fn of(text: &str) -> Code {
        let mut code = Code::none();
        code.add(text, 0..text.len());
        code
    }

    pub(super) fn holds(&self, place: usize) -> bool {
        let following = self.0.partition_point(|range| range.end <= place);
        self.0.get(following).is_some_and(|range| range.contains(&place))
    }

    fn push(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.0.push(range);
        }
    }

    fn add(&mut self, text: &str, within: Range<usize>) {
        let bytes = text.as_bytes();
        let end = within.end;
        let (mut begin, mut at) = (within.start, within.start);
        let mut is_line_start = true;
        while at < end {
            let rest = &bytes[at..end];
            let (next, body) = match rest {
                [b'\\', ..] if is_line_start => (line_end(bytes, at, end), None),
                [b'-', b'-', ..] => (find(rest, b"\n").map_or(end, |length| at + length), None),
                [b'/', b'*', ..] => (comment_end(bytes, at, end), None),
                [b'\'', ..] => {
                    let is_escape = at > within.start && matches!(bytes[at - 1], b'e' | b'E');
                    (after_quote(&text[..end], at, is_escape).unwrap_or(end), None)
                }
                [b'"', ..] => (after_quote(&text[..end], at, false).unwrap_or(end), None),
                [b'$', ..] => match after_dollar_quote(&text[..end], at) {
                    Some((inner, next)) => (next, Some(inner)),
                    None => (at, None),
                },
                _ => (at, None),
            };
            if next == at {
                is_line_start = bytes[at] == b'\n' || (is_line_start && bytes[at].is_ascii_whitespace());
                at += 1;
                continue;
            }
            self.push(begin..at);
            if let Some(inner) = body.filter(|inner| text[inner.clone()].contains(';')) {
                // A function's body.
                self.add_flat(text, inner);
            }
            (begin, at, is_line_start) = (next, next, false);
        }
        self.push(begin..end);
    }

    /// A body within dollar quotes; those within it are text.
    fn add_flat(&mut self, text: &str, body: Range<usize>) {
        let bytes = text.as_bytes();
        let (mut begin, mut at) = (body.start, body.start);
        while at < body.end {
            let next = match &bytes[at..body.end] {
                [b'\'', ..] => after_quote(&text[..body.end], at, false).unwrap_or(body.end),
                [b'-', b'-', ..] => find(&bytes[at..body.end], b"\n").map_or(body.end, |length| at + length),
                _ => {
                    at += 1;
                    continue;
                }
            };
            self.push(begin..at);
            (begin, at) = (next, next);
        }
        self.push(begin..body.end);
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A meta command goes on behind a backslash at the end of its line.
fn line_end(bytes: &[u8], mut at: usize, end: usize) -> usize {
    while let Some(length) = find(&bytes[at..end], b"\n") {
        at += length + 1;
        let line = &bytes[..at - 1];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.ends_with(b"\\") {
            return at - 1;
        }
    }
    end
}

/// Comments nest.
fn comment_end(bytes: &[u8], start: usize, end: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while at < end {
        match &bytes[at..end] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    end
}
