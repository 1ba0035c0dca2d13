//! Splits an expression into tokens. It reads one token at a time and only on demand, because an error is reported at
//! the last token read. Used by the expression parser.

use crate::error::{ParseErrorKind, shown};
use crate::number::{is_c_space, parse_double};
use crate::symbols::{is_name_byte, is_name_start};

/// One token.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// Digits that fit into 63 bits.
    Int(i64),
    /// 9223372036854775808, which is an integer only after a minus.
    LowestMagnitude,
    Double(f64),
    /// Without the colon.
    Variable(&'a [u8]),
    /// A string without its quotes; a quote in it is doubled. Only if the lexer accepts strings.
    Text(&'a [u8]),
    /// A word that is not reserved.
    Word(&'a [u8]),
    /// An operator, a parenthesis, a comma, or a reserved word in lower case.
    Symbol(&'static str),
    End,
}

const RESERVED_WORDS: [&str; 14] = [
    "and", "or", "not", "is", "isnull", "notnull", "case", "when", "then", "else", "end", "true", "false",
    "null",
];

/// Longer ones first, so that the first match is the longest.
const SYMBOLS: [&str; 21] = [
    "<>", "!=", "<=", ">=", "<<", ">>", "<", ">", "=", "+", "-", "*", "/", "%", "|", "&", "#", "~", "(", ")",
    ",",
];

/// The magnitude of the lowest integer.
const LOWEST_MAGNITUDE: &str = "9223372036854775808";

/// A meta command's text and the position of the lexer.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    position: usize,
    /// Whether a newline follows the text.
    newline: bool,
    ended: bool,
    /// Accepts strings.
    strings: bool,
}

impl<'a> Lexer<'a> {
    /// Reads `text` from byte `from`.
    pub(super) fn new(text: &'a [u8], from: usize, newline: bool) -> Self {
        Self { text, position: from, newline, ended: false, strings: false }
    }

    /// The same with strings, which pgbench does not have.
    pub(super) fn with_strings(self) -> Self {
        Self { strings: true, ..self }
    }

    /// The last byte of the last token, or the newline at the end: the position for messages.
    pub(super) fn last_byte(&self) -> usize {
        if self.ended && self.newline { self.position } else { self.position.saturating_sub(1) }
    }

    /// The next token. After an error the position is after the invalid text.
    pub(super) fn next(&mut self) -> Result<Token<'a>, ParseErrorKind> {
        self.skip_space();
        let text = self.text;
        let rest = &text[self.position..];
        match rest {
            [] => {
                self.ended = true;
                Ok(Token::End)
            }
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => self.number(),
            [b':', byte, ..] if is_name_byte(*byte) => {
                let length = 1 + name_length(&rest[1..]);
                self.position += length;
                Ok(Token::Variable(&rest[1..length]))
            }
            [b'\'', ..] if self.strings => self.string(),
            [byte, ..] if is_name_start(*byte) => {
                let word = &rest[..name_length(rest)];
                self.position += word.len();
                let is_word = |reserved: &&&str| word.eq_ignore_ascii_case(reserved.as_bytes());
                Ok(RESERVED_WORDS.iter().find(is_word).map_or(Token::Word(word), |word| Token::Symbol(word)))
            }
            [byte, ..] => {
                if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(symbol.as_bytes())) {
                    self.position += symbol.len();
                    return Ok(Token::Symbol(symbol));
                }
                self.position += 1;
                Err(format!("unexpected character ({})", char::from(*byte)).into())
            }
        }
    }

    /// White space, and backslashes at the end of a line.
    fn skip_space(&mut self) {
        loop {
            let rest = &self.text[self.position..];
            self.position += match rest {
                [b'\\', b'\n', ..] => 2,
                [b'\\', b'\r', b'\n', ..] => 3,
                [byte, ..] if is_c_space(*byte) => 1,
                _ => return,
            };
        }
    }

    /// A string from its opening quote.
    fn string(&mut self) -> Result<Token<'a>, ParseErrorKind> {
        let text = self.text;
        let start = self.position + 1;
        let mut end = start;
        loop {
            match text.get(end..).unwrap_or_default() {
                [b'\'', b'\'', ..] => end += 2,
                [b'\'', ..] => break,
                [_, ..] => end += 1,
                [] => {
                    self.position = text.len();
                    return Err("a string has no closing quote".into());
                }
            }
        }
        self.position = end + 1;
        Ok(Token::Text(&text[start..end]))
    }

    fn number(&mut self) -> Result<Token<'a>, ParseErrorKind> {
        let bytes = &self.text[self.position..];
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(0);
        let mut length = whole;
        if bytes.get(length) == Some(&b'.') {
            length += 1 + digits(length + 1);
        }
        if let Some(b'e' | b'E') = bytes.get(length) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = bytes.get(length + 1 + sign..).map_or(0, |_| digits(length + 1 + sign));
            if exponent > 0 {
                length += 1 + sign + exponent;
            }
        }
        let number = &bytes[..length];
        self.position += length;
        if length > whole {
            let overflow = || format!("double constant overflow ({})", shown(number)).into();
            return parse_double(number).map(Token::Double).ok_or_else(overflow);
        }
        if number == LOWEST_MAGNITUDE.as_bytes() {
            return Ok(Token::LowestMagnitude);
        }
        let text = shown(number);
        text.parse().map(Token::Int).map_err(|_| format!("bigint constant overflow ({text})").into())
    }
}

fn name_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| is_name_byte(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text.as_bytes(), 0, true);
        let mut found = Vec::new();
        loop {
            match lexer.next() {
                Ok(Token::End) => return found,
                Ok(token) => found.push(token),
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn numbers_are_integers_or_doubles() {
        assert_eq!(tokens("0 007 9223372036854775807"), [Token::Int(0), Token::Int(7), Token::Int(i64::MAX)]);
        assert_eq!(tokens("9223372036854775808"), [Token::LowestMagnitude]);
        let doubles = [1.0, 1.5, 0.5, 1000.0, 0.015, 10.0].map(Token::Double);
        assert_eq!(tokens("1. 1.5 .5 1e3 1.5E-2 1.e+1"), doubles);
        assert_eq!(
            tokens("1e 1.5.5"),
            [Token::Int(1), Token::Word(b"e"), Token::Double(1.5), Token::Double(0.5)]
        );
    }

    #[test]
    fn words_are_keywords_in_any_case_or_names() {
        assert_eq!(tokens("Is ISNULL"), [Token::Symbol("is"), Token::Symbol("isnull")]);
        assert_eq!(tokens("abs é_1"), ["abs", "é_1"].map(|word| Token::Word(word.as_bytes())));
        assert_eq!(tokens(":a :1a :é"), ["a", "1a", "é"].map(|name| Token::Variable(name.as_bytes())));
    }

    #[test]
    fn the_longest_operator_wins() {
        assert_eq!(tokens("<<<=<>"), [Token::Symbol("<<"), Token::Symbol("<="), Token::Symbol("<>")]);
        assert_eq!(tokens("==-"), [Token::Symbol("="), Token::Symbol("="), Token::Symbol("-")]);
    }

    #[test]
    fn lines_go_on_behind_a_backslash() {
        assert_eq!(tokens("1 \\\n + \\\r\n2"), [Token::Int(1), Token::Symbol("+"), Token::Int(2)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "\\PC*|[0-9a-eE.:<>!=+ \\\\-]*") {
            let mut lexer = Lexer::new(text.as_bytes(), 0, false);
            while !matches!(lexer.next(), Ok(Token::End)) {}
        }
    }
}
