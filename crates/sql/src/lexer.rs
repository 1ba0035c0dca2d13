//! Tokens, by the longest match of the rules of PostgreSQL 18's scanners (scan.l, psqlscan.l; manual: "Lexical
//! Structure"). Never fails: an unclosed token extends to the end of the text. The time is linear. Called by all code
//! that reads SQL.

use std::ops::{Index, Range};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Spaces, tabs and newlines.
    Space,
    /// `-- …`, without the newline.
    LineComment,
    /// `/* … */` with nested ones.
    BlockComment,
    /// A key word or a name without quotes.
    Word,
    /// `"…"`.
    QuotedName,
    /// `U&"…"`.
    UnicodeName,
    /// `'…'`, with its continuations on later lines, as all strings.
    String,
    /// `E'…'`.
    EscapeString,
    /// `U&'…'`.
    UnicodeString,
    /// `B'…'` and `X'…'`.
    BitString,
    /// `$tag$…$tag$`.
    DollarString,
    /// A number, with letters that directly follow: the server refuses those.
    Number,
    /// `$1`.
    Parameter,
    /// `:name`, `:'name'`, `:"name"` and `:{?name}` of psql, if the lexer knows variables.
    Variable,
    /// An operator, also `::`, `:=` and `..`.
    Operator,
    /// Any other character.
    Symbol,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Its first byte.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// Whether a quote or a comment has its end.
    pub is_closed: bool,
}

impl Token {
    /// Its text in `sql`, from which it was read.
    pub fn of<'a, T: ?Sized + Index<Range<usize>, Output = T>>(&self, sql: &'a T) -> &'a T {
        &sql[self.start..self.end]
    }

    /// Whether it is white space or a comment.
    pub fn is_blank(&self) -> bool {
        matches!(self.kind, TokenKind::Space | TokenKind::LineComment | TokenKind::BlockComment)
    }

    /// Whether it is this character alone.
    pub fn is(&self, sql: &[u8], character: u8) -> bool {
        matches!(self.kind, TokenKind::Symbol | TokenKind::Operator) && self.of(sql) == [character]
    }
}

/// Cuts a text into tokens; together, they are the text.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    sql: &'a [u8],
    at: usize,
    has_variables: bool,
    has_escapes: bool,
    is_closed: bool,
    /// Up to here, each sign is an operator of its own: those that a longer operator has left.
    signs_end: usize,
}

impl<'a> Lexer<'a> {
    /// With `standard_conforming_strings = on`, and without variables.
    pub fn new(sql: &'a [u8]) -> Self {
        Self { sql, at: 0, has_variables: false, has_escapes: false, is_closed: true, signs_end: 0 }
    }

    /// With psql's variables.
    #[must_use]
    pub fn with_variables(self) -> Self {
        Self { has_variables: true, ..self }
    }

    /// With `standard_conforming_strings = off`: a backslash escapes in each string.
    #[must_use]
    pub fn with_escapes(self) -> Self {
        Self { has_escapes: true, ..self }
    }

    /// Continues at this byte.
    pub fn continue_at(&mut self, at: usize) {
        self.at = at;
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.sql.get(self.at + ahead).copied()
    }

    /// The first byte from `from` on that does not belong.
    fn end_of(&self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.sql.get(from..).unwrap_or_default();
        rest.iter().position(|byte| !belongs(*byte)).map_or(self.sql.len(), |length| from + length)
    }

