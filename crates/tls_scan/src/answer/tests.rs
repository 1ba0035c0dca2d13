//! Answers of a server of `rustls`, recorded answers of PostgreSQL, constructed ones, and arbitrary bytes.
//! Tests with sockets are in `tests/servers`.

use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::*;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::certificate::CertificateFacts;
use crate::hello::{PROTOCOL, Question};

/// What a server of `rustls` answers to a question, and its certificate.
fn answered(version: Version, suites: &[u16]) -> (Vec<u8>, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut server = ServerConnection::new(Arc::new(config)).unwrap();
    let question = Question { version, suites, server_name: None, random: [1; 32] }.bytes();
    server.read_tls(&mut Cursor::new(question)).unwrap();
    let _ = server.process_new_packets();
    let mut out = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut out).unwrap();
    }
    (out, cert.der().to_vec())
}

fn flight(bytes: &[u8]) -> ServerFlight {
    match read(bytes) {
        Ok(Some(Reply::Hello(flight))) => *flight,
        other => panic!("{other:?}"),
    }
}

fn record_of(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[kind, 3, 3], &length[..], payload].concat()
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

/// A ServerHello of TLS 1.2 without extensions.
fn hello(suite: u16) -> Vec<u8> {
    let body = [&[3, 3][..], &[9; 32], &[0], &suite.to_be_bytes(), &[0]].concat();
    message(2, &body)
}

#[test]
fn an_answer_of_tls_1_2_has_the_suite_the_curve_the_protocol_and_the_certificate() {
    let (bytes, certificate) = answered(Version::V12, &[0xc02b, 0xc02c]);
    let flight = flight(&bytes);
    assert_eq!(flight.version, 0x0303);
    assert!([0xc02b, 0xc02c].contains(&flight.suite));
    assert_eq!(flight.key_exchange, Some(KeyExchange::Group { name: "x25519".to_owned(), bits: 253 }));
    assert_eq!(flight.alpn.as_deref(), Some(PROTOCOL));
    assert_eq!(flight.certificates, [certificate]);
    assert!(flight.has_extended_master_secret && flight.has_secure_renegotiation && !flight.compresses);
}

#[test]
fn an_answer_of_tls_1_3_is_a_request_to_retry_with_a_group() {
    let (bytes, _) = answered(Version::V13, &[0x1302]);
    let flight = flight(&bytes);
    assert_eq!((flight.version, flight.suite), (0x0304, 0x1302));
    assert!(matches!(flight.key_exchange, Some(KeyExchange::Group { .. })), "{flight:?}");
    assert_eq!(flight.certificates, [[0; 0]; 0]);
}

#[test]
fn a_suite_or_version_that_a_server_lacks_is_refused_by_an_alert() {
    for (version, suites) in [(Version::V12, [0x0005]), (Version::V11, [0xc013]), (Version::V13, [0x1304])] {
        let (bytes, _) = answered(version, &suites);
        assert!(matches!(read(&bytes), Ok(Some(Reply::Alert(40 | 70)))), "{version:?} {:?}", read(&bytes));
    }
}

#[test]
fn the_size_of_a_prime_is_that_of_its_number() {
    let prime = [&[0_u8, 0x40][..], &[1; 127]].concat();
    let field =
        [&u16::try_from(prime.len()).unwrap().to_be_bytes()[..], &prime, &[0, 1, 2], &[0, 1, 7]].concat();
    let check = |suite: u16, exchange: &[u8]| {
        let messages = [hello(suite), message(12, exchange), message(14, &[])].concat();
        flight(&record_of(22, &messages)).key_exchange
    };
    let expected = Some(KeyExchange::FiniteField { bits: 1023 });
    assert_eq!(check(0x0033, &field), expected);
    // With a PSK there is a hint before it.
    assert_eq!(check(0x0090, &[&[0, 2, b'h', b'i'][..], &field].concat()), expected);
    assert_eq!(check(0xc013, &[1, 0, 0]), Some(KeyExchange::ExplicitCurve));
    assert_eq!(
        check(0xc018, &[3, 0, 0x17, 0]),
        Some(KeyExchange::Group { name: "secp256r1".to_owned(), bits: 256 })
    );
    assert_eq!(check(0x002f, &[]), None);
}

