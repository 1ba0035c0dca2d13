//! Properties of the decoder: any split of the bytes gives the same messages, any bytes give messages or an error, and
//! skipped bodies are not stored. The server's messages are written by hand.

use pgmeter_wire as wire;
use proptest::prelude::*;
use wire::backend::{Authentication, DataRow, RowDescription};
use wire::{Decoder, Message, ProtocolError, SqlState, TransactionStatus};

const TAGS: &[u8] = b"RSKZCDdTENtGHWAvV123nsIc";

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], &length.to_be_bytes()[..], body].concat()
}

/// All parts of a message, including those read on demand, as comparable text.
fn describe(message: Message<'_>) -> String {
    match message {
        Message::DataRow(row) => format!("{row:?} {:?}", row.columns().collect::<Vec<_>>()),
        Message::RowDescription(columns) => format!("{:?}", columns.names().collect::<Vec<_>>()),
        Message::ErrorResponse(fields) => format!("{fields:?} {}", wire::ServerError::from(fields)),
        other => format!("{other:?}"),
    }
}

/// Decodes the pieces in order.
fn decode<'a>(
    keep_rows: bool,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<String>, Result<(), ProtocolError>) {
    let mut decoder = Decoder::new();
    decoder.keep_rows(keep_rows);
    let mut found = Vec::new();
    for piece in pieces {
        if let Err(error) = decoder.decode(piece, &mut |message| found.push(describe(message))) {
            return (found, Err(error));
        }
    }
    (found, Ok(()))
}

/// A message with a body that may or may not match its tag.
fn any_message() -> impl Strategy<Value = Vec<u8>> {
    let plausible = prop_oneof![
        Just(message(b'Z', b"I")),
        Just(message(b'2', b"")),
        Just(message(b'C', b"UPDATE 1\0")),
        Just(message(b'E', b"SERROR\0C40001\0Mcould not serialize\0\0")),
        Just(message(b'T', b"\0\x01id\0\0\0\0\x07\0\x01\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0")),
        Just(message(b'K', b"\0\0\0\x01\0\0\0\x02")),
        Just(message(b't', b"\0\x01\0\0\0\x17")),
        Just(message(b'A', b"\0\0\0\x01channel\0payload\0")),
        Just(message(b'G', b"\0\0\x01\0\0")),
        Just(message(b'H', b"\x01\0\x02\0\x01\0\x01")),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|value| {
            let length = u32::try_from(value.len()).unwrap().to_be_bytes();
            message(b'D', &[&[0, 1], &length[..], &value].concat())
        }),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(|data| message(b'd', &data)),
    ];
    let arbitrary = (proptest::sample::select(TAGS), proptest::collection::vec(any::<u8>(), 0..12))
        .prop_map(|(tag, body)| message(tag, &body));
    prop_oneof![8 => plausible, 1 => arbitrary]
}

#[test]
fn the_form_of_a_copy_is_read() {
    for (body, expected) in [
        (&b"\0\0\x02\0\0\0\0"[..], "CopyInResponse(CopyForm { is_binary: false, columns: 2 })"),
        (b"\x01\0\x01\0\x01", "CopyInResponse(CopyForm { is_binary: true, columns: 1 })"),
        (b"\0\0\0", "CopyInResponse(CopyForm { is_binary: false, columns: 0 })"),
    ] {
        assert_eq!(decode(false, [&message(b'G', body)[..]]), (vec![expected.to_owned()], Ok(())));
    }
    for body in [&b""[..], b"\0\0\x02\0\0", b"\0\0\x01\0\0\0"] {
        let malformed = Err(ProtocolError::Malformed { message: "CopyInResponse" });
        assert_eq!(decode(false, [&message(b'G', body)[..]]), (vec![], malformed));
    }
}

