//! pgbench's command line, help and messages as data.
//!
//! In reading order: [`Options::act_on`] acts on each option as pgbench does, by the table in `options` and a getopt of our
//! own; [`decide`] says what all of them mean together; [`Stop`] is why the program ends before its work is done;
//! [`abort_messages`] are the sentences about clients that cannot go on. Nothing is printed and nothing is connected here.

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
