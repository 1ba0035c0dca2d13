//! A TLS connection without a socket: converts between bytes of the network and bytes of the protocol. Sends SSLRequest
//! first, unless negotiation is direct. Used by control sessions and by the engine's driver.
//!
//! Manual: "Message Flow", section "SSL Session Encryption".

use std::io::{ErrorKind, Read, Write};

use rustls::ClientConnection;
use wire::frontend;

use super::certificate::Certificate;
use super::check_host;
use super::error::TlsError;
use super::settings::TlsNegotiation;

/// Growth of the output buffer; a record has at most 16 KiB.
const PIECE_LENGTH: usize = 16 * 1024;

/// One TLS connection.
#[derive(Debug)]
pub struct TlsChannel {
    connection: ClientConnection,
    stage: Stage,
    negotiation: TlsNegotiation,
    /// The host name to verify; `None` if it is not verified.
    host: Option<String>,
    end_point: Option<Vec<u8>>,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waiting for the answer to SSLRequest.
    Asked,
    Handshake,
    Open,
}

impl TlsChannel {
    pub(super) fn begin(
        mut connection: ClientConnection,
        negotiation: TlsNegotiation,
        host: Option<String>,
        out: &mut Vec<u8>,
    ) -> TlsChannel {
        // The callers send the output before they write more.
        connection.set_buffer_limit(None);
        let stage = match negotiation {
            TlsNegotiation::Postgres => Stage::Asked,
            TlsNegotiation::Direct => Stage::Handshake,
        };
        let mut channel =
            TlsChannel { connection, stage, negotiation, host, end_point: None, is_closed: false };
        match stage {
            Stage::Asked => frontend::ssl_request(out),
            _ => channel.flush(out),
        }
        channel
    }

    /// True after the handshake and the verification of the server; the protocol may start.
    pub fn is_open(&self) -> bool {
        self.stage == Stage::Open
    }

    /// True if the server has closed its direction.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Channel binding data after the handshake (RFC 5929, `tls-server-end-point`); `None` for certificates that have
    /// none.
    pub fn end_point(&self) -> Option<&[u8]> {
        self.end_point.as_deref()
    }

    /// Processes bytes from the network: appends protocol bytes to `plain`, and bytes to send to `out`. After an error
    /// the connection cannot be used any more; `out` then has the TLS alert.
    pub fn receive(&mut self, bytes: &[u8], plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), TlsError> {
        let taken = self.take(bytes, plain);
        self.flush(out);
        taken
    }

    fn take(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.stage == Stage::Asked
            && let Some((answer, rest)) = bytes.split_first()
        {
            match answer {
                b'S' if rest.is_empty() => self.stage = Stage::Handshake,
                // Unencrypted bytes after the answer may be injected by an attacker (CVE-2021-23222).
                b'S' => return Err(TlsError::no_postgres()),
                b'N' => return Err(TlsError::not_offered()),
                b'E' => return Err(TlsError::refused()),
                _ => return Err(TlsError::no_postgres()),
            }
            bytes = rest;
        }
        while !bytes.is_empty() && !self.is_closed {
            match self.connection.read_tls(&mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => return Err(TlsError::new(format!("TLS failed: {error}"), "")),
            }
            let state = self.connection.process_new_packets()?;
            self.is_closed = state.peer_has_closed();
            self.finish_handshake()?;
            self.read(plain, state.plaintext_bytes_to_read());
        }
        Ok(())
    }

    /// Appends `length` decrypted bytes.
    fn read(&mut self, plain: &mut Vec<u8>, length: usize) {
        let start = plain.len();
        plain.resize(start + length, 0);
        let mut end = start;
        while end < plain.len() {
            match self.connection.reader().read(&mut plain[end..]) {
                Ok(0) | Err(_) => break,
                Ok(count) => end += count,
            }
        }
        plain.truncate(end);
    }

    /// Verifies the host name after the handshake.
    fn finish_handshake(&mut self) -> Result<(), TlsError> {
        if self.stage != Stage::Handshake || self.connection.is_handshaking() {
            return Ok(());
        }
        if self.negotiation == TlsNegotiation::Direct && self.connection.alpn_protocol().is_none() {
            return Err(TlsError::not_negotiated());
        }
        let certificates = self.connection.peer_certificates().unwrap_or_default();
        let Some(own) = certificates.first() else {
            return Err(TlsError::no_certificate());
        };
        let certificate = Certificate::read(own);
        check_host(certificate.as_ref(), self.host.as_deref())?;
        self.end_point = certificate.and_then(|certificate| certificate.end_point(own));
        self.stage = Stage::Open;
        Ok(())
    }

    /// Encrypts protocol bytes into `out`.
    pub fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        for piece in plain.chunks(PIECE_LENGTH) {
            // Writing to unlimited memory cannot fail.
            let _ = self.connection.writer().write_all(piece);
            self.flush(out);
        }
    }

    /// Sends `close_notify`, so that the server can distinguish the end from a truncation attack.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if self.stage != Stage::Asked {
            self.connection.send_close_notify();
            self.flush(out);
        }
    }

    /// Takes the pending output of rustls.
    fn flush(&mut self, out: &mut Vec<u8>) {
        while self.stage != Stage::Asked && self.connection.wants_write() {
            match self.connection.write_tls(out) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
}