/// Splits the bytes at the given places.
fn split<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn any_split_decodes_the_same(
        messages in proptest::collection::vec(any_message(), 0..12),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        keep_rows in any::<bool>(),
    ) {
        let bytes = messages.concat();
        let whole = decode(keep_rows, [bytes.as_slice()]);
        prop_assert_eq!(&decode(keep_rows, split(&bytes, &cuts)), &whole);
        prop_assert_eq!(&decode(keep_rows, bytes.chunks(1)), &whole);
    }

    #[test]
    fn what_says_nothing_of_an_outcome_is_left_out_and_nothing_else(
        messages in proptest::collection::vec(any_message(), 0..12),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        keep_rows in any::<bool>(),
    ) {
        let bytes = messages.concat();
        let (mut all, mut outcomes, mut end, mut decoder) = (Vec::new(), Vec::new(), Ok(()), Decoder::new());
        decoder.keep_rows(keep_rows);
        for piece in split(&bytes, &cuts) {
            end = end.and_then(|()| decoder.decode_outcomes(piece, &mut |message| outcomes.push(describe(message))));
        }
        let mut decoder = Decoder::new();
        decoder.keep_rows(keep_rows);
        let wanted = |message: &Message<'_>| {
            use Message::{BindComplete, DataRow, NoData, RowDescription};
            keep_rows || !matches!(message, BindComplete | NoData | DataRow(_) | RowDescription(_))
        };
        let expected_end = decoder.decode(&bytes, &mut |message| {
            if wanted(&message) {
                all.push(describe(message));
            }
        });
        prop_assert_eq!((outcomes, end), (all, expected_end));
    }

    #[test]
    fn any_bytes_are_messages_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        keep_rows in any::<bool>(),
    ) {
        prop_assert_eq!(decode(keep_rows, [bytes.as_slice()]), decode(keep_rows, bytes.chunks(1)));
    }

    #[test]
    fn any_body_under_any_tag_is_a_message_or_an_error(
        tag in proptest::sample::select(TAGS),
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let (found, end) = decode(true, [message(tag, &body).as_slice()]);
        prop_assert_eq!(found.len(), usize::from(end.is_ok()));
    }
}

#[test]
fn messages_come_out_as_the_server_put_them_in() {
    let bytes = [
        message(b'2', b""),
        message(b'D', b"\0\x01\0\0\0\x011"),
        message(b'C', b"SELECT 1\0"),
        message(b'Z', b"T"),
    ]
    .concat();
    let mut seen = 0;
    let mut decoder = Decoder::new();
    let end = decoder.decode(&bytes, &mut |message| {
        match seen {
            0 => assert_eq!(message, Message::BindComplete),
            1 => assert!(matches!(message, Message::DataRow(row) if row.body_length() == 7)),
            2 => assert!(matches!(message, Message::CommandComplete(tag) if tag.rows() == Some(1))),
            _ => assert_eq!(message, Message::ReadyForQuery(TransactionStatus::InTransaction)),
        }
        seen += 1;
    });
    assert_eq!((seen, end), (4, Ok(())));
    assert!(decoder.is_between_messages());
}

#[test]
fn an_error_carries_its_code_and_its_words_even_if_they_are_not_utf_8() {
    let body = b"SFEHLER\0VERROR\0C40P01\0Mverklemmt \xfc\0Dzwei\0Hwarten\0P12\0Winnen\0\0";
    let mut seen = None;
    let mut sink = |message: Message<'_>| {
        if let Message::ErrorResponse(fields) = message {
            assert_eq!(fields.sqlstate(), SqlState::DEADLOCK_DETECTED);
            seen = Some(wire::ServerError::from(fields));
        }
    };
    Decoder::new().decode(&message(b'E', body), &mut sink).unwrap();
    let error = seen.unwrap();
    assert_eq!(error.position, Some(12));
    let text = "FEHLER:  verklemmt \u{10fffc}\nDETAIL:  zwei\nHINT:  warten\nCONTEXT:  innen";
    assert_eq!(error.to_string(), text);
}

