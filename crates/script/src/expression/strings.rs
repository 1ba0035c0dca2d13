//! Parses strings: literals, `random_string` and `random_element`; and the rows of `\copy_rows`, whose values may be
//! strings. Called by `meta` in the extended dialect; for `\set` before the text is parsed as an expression.

use crate::copy::{CopyValue, VALUES_MAX};
use crate::dialect::Dialect;
use crate::error::{Fault, ParseErrorKind};
use crate::string::{Characters, StringValue, element_of};
use crate::symbols::Symbols;

use super::Expression;
use super::lexer::{Lexer, Token};
use super::parser::{Level, Parser, STRING_NOT_ALONE, argument_count};

const RANDOM_STRING: &str = "random_string";
const RANDOM_ELEMENT: &str = "random_element";

/// Error for other arguments of `\copy_rows`.
const ROWS_FORM: &str =
    "the form is \\copy_rows NUMBER (VALUE, …), such as \\copy_rows 100 (:copy_row, random(1, 10), 'text')";
/// Error for a value of `\copy_rows` that does not end.
const VALUE_FORM: &str =
    "a value must be an expression or a whole string, with a comma or the closing parenthesis after it";

/// Parses a string from byte `from` to the end of `text`. `None` if it is something else.
pub(crate) fn parse_string(
    text: &[u8],
    from: usize,
    newline: bool,
    symbols: &mut Symbols,
) -> Result<Option<StringValue>, Fault> {
    let mut parser = Parser::new(Lexer::new(text, from, newline).with_strings(), Dialect::Extended, symbols);
    let value = match parser.peek() {
        Ok(_) => match parser.string() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => return Ok(None),
            Err(kind) => Err(kind),
        },
        Err(kind) if text[from..].trim_ascii_start().starts_with(b"'") => Err(kind),
        Err(_) => return Ok(None),
    };
    let value = value.and_then(|value| match parser.accept(Token::End)? {
        true => Ok(Some(value)),
        false => Err(STRING_NOT_ALONE.into()),
    });
    value.map_err(|kind| parser.fault(kind))
}

/// Parses `number (value, …)` of `\copy_rows`, from byte `from` to the end of `text`.
pub(crate) fn parse_rows(
    text: &[u8],
    from: usize,
    newline: bool,
    symbols: &mut Symbols,
) -> Result<(Expression, Vec<CopyValue>), Fault> {
    let mut parser = Parser::new(Lexer::new(text, from, newline).with_strings(), Dialect::Extended, symbols);
    parser.rows().map_err(|kind| {
        let is_string = matches!(&kind, ParseErrorKind::Other(reason) if reason == STRING_NOT_ALONE);
        parser.fault(if is_string { VALUE_FORM.into() } else { kind })
    })
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
    /// A string, if the next token begins one.
    fn string(&mut self) -> Result<Option<StringValue>, ParseErrorKind> {
        let token = self.peek()?;
        let is_call =
            |name: &str| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(name.as_bytes()));
        if let Token::Text(text) = token {
            self.advance()?;
            Ok(Some(StringValue::Literal(unquoted(text).into())))
        } else if is_call(RANDOM_STRING) {
            self.advance()?;
            self.random_string().map(Some)
        } else if is_call(RANDOM_ELEMENT) {
            self.advance()?;
            self.random_element().map(Some)
        } else {
            Ok(None)
        }
    }

    /// The part after `\copy_rows`.
    fn rows(&mut self) -> Result<(Expression, Vec<CopyValue>), ParseErrorKind> {
        if matches!(self.peek()?, Token::End) {
            return Err(ROWS_FORM.into());
        }
        self.expression(Level::Or)?;
        let number = self.compiled()?;
        if !self.accept(Token::Symbol("("))? || self.accept(Token::Symbol(")"))? {
            return Err(ROWS_FORM.into());
        }
        let mut values = Vec::new();
        loop {
            values.push(match self.string()? {
                Some(value) => CopyValue::String(value),
                None => {
                    self.expression(Level::Or)?;
                    let expression = self.compiled()?;
                    expression.variable().map_or(CopyValue::Expression(expression), CopyValue::Variable)
                }
            });
            if values.len() > VALUES_MAX {
                return Err(format!("a row has at most {VALUES_MAX} values").into());
            }
            if !self.accept(Token::Symbol(","))? {
                break;
            }
        }
        if !self.accept(Token::Symbol(")"))? {
            return Err(VALUE_FORM.into());
        }
        if self.accept(Token::End)? { Ok((number, values)) } else { Err(ROWS_FORM.into()) }
    }

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
