//! Which parts of a script are SQL itself: what is outside of literals, comments and meta commands. Follows the server's
//! scanner with `standard_conforming_strings` on.

use std::ops::Range;

use sql::{Lexer, TokenKind};

/// The parts of a text that are SQL, in order.
#[derive(Debug)]
pub(super) struct Code(Vec<Range<usize>>);

impl Code {
    pub(super) fn none() -> Code {
        Code(Vec::new())
    }

    pub(super) fn of(text: &str) -> Code {
        let mut code = Code::none();
        code.add(text, 0..text.len(), false);
        code
    }

    pub(super) fn holds(&self, place: usize) -> bool {
        let following = self.0.partition_point(|range| range.end <= place);
        self.0.get(following).is_some_and(|range| range.contains(&place))
    }

    fn push(&mut self, range: Range<usize>) {
        match self.0.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.0.push(range),
        }
    }

    /// Adds the code of a script, or of a function's body, in which dollar quotes are no text.
    fn add(&mut self, text: &str, within: Range<usize>, is_body: bool) {
        let (base, bytes) = (within.start, &text.as_bytes()[within]);
        let mut lexer = Lexer::new(bytes);
        let mut is_line_start = !is_body;
        while let Some(token) = lexer.next() {
            let is_command = is_line_start && token.is(bytes, b'\\');
            is_line_start = !is_body
                && token.kind == TokenKind::Space
                && (is_line_start || token.of(bytes).contains(&b'\n'));
            match token.kind {
                _ if is_command => lexer.continue_at(line_end(bytes, token.start)),
                TokenKind::DollarString if is_body || !token.is_closed => {
                    self.push(base + token.start..base + token.start + 1);
                    lexer.continue_at(token.start + 1);
                }
                TokenKind::DollarString => {
                    let tag = 2 + token.of(bytes)[1..].iter().take_while(|byte| **byte != b'$').count();
                    let body = token.start + tag..token.end - tag;
                    if bytes[body.clone()].contains(&b';') {
                        self.add(text, base + body.start..base + body.end, true);
                    }
                }
                TokenKind::QuotedName if !is_body => {}
                TokenKind::LineComment
                | TokenKind::BlockComment
                | TokenKind::String
                | TokenKind::EscapeString
                | TokenKind::UnicodeString
                | TokenKind::BitString => {}
                _ => self.push(base + token.start..base + token.end),
            }
        }
    }
}

/// A meta command goes on behind a backslash at the end of its line.
fn line_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(length) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        at += length + 1;
        let line = &bytes[..at - 1];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.ends_with(b"\\") {
            return at - 1;
        }
    }
    bytes.len()
}
