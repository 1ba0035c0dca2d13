//! The operating system's word for an error, as C programs show it: Rust puts a number behind it.
//! For messages that people know from such programs; called by the drop-in and for log files.

use std::io;

/// `No such file or directory`
#[must_use]
pub fn system_words(error: &io::Error) -> String {
    without_number(&error.to_string()).to_owned()
}

/// The same for a text that such an error has become.
#[must_use]
pub fn without_number(text: &str) -> &str {
    text.split_once(" (os error").map_or(text, |(words, _)| words)
}
