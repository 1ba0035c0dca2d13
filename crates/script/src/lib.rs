//! The pgbench language: text to program, expressions, variables, random streams. Pure: no socket, file, clock or
//! terminal; nothing here prints. The engine runs what this crate parses; the command line shows its errors.
//!
//! Reading order: a script's text goes through [`parse`] (`scan`, `meta`, `expression`) and becomes a [`Program`]
//! of [`Command`]s. At run time `Set::expression` is evaluated in a [`Scope`], and `Sql` is written to the wire
//! with the values of a client's [`Variables`].
//!
//! Scripts are bytes: what is not UTF-8 goes to the server unchanged and may be part of a variable's name; only
//! messages replace it. What the language has beyond pgbench's is listed at [`Dialect::Extended`].

mod dialect;
mod program;
mod scan;
mod sql;
mod statements;

mod meta;

mod array;
mod batch;
mod condition;
mod contention;
mod shell;
mod sleep;

mod expression;
mod hash;
mod permute;
mod random;

mod datum;
mod number;
mod symbols;
mod value;
mod variables;

mod error;

pub use array::SetArray;
pub use batch::Batch;
pub use condition::{Condition, Else};
pub use contention::ContendedRows;
pub use dialect::Dialect;
pub use error::{EvaluationError, ParseError, ParseErrorKind};
pub use expression::{Expression, Scope};
pub use hash::{hash_fnv1a, hash_murmur2};
pub use permute::permute;
pub use program::{Command, CommandKind, Program, Set, parse};
pub use random::Random;
pub use shell::{SetShell, Shell};
pub use sleep::Sleep;
pub use sql::{Capture, CaptureKind, PARAMETERS_MAX, Sql};
pub use statements::{Statement, StatementsError, statements};
pub use symbols::{Slot, Symbols};
pub use value::Value;
pub use variables::Variables;
