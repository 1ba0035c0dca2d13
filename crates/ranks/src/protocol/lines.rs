//! Bytes of a process manager, in any split, to lines of limited length. Called by `connection`; `reply` parses the
//! lines.

use crate::RanksError;

/// Longest line that is accepted, without its end. A reply has at most the longest line that a rank sends, its own
/// words, and a message for humans.
const REPLY_BYTES_MAX: usize = 8192;

/// Received bytes that are not yet a whole line.
#[derive(Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
}

impl Lines {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next line without its end; `None` if it is not complete.
    ///
    /// # Errors
    /// It is longer than any reply, or contains bytes outside of printable ASCII. `request` is named in the error.
    pub fn next(&mut self, request: &'static str) -> Result<Option<String>, RanksError> {
        let protocol = |problem: String| RanksError::Protocol { request, problem };
        let end = self.buffer.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(self.buffer.len()) > REPLY_BYTES_MAX {
            return Err(protocol(format!("a line has more than {REPLY_BYTES_MAX} bytes")));
        }
        let Some(end) = end else { return Ok(None) };
        let line: Vec<u8> = self.buffer.drain(..=end).take(end).collect();
        if let Some(other) = line.iter().find(|byte| !matches!(byte, b' '..=b'~')) {
            return Err(protocol(format!("a line contains the byte {other}, which is no printable ASCII")));
        }
        Ok(Some(line.iter().copied().map(char::from).collect()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all_lines(parts: &[&[u8]]) -> Result<Vec<String>, String> {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        for part in parts {
            lines.push(part);
            while let Some(line) = lines.next("get").map_err(|error| error.to_string())? {
                found.push(line);
            }
        }
        Ok(found)
    }

    #[test]
    fn lines_end_with_a_newline() {
        assert_eq!(all_lines(&[b"cmd=a\ncmd=b", b" rc=0\n", b"\ncm"]).unwrap(), ["cmd=a", "cmd=b rc=0", ""]);
    }

    #[test]
    fn a_line_that_is_too_long_or_not_ascii_is_an_error() {
        let long = vec![b'x'; REPLY_BYTES_MAX + 1];
        let expected =
            Err("the process manager's reply to \"get\" is not PMI-1: a line has more than 8192 bytes"
                .to_owned());
        assert_eq!(all_lines(&[&long]), expected);
        assert_eq!(all_lines(&[&long, b"\n"]), expected);
        assert!(all_lines(&[&long[..REPLY_BYTES_MAX], b"\n"]).is_ok());
        assert!(
            all_lines(&[b"cmd=\xff\n"]).unwrap_err().ends_with("the byte 255, which is no printable ASCII")
        );
    }

    proptest! {
        #[test]
        fn any_split_of_any_bytes_gives_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), b' '..=b'~'], 0..200),
            cut in 0..200_usize,
        ) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(all_lines(&[first, second]), all_lines(&[&bytes]));
        }
    }
}
