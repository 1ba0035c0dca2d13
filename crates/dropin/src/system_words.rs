//! The operating system's error message in C's format, without the number that Rust adds. Used by the drop-in and for
//! log files, whose messages users know from pgbench.

use std::io;

/// `No such file or directory`
pub fn system_words(error: &io::Error) -> String {
    without_number(&error.to_string()).to_owned()
}

/// The same for the text of such an error.
pub fn without_number(text: &str) -> &str {
    text.split_once(" (os error").map_or(text, |(words, _)| words)
}
