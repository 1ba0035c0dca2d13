//! The answer: bytes of a server become a [`Reply`], or an error, or more bytes are needed. The layouts of the messages
//! are structs that `tls_codec` reads, which checks every length.
//!
//! RFC 5246, sections 6.2, 7.2 and 7.4; RFC 8446, section 4.1.3. Pure. Public for the fuzzer.

use rustls::AlertDescription;
use tls_codec::{
    DeserializeBytes, Error, TlsByteVecU8, TlsByteVecU16, TlsByteVecU24, TlsDeserializeBytes, TlsSize,
    TlsVecU16, TlsVecU24,
};

use crate::key_exchange::{KeyExchange, bits};
use crate::suite::{self, Suite};
use crate::version::Version;

/// Longest accepted answer; chains of certificates have a few thousand bytes.
pub const LENGTH_MAX: usize = 128 * 1024;
/// RFC 5246, section 6.2.3: 2^14 and 2,048 for encryption.
const RECORD_LENGTH_MAX: usize = 16 * 1024 + 2048;

/// The complete answer to a ClientHello.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The server continued the handshake.
    Hello(Box<ServerFlight>),
    /// It refused by an alert.
    Alert(u8),
}

/// The server's first messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFlight {
    /// Version code that the server chose.
    pub version: u16,
    /// Number of the suite that it chose.
    pub suite: u16,
    /// The exchange of keys, if the suite has one that is visible.
    pub key_exchange: Option<KeyExchange>,
    /// Protocol chosen by ALPN. TLS 1.3 encrypts it.
    pub alpn: Option<Vec<u8>>,
    /// RFC 7627; part of TLS 1.3.
    pub has_extended_master_secret: bool,
    /// RFC 5746; part of TLS 1.3.
    pub has_secure_renegotiation: bool,
    /// Whether the server would compress.
    pub compresses: bool,
    /// Certificates, DER, the server's own first. TLS 1.3 encrypts them.
    pub certificates: Vec<Vec<u8>>,
}

/// Bytes that are no answer to a ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They do not begin with a record of TLS.
    NoTls,
    /// A message is malformed.
    Malformed(&'static str),
    /// A message that may not come here.
    Unexpected(&'static str),
    /// More than [`LENGTH_MAX`] bytes.
    TooLong,
}

impl Unreadable {
    /// A clause.
    pub fn words(self) -> String {
        match self {
            Unreadable::NoTls => "the answer is not TLS".to_owned(),
            Unreadable::Malformed(what) => format!("{what} of the answer is malformed"),
            Unreadable::Unexpected(what) => format!("unexpected {what}"),
            Unreadable::TooLong => "the answer is too long".to_owned(),
        }
    }
}

#[derive(TlsDeserializeBytes, TlsSize)]
struct RecordHeader {
    kind: u8,
    _version: u16,
    length: u16,
}

#[derive(TlsDeserializeBytes, TlsSize)]
struct Alert {
    level: u8,
    description: u8,
}

#[derive(TlsDeserializeBytes, TlsSize)]
struct Handshake {
    kind: u8,
    body: TlsByteVecU24,
}

#[derive(TlsDeserializeBytes, TlsSize)]
struct ServerHello {
    version: u16,
    _random: [u8; 32],
    _session: TlsByteVecU8,
    suite: u16,
    compression: u8,
}

#[derive(Debug, TlsDeserializeBytes, TlsSize)]
struct Extension {
    kind: u16,
    content: TlsByteVecU16,
}

#[derive(TlsDeserializeBytes, TlsSize)]
struct FiniteField {
    prime: TlsByteVecU16,
    _generator: TlsByteVecU16,
    _public: TlsByteVecU16,
}

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// Alerts below are warnings; `close_notify` is one too.
const FATAL: u8 = 2;
const NAMED_CURVE: u8 = 3;

/// Reads an answer. `None`: more bytes are needed. The same for any split of the bytes.
///
/// # Errors
/// The bytes are no answer.
pub fn read(bytes: &[u8]) -> Result<Option<Reply>, Unreadable> {
    let mut reader = Reader::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let Some(record) = record(rest)? else { break };
        rest = record.rest;
        let reply = match record.kind {
            ALERT => alert(record.payload)?,
            HANDSHAKE => reader.take(record.payload)?,
            _ => return Err(Unreadable::Unexpected("record")),
        };
        if reply.is_some() {
            return Ok(reply);
        }
    }
    if bytes.len() > LENGTH_MAX { Err(Unreadable::TooLong) } else { Ok(None) }
}

/// The name of an alert, such as `handshake_failure`.
pub fn alert_name(description: u8) -> String {
    let Some(name) = AlertDescription::from(description).as_str() else {
        return format!("alert {description}");
    };
    let mut out = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if was_lower && letter.is_uppercase() {
            out.push('_');
        }
        was_lower = letter.is_lowercase();
        out.extend(letter.to_lowercase());
    }
    out
}

struct Record<'a> {
    kind: u8,
    payload: &'a [u8],
    /// What follows it.
    rest: &'a [u8],
}

/// The first record; `None` if it is incomplete.
fn record(bytes: &[u8]) -> Result<Option<Record<'_>>, Unreadable> {
    if !matches!(bytes.first(), Some(20..=23)) || bytes.get(1).is_some_and(|major| *major != 3) {
        return Err(Unreadable::NoTls);
    }
    let Ok((header, rest)) = RecordHeader::tls_deserialize_bytes(bytes) else { return Ok(None) };
    let length = usize::from(header.length);
    if length > RECORD_LENGTH_MAX {
        return Err(Unreadable::Malformed("a record"));
    }
    let parts = rest.split_at_checked(length);
    Ok(parts.map(|(payload, rest)| Record { kind: header.kind, payload, rest }))
}

