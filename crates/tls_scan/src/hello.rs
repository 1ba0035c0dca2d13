//! The question: a ClientHello as bytes. Its only key material is the random field, because no handshake is completed:
//! in TLS 1.3 an empty list of key shares makes the server name its suite and group in a HelloRetryRequest.
//!
//! RFC 8446, section 4.1.2 and 4.2.8; RFC 5246, section 7.4.1.2. Pure.

use tls_codec::{Serialize, TlsByteVecU8, TlsByteVecU16, TlsByteVecU24, TlsSerialize, TlsSize, TlsVecU16};

use crate::group::{GROUPS, SIGNATURES};
use crate::version::Version;

/// The name of PostgreSQL's protocol; servers require it for direct negotiation.
pub(crate) const PROTOCOL: &[u8] = b"postgresql";

const RECORD_OF_HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
/// Of the record: some servers refuse a first record with a newer version.
const RECORD_VERSION: u16 = 0x0301;
const NO_COMPRESSION: u8 = 0;
const DEFLATE: u8 = 1;

/// What is offered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    /// The only version of TLS 1.3, or the newest of an older one: such a ClientHello cannot exclude older versions.
    pub(crate) version: Version,
    /// Numbers of cipher suites.
    pub(crate) suites: &'a [u16],
    /// Host name (SNI), if it is one that may be sent.
    pub(crate) server_name: Option<&'a str>,
    /// Any bytes.
    pub(crate) random: [u8; 32],
}

#[derive(TlsSerialize, TlsSize)]
struct Record {
    kind: u8,
    version: u16,
    payload: TlsByteVecU16,
}

#[derive(TlsSerialize, TlsSize)]
struct Handshake {
    kind: u8,
    body: TlsByteVecU24,
}

#[derive(TlsSerialize, TlsSize)]
struct ClientHello {
    version: u16,
    random: [u8; 32],
    session: TlsByteVecU8,
    suites: TlsVecU16<u16>,
    compressions: TlsByteVecU8,
    extensions: TlsVecU16<Extension>,
}

#[derive(Debug, TlsSerialize, TlsSize)]
struct Extension {
    kind: u16,
    content: TlsByteVecU16,
}

impl Question<'_> {
    /// One record.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let of_13 = self.version == Version::V13;
        let hello = ClientHello {
            version: if of_13 { Version::V12.code() } else { self.version.code() },
            random: self.random,
            session: Vec::new().into(),
            suites: self.suites.to_vec().into(),
            compressions: if of_13 { vec![NO_COMPRESSION] } else { vec![DEFLATE, NO_COMPRESSION] }.into(),
            extensions: self.extensions().into(),
        };
        let message = Handshake { kind: CLIENT_HELLO, body: encoded(&hello).into() };
        let payload = encoded(&message).into();
        encoded(&Record { kind: RECORD_OF_HANDSHAKE, version: RECORD_VERSION, payload })
    }

    fn extensions(&self) -> Vec<Extension> {
        let groups: Vec<u16> = GROUPS.iter().map(|(code, ..)| *code).collect();
        let extension = |kind: u16, content: Vec<u8>| Extension { kind, content: content.into() };
        let mut extensions = Vec::new();
        if let Some(name) = self.server_name {
            // A list of one entry of the type host_name.
            let name = [&[0][..], &list_u16(name.as_bytes())].concat();
            extensions.push(extension(0, list_u16(&name)));
        }
        extensions.extend([
            // extended_master_secret, renegotiation_info, ec_point_formats
            extension(23, Vec::new()),
            extension(0xff01, vec![0]),
            extension(11, vec![1, 0]),
            // supported_groups, application_layer_protocol_negotiation, signature_algorithms
            extension(10, list_u16(&numbers(&groups))),
            extension(16, list_u16(&list_u8(PROTOCOL))),
            extension(13, list_u16(&numbers(&SIGNATURES))),
        ]);
        if self.version == Version::V13 {
            extensions.extend([
                // supported_versions, psk_key_exchange_modes, key_share
                extension(43, list_u8(&self.version.code().to_be_bytes())),
                extension(45, vec![1, 1]),
                extension(51, vec![0, 0]),
            ]);
        }
        extensions
    }
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    // All lists are shorter than their length field allows: there are fewer than 1,000 suites, and a name has at most
    // 253 bytes.
    value.tls_serialize_detached().expect("a ClientHello fits into a record")
}

fn list_u8(content: &[u8]) -> Vec<u8> {
    encoded(&TlsByteVecU8::from(content.to_vec()))
}

fn list_u16(content: &[u8]) -> Vec<u8> {
    encoded(&TlsByteVecU16::from(content.to_vec()))
}

fn numbers(all: &[u16]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use rustls::server::Acceptor;

    use super::*;
    use crate::suite::Suite;

    fn question(version: Version, suites: &[u16]) -> Vec<u8> {
        Question { version, suites, server_name: Some("db.example.com"), random: [7; 32] }.bytes()
    }

    #[test]
    fn rustls_reads_a_question_as_it_was_meant() {
        for version in [Version::V12, Version::V13] {
            let bytes = question(version, &[0xc02f, 0x1301]);
            let mut acceptor = Acceptor::default();
            acceptor.read_tls(&mut Cursor::new(&bytes)).unwrap();
            let accepted =
                acceptor.accept().map_err(|(error, _)| error).unwrap().expect("a whole ClientHello");
            let hello = accepted.client_hello();
            assert_eq!(hello.server_name(), Some("db.example.com"));
            assert_eq!(hello.alpn().unwrap().collect::<Vec<_>>(), [PROTOCOL]);
            let suites: Vec<u16> = hello.cipher_suites().iter().map(|suite| u16::from(*suite)).collect();
            assert_eq!(suites, [0xc02f, 0x1301]);
            assert_eq!(hello.signature_schemes().len(), SIGNATURES.len());
            assert_eq!(hello.named_groups().unwrap().len(), GROUPS.len());
        }
    }

    #[test]
    fn a_question_with_all_suites_is_one_record_with_the_version_asked_for() {
        let all: Vec<u16> = Suite::all().iter().map(|suite| suite.code).collect();
        for (version, code, _) in Version::ALL {
            let bytes = question(version, &all);
            assert_eq!(bytes[..3], [22, 3, 1]);
            assert_eq!(usize::from(u16::from_be_bytes([bytes[3], bytes[4]])), bytes.len() - 5);
            let legacy = code.min(0x0303).to_be_bytes();
            assert_eq!(bytes[9..11], legacy, "{version:?}");
            let has_versions = bytes.windows(7).any(|part| part == [0, 43, 0, 3, 2, 3, 4]);
            assert_eq!(has_versions, version == Version::V13);
        }
    }
}
