//! The certificates and the protocol of a server that accepts TLS 1.3 alone, which encrypts both: a handshake by
//! `rustls` up to the certificates. Then the client refuses them with an alert, so the handshake is not completed.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, version,
};

use crate::hello::PROTOCOL;
use crate::probe::{Prober, receive};

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// DER, the server's own first; empty if the server sent none.
    pub(crate) certificates: Vec<Vec<u8>>,
    /// Protocol chosen by ALPN.
    pub(crate) alpn: Option<Vec<u8>>,
}

/// One more connection; empty if it did not get as far as the certificates.
pub(crate) fn capture(prober: &mut Prober<'_>) -> Captured {
    let seen = Arc::new(Seen { schemes: schemes(), certificates: OnceLock::new() });
    let alpn = handshake(prober, &seen).unwrap_or_default();
    Captured { certificates: seen.certificates.get().cloned().unwrap_or_default(), alpn }
}

/// Runs until `seen` refuses, or anything fails; returns the protocol. Errors say no more than `seen` does.
fn handshake(prober: &mut Prober<'_>, seen: &Arc<Seen>) -> Option<Option<Vec<u8>>> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .ok()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(seen) as Arc<dyn ServerCertVerifier>)
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_sni = prober.server_name.is_some();
    // Without a name none is sent, so any will do.
    let name = ServerName::try_from(prober.server_name.unwrap_or("localhost").to_owned()).ok()?;
    let mut connection = ClientConnection::new(Arc::new(config), name).ok()?;
    let mut socket = prober.open().ok()?;
    let mut is_over = false;
    while connection.is_handshaking() {
        let mut out = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut out).ok()?;
        }
        socket.send(&out).ok()?;
        if is_over {
            break;
        }
        let mut received = Vec::new();
        receive(&mut socket, &mut received).ok()?;
        let mut rest = received.as_slice();
        while !rest.is_empty() && !is_over {
            connection.read_tls(&mut rest).ok()?;
            // The alert is sent in the next round.
            is_over = connection.process_new_packets().is_err();
        }
    }
    Some(connection.alpn_protocol().map(<[u8]>::to_vec))
}

fn schemes() -> Vec<SignatureScheme> {
    ring::default_provider().signature_verification_algorithms.supported_schemes()
}

/// Keeps the certificates and refuses them.
#[derive(Debug)]
struct Seen {
    schemes: Vec<SignatureScheme>,
    certificates: OnceLock<Vec<Vec<u8>>>,
}

impl ServerCertVerifier for Seen {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let all = [end_entity].into_iter().chain(intermediates).map(|der| der.to_vec()).collect();
        // A handshake has one list of certificates.
        let _ = self.certificates.set(all);
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(CertificateError::BadSignature.into())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(CertificateError::BadSignature.into())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