/// Warnings are no answer, except for the one that ends the connection.
fn alert(payload: &[u8]) -> Result<Option<Reply>, Unreadable> {
    let alert = Alert::tls_deserialize_exact_bytes(payload).map_err(|_| Unreadable::Malformed("an alert"))?;
    let ends = alert.level >= FATAL || alert.description == u8::from(AlertDescription::CloseNotify);
    Ok(ends.then_some(Reply::Alert(alert.description)))
}

/// Collects the messages of a handshake, which may be split over records or share one.
#[derive(Default)]
struct Reader {
    pending: Vec<u8>,
    flight: Option<ServerFlight>,
}

impl Reader {
    fn take(&mut self, payload: &[u8]) -> Result<Option<Reply>, Unreadable> {
        self.pending.extend_from_slice(payload);
        loop {
            let (message, length) = match Handshake::tls_deserialize_bytes(&self.pending) {
                Ok((message, rest)) => (message, self.pending.len() - rest.len()),
                Err(Error::EndOfStream) => return Ok(None),
                Err(_) => return Err(Unreadable::Malformed("a message")),
            };
            self.pending.drain(..length);
            if self.message(message.kind, message.body.as_slice())? {
                return Ok(self.flight.take().map(|flight| Reply::Hello(Box::new(flight))));
            }
        }
    }

    /// True after the last message of the answer.
    fn message(&mut self, kind: u8, body: &[u8]) -> Result<bool, Unreadable> {
        let Some(flight) = &mut self.flight else {
            let flight =
                if kind == 2 { server_hello(body)? } else { return Err(Unreadable::Unexpected("message")) };
            // What follows is encrypted.
            let is_last = flight.version >= Version::V13.code();
            self.flight = Some(flight);
            return Ok(is_last);
        };
        match kind {
            11 => {
                let chain = TlsVecU24::<TlsByteVecU24>::tls_deserialize_exact_bytes(body);
                let chain = chain.map_err(|_| Unreadable::Malformed("the certificate message"))?;
                flight.certificates =
                    chain.iter().map(|certificate| certificate.as_slice().to_vec()).collect();
            }
            12 => flight.key_exchange = key_exchange(flight.suite, body)?,
            // CertificateRequest, CertificateStatus, SupplementalData
            13 | 22 | 23 => {}
            14 if body.is_empty() => return Ok(true),
            _ => return Err(Unreadable::Unexpected("message")),
        }
        Ok(false)
    }
}

fn server_hello(body: &[u8]) -> Result<ServerFlight, Unreadable> {
    let malformed = |_| Unreadable::Malformed("the ServerHello");
    let (hello, rest) = ServerHello::tls_deserialize_bytes(body).map_err(malformed)?;
    let ServerHello { version, suite, compression, .. } = hello;
    // Servers before TLS 1.2 may leave out the list.
    let extensions = match rest {
        [] => Vec::new().into(),
        rest => TlsVecU16::<Extension>::tls_deserialize_exact_bytes(rest).map_err(malformed)?,
    };
    let mut flight = ServerFlight {
        version,
        suite,
        key_exchange: None,
        alpn: None,
        has_extended_master_secret: false,
        has_secure_renegotiation: false,
        compresses: compression != 0,
        certificates: Vec::new(),
    };
    for Extension { kind, content } in extensions.iter() {
        let content = content.as_slice();
        match kind {
            16 => flight.alpn = Some(protocol(content).map_err(malformed)?),
            23 => flight.has_extended_master_secret = true,
            43 => flight.version = u16::tls_deserialize_exact_bytes(content).map_err(malformed)?,
            // A HelloRetryRequest has the group alone, a ServerHello has a key as well.
            51 => {
                let (code, _) = u16::tls_deserialize_bytes(content).map_err(malformed)?;
                flight.key_exchange = Some(KeyExchange::in_group(code));
            }
            0xff01 => flight.has_secure_renegotiation = true,
            _ => {}
        }
    }
    Ok(flight)
}

/// The only protocol of a list.
fn protocol(content: &[u8]) -> Result<Vec<u8>, Error> {
    let list = TlsByteVecU16::tls_deserialize_exact_bytes(content)?;
    let name = TlsByteVecU8::tls_deserialize_exact_bytes(list.as_slice())?;
    Ok(name.as_slice().to_vec())
}

/// RFC 4492, section 5.4; RFC 5246, section 7.4.3; RFC 4279 and 5489 with a hint before it. `None` for other exchanges.
fn key_exchange(code: u16, body: &[u8]) -> Result<Option<KeyExchange>, Unreadable> {
    let malformed = |_| Unreadable::Malformed("the key exchange");
    let name = suite::name(code).unwrap_or_default();
    let suite = Suite { code, name };
    let exchange = suite.key_exchange();
    let hinted = exchange.ends_with("PSK") || exchange.ends_with("PSK_DHE");
    let body = match hinted {
        true => TlsByteVecU16::tls_deserialize_bytes(body).map_err(malformed)?.1,
        false => body,
    };
    if exchange.starts_with("ECDH") {
        let ((kind, code), _) = <(u8, u16)>::tls_deserialize_bytes(body).map_err(malformed)?;
        return Ok(Some(if kind == NAMED_CURVE {
            KeyExchange::in_group(code)
        } else {
            KeyExchange::ExplicitCurve
        }));
    }
    if !exchange.starts_with("DH") && exchange != "PSK_DHE" {
        return Ok(None);
    }
    let (field, _) = FiniteField::tls_deserialize_bytes(body).map_err(malformed)?;
    Ok(Some(KeyExchange::FiniteField { bits: bits(field.prime.as_slice()) }))
}

#[cfg(test)]
#[path = "answer/tests.rs"]
mod tests;
