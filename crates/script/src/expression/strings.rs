//! Parses the strings of `\set`: literals, `random_string` and `random_element`. Called by `meta` in the extended dialect,
//! before the text is parsed as an expression.

use crate::error::{Fault, ParseErrorKind};
use crate::string::{Characters, StringValue, element_of};
use crate::symbols::Symbols;

use super::lexer::{Lexer, Token};
use super::parser::{Level, Parser, argument_count};

const RANDOM_STRING: &str = "random_string";
const RANDOM_ELEMENT: &str = "random_element";

/// Error for a string inside an expression.
pub(super) const STRING_NOT_ALONE: &str =
    "a string must be the whole value of \\set, it cannot be part of a larger expression";

/// Parses a string from byte `from` to the end of `text`. `None` if it is something else.
pub(crate) fn parse_string(
    text: &[u8],
    from: usize,
    newline: bool,
    symbols: &mut Symbols,
) -> Result<Option<StringValue>, Fault> {
    let mut parser = Parser::of_tokens(Lexer::new(text, from, newline).with_strings(), symbols);
    let value = match parser.lexer.next() {
        Ok(Token::Text(text)) => Ok(StringValue::Literal(unquoted(text).into())),
        Ok(Token::Word(word)) if word.eq_ignore_ascii_case(RANDOM_STRING.as_bytes()) => {
            parser.random_string()
        }
        Ok(Token::Word(word)) if word.eq_ignore_ascii_case(RANDOM_ELEMENT.as_bytes()) => {
            parser.random_element()
        }
        Err(kind) if text[from..].trim_ascii_start().starts_with(b"'") => Err(kind),
        _ => return Ok(None),
    };
    let value = value.and_then(|value| match parser.accept(Token::End)? {
        true => Ok(Some(value)),
        false => Err(STRING_NOT_ALONE.into()),
    });
    value.map_err(|kind| parser.fault(kind))
}

/// The error of an expression in the extended dialect, where a string may be its cause.
pub(crate) fn explain_string(kind: ParseErrorKind) -> ParseErrorKind {
    let is_string = match &kind {
        ParseErrorKind::UnknownFunction(name) => {
            [RANDOM_STRING, RANDOM_ELEMENT].iter().any(|function| name.eq_ignore_ascii_case(function))
        }
        ParseErrorKind::Other(reason) => reason == "unexpected character (')",
        _ => false,
    };
    if is_string { STRING_NOT_ALONE.into() } else { kind }
}

/// The text of a string, whose quotes are doubled.
fn unquoted(text: &[u8]) -> Vec<u8> {
    let mut unquoted = Vec::with_capacity(text.len());
    let mut after_quote = false;
    for &byte in text {
        after_quote = byte == b'\'' && !after_quote;
        if !after_quote {
            unquoted.push(byte);
        }
    }
    unquoted
}

impl Parser<'_> {
    /// The part after `random_string`.
    fn random_string(&mut self) -> Result<StringValue, ParseErrorKind> {
        self.expect(Token::Symbol("("))?;
        self.expression(Level::Or)?;
        let min = self.compiled()?;
        if !self.accept(Token::Symbol(","))? {
            return Err(argument_count(RANDOM_STRING));
        }
        self.expression(Level::Or)?;
        let max = self.compiled()?;
        let characters = if self.accept(Token::Symbol(","))? {
            match self.advance()? {
                Token::Text(text) => Characters::new(&unquoted(text))?,
                _ => return Err("the characters of random_string must be a string, such as 'abc'".into()),
            }
        } else {
            Characters::letters_and_digits()
        };
        if self.accept(Token::Symbol(","))? {
            return Err(argument_count(RANDOM_STRING));
        }
        self.expect(Token::Symbol(")"))?;
        Ok(StringValue::Random { min, max, characters })
    }

    /// The part after `random_element`.
    fn random_element(&mut self) -> Result<StringValue, ParseErrorKind> {
        self.expect(Token::Symbol("("))?;
        let value = match self.advance()? {
            Token::Text(list) => element_of(&unquoted(list))?,
            Token::Variable(name) => StringValue::ElementOfVariable(self.symbols.intern(name)),
            _ => {
                return Err(
                    "the list of random_element must be a variable or a string, such as 'a,b,c'".into()
                );
            }
        };
        if self.accept(Token::Symbol(","))? {
            return Err("random_element has one list, such as 'a,b,c'".into());
        }
        self.expect(Token::Symbol(")"))?;
        Ok(value)
    }
}
