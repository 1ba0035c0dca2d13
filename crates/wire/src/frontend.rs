//! The client's messages: each function appends one complete message to a send buffer. Contents are not validated (the
//! server does that), and nothing is allocated if the buffer has enough capacity.
//!
//! Layouts: PostgreSQL manual, "Frontend/Backend Protocol", section "Message Formats".

/// Version 3.0, which all servers since 9.6 support.
pub const PROTOCOL_VERSION: u32 = 3 << 16;
/// Maximum length of a message, including its length word: the server allocates at most 1 GiB - 1 for one
/// (`PQ_LARGE_MESSAGE_LIMIT`), and ends the session of a client that announces more.
pub const MESSAGE_LENGTH_MAX: usize = 0x3fff_fffe;
/// Maximum number of parameters of a statement: their count is an unsigned 16-bit number.
pub const PARAMETERS_MAX: usize = u16::MAX as usize;
/// Maximum length of the StartupMessage; the server closes the connection of a longer one without a word
/// (`MAX_STARTUP_PACKET_LENGTH`).
pub const STARTUP_LENGTH_MAX: usize = 10_000;
/// Maximum length of a password in clear text, in a message of 65,535 bytes with its length word and final zero byte
/// (`PG_MAX_AUTH_TOKEN_LENGTH`).
pub const PASSWORD_LENGTH_MAX: usize = 65_535 - 5;
const CANCEL_REQUEST_CODE: u32 = (1234 << 16) | 5678;
const SSL_REQUEST_CODE: u32 = (1234 << 16) | 5679;

/// A message that the protocol or the server does not accept; the send buffer is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It exceeds its maximum length.
    #[error("the message is longer than the 1 GiB that a server accepts")]
    TooLong,
    /// It has more than [`PARAMETERS_MAX`] parameters.
    #[error("the statement has more than {PARAMETERS_MAX} parameters, the most that the protocol can carry")]
    TooManyParameters,
}

/// StartupMessage: the parameters in the given order, including `user`. Names and values must not contain a zero byte.
/// The caller compares its length with [`STARTUP_LENGTH_MAX`].
pub fn startup(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    let start = begin_untagged(out);
    out.extend_from_slice(&PROTOCOL_VERSION.to_be_bytes());
    for (name, value) in parameters {
        text(out, name.as_bytes());
        text(out, value.as_bytes());
    }
    out.push(0);
    end(out, start);
}

/// Query: one message of the simple query protocol, with one or more statements.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) -> Result<(), MessageError> {
    query_with(out, MESSAGE_LENGTH_MAX, |out| out.extend_from_slice(sql))
}

/// Query with its text written directly into the send buffer, so that substituted variables need no copy. An error if
/// the message is longer than `length_max`.
#[inline]
pub fn query_with(
    out: &mut Vec<u8>,
    length_max: usize,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), MessageError> {
    let start = begin(out, b'Q');
    write(out);
    out.push(0);
    end_up_to(out, start, length_max)
}

/// Parse: the server infers the parameters' types. The empty name is the unnamed statement.
pub fn parse(out: &mut Vec<u8>, name: &[u8], sql: &[u8]) -> Result<(), MessageError> {
    let start = begin(out, b'P');
    text(out, name);
    text(out, sql);
    out.extend_from_slice(&[0, 0]);
    end_up_to(out, start, MESSAGE_LENGTH_MAX)
}

/// Bind: starts the message; add the parameters in order, then call [`BindWriter::finish`]. Parameters and results are
/// in text format.
#[inline]
pub fn bind<'a>(out: &'a mut Vec<u8>, portal: &[u8], statement: &[u8]) -> BindWriter<'a> {
    let start = begin(out, b'B');
    text(out, portal);
    text(out, statement);
    let count_at = out.len() + 2;
    out.extend_from_slice(&[0; 4]);
    BindWriter { out, start, count_at, count: 0, length_max: MESSAGE_LENGTH_MAX, binary_results: false }
}

/// An incomplete Bind message. Without `finish` the buffer contains an invalid message.
#[must_use = "a Bind message is whole only after finish()"]
pub struct BindWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    count_at: usize,
    count: usize,
    length_max: usize,
    binary_results: bool,
}

