//! Cost of the protocol per transaction: encoding the messages of a prepared statement and decoding the replies. A
//! benchmark, not a test: `cargo bench --package pgmeter-wire`.

#[path = "../../../benchmarks/timing.rs"]
mod timing;

use std::hint::black_box;

use pgmeter_wire::{Decoder, Message, frontend};

use timing::Timing;

/// BindComplete, RowDescription of one column, a DataRow, CommandComplete, ReadyForQuery.
const ANSWER: &[u8] =
    b"2\0\0\0\x04T\0\0\0\x21\0\x01abalance\0\0\0\x40\0\0\x03\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0\
    D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";

fn main() {
    let mut timing = Timing::new("codec");
    let mut out = Vec::new();
    timing.piece("write Bind, Describe, Execute, Sync", 1, || {
        out.clear();
        let mut bind = frontend::bind(&mut out, b"", black_box(b"P_0"));
        bind.parameter(Some(black_box(b"12345")));
        bind.finish().expect("a short message");
        frontend::describe_and_execute(&mut out);
        frontend::sync(&mut out);
        out.len()
    });
    let mut decoder = Decoder::new();
    let mut seen = 0_u64;
    let mut count = |message: Message<'_>| seen += u64::from(!message.name().is_empty());
    timing.piece("read an answer, all messages", 1, || decoder.decode(black_box(ANSWER), &mut count));
    timing.piece("read an answer, its outcome", 1, || decoder.decode_outcomes(black_box(ANSWER), &mut count));
    let (first, second) = ANSWER.split_at(ANSWER.len() / 2);
    timing.piece("read an answer in two pieces", 1, || {
        for piece in [first, second] {
            decoder.decode(black_box(piece), &mut count).expect("an answer");
        }
    });
}