    fn read(&mut self, first: u8) -> TokenKind {
        let next = self.peek(1);
        match first {
            b'-' if next == Some(b'-') => self.run(TokenKind::LineComment, |byte| !is_newline(byte)),
            b'/' if next == Some(b'*') => self.block_comment(),
            b'\'' => self.string(TokenKind::String, 0),
            b'e' | b'E' if next == Some(b'\'') => self.string(TokenKind::EscapeString, 1),
            b'b' | b'B' | b'x' | b'X' if next == Some(b'\'') => self.string(TokenKind::BitString, 1),
            b'u' | b'U' if next == Some(b'&') && self.peek(2) == Some(b'\'') => {
                self.string(TokenKind::UnicodeString, 2)
            }
            b'u' | b'U' if next == Some(b'&') && self.peek(2) == Some(b'"') => {
                self.name(TokenKind::UnicodeName, 2)
            }
            b'"' => self.name(TokenKind::QuotedName, 0),
            b'$' => self.dollar(),
            b'0'..=b'9' => self.number(),
            b'.' if next.is_some_and(|byte| byte.is_ascii_digit()) => self.number(),
            b':' if matches!(next, Some(b':' | b'=')) => self.pass(TokenKind::Operator, 2),
            b'.' if next == Some(b'.') => self.pass(TokenKind::Operator, 2),
            b':' if self.has_variables => self.variable(),
            _ if is_space(first) => self.run(TokenKind::Space, is_space),
            _ if starts_word(first) => self.run(TokenKind::Word, is_of_word),
            _ if is_of_operator(first) => self.operator(),
            _ => self.pass(TokenKind::Symbol, 1),
        }
    }

    fn pass(&mut self, kind: TokenKind, length: usize) -> TokenKind {
        self.at += length;
        kind
    }

    fn run(&mut self, kind: TokenKind, belongs: impl Fn(u8) -> bool) -> TokenKind {
        self.at = self.end_of(self.at + 1, belongs);
        kind
    }

