//! Answers to a ClientHello: any bytes are an answer, an error, or need more; certificates in them are described. A prefix
//! never has another answer than the whole.

use std::io;

use tls_scan::CertificateFacts;
use tls_scan::answer::{Reply, read};

use super::digest::Digest;
use super::{Attempt, SHORT, Target, allowance};

pub const TARGET: Target = Target {
    name: "tls_answers",
    words: &[
        // Heads of records and messages, ends of a flight, an alert, extensions.
        b"\x16\x03\x03\x00\x40",
        b"\x16\x03\x01\xff\xff",
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"\x15\x03\x03\x00\x02\x01\x70",
        b"\x02\x00\x00\x26\x03\x03",
        b"\x0b\x00\x00\x07",
        b"\x0c\x00\x00\x04\x03\x00\x17\x00",
        b"\x0e\x00\x00\x00",
        b"\x00\x2b\x00\x02\x03\x04",
        b"\x00\x33\x00\x02\x00\x1d",
        b"\x00\x10\x00\x0d\x00\x0b\x0apostgresql",
        b"\xff\x01\x00\x01\x00",
        b"\xff\xff\xff",
    ],
    generate: None,
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(1024, 64, input),
    prepare,
};

fn prepare() -> io::Result<Attempt> {
    Ok(Box::new(attempt))
}

/// The most places where an input is cut.
const CUT_COUNT_MAX: usize = 16;

fn attempt(input: &[u8]) -> Result<u64, String> {
    let whole = read(input);
    let step = input.len() / CUT_COUNT_MAX + 1;
    for length in (0..input.len()).step_by(step) {
        let part = read(&input[..length]);
        if part != Ok(None) && part != whole {
            return Err(format!("{length} bytes are {part:?}, all bytes are {whole:?}"));
        }
    }
    let mut outcome = Digest::new();
    match whole {
        Ok(Some(Reply::Hello(flight))) => {
            let described =
                flight.certificates.iter().map(|der| CertificateFacts::new(der).contents.is_some());
            outcome.debug(&(flight.version, described.collect::<Vec<_>>(), &flight.key_exchange));
        }
        other => outcome.debug(&other),
    }
    Ok(outcome.value())
}