impl BindWriter<'_> {
    /// Sets the maximum length of the message; the default is [`MESSAGE_LENGTH_MAX`].
    pub fn length_max(self, length_max: usize) -> Self {
        BindWriter { length_max: length_max.min(MESSAGE_LENGTH_MAX), ..self }
    }

    /// Requests all columns of the result in binary format; the default is text.
    pub fn binary_results(self, binary_results: bool) -> Self {
        BindWriter { binary_results, ..self }
    }

    /// One parameter in text format; `None` is NULL.
    pub fn parameter(&mut self, value: Option<&[u8]>) {
        self.parameter_with(|out| match value {
            Some(value) => {
                out.extend_from_slice(value);
                true
            }
            None => false,
        });
    }

    /// One parameter, written directly into the send buffer; `write` returns false for NULL. After the maximum length
    /// or number is exceeded, further parameters are ignored and `finish` returns the error.
    pub fn parameter_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let length_at = self.out.len();
        if length_at - self.start > self.length_max {
            return;
        }
        self.count += 1;
        if self.count > PARAMETERS_MAX {
            return;
        }
        self.out.extend_from_slice(&[0; 4]);
        let length = if write(self.out) {
            // A longer parameter exceeds the message's maximum length, so it is never sent.
            message_length(self.out.len() - length_at - 4, MESSAGE_LENGTH_MAX).unwrap_or(0)
        } else {
            self.out.truncate(length_at + 4);
            u32::MAX
        };
        self.out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Completes the message, or removes it.
    pub fn finish(self) -> Result<(), MessageError> {
        let Ok(count) = u16::try_from(self.count) else {
            self.out.truncate(self.start - 1);
            return Err(MessageError::TooManyParameters);
        };
        self.out[self.count_at..self.count_at + 2].copy_from_slice(&count.to_be_bytes());
        // The number of format codes, and one for all columns.
        self.out.extend_from_slice(if self.binary_results { &[0, 1, 0, 1] } else { &[0, 0] });
        end_up_to(self.out, self.start, self.length_max)
    }
}

/// Describe, for a portal.
pub fn describe_portal(out: &mut Vec<u8>, portal: &[u8]) {
    named(out, b'D', b'P', portal);
}

/// Describe, for a prepared statement.
pub fn describe_statement(out: &mut Vec<u8>, statement: &[u8]) {
    named(out, b'D', b'S', statement);
}

/// Execute, without a row limit.
pub fn execute(out: &mut Vec<u8>, portal: &[u8]) {
    let start = begin(out, b'E');
    text(out, portal);
    out.extend_from_slice(&[0; 4]);
    end(out, start);
}

/// Describe and [`execute`] for the unnamed portal, the most frequent case.
#[inline]
pub fn describe_and_execute(out: &mut Vec<u8>) {
    out.extend_from_slice(b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0");
}

/// Close, for a portal.
pub fn close_portal(out: &mut Vec<u8>, portal: &[u8]) {
    named(out, b'C', b'P', portal);
}

/// Close, for a prepared statement.
pub fn close_statement(out: &mut Vec<u8>, statement: &[u8]) {
    named(out, b'C', b'S', statement);
}

/// Sync: ends a sequence of extended query messages; the server replies with ReadyForQuery.
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'S', 0, 0, 0, 4]);
}

/// Flush: requests the pending replies without ending the sequence.
pub fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'H', 0, 0, 0, 4]);
}

/// Terminate.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'X', 0, 0, 0, 4]);
}

/// PasswordMessage: clear text, or an MD5 hash as text.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    let start = begin(out, b'p');
    text(out, password);
    end(out, start);
}

/// SASLInitialResponse.
pub fn sasl_initial_response(out: &mut Vec<u8>, mechanism: &[u8], data: &[u8]) {
    let start = begin(out, b'p');
    text(out, mechanism);
    // Far below the limit: a reply to a message of at most 1 MiB.
    out.extend_from_slice(&message_length(data.len(), MESSAGE_LENGTH_MAX).unwrap_or(0).to_be_bytes());
    out.extend_from_slice(data);
    end(out, start);
}

/// SASLResponse.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    let start = begin(out, b'p');
    out.extend_from_slice(data);
    end(out, start);
}

/// CopyData: any number of bytes of the stream, not necessarily complete rows.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    let start = begin(out, b'd');
    out.extend_from_slice(data);
    end(out, start);
}

/// CopyData with bytes written directly into the send buffer. Without bytes, and after an error of `write`, the buffer is
/// unchanged; an error if the message is longer than `length_max`.
pub fn copy_data_with<T, E: From<MessageError>>(
    out: &mut Vec<u8>,
    length_max: usize,
    write: impl FnOnce(&mut Vec<u8>) -> Result<T, E>,
) -> Result<T, E> {
    let start = begin(out, b'd');
    let written = write(out);
    if written.is_err() || out.len() == start + 4 {
        out.truncate(start - 1);
    } else {
        end_up_to(out, start, length_max)?;
    }
    written
}

/// CopyDone.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'c', 0, 0, 0, 4]);
}

/// CopyFail, with a reason that becomes part of the server's error message.
pub fn copy_fail(out: &mut Vec<u8>, reason: &[u8]) {
    let start = begin(out, b'f');
    text(out, reason);
    end(out, start);
}

/// CancelRequest: the only message of a separate connection.
pub fn cancel_request(out: &mut Vec<u8>, process_id: u32, secret_key: &[u8]) {
    let start = begin_untagged(out);
    out.extend_from_slice(&CANCEL_REQUEST_CODE.to_be_bytes());
    out.extend_from_slice(&process_id.to_be_bytes());
    out.extend_from_slice(secret_key);
    end(out, start);
}

/// SSLRequest: the server replies with the single byte `S` or `N`, not with a message.
pub fn ssl_request(out: &mut Vec<u8>) {
    let start = begin_untagged(out);
    out.extend_from_slice(&SSL_REQUEST_CODE.to_be_bytes());
    end(out, start);
}

