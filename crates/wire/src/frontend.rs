//! What the client says: each function appends one whole message to a send buffer.
//! No message is checked for sense (the server does that) and nothing is allocated once the buffer has grown.
//! Called by the engine's clients, by `Startup` and by control sessions.
//!
//! Layouts: PostgreSQL manual, "Frontend/Backend Protocol", section "Message Formats".

/// Version 3.0, which every server from 9.6 on speaks.
pub const PROTOCOL_VERSION: u32 = 3 << 16;
const CANCEL_REQUEST_CODE: u32 = (1234 << 16) | 5678;
const SSL_REQUEST_CODE: u32 = (1234 << 16) | 5679;

/// StartupMessage: the parameters in the order given, `user` among them. Names and values hold no zero byte.
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

/// Query: one message of the simple protocol; may hold several statements.
pub fn query(out: &mut Vec<u8>, sql: &[u8]) {
    query_with(out, |out| out.extend_from_slice(sql));
}

/// Query, its text written straight into the send buffer (substituted variables need no copy of their own).
pub fn query_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = begin(out, b'Q');
    write(out);
    out.push(0);
    end(out, start);
}

/// Parse: a statement with its parameters' types left to the server. The empty name is the unnamed statement.
pub fn parse(out: &mut Vec<u8>, name: &[u8], sql: &[u8]) {
    let start = begin(out, b'P');
    text(out, name);
    text(out, sql);
    out.extend_from_slice(&[0, 0]);
    end(out, start);
}

/// Bind: begins the message; add the parameters in order, then call [`BindWriter::finish`].
/// Parameters and results are in text form.
#[inline]
pub fn bind<'a>(out: &'a mut Vec<u8>, portal: &[u8], statement: &[u8]) -> BindWriter<'a> {
    let start = begin(out, b'B');
    text(out, portal);
    text(out, statement);
    let count_at = out.len() + 2;
    out.extend_from_slice(&[0; 4]);
    BindWriter { out, start, count_at, count: 0 }
}

/// A Bind message in the making. Without `finish` the buffer holds a broken message.
#[must_use = "a Bind message is whole only after finish()"]
pub struct BindWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    count_at: usize,
    count: u16,
}

impl BindWriter<'_> {
    /// One parameter in text form; `None` is SQL's NULL.
    pub fn parameter(&mut self, value: Option<&[u8]>) {
        self.parameter_with(|out| match value {
            Some(value) => {
                out.extend_from_slice(value);
                true
            }
            None => false,
        });
    }

    /// One parameter, its text written straight into the send buffer; `write` returns false for SQL's NULL.
    pub fn parameter_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let length_at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        let length = if write(self.out) {
            message_length(self.out.len() - length_at - 4)
        } else {
            self.out.truncate(length_at + 4);
            u32::MAX
        };
        self.out[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
        self.count = self.count.checked_add(1).expect("a statement has at most 65,535 parameters");
    }

    /// Completes the message.
    pub fn finish(self) {
        self.out[self.count_at..self.count_at + 2].copy_from_slice(&self.count.to_be_bytes());
        self.out.extend_from_slice(&[0, 0]);
        end(self.out, self.start);
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

/// Execute, all rows at once.
pub fn execute(out: &mut Vec<u8>, portal: &[u8]) {
    let start = begin(out, b'E');
    text(out, portal);
    out.extend_from_slice(&[0; 4]);
    end(out, start);
}

/// Describe and [`execute`] for the unnamed portal, which is what nearly every execution is.
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

/// Sync: ends a series of extended messages; the server answers with ReadyForQuery.
pub fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'S', 0, 0, 0, 4]);
}

/// Flush: asks for the answers so far without ending the series.
pub fn flush(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'H', 0, 0, 0, 4]);
}

/// Terminate: goodbye.
pub fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'X', 0, 0, 0, 4]);
}

/// PasswordMessage: clear text, or the text of an MD5 answer.
pub fn password(out: &mut Vec<u8>, password: &[u8]) {
    let start = begin(out, b'p');
    text(out, password);
    end(out, start);
}

/// SASLInitialResponse.
pub fn sasl_initial_response(out: &mut Vec<u8>, mechanism: &[u8], data: &[u8]) {
    let start = begin(out, b'p');
    text(out, mechanism);
    out.extend_from_slice(&message_length(data.len()).to_be_bytes());
    out.extend_from_slice(data);
    end(out, start);
}

/// SASLResponse.
pub fn sasl_response(out: &mut Vec<u8>, data: &[u8]) {
    let start = begin(out, b'p');
    out.extend_from_slice(data);
    end(out, start);
}

/// CopyData: any number of bytes of the stream, not necessarily whole rows.
pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    let start = begin(out, b'd');
    out.extend_from_slice(data);
    end(out, start);
}

/// CopyDone.
pub fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'c', 0, 0, 0, 4]);
}

/// CopyFail, with the reason that the server puts into its error message.
pub fn copy_fail(out: &mut Vec<u8>, reason: &[u8]) {
    let start = begin(out, b'f');
    text(out, reason);
    end(out, start);
}

/// CancelRequest: the only message on a connection of its own.
pub fn cancel_request(out: &mut Vec<u8>, process_id: u32, secret_key: &[u8]) {
    let start = begin_untagged(out);
    out.extend_from_slice(&CANCEL_REQUEST_CODE.to_be_bytes());
    out.extend_from_slice(&process_id.to_be_bytes());
    out.extend_from_slice(secret_key);
    end(out, start);
}

/// SSLRequest: the server answers with the single byte `S` or `N`, which is no message.
pub fn ssl_request(out: &mut Vec<u8>) {
    let start = begin_untagged(out);
    out.extend_from_slice(&SSL_REQUEST_CODE.to_be_bytes());
    end(out, start);
}

/// Writes type byte and room for the length; returns where the length stands.
fn begin(out: &mut Vec<u8>, tag: u8) -> usize {
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    out.len() - 4
}

/// As [`begin`], for the messages that have no type byte.
fn begin_untagged(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

/// Writes the length, which counts itself but not the type byte.
fn end(out: &mut [u8], start: usize) {
    let length = message_length(out.len() - start);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
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

/// Lengths are signed in the protocol. Scripts are read from files far below this, so a longer one is our error.
fn message_length(length: usize) -> u32 {
    i32::try_from(length).expect("a message is shorter than 2 GiB").cast_unsigned()
}
