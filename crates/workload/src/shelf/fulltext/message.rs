//! A message of a file, and its row in the text format of COPY. `mbox` and `changelogs` read such messages; synthetic ones
//! are written by `synthetic`.

use std::fmt::{Debug, Display};
use std::io::Write as _;

use crate::shelf::fields::date;

/// Longer bodies are cut: a tsvector has at most 1 MB, and words with hyphens or slashes are in it several times.
const BODY_LENGTH_MAX: usize = 100_000;
/// Longer authors and subjects are cut.
const LINE_LENGTH_MAX: usize = 1_000;

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// The number of the first message of its thread, from 0.
    pub(super) thread: u64,
    /// The earlier message that it answers.
    pub(super) parent: Option<u64>,
    /// Seconds since 1970.
    pub(super) sent: Option<u64>,
    pub(super) author: String,
    pub(super) subject: String,
    pub(super) body: String,
}

/// Messages by number. Its text is the name in messages.
pub(super) trait MessageSource: Debug + Display + Send + Sync {
    /// Number of messages.
    fn len(&self) -> u64;

    /// A message, from 0; the error is a sentence.
    fn message(&self, number: u64) -> Result<Message, String>;
}

/// Appends a row without the end of its line. A message that cannot be read becomes a row that the server refuses, with
/// the reason where the number should be: rows are streamed, and loading must not go on without the message.
pub(super) fn write_row(
    number: u64,
    message: Result<Message, String>,
    configuration: &str,
    out: &mut Vec<u8>,
) {
    let Message { thread, parent, sent, author, subject, body } = match message {
        Ok(message) => message,
        Err(reason) => {
            escaped(&reason, reason.len(), out);
            return out.extend_from_slice("\t0\t\\N\t\\N\t\t\t\t\t\\N".as_bytes());
        }
    };
    // Writing to memory does not fail.
    let _ = write!(out, "{}\t{}\t", number + 1, thread + 1);
    let _ = match parent {
        Some(parent) => write!(out, "{}\t", parent + 1),
        None => write!(out, "\\N\t"),
    };
    let _ = match sent {
        Some(at) => {
            let second = at % 86_400;
            let (hours, minutes) = (second / 3_600, second / 60 % 60);
            write!(out, "{} {hours:02}:{minutes:02}:{:02}\t", date(at / 86_400), second % 60)
        }
        None => write!(out, "\\N\t"),
    };
    for line in [author, subject] {
        escaped(&line, LINE_LENGTH_MAX, out);
        out.push(b'\t');
    }
    escaped(&body, BODY_LENGTH_MAX, out);
    let _ = write!(out, "\t{configuration}\t\\N");
}

/// Appends a value of COPY. The server refuses the character NUL in texts.
fn escaped(text: &str, length_max: usize, out: &mut Vec<u8>) {
    let end = text.floor_char_boundary(length_max);
    for byte in text[..end].bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0 => {}
            byte => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(message: Result<Message, String>) -> String {
        let mut out = Vec::new();
        write_row(4, message, "pg_catalog.english", &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn rows_are_lines_of_copy() {
        let message = Message {
            thread: 2,
            parent: Some(3),
            sent: Some(1_000_000_000),
            author: "a\tb".to_owned(),
            subject: "c\\d".to_owned(),
            body: "e\r\nf\0ä".to_owned(),
        };
        let expected = "5\t3\t4\t2001-09-09 01:46:40\ta\\tb\tc\\\\d\te\\r\\nfä\tpg_catalog.english\t\\N";
        assert_eq!(row(Ok(message)), expected);
        let short = row(Ok(Message { body: "ä".repeat(BODY_LENGTH_MAX), ..Message::default() }));
        assert_eq!(short.matches('ä').count(), BODY_LENGTH_MAX / 2);
        assert_eq!(row(Err("cannot read a.mbox".to_owned())).split('\t').next(), Some("cannot read a.mbox"));
    }
}
