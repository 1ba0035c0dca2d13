//! PostgreSQL's SQL as text: tokens, statements, words and names. No grammar: only the server parses statements.
//!
//! Reading order: [`Lexer`] cuts a text into tokens as the server does, [`Nesting`] says which semicolons end a
//! statement as psql does, [`statement_words`] and [`first_words`] return the words outside of strings and comments,
//! and `quote` writes identifiers and literals. [`size_pretty`] writes sizes. All functions that read SQL work on bytes,
//! because scripts can have any encoding; texts are cut at ASCII characters only. docs/decisions/0036 has the reasons.

mod lexer;
mod quote;
mod size;
mod statements;
mod words;

pub use lexer::{Lexer, Token, TokenKind};
pub use quote::{dollar_quoted, identifier, literal, unquoted, without_semicolon};
pub use size::size_pretty;
pub use statements::{Nesting, statements};
pub use words::{StatementWord, code, copies_from_stdin, first_words, statement_words};