/// Writes the type byte and space for the length; returns the position of the length.
fn begin(out: &mut Vec<u8>, tag: u8) -> usize {
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    out.len() - 4
}

/// As [`begin`], for messages without a type byte.
fn begin_untagged(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

/// Writes the length, which includes itself but not the type byte, of a message with short parts: names, passwords,
/// parameters, pieces of a COPY.
fn end(out: &mut [u8], start: usize) {
    let length = message_length(out.len() - start, MESSAGE_LENGTH_MAX);
    let length = length.expect("a message of short parts is shorter than 1 GiB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// As [`end`], for a message with the user's text: removes a message that is too long, including its type byte.
#[inline]
fn end_up_to(out: &mut Vec<u8>, start: usize, length_max: usize) -> Result<(), MessageError> {
    match message_length(out.len() - start, length_max) {
        Ok(length) => out[start..start + 4].copy_from_slice(&length.to_be_bytes()),
        Err(error) => {
            out.truncate(start - 1);
            // Releases a buffer of gigabytes.
            out.shrink_to_fit();
            return Err(error);
        }
    }
    Ok(())
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

fn named(out: &mut Vec<u8>, tag: u8, kind: u8, name: &[u8]) {
    let start = begin(out, tag);
    out.push(kind);
    text(out, name);
    end(out, start);
}

/// A length as encoded in the protocol, if it is within the limit.
#[inline]
fn message_length(length: usize, length_max: usize) -> Result<u32, MessageError> {
    let fitting = i32::try_from(length).ok().filter(|_| length <= length_max.min(MESSAGE_LENGTH_MAX));
    fitting.map(i32::cast_unsigned).ok_or(MessageError::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_text_or_all_binary() {
        let bind = |is_binary| {
            let mut out = Vec::new();
            bind(&mut out, b"", b"s").binary_results(is_binary).finish().expect("a short message");
            out
        };
        assert_eq!(bind(false), b"B\0\0\0\x0d\0s\0\0\0\0\0\0\0");
        assert_eq!(bind(true), b"B\0\0\0\x0f\0s\0\0\0\0\0\0\x01\0\x01");
    }

    #[test]
    fn a_length_is_at_most_what_the_server_accepts() {
        let check = |length, expected| {
            assert_eq!(message_length(length, MESSAGE_LENGTH_MAX), expected);
            assert_eq!(message_length(length, usize::MAX), expected);
        };
        check(4, Ok(4));
        check(0x3fff_fffe, Ok(0x3fff_fffe));
        check(0x3fff_ffff, Err(MessageError::TooLong));
        check(0x8000_0000, Err(MessageError::TooLong));
        check(usize::MAX, Err(MessageError::TooLong));
    }

    #[test]
    fn a_statement_has_at_most_65535_parameters_and_one_more_is_an_error() {
        for (count, expected) in [
            (65_535, Ok(())),
            (65_536, Err(MessageError::TooManyParameters)),
            (70_000, Err(MessageError::TooManyParameters)),
        ] {
            let mut out = b"before".to_vec();
            let mut message = bind(&mut out, b"", b"");
            (0..count).for_each(|_| message.parameter(Some(b"1")));
            assert_eq!(message.finish(), expected, "{count}");
            if expected.is_ok() {
                assert_eq!(out[15..17], [0xff, 0xff], "the number of parameters");
            } else {
                assert_eq!(out, b"before");
            }
        }
    }

    #[test]
    fn a_copy_of_more_than_the_maximum_is_an_error_and_not_sent() {
        let mut out = b"before".to_vec();
        let mut copy = |length_max| {
            copy_data_with(&mut out, length_max, |out| {
                out.extend_from_slice(&[b'x'; 100]);
                Ok::<(), MessageError>(())
            })
        };
        assert_eq!(copy(103), Err(MessageError::TooLong));
        assert_eq!(copy(104), Ok(()));
        assert_eq!(out.len(), 6 + 1 + 104);
    }

    #[test]
    fn a_message_of_the_greatest_length_is_written_and_a_longer_one_is_taken_back() {
        let mut out = b"before".to_vec();
        // Length word, text and zero byte.
        query_with(&mut out, 15, |out| out.extend_from_slice(b"0123456789")).unwrap();
        assert_eq!(out, b"beforeQ\0\0\0\x0f0123456789\0");
        let whole = out.clone();
        let refused = query_with(&mut out, 14, |out| out.extend_from_slice(b"0123456789"));
        assert_eq!((refused, &out), (Err(MessageError::TooLong), &whole));
        let mut written = 0;
        let mut parameters = bind(&mut out, b"", b"").length_max(100);
        for _ in 0..10 {
            parameters.parameter_with(|out| {
                written += 1;
                out.extend_from_slice(&[b'x'; 40]);
                true
            });
        }
        assert_eq!((parameters.finish(), out), (Err(MessageError::TooLong), whole));
        assert_eq!(written, 3, "what comes after the limit is not written");
    }
}
