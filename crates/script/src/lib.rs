//! The pgbench language: scripts, expressions, variables, random streams. Pure: no socket, file, clock or terminal.
//!
//! [`parse`] (`scan`, `meta`, `expression`) creates a [`Program`] of [`Command`]s. At run time `Set::expression` is
//! evaluated in a [`Scope`], and `Sql` is sent with the values of a client's [`Variables`]. Scripts are bytes: invalid
//! UTF-8 is sent unchanged and may be part of a variable's name. [`Dialect::Extended`] lists additions to pgbench's
//! language.

mod command;
mod dialect;
mod program;
mod scan;
mod sql;
mod statements;

mod meta;

mod array;
mod batch;
mod blocks;
mod condition;
mod contention;
mod copy;
mod repeat;
mod shell;
mod sleep;
mod string;

mod expression;
mod hash;
mod hot_keys;
mod permute;
mod random;

mod datum;
mod number;
mod symbols;
mod undefined;
mod value;
mod variables;

mod error;

pub use array::SetArray;
pub use batch::Batch;
pub use command::{Command, CommandKind, Set};
pub use condition::{Condition, Else};
pub use contention::ContendedRows;
pub use copy::{CopyFile, CopyRows, CopySource, RowPosition};
pub use dialect::Dialect;
pub use error::{EvaluationError, ParseError, ParseErrorKind};
pub use expression::{Expression, Scope};
pub use hash::{hash_fnv1a, hash_murmur2};
pub use permute::permute;
pub use program::{Program, parse};
pub use random::Random;
pub use repeat::{EndRepeat, Repeat};
pub use shell::{SetShell, Shell};
pub use sleep::Sleep;
pub use sql::{Capture, CaptureKind, PARAMETERS_MAX, SentAs, Sql};
pub use statements::{Statement, StatementsError, statements};
pub use string::SetString;
pub use symbols::{Slot, Symbols};
pub use undefined::{DefinedVariables, UndefinedVariable};
pub use value::Value;
pub use variables::Variables;
