//! PostgreSQL's SQL as text: tokens, statements, words and names. It is no parser: grammar is the server's.
//!
//! Reading order: [`Lexer`] cuts a text into tokens as the server does, [`Nesting`] says which semicolons end a
//! statement as psql does, [`statement_words`] and [`first_words`] are the words outside of strings and comments, and
//! `quote` writes identifiers and literals. All works on bytes, because scripts have any encoding; texts are cut at
//! ASCII characters only. docs/decisions/0036 says what is decided where.

mod lexer;
mod quote;
mod statements;
mod words;

pub use lexer::{Lexer, Token, TokenKind};
pub use quote::{dollar_quoted, identifier, literal, unquoted, without_semicolon};
pub use statements::{Nesting, statements};
pub use words::{StatementWord, code, copies_from_stdin, first_words, statement_words};
