//! A scanner of SQL, written from the manual ("SQL Syntax", "Lexical Structure") and shared with nothing in the product:
//! what it finds in a statement is held against what was meant.

/// A token; of identifiers and literals what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// In double quotes.
    Identifier(Vec<u8>),
    /// In single quotes, of any kind.
    Literal(Vec<u8>),
    /// A key word, a name or a number.
    Word(Vec<u8>),
    /// Anything else that is one character.
    Other(u8),
}

impl Token {
    /// The same without what identifiers and literals mean.
    pub fn kind(&self) -> Token {
        match self {
            Token::Identifier(_) => Token::Identifier(Vec::new()),
            Token::Literal(_) => Token::Literal(Vec::new()),
            other => other.clone(),
        }
    }
}

/// How bytes from 0x80 on are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    /// Each byte for itself: no part of a character in UTF-8 looks like ASCII.
    Utf8,
    /// With the byte behind it, if that can be the second of a character in GBK, Big5, Shift JIS or GB18030: 0x30 to
    /// 0x39 or from 0x40 on.
    TwoBytes,
}

/// The tokens of a statement.
pub fn tokens(sql: &[u8], conforms: bool, characters: Characters) -> Result<Vec<Token>, String> {
    let mut scanner = Scanner { rest: sql, characters };
    let mut tokens = Vec::new();
    while let Some(&byte) = scanner.rest.first() {
        let ahead = &scanner.rest[1..];
        let token = match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                scanner.rest = ahead;
                continue;
            }
            b'-' if ahead.starts_with(b"-") => return Err("a comment begins".to_owned()),
            b'/' if ahead.starts_with(b"*") => return Err("a comment begins".to_owned()),
            b'$' => return Err("a dollar quote begins, or a parameter".to_owned()),
            b'"' => Token::Identifier(scanner.quoted(ahead, b'"', false)?),
            b'\'' => Token::Literal(scanner.quoted(ahead, b'\'', !conforms)?),
            b'e' | b'E' if ahead.starts_with(b"'") => {
                Token::Literal(scanner.quoted(&ahead[1..], b'\'', true)?)
            }
            b'b' | b'B' | b'x' | b'X' | b'n' | b'N' if ahead.starts_with(b"'") => {
                return Err("a literal of another kind begins".to_owned());
            }
            b'u' | b'U' if ahead.starts_with(b"&'") || ahead.starts_with(b"&\"") => {
                return Err("a Unicode literal begins".to_owned());
            }
            _ if is_of_word(byte) => {
                let end = scanner.rest.iter().position(|byte| !is_of_word(*byte) && *byte != b'$');
                let (word, rest) = scanner.rest.split_at(end.unwrap_or(scanner.rest.len()));
                scanner.rest = rest;
                Token::Word(word.to_vec())
            }
            other => {
                scanner.rest = ahead;
                Token::Other(other)
            }
        };
        tokens.push(token);
    }
    Ok(tokens)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

struct Scanner<'a> {
    rest: &'a [u8],
    characters: Characters,
}

impl<'a> Scanner<'a> {
    /// What stands up to the closing quote, which is read too.
    fn quoted(&mut self, inside: &'a [u8], quote: u8, escapes: bool) -> Result<Vec<u8>, String> {
        let mut value = Vec::new();
        let mut rest = inside;
        loop {
            match *rest {
                [] => return Err("a quote is not closed".to_owned()),
                [first, second, ref left @ ..]
                    if self.characters == Characters::TwoBytes && first >= 0x80 && is_second(second) =>
                {
                    value.extend([first, second]);
                    rest = left;
                }
                [one, two, ref left @ ..] if one == quote && two == quote => {
                    value.push(quote);
                    rest = left;
                }
                [one, ref left @ ..] if one == quote => {
                    self.rest = left;
                    return Ok(value);
                }
                [b'\\', ref left @ ..] if escapes => rest = escape(left, &mut value)?,
                [one, ref left @ ..] => {
                    value.push(one);
                    rest = left;
                }
            }
        }
    }
}

/// Whether a byte can end a character of two bytes.
fn is_second(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | 0x40..)
}

/// What stands behind a backslash: octal digits, hexadecimal digits, a letter, or a character that means itself.
fn escape<'a>(rest: &'a [u8], value: &mut Vec<u8>) -> Result<&'a [u8], String> {
    let Some((&first, after)) = rest.split_first() else { return Err("a quote is not closed".to_owned()) };
    let number = |digits: &[u8], radix| {
        let text = String::from_utf8_lossy(digits).into_owned();
        u32::from_str_radix(&text, radix).map_or(0, |number| (number % 256).to_le_bytes()[0])
    };
    let count = |bytes: &[u8], most: usize, radix: u32| {
        bytes.iter().take(most).take_while(|byte| char::from(**byte).is_digit(radix)).count()
    };
    match first {
        b'0'..=b'7' => {
            let (digits, left) = rest.split_at(count(rest, 3, 8));
            value.push(number(digits, 8));
            return Ok(left);
        }
        b'x' if count(after, 2, 16) > 0 => {
            let (digits, left) = after.split_at(count(after, 2, 16));
            value.push(number(digits, 16));
            return Ok(left);
        }
        b'u' | b'U' => return Err("a Unicode escape".to_owned()),
        b'b' => value.push(0x08),
        b'f' => value.push(0x0c),
        b'n' => value.push(b'\n'),
        b'r' => value.push(b'\r'),
        b't' => value.push(b'\t'),
        other => value.push(other),
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, conforms: bool, expected: &[Token]) {
        assert_eq!(tokens(sql.as_bytes(), conforms, Characters::Utf8).as_deref(), Ok(expected), "{sql}");
    }

    #[test]
    fn quotes_are_read_as_the_manual_says() {
        let literal = |text: &str| Token::Literal(text.as_bytes().to_vec());
        check(r#""a""b""#, true, &[Token::Identifier(b"a\"b".to_vec())]);
        check("'it''s'", true, &[literal("it's")]);
        check(r"E'a\134\'\x41\n'", true, &[literal("a\\'A\n")]);
        check(r"'a\'", true, &[literal(r"a\")]);
        check(r"'a\'b'", false, &[literal("a'b")]);
        check(
            "f(1)",
            true,
            &[Token::Word(b"f".to_vec()), Token::Other(b'('), Token::Word(b"1".to_vec()), Token::Other(b')')],
        );
    }

    #[test]
    fn an_attack_is_seen() {
        // What a name does if nobody quotes it.
        assert!(tokens(b"DROP DATABASE \"x\"; SELECT 1 --\"", true, Characters::Utf8).is_err());
        // What text does in a literal without E, where strings do not conform.
        assert_ne!(
            tokens(br"SELECT '\''; SELECT 1", true, Characters::Utf8),
            tokens(br"SELECT '\''; SELECT 1", false, Characters::Utf8)
        );
        // Half a character takes the backslash with it, and the quote behind it is free.
        let gbk = tokens(b"SELECT E'\xd5\\'; SELECT 1", true, Characters::TwoBytes);
        assert_eq!(gbk.map(|tokens| tokens.len()), Ok(5));
    }
}