    fn block_comment(&mut self) -> TokenKind {
        let mut depth = 0_usize;
        self.is_closed = false;
        while !self.is_closed && self.at < self.sql.len() {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => (depth, self.at) = (depth + 1, self.at + 2),
                (Some(b'*'), Some(b'/')) => {
                    (depth, self.at) = (depth - 1, self.at + 2);
                    self.is_closed = depth == 0;
                }
                _ => self.at += 1,
            }
        }
        TokenKind::BlockComment
    }

    /// A string after a prefix of this length. After white space with a newline, another quote continues it.
    fn string(&mut self, kind: TokenKind, prefix: usize) -> TokenKind {
        let escapes = kind == TokenKind::EscapeString || kind == TokenKind::String && self.has_escapes;
        self.at += prefix;
        loop {
            self.quoted(b'\'', escapes, kind != TokenKind::BitString);
            let next = self.after_blanks();
            let has_newline = self.sql[self.at..next].iter().any(|byte| is_newline(*byte));
            if !self.is_closed || !has_newline || self.sql.get(next) != Some(&b'\'') {
                return kind;
            }
            self.at = next;
        }
    }

    fn name(&mut self, kind: TokenKind, prefix: usize) -> TokenKind {
        self.at += prefix;
        self.quoted(b'"', false, true);
        kind
    }

    /// Passes over a quoted text. A doubled quote does not end it, except in bit strings.
    fn quoted(&mut self, quote: u8, escapes: bool, doubles: bool) {
        self.is_closed = false;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\\' && escapes {
                self.at = (self.at + 1).min(self.sql.len());
            } else if byte == quote {
                if !doubles || self.peek(0) != Some(quote) {
                    self.is_closed = true;
                    return;
                }
                self.at += 1;
            }
        }
    }

    /// The first byte from here on that is neither white space nor in a `--` comment.
    fn after_blanks(&self) -> usize {
        let mut at = self.at;
        loop {
            at = self.end_of(at, is_space);
            if !self.sql[at..].starts_with(b"--") {
                return at;
            }
            at = self.end_of(at, |byte| !is_newline(byte));
        }
    }

    fn dollar(&mut self) -> TokenKind {
        let inside = self.at + 1;
        let digits = self.end_of(inside, |byte| byte.is_ascii_digit());
        if digits > inside {
            self.at = self.after_junk(digits);
            return TokenKind::Parameter;
        }
        let tag = self.end_of(inside, is_of_tag);
        if self.sql.get(tag) != Some(&b'$') {
            return self.pass(TokenKind::Symbol, 1);
        }
        let delimiter = &self.sql[self.at..=tag];
        let mut from = tag + 1;
        // A tag contains no dollar sign, so each byte is compared at most twice.
        while let Some(length) = self.sql[from..].iter().position(|byte| *byte == b'$') {
            if self.sql[from + length..].starts_with(delimiter) {
                return self.pass(TokenKind::DollarString, from + length + delimiter.len() - self.at);
            }
            from += length + 1;
        }
        (self.at, self.is_closed) = (self.sql.len(), false);
        TokenKind::DollarString
    }

    /// Digits, a fraction, an exponent, and letters that directly follow. `1..2` is two numbers and an operator.
    fn number(&mut self) -> TokenKind {
        let point = self.digits(self.at);
        let mut end = self.after_exponent(self.at, point);
        if end == point && self.sql.get(point) == Some(&b'.') && self.sql.get(point + 1) != Some(&b'.') {
            end = self.after_exponent(point + 1, self.digits(point + 1));
        }
        self.at = end;
        TokenKind::Number
    }

    /// The end of digits, with single underscores between them.
    fn digits(&self, from: usize) -> usize {
        let is_digit = |at: usize| self.sql.get(at).is_some_and(u8::is_ascii_digit);
        let mut at = from;
        while is_digit(at) || at > from && self.sql.get(at) == Some(&b'_') && is_digit(at + 1) {
            at += 1;
        }
        at
    }

    /// The end of a number whose digits are `from..end`: after an exponent with a sign, or after letters, which include
    /// exponents without a sign and the digits of `0x1F`.
    fn after_exponent(&self, from: usize, end: usize) -> usize {
        if let Some([b'e' | b'E', b'+' | b'-']) = self.sql.get(end..end + 2) {
            let digits = self.digits(end + 2);
            return if digits > end + 2 { self.after_digits(end + 2, digits) } else { digits };
        }
        self.after_digits(from, end)
    }

    fn after_digits(&self, from: usize, end: usize) -> usize {
        // The longest match reads digits from an underscore on as a name, which may have a dollar sign.
        if self.sql[from..end].contains(&b'_') { self.end_of(end, is_of_word) } else { self.after_junk(end) }
    }

    /// The end of the name that begins here, if one does.
    fn after_junk(&self, at: usize) -> usize {
        if self.sql.get(at).is_some_and(|byte| starts_word(*byte)) { self.end_of(at, is_of_word) } else { at }
    }

    fn variable(&mut self) -> TokenKind {
        let (before, after): (usize, &[u8]) = match (self.peek(1), self.peek(2)) {
            (Some(b'\''), _) => (2, b"'"),
            (Some(b'"'), _) => (2, b"\""),
            (Some(b'{'), Some(b'?')) => (3, b"}"),
            _ => (1, b""),
        };
        let end = self.end_of(self.at + before, is_of_tag);
        if end == self.at + before || !self.sql[end..].starts_with(after) {
            return self.pass(TokenKind::Symbol, 1);
        }
        self.pass(TokenKind::Variable, end + after.len() - self.at)
    }

    /// An operator ends before a comment. A sign at its end belongs to it only after a character that no operator of the
    /// SQL standard has.
    fn operator(&mut self) -> TokenKind {
        let start = self.at;
        let starts_comment = |at: usize| matches!(self.sql.get(at..at + 2), Some(b"--" | b"/*"));
        let mut end = start + 1;
        while start >= self.signs_end
            && self.sql.get(end).is_some_and(|byte| is_of_operator(*byte))
            && !starts_comment(end)
        {
            end += 1;
        }
        let is_free = self.sql[start..end].iter().any(|byte| b"~!@#^&|`?%".contains(byte));
        self.at = end;
        while !is_free && self.at > start + 1 && matches!(self.sql[self.at - 1], b'+' | b'-') {
            self.at -= 1;
            self.signs_end = end;
        }
        TokenKind::Operator
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let start = self.at;
        let first = self.peek(0)?;
        self.is_closed = true;
        let kind = self.read(first);
        Some(Token { kind, start, end: self.at, is_closed: self.is_closed })
    }
}

const SPACE: u8 = 1;
const WORD_START: u8 = 2;
const DIGIT: u8 = 4;
const DOLLAR: u8 = 8;
const OPERATOR: u8 = 16;

/// What each byte may be: the null server reads each statement of a benchmark.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte {
            0x09..=0x0d | 0x20 => SPACE,
            0x30..=0x39 => DIGIT,
            0x41..=0x5a | 0x5f | 0x61..=0x7a | 0x80.. => WORD_START,
            0x24 => DOLLAR,
            _ => 0,
        };
        byte += 1;
    }
    let operators = b"~!@#^&|`?+-*/%<>=";
    let mut at = 0;
    while at < operators.len() {
        classes[operators[at] as usize] = OPERATOR;
        at += 1;
    }
    classes
};