/// PostgreSQL 15 with OpenSSL 3.0 and an RSA certificate; also seeds of the fuzzer.
#[test]
fn recorded_answers_of_a_server_are_read() {
    let retry = flight(include_bytes!("../../../fuzz/seeds/tls_answers/retry"));
    let group = |name: &str, bits| Some(KeyExchange::Group { name: name.to_owned(), bits });
    assert_eq!((retry.version, retry.suite, retry.key_exchange), (0x0304, 0x1301, group("secp256r1", 256)));
    let ecdhe = flight(include_bytes!("../../../fuzz/seeds/tls_answers/ecdhe"));
    assert_eq!((ecdhe.suite, ecdhe.key_exchange), (0xc02f, group("secp256r1", 256)));
    let dhe = flight(include_bytes!("../../../fuzz/seeds/tls_answers/dhe"));
    assert_eq!((dhe.suite, dhe.key_exchange), (0x0033, Some(KeyExchange::FiniteField { bits: 2048 })));
    let rsa = flight(include_bytes!("../../../fuzz/seeds/tls_answers/rsa"));
    assert_eq!((rsa.suite, rsa.key_exchange), (0x002f, None));
    assert!(rsa.has_extended_master_secret && rsa.has_secure_renegotiation && rsa.alpn.is_none());
    let alert = include_bytes!("../../../fuzz/seeds/tls_answers/alert");
    assert_eq!(read(alert), Ok(Some(Reply::Alert(40))));
    let own = CertificateFacts::new(&rsa.certificates[0]).contents.expect("a certificate");
    assert_eq!((own.key.algorithm.as_str(), own.key.bits), ("RSA", Some(2048)));
    assert_eq!(
        (own.subject.as_str(), own.names.as_slice()),
        ("CN=db.example.com", &["db.example.com".to_owned()][..])
    );
    assert!(own.self_issued && own.authority && own.signature == "sha256WithRSAEncryption");
}

#[test]
fn a_hello_alone_is_no_acceptance_in_tls_1_2() {
    let start = record_of(22, &hello(0x002f));
    assert_eq!(read(&start), Ok(None));
    // The alert after it is the answer.
    assert_eq!(read(&[start, record_of(21, &[2, 80])].concat()), Ok(Some(Reply::Alert(80))));
}

#[test]
fn a_warning_is_no_answer_except_for_the_end() {
    let warning = record_of(21, &[1, 112]);
    assert_eq!(read(&warning), Ok(None));
    assert_eq!(read(&[warning, record_of(21, &[2, 40])].concat()), Ok(Some(Reply::Alert(40))));
    assert_eq!(read(&record_of(21, &[1, 0])), Ok(Some(Reply::Alert(0))));
    assert_eq!(alert_name(40), "handshake_failure");
    assert_eq!(alert_name(48), "unknown_ca");
    assert_eq!(alert_name(250), "alert 250");
}

#[test]
fn bytes_of_another_protocol_are_no_answer() {
    for bytes in [&b"HTTP/1.1 400 Bad Request"[..], b"SSH-2.0", b"E\0\0\0\x10", &[22, 2, 0]] {
        assert_eq!(read(bytes), Err(Unreadable::NoTls), "{bytes:?}");
    }
    assert_eq!(read(&[22, 3, 3, 0xff, 0xff]), Err(Unreadable::Malformed("a record")));
    assert_eq!(read(&record_of(23, b"x")), Err(Unreadable::Unexpected("record")));
    assert_eq!(read(&record_of(22, &message(11, &[]))), Err(Unreadable::Unexpected("message")));
    assert_eq!(read(&record_of(21, &[2])), Err(Unreadable::Malformed("an alert")));
    let endless: Vec<u8> = std::iter::repeat_n(record_of(21, &[1, 112]), 20_000).flatten().collect();
    assert_eq!(read(&endless), Err(Unreadable::TooLong));
}

proptest! {
    #[test]
    fn any_bytes_are_an_answer_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
        let _ = read(&record_of(22, &bytes));
        let _ = read(&record_of(22, &message(2, &bytes)));
        for kind in [11, 12, 13, 14] {
            let _ = read(&record_of(22, &[hello(0x0033), message(kind, &bytes)].concat()));
        }
    }

    /// Changes of a real answer, and any part of it.
    #[test]
    fn a_damaged_answer_is_an_answer_or_an_error(
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = answered(Version::V12, &[0xc02b]).0;
        let at = place.index(bytes.len());
        bytes[at] = value;
        let _ = read(&bytes);
        let _ = read(&bytes[..length.index(bytes.len())]);
    }

    /// What has arrived so far never has another answer than the whole.
    #[test]
    fn an_answer_does_not_depend_on_how_it_arrives(suite in prop::sample::select(vec![0xc02b_u16, 0xc02c])) {
        let bytes = answered(Version::V12, &[suite]).0;
        let first = (0..=bytes.len()).find_map(|length| read(&bytes[..length]).transpose());
        prop_assert_eq!(first, Some(read(&bytes).map(|reply| reply.expect("a whole answer"))));
    }
}
