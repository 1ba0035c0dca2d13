//! Tokens of one statement, by the crate sqlparser, with their places in the schema's file. `ddl` parses statements from
//! them, whole or up to a token.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::Name;
use super::split::Piece;
use crate::error::{Checked, Fault, Place};

/// Operators in one statement: the parser's tree is as deep as a chain of them.
const OPERATORS_MAX: usize = 4_000;

/// The tokens of a statement that are not white space, with places in the file.
pub(crate) struct Tokens<'a> {
    pub piece: &'a Piece<'a>,
    pub tokens: Vec<TokenWithSpan>,
}

impl<'a> Tokens<'a> {
    pub fn read(piece: &'a Piece<'a>) -> Checked<Self> {
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, piece.text).tokenize_with_location();
        let mut tokens = tokens.map_err(|error| {
            let place = within(piece.place, error.location.line, error.location.column);
            Fault::new(place, error.message)
        })?;
        tokens.retain(|token| !matches!(token.token, Token::Whitespace(_)));
        let count = tokens.iter().filter(|token| is_operator(&token.token)).count();
        if count > OPERATORS_MAX {
            let message = format!("the statement has more than {OPERATORS_MAX} operators");
            return Err(Fault::new(piece.place, message));
        }
        Ok(Self { piece, tokens })
    }

    pub fn word(&self, index: usize) -> String {
        match self.tokens.get(index).map(|token| &token.token) {
            Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_uppercase(),
            _ => String::new(),
        }
    }

    pub fn words(&self) -> impl Iterator<Item = String> {
        (0..self.tokens.len()).map(|index| self.word(index))
    }

    /// The name that begins at this index, as PostgreSQL stores it.
    pub fn name(&self, index: usize) -> Name {
        let part = |at: usize| match self.tokens.get(at).map(|token| &token.token) {
            Some(Token::Word(word)) if word.quote_style.is_some() => Some(word.value.clone()),
            Some(Token::Word(word)) => Some(word.value.to_ascii_lowercase()),
            _ => None,
        };
        let first = part(index).unwrap_or_default();
        let qualified = self.tokens.get(index + 1).is_some_and(|token| token.token == Token::Period);
        match part(index + 2).filter(|_| qualified) {
            Some(name) => Name { schema: Some(first), name },
            None => Name { schema: None, name: first },
        }
    }

    /// First index at which these words follow each other.
    pub fn find(&self, words: &[&str]) -> Option<usize> {
        let all: Vec<String> = self.words().collect();
        all.windows(words.len()).position(|window| window == words)
    }

    /// Index of the parenthesis that closes the one at `open`.
    pub fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(open) {
            match token.token {
                Token::LParen => depth += 1,
                Token::RParen => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                _ => {}
            }
        }
        None
    }

    pub fn place_of(&self, token: &TokenWithSpan) -> Place {
        within(self.piece.place, token.span.start.line, token.span.start.column)
    }
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            const WORDS: [&str; 10] =
                ["AND", "OR", "IS", "LIKE", "ILIKE", "COLLATE", "AT", "IN", "BETWEEN", "SIMILAR"];
            word.quote_style.is_none() && WORDS.iter().any(|known| word.value.eq_ignore_ascii_case(known))
        }
        Token::Comma | Token::LParen | Token::RParen | Token::Number(..) | Token::SingleQuotedString(_) => {
            false
        }
        _ => true,
    }
}

/// The place in the file of a place in a statement.
pub(super) fn within(start: Place, line: u64, column: u64) -> Place {
    let small = |number: u64| u32::try_from(number.max(1)).unwrap_or(u32::MAX);
    let (line, column) = (small(line), small(column));
    let first = line == 1;
    let column = if first { start.column.saturating_add(column - 1) } else { column };
    Place { line: start.line.saturating_add(line - 1), column }
}
