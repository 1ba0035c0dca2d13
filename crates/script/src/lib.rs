//! The pgbench language: text to program, expressions, variables, random streams. Pure: no socket, file, clock or
//! terminal; nothing here prints. The engine runs what this crate parses; the command line shows its errors.
//!
//! Reading order: a script's text goes through [`parse`] (`scan`, `meta`, `expression`) and becomes a [`Program`]
//! of [`Command`]s. At run time `Set::expression` is evaluated in a [`Scope`], and `Sql` is written to the wire
//! with the values of a client's [`Variables`].
//!
//! Scripts are bytes: what is not UTF-8 goes to the server unchanged and may be part of a variable's name; only
//! messages replace it.
//!
//! # Beyond pgbench
//!
//! [`Dialect::Extended`] adds three things, which [`Dialect::Pgbench`] refuses in pgbench's words:
//!
//! `\set name array(number, expression)` evaluates the number once (0 to 1,000,000) and the expression that often, in
//! order, and keeps the values as PostgreSQL's array literal, such as `{1,2.5,t,NULL}`. As a parameter it is bound as
//! this text; in a simple query it stands in quotes, so that one script works in all protocols:
//!
//! ```text
//! \set ids array(100, random(1, 100000 * :scale))
//! SELECT sum(abalance) FROM pgbench_accounts WHERE aid = ANY(:ids::int[]);
//! ```
//!
//! `\batch expression` says that this run of the script stands for so many business transactions, at least 1:
//!
//! ```text
//! \batch 100
//! INSERT INTO events SELECT generate_series(1, 100);
//! ```
//!
//! `\target name`, once and before the first command, sends the script's transactions to one of several targets:
//!
//! ```text
//! \target replica
//! SELECT count(*) FROM pgbench_branches;
//! ```

mod program;
mod scan;
mod sql;

mod meta;

mod array;
mod batch;
mod condition;
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
pub use error::{ConditionMistake, EvaluationError, ParseError, ParseErrorKind};
pub use expression::{Expression, Scope};
pub use hash::{hash_fnv1a, hash_murmur2};
pub use permute::permute;
pub use program::{Command, CommandKind, Dialect, Program, Set, parse};
pub use random::Random;
pub use shell::{SetShell, Shell};
pub use sleep::Sleep;
pub use sql::{Capture, CaptureKind, PARAMETERS_MAX, Sql};
pub use symbols::{Slot, Symbols};
pub use value::Value;
pub use variables::Variables;
