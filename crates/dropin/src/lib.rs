//! pgbench's command line, help and messages as data.
//!
//! Reading order: [`Options::act_on`] processes each option as pgbench does, with the table in `options` and its own
//! getopt; [`decide`] checks their combination; [`target`] is the server; [`Stop`] is an early exit. [`LoadProgress`]
//! has the messages of an initialization, `run_messages` those of a run, [`ClientMessages`] those about its clients,
//! and [`MessageStyle`] formats them. Nothing here prints or connects.

mod abort;
mod client_messages;
mod decision;
mod getopt;
mod help;
mod initialization;
mod message;
mod message_style;
mod numbers;
mod options;
mod run_messages;
mod scripts;
mod seed;
mod session;
mod system_words;

pub use client_messages::ClientMessages;
pub use decision::{Task, decide};
pub use help::{HELP, version_line};
pub use initialization::{LoadProgress, initialization_done, initialization_failed};
pub use message::{Level, Message, PROGRAM, Stop};
pub use message_style::MessageStyle;
pub use options::Options;
pub use run_messages::{banner, parameters_message, run_failed, scale_ignored, vacuum_messages};
pub use session::{INITIALIZATION, could_not_connect, target};
pub use system_words::system_words;