#[test]
fn an_error_without_fields_is_still_an_error() {
    let mut seen = None;
    let mut sink = |message: Message<'_>| {
        if let Message::ErrorResponse(fields) = message {
            seen = Some(wire::ServerError::from(fields));
        }
    };
    Decoder::new().decode(&message(b'E', b""), &mut sink).unwrap();
    assert_eq!(seen.unwrap().to_string(), "ERROR:  the server gave no message");
}

#[test]
fn a_skipped_row_of_a_hundred_megabytes_is_never_kept() {
    const ROW_LENGTH: u32 = 100 * 1024 * 1024;
    let mut decoder = Decoder::new();
    let mut lengths = Vec::new();
    let mut sink = |message: Message<'_>| {
        if let Message::DataRow(row) = message {
            lengths.push(row.body_length());
        }
    };
    let allocated = allocation_counter::measure(|| {
        let header = [&b"D"[..], &(ROW_LENGTH + 4).to_be_bytes()].concat();
        decoder.decode(&header, &mut sink).unwrap();
        let piece = [0x55; 64 * 1024];
        for _ in 0..ROW_LENGTH as usize / piece.len() {
            decoder.decode(&piece, &mut sink).unwrap();
        }
        decoder.decode(&message(b'Z', b"I"), &mut sink).unwrap();
    });
    assert_eq!(lengths, [ROW_LENGTH]);
    assert!(allocated.bytes_total < 1024, "{allocated:?}");
}

#[test]
fn a_decoder_gives_back_the_room_of_a_large_message() {
    let mut decoder = Decoder::new();
    decoder.keep_rows(true);
    let value = vec![b'x'; 1024 * 1024];
    let length = u32::try_from(value.len()).unwrap().to_be_bytes();
    let row = message(b'D', &[&[0, 1], &length[..], &value].concat());
    let mut rows = 0;
    let mut sink = |message: Message<'_>| {
        if let Message::DataRow(row) = message {
            let columns: Result<Vec<_>, _> = row.columns().collect();
            assert_eq!(columns.unwrap(), [Some(value.as_slice())]);
            rows += 1;
        }
    };
    let allocated = allocation_counter::measure(|| {
        row.chunks(8192).for_each(|piece| decoder.decode(piece, &mut sink).unwrap());
    });
    assert!(allocated.bytes_current < 8192, "{allocated:?}");
    assert_eq!(rows, 1);
}

#[test]
fn a_decoder_allocates_nothing_once_it_is_warm() {
    let answer =
        [message(b'2', b""), message(b'D', &[0; 300]), message(b'C', b"SELECT 1\0"), message(b'Z', b"I")]
            .concat();
    let mut decoder = Decoder::new();
    let mut count = 0;
    let mut round = |decoder: &mut Decoder| {
        for piece in answer.chunks(7) {
            decoder.decode(piece, &mut |_| count += 1).unwrap();
        }
    };
    round(&mut decoder);
    let allocated = allocation_counter::measure(|| (0..1000).for_each(|_| round(&mut decoder)));
    assert_eq!(allocated.count_total, 0);
    assert_eq!(count, 4004);
}

#[test]
fn an_idle_decoder_is_small() {
    assert!(size_of::<Decoder>() <= 96, "{}", size_of::<Decoder>());
}

#[test]
fn of_an_endless_error_only_the_beginning_is_kept() {
    let mut body = b"SERROR\0C54000\0Mlong ".to_vec();
    body.resize(3 * 1024 * 1024, b'x');
    let bytes = message(b'E', &body);
    let mut kept = Vec::new();
    for size in [bytes.len(), 100_000] {
        let mut decoder = Decoder::new();
        for piece in bytes.chunks(size) {
            let mut sink = |message: Message<'_>| {
                if let Message::ErrorResponse(fields) = message {
                    kept.push(fields.message().len());
                }
            };
            decoder.decode(piece, &mut sink).unwrap();
        }
    }
    assert_eq!(kept.len(), 2);
    assert!(kept[0] < 1024 * 1024 && kept[0] == kept[1], "{kept:?}");
}

