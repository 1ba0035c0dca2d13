//! The server's messages: each function appends a complete message, each constant is one. The counterpart of
//! `wire::frontend`, independent of `wire::backend` so that it does not repeat errors of the decoder.
//!
//! Layouts: PostgreSQL manual, "Frontend/Backend Protocol", section "Message Formats".

/// Code of AuthenticationOk.
pub const AUTHENTICATION_OK: u32 = 0;
/// Code of AuthenticationCleartextPassword.
pub const CLEARTEXT_PASSWORD: u32 = 3;
/// Code of AuthenticationGSS.
pub const GSSAPI: u32 = 7;
/// The complete message.
pub const PARSE_COMPLETE: &[u8] = b"1\0\0\0\x04";
/// The complete message.
pub const BIND_COMPLETE: &[u8] = b"2\0\0\0\x04";
/// The complete message.
pub const CLOSE_COMPLETE: &[u8] = b"3\0\0\0\x04";
/// The complete message.
pub const NO_DATA: &[u8] = b"n\0\0\0\x04";
/// The complete message.
pub const EMPTY_QUERY_RESPONSE: &[u8] = b"I\0\0\0\x04";
/// The complete message: text format, one column.
pub const COPY_IN_RESPONSE: &[u8] = b"G\0\0\0\x09\0\0\x01\0\0";
/// The complete message.
pub const COPY_DONE: &[u8] = b"c\0\0\0\x04";
/// Type OID of text.
const TEXT_OID: u32 = 25;

/// A message: type byte, length, and the output of `body`.
pub fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    let start = out.len() - 4;
    body(out);
    let length = u32::try_from(out.len() - start).expect("a test's message is shorter than 4 GiB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Authentication, for a method without further data.
pub fn authentication(out: &mut Vec<u8>, method: u32) {
    message(out, b'R', |out| out.extend_from_slice(&method.to_be_bytes()));
}

/// ParameterStatus.
pub fn parameter_status(out: &mut Vec<u8>, name: &str, value: &str) {
    message(out, b'S', |out| {
        text(out, name.as_bytes());
        text(out, value.as_bytes());
    });
}

/// BackendKeyData, with a key of four bytes.
pub fn backend_key_data(out: &mut Vec<u8>, process_id: u32, secret_key: u32) {
    message(out, b'K', |out| {
        out.extend_from_slice(&process_id.to_be_bytes());
        out.extend_from_slice(&secret_key.to_be_bytes());
    });
}

/// ReadyForQuery; the status is `I`, `T` or `E`.
pub fn ready_for_query(out: &mut Vec<u8>, status: u8) {
    out.extend_from_slice(&[b'Z', 0, 0, 0, 5, status]);
}

/// CommandComplete.
pub fn command_complete(out: &mut Vec<u8>, tag: &[u8]) {
    message(out, b'C', |out| text(out, tag));
}

/// CopyInResponse: text format, this number of columns.
pub fn copy_in_response(out: &mut Vec<u8>, columns: u16) {
    message(out, b'G', |out| copy_form(out, columns));
}

/// CopyOutResponse: text format, one column.
pub fn copy_out_response(out: &mut Vec<u8>) {
    message(out, b'H', |out| copy_form(out, 1));
}

fn copy_form(out: &mut Vec<u8>, columns: u16) {
    out.push(0);
    out.extend_from_slice(&columns.to_be_bytes());
    (0..columns).for_each(|_| out.extend_from_slice(&[0, 0]));
}

/// ErrorResponse.
pub fn error(out: &mut Vec<u8>, severity: &str, sqlstate: &str, sentence: &str) {
    message(out, b'E', |out| report(out, severity, sqlstate, sentence));
}

/// NoticeResponse.
pub fn notice(out: &mut Vec<u8>, severity: &str, sqlstate: &str, sentence: &str) {
    message(out, b'N', |out| report(out, severity, sqlstate, sentence));
}

/// RowDescription of columns of text.
pub fn row_description(out: &mut Vec<u8>, names: &[&str]) {
    message(out, b'T', |out| {
        count(out, names.len());
        for name in names {
            text(out, name.as_bytes());
            out.extend_from_slice(&0_u32.to_be_bytes());
            out.extend_from_slice(&0_u16.to_be_bytes());
            out.extend_from_slice(&TEXT_OID.to_be_bytes());
            out.extend_from_slice(&(-1_i16).to_be_bytes());
            out.extend_from_slice(&(-1_i32).to_be_bytes());
            out.extend_from_slice(&0_u16.to_be_bytes());
        }
    });
}

/// DataRow; `None` is NULL.
pub fn data_row(out: &mut Vec<u8>, values: &[Option<&str>]) {
    message(out, b'D', |out| {
        count(out, values.len());
        for value in values {
            let Some(value) = value else {
                out.extend_from_slice(&u32::MAX.to_be_bytes());
                continue;
            };
            let length = u32::try_from(value.len()).expect("a test's value is shorter than 4 GiB");
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(value.as_bytes());
        }
    });
}

/// ParameterDescription for this number of text parameters.
pub fn parameter_description(out: &mut Vec<u8>, parameters: usize) {
    message(out, b't', |out| {
        let count = u16::try_from(parameters).expect("a statement has at most 65,535 parameters");
        out.extend_from_slice(&count.to_be_bytes());
        for _ in 0..parameters {
            out.extend_from_slice(&TEXT_OID.to_be_bytes());
        }
    });
}

/// The fields of all errors and notices.
fn report(out: &mut Vec<u8>, severity: &str, sqlstate: &str, sentence: &str) {
    for (letter, value) in [(b'S', severity), (b'V', severity), (b'C', sqlstate), (b'M', sentence)] {
        out.push(letter);
        text(out, value.as_bytes());
    }
    out.push(0);
}

fn count(out: &mut Vec<u8>, count: usize) {
    let count = u16::try_from(count).expect("a result has at most 1,600 columns");
    out.extend_from_slice(&count.to_be_bytes());
}

fn text(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}
