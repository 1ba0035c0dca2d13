//! rustls's callbacks during a handshake: verifies the chain (`trust`) and the server's possession of the key.
//! `channel` checks the host name after the handshake.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::certificate::Certificate;
use super::trust::Trust;

/// Verifier of server certificates.
#[derive(Debug)]
pub(super) struct Verifier {
    /// `None`: every certificate is accepted.
    pub(super) trust: Option<Trust>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(trust) = &self.trust {
            trust.judge(end_entity, intermediates, now)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let candidates = self.algorithms.mapping.iter().find(|(scheme, _)| *scheme == signed.scheme);
        let key = key_of(certificate)?;
        let is_valid = candidates.is_some_and(|(_, algorithms)| {
            algorithms.iter().any(|algorithm| key_verifies(&key, *algorithm, message, signed.signature()))
        });
        if is_valid {
            Ok(HandshakeSignatureValid::assertion())
        } else {
            Err(CertificateError::BadSignature.into())
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = key_of(certificate)?;
        rustls::crypto::verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The public key, independent of the rest of the certificate.
fn key_of(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let key = Certificate::read(certificate).and_then(|certificate| certificate.key());
    Ok(key.ok_or(CertificateError::BadEncoding)?)
}

fn key_verifies(
    key: &SubjectPublicKeyInfoDer<'_>,
    algorithm: &dyn rustls::pki_types::SignatureVerificationAlgorithm,
    message: &[u8],
    signature: &[u8],
) -> bool {
    let key = webpki::RawPublicKeyEntity::try_from(key);
    key.is_ok_and(|key| key.verify_signature(algorithm, message, signature).is_ok())
}