fn is_one_of(byte: u8, classes: u8) -> bool {
    CLASSES[usize::from(byte)] & classes != 0
}

fn is_space(byte: u8) -> bool {
    is_one_of(byte, SPACE)
}

fn is_newline(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn starts_word(byte: u8) -> bool {
    is_one_of(byte, WORD_START)
}

/// Of a tag, and of a variable of psql.
fn is_of_tag(byte: u8) -> bool {
    is_one_of(byte, WORD_START | DIGIT)
}

fn is_of_word(byte: u8) -> bool {
    is_one_of(byte, WORD_START | DIGIT | DOLLAR)
}

fn is_of_operator(byte: u8) -> bool {
    is_one_of(byte, OPERATOR)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::TokenKind::*;
    use super::*;

    /// Checks the tokens of a text that are no spaces, each with its kind.
    #[track_caller]
    fn check_with(lexer: Lexer<'_>, text: &str, expected: &[(TokenKind, &str)]) {
        let tokens = lexer.filter(|token| token.kind != Space);
        let found: Vec<_> = tokens.map(|token| (token.kind, token.of(text))).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn check(text: &str, expected: &[(TokenKind, &str)]) {
        check_with(Lexer::new(text.as_bytes()), text, expected);
    }

    /// Checks the texts of the tokens, which are in the expected text with blanks between them.
    #[track_caller]
    fn check_cuts(text: &str, expected: &str) {
        let found: Vec<&str> = Lexer::new(text.as_bytes())
            .filter(|token| token.kind != Space)
            .map(|token| token.of(text))
            .collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn strings_end_at_their_own_quote() {
        check("'it''s' x", &[(String, "'it''s'"), (Word, "x")]);
        check(r"'\' E'\'' e'\\'", &[(String, r"'\'"), (EscapeString, r"E'\''"), (EscapeString, r"e'\\'")]);
        check(
            r"U&'\' u&'a' U&x",
            &[(UnicodeString, r"U&'\'"), (UnicodeString, "u&'a'"), (Word, "U"), (Operator, "&"), (Word, "x")],
        );
        check(
            "B'1' x'f''f' N'a''b' type'c'",
            &[
                (BitString, "B'1'"),
                (BitString, "x'f'"),
                (String, "'f'"),
                (Word, "N"),
                (String, "'a''b'"),
                (Word, "type"),
                (String, "'c'"),
            ],
        );
        let text = r"'\' x' y";
        check_with(Lexer::new(text.as_bytes()).with_escapes(), text, &[(String, r"'\' x'"), (Word, "y")]);
    }

    #[test]
    fn strings_continue_after_white_space_with_a_newline() {
        check("E'a' -- b\n --c\n'\\''", &[(EscapeString, "E'a' -- b\n --c\n'\\''")]);
        check("B'1'\r'0'", &[(BitString, "B'1'\r'0'")]);
        check("E'a' '\\'", &[(EscapeString, "E'a'"), (String, "'\\'")]);
        check("'a'\n/**/'b'", &[(String, "'a'"), (BlockComment, "/**/"), (String, "'b'")]);
        check("'a'\n- 'b'", &[(String, "'a'"), (Operator, "-"), (String, "'b'")]);
    }

    #[test]
    fn names_may_be_quoted() {
        check(
            "a$1 _é \"a\"\"b\" U&\"d\\0061\"",
            &[(Word, "a$1"), (Word, "_é"), (QuotedName, "\"a\"\"b\""), (UnicodeName, "U&\"d\\0061\"")],
        );
    }

    #[test]
    fn dollar_quotes_end_at_their_own_tag() {
        check(
            "$$a$$ $é1$ $$ $é $é1$ $a$$b$a$",
            &[(DollarString, "$$a$$"), (DollarString, "$é1$ $$ $é $é1$"), (DollarString, "$a$$b$a$")],
        );
        check("$1 $2$a$3$a$", &[(Parameter, "$1"), (Parameter, "$2"), (DollarString, "$a$3$a$")]);
        check("a$b$ $x", &[(Word, "a$b$"), (Symbol, "$"), (Word, "x")]);
    }

    #[test]
    fn comments_nest() {
        check(
            "/* /* */ '*/ a /*/ */ --b\r*/",
            &[
                (BlockComment, "/* /* */ '*/"),
                (Word, "a"),
                (BlockComment, "/*/ */"),
                (LineComment, "--b"),
                (Operator, "*/"),
            ],
        );
    }

    #[test]
    fn operators_end_before_comments_and_signs() {
        check_cuts("a=-1 b@- c*+-d e-+f", "a = - 1 b @- c * + - d e - + f");
        check_cuts("a+--b", "a + --b");
        check_cuts("a*/*b*/c =>/*", "a * /*b*/ c => /*");
        check_cuts("a<>-@b", "a <>-@ b");
        check_cuts("<=- ->>- ?-", "<= - ->> - ?-");
        check_cuts("a::b[1:2]:=c..d", "a :: b [ 1 : 2 ] := c .. d");
        check_cuts("{a\\;", "{ a \\ ;");
    }

    #[test]
    fn numbers_are_the_longest_match() {
        check_cuts("1..2 1.5.2 .5 1. 1.e+5", "1 .. 2 1.5 .2 .5 1. 1.e+5");
        check_cuts(
            "0x1F 0o17 0b_1 1_000_0 1__0 1_ 1_000.5_0e1_0",
            "0x1F 0o17 0b_1 1_000_0 1__0 1_ 1_000.5_0e1_0",
        );
        check_cuts("1e5 1e-5.3 1e+ 1e 1e5.5 1a.5", "1e5 1e-5 .3 1e+ 1e 1e5 .5 1a .5");
        // The server refuses letters after a number; they never begin a string.
        check_cuts("1e'a' $1e'a' 1_0$a 1e5$ 1$", "1e 'a' $1e 'a' 1_0$a 1e5$ 1 $");
    }

    #[test]
    fn variables_of_psql_are_no_casts() {
        let text = ":a :'b' :\"c\":{?x} ::d :1 :'e : :'f g' :=";
        check_with(
            Lexer::new(text.as_bytes()).with_variables(),
            text,
            &[
                (Variable, ":a"),
                (Variable, ":'b'"),
                (Variable, ":\"c\""),
                (Variable, ":{?x}"),
                (Operator, "::"),
                (Word, "d"),
                (Variable, ":1"),
                (Symbol, ":"),
                (String, "'e : :'"),
                (Word, "f"),
                (Word, "g"),
                (String, "' :="),
            ],
        );
        check(":a", &[(Symbol, ":"), (Word, "a")]);
    }

    #[test]
    fn what_is_not_closed_extends_to_the_end() {
        for text in ["'", "'a''", "E'\\", "\"a", "$$a$", "$a$ $b$", "/* /* */", "B'1", "U&\"", "'a'\n'b"] {
            let tokens: Vec<Token> = Lexer::new(text.as_bytes()).collect();
            let [token] = tokens[..] else { panic!("{text}: {tokens:?}") };
            assert!(!token.is_closed && token.end == text.len(), "{text}");
        }
    }

    #[test]
    fn long_texts_take_linear_time() {
        for piece in ["+", "'a'\n", "$a", "+/*+*/", "'a'--\n", "1_", ":'a", "-+", "(", "$$$", "/*", "@/*"] {
            let text = piece.repeat(200_000);
            let count = Lexer::new(text.as_bytes()).with_variables().count();
            assert!(count <= text.len());
        }
    }

    proptest! {
        #[test]
        fn tokens_are_the_text(text in "(\\PC|[-'\"$:eEuU&bn01_.x/*+=@a\\n \\\\]|\\$a\\$|--|/\\*){0,60}", variables: bool, escapes: bool) {
            let lexer = Lexer::new(text.as_bytes());
            let lexer = if variables { lexer.with_variables() } else { lexer };
            let lexer = if escapes { lexer.with_escapes() } else { lexer };
            let mut end = 0;
            for token in lexer {
                prop_assert!(token.start == end && token.end > end);
                prop_assert!(text.is_char_boundary(token.end));
                end = token.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