#[test]
fn impossible_lengths_and_unknown_tags_are_errors_and_stay_so() {
    let end = |bytes: &[u8]| decode(false, [bytes]).1.unwrap_err();
    assert_eq!(end(b"Z\0\0\0\x03"), ProtocolError::Length { tag: b'Z', length: 3 });
    assert_eq!(end(b"Z\0\xff\xff\xff"), ProtocolError::Length { tag: b'Z', length: 0x00ff_ffff });
    assert_eq!(end(b"D\xff\xff\xff\xff"), ProtocolError::Length { tag: b'D', length: u32::MAX });
    assert_eq!(end(b"x\0\0\0\x04"), ProtocolError::UnknownMessage { tag: b'x', length: 4 });
    assert_eq!(end(b"HTTP/1.1 400 Bad Request"), ProtocolError::Length { tag: b'H', length: 0x5454_502f });
    assert_eq!(end(b"Ecould not fork new process for connection: x\n\0"), ProtocolError::UnframedError);
    assert_eq!(end(&message(b'Z', b"X")), ProtocolError::Malformed { message: "ReadyForQuery" });
    assert_eq!(end(&message(b'1', b"X")), ProtocolError::Malformed { message: "ParseComplete" });

    let mut decoder = Decoder::new();
    let first = decoder.decode(b"\0\0\0\0\0", &mut |_| panic!("no message"));
    let second = decoder.decode(&message(b'Z', b"I"), &mut |_| panic!("no message"));
    assert_eq!(first, Err(ProtocolError::UnknownMessage { tag: 0, length: 0 }));
    assert_eq!(second, first);
}

#[test]
fn the_recorded_answer_to_a_query_is_read_whole() {
    let recorded =
        b"T\0\0\0\x36\0\x02one\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0nothing\0\0\0\0\0\0\0\
        \0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0D\0\0\0\x0f\0\x02\0\0\0\x011\xff\xff\xff\xffC\0\0\0\rSELECT 1\0\
        Z\0\0\0\x05I";
    let mut decoder = Decoder::new();
    decoder.keep_rows(true);
    let mut found = Vec::new();
    let names = |columns: RowDescription<'_>| {
        columns.names().map(|name| String::from_utf8_lossy(name.unwrap()).into_owned()).collect()
    };
    let values = |row: DataRow<'_>| {
        row.columns().map(|value| format!("{:?}", value.unwrap().map(String::from_utf8_lossy))).collect()
    };
    let mut sink = |message: Message<'_>| {
        let words: Vec<String> = match message {
            Message::RowDescription(columns) => names(columns),
            Message::DataRow(row) => values(row),
            Message::CommandComplete(tag) => vec![tag.to_text().into_owned()],
            other => vec![other.name().to_owned()],
        };
        found.push(words.join(" "));
    };
    decoder.decode(recorded, &mut sink).unwrap();
    assert_eq!(found, ["one nothing", "Some(\"1\") None", "SELECT 1", "ReadyForQuery"]);
}

#[test]
fn demands_for_authentication_are_told_apart() {
    let mut sink = |message: Message<'_>| match message {
        Message::Authentication(Authentication::Sasl(names)) => {
            let names: Vec<_> = names.iter().collect();
            assert_eq!(names, [&b"SCRAM-SHA-256-PLUS"[..], b"SCRAM-SHA-256"]);
        }
        other => panic!("{other:?}"),
    };
    let offer = message(b'R', b"\0\0\0\nSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    Decoder::new().decode(&offer, &mut sink).unwrap();
    for wrong in [&b""[..], b"\0\0\0", b"\0\0\0\0!", b"\0\0\0\x05abc", b"\0\0\0\x05abcde"] {
        let end = decode(false, [message(b'R', wrong).as_slice()]).1;
        assert_eq!(end, Err(ProtocolError::Malformed { message: "Authentication" }), "{wrong:?}");
    }
}
