//! The operating system's word for an error, as C programs show it: Rust puts a number behind it.
//! For messages that people know from such programs; called by the drop-in and for log files.

use std::io;

/// `No such file or directory`
pub(crate) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.as_str(), |(words, _)| words).to_owned()
}
