//! The messages of a server: any bytes are messages or an error, the same ones whatever their split. Everything in a
//! message can be read, and the values of rows can be parsed. The seeds are messages of real servers.

use script::Random;
use wire::backend::RowParser;
use wire::{Decoder, Message, ProtocolError, ServerError};

use super::digest::{Digest, kind};
use super::{Attempt, SHORT, Target, allowance, frames};
use crate::corpus::below;

pub const TARGET: Target = Target {
    name: "server",
    words: &[
        b"R\0\0\0\x08\0\0\0\0",
        b"S\0\0\0\x0aa\0b\0\0\0",
        b"K\0\0\0\x0c\0\0\0\x01\0\0\0\x02",
        b"Z\0\0\0\x05I",
        b"Z\0\0\0\x05T",
        b"Z\0\0\0\x05E",
        b"C\0\0\0\x0dUPDATE 1\0",
        b"C\0\0\0\x0fINSERT 0 1\0",
        b"C",
        b"D\0\0\0\x0b\0\x01\0\0\0\x011",
        b"D\0\0\0\x0a\0\x01\xff\xff\xff\xff",
        b"D",
        b"T\0\0\0\x1b\0\x01id\0\0\0\0\x07\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0",
        b"T",
        b"E\0\0\0\x10SERROR\0C40001\0\0",
        b"E",
        b"N",
        b"1\0\0\0\x04",
        b"2\0\0\0\x04",
        b"3\0\0\0\x04",
        b"n\0\0\0\x04",
        b"s\0\0\0\x04",
        b"I\0\0\0\x04",
        b"c\0\0\0\x04",
        b"t\0\0\0\x0a\0\x01\0\0\0\x17",
        b"G\0\0\0\x09\0\0\x01\0\0",
        b"H\0\0\0\x07\0\0\0",
        b"W\0\0\0\x07\0\0\0",
        b"d\0\0\0\x08abc\n",
        b"A\0\0\0\x0c\0\0\0\x01a\0b\0",
        b"V\0\0\0\x04",
        b"v\0\0\0\x0c\0\x03\0\0\0\0\0\0",
        b"\0\0\0\x04",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"Mmessage\0",
        b"Ddetail\0",
        b"P12\0",
        b"HTTP/1.1 400",
        b"E could not fork",
        b"\0",
    ],
    generate: Some(|random, out| frames::write(random, out, TAGS, PARTS)),
    reshape: None,
    length_max: SHORT,
    short_round_divisor: 1,
    memory: |input| allowance(64, 4, input),
    prepare: || Ok(Box::new(attempt) as Attempt),
};

/// Of every message; the ones with more inside come more often.
const TAGS: &[u8] = b"RSKZCCDDDTTTEEENNtGHWAvVdc123nsI";

const PARTS: &[&[u8]] = &[
    b"\0",
    b"id\0",
    b"UPDATE 1\0",
    b"INSERT 0 18446744073709551615\0",
    b"SELECT 99999999999999999999\0",
    b"SERROR\0",
    b"C40001\0",
    b"C4000\0",
    b"Mmessage\0",
    b"P2147483648\0",
    b"I",
    b"T",
    b"value",
    b"\0\0\0\x05{1,2}",
    b"\0\0\0\x07(\"\"\"\")",
    b"\0\0\0\x05[{}]1",
    b"\0\0\0\x01\0\0\0\0\0\0\0\x17\0\0\0\x01\0\0\0\x01",
    b"\xff\xfe",
    b"\xc3\xa9\0",
];

fn attempt(input: &[u8]) -> Result<u64, String> {
    let mut kinds = Digest::new();
    for keeps_rows in [false, true] {
        let whole = decode(keeps_rows, [input], &mut kinds);
        let mut unused = Digest::new();
        if decode(keeps_rows, input.chunks(1), &mut unused) != whole {
            return Err("one byte at a time gives other messages".to_owned());
        }
        // The places of the cuts depend on the input alone, so that it fails again by itself.
        let mut random = Random::from_seed(input.iter().map(|&byte| u64::from(byte)).sum());
        if decode(keeps_rows, pieces(input, &mut random), &mut unused) != whole {
            return Err("another split gives other messages".to_owned());
        }
    }
    Ok(kinds.value())
}

/// Cuts anywhere; the length of a piece is now short, now long.
fn pieces<'a>(input: &'a [u8], random: &mut Random) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = input;
    std::iter::from_fn(move || {
        let length_max = [4, 64, 4096][below(random, 3)];
        let (piece, after) = rest.split_at((1 + below(random, length_max)).min(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// What came out: everything in the messages, their number, and how it ended.
type Decoded = (Digest, usize, Result<(), ProtocolError>);

fn decode<'a>(keeps_rows: bool, pieces: impl IntoIterator<Item = &'a [u8]>, kinds: &mut Digest) -> Decoded {
    let mut decoder = Decoder::new();
    decoder.keep_rows(keeps_rows);
    let (mut content, mut count) = (Digest::new(), 0);
    // As with --parse-results.
    let mut parser = keeps_rows.then(RowParser::default);
    for piece in pieces {
        let mut sink = |message: Message<'_>| {
            if count < 4 {
                kinds.show(&message.name());
            }
            count += 1;
            if let Some(parser) = &mut parser {
                content.debug(&parser.take(&message).map_err(|error| kind(&error)));
                content.debug(&parser.row());
            }
            read(message, &mut content);
        };
        if let Err(error) = decoder.decode(piece, &mut sink) {
            kinds.debug(&kind(&error));
            if decoder.decode(b"", &mut |_| ()).is_ok() {
                content.show(&"an error was forgotten");
            }
            return (content, count, Err(error));
        }
    }
    content.debug(&decoder.is_between_messages());
    (content, count, Ok(()))
}

/// Reads everything that a message has.
fn read(message: Message<'_>, content: &mut Digest) {
    match message {
        Message::DataRow(row) => {
            content.debug(&row);
            row.columns().for_each(|column| content.debug(&column));
        }
        Message::RowDescription(columns) => columns.names().for_each(|name| content.debug(&name)),
        Message::ErrorResponse(fields) | Message::NoticeResponse(fields) => {
            fields.iter().for_each(|field| content.debug(&field));
            content.show(&ServerError::from(fields));
        }
        Message::CommandComplete(tag) => content.debug(&(tag, tag.rows())),
        other => content.debug(&other),
    }
}
