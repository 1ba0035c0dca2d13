//! pgbench's command line, help and messages as data.
//!
//! Reading order: [`Options::act_on`] processes each option as pgbench does, with the table in `options` and its own
//! getopt; [`decide`] checks their combination; [`Stop`] is an early exit; [`abort_messages`] are the messages about
//! aborted clients. Nothing here prints or connects.

mod abort;
mod decision;
mod getopt;
mod help;
mod message;
mod numbers;
mod options;
mod scripts;
mod seed;
mod system_words;

pub use abort::abort_messages;
pub use decision::{Task, decide};
pub use help::{HELP, version, version_line};
pub use message::{Level, Message, PROGRAM, Stop};
pub use options::Options;
pub use system_words::{system_words, without_number};
