//! A query as bytes, and a server's answer as messages, without a socket:
//! `cargo run -p pgmeter-wire --example query`.
#![allow(clippy::print_stdout, reason = "its output")]

use pgmeter_wire::{Decoder, Message, ProtocolError, frontend};

/// What a server answers to the query: the columns, one row, the end of the command, and that it waits for the next one.
const ANSWER: &[u8] =
    b"T\0\0\0\x1f\0\x01answer\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0D\0\0\0\x0c\0\x01\0\0\0\x0242\
    C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

fn main() -> Result<(), ProtocolError> {
    let mut out = Vec::new();
    if frontend::query(&mut out, b"SELECT 42 AS answer").is_ok() {
        println!("{} bytes to send: {}", out.len(), out.escape_ascii());
    }
    let mut decoder = Decoder::new();
    decoder.keep_rows(true);
    // The bytes may come in pieces of any size.
    for piece in ANSWER.chunks(7) {
        decoder.decode(piece, &mut |message| match message {
            Message::DataRow(row) => {
                let values = row.columns().map(|value| value.ok().flatten().unwrap_or(b"NULL"));
                let values: Vec<_> = values.map(String::from_utf8_lossy).collect();
                println!("row: {}", values.join(", "));
            }
            other => println!("{}", other.name()),
        })?;
    }
    Ok(())
}
