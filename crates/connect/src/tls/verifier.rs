//! Whom to believe: nobody asked, or the chain of certificates up to a trusted one. The host's name is checked by
//! `channel`, after the handshake. Called by rustls in the middle of a handshake.
//!
//! Chains are `webpki`'s business. Two kinds that servers of PostgreSQL have, and that it refuses on principle, are
//! checked here: a certificate that is itself the trusted one, and one of X.509 version 1 (what `openssl x509 -req`
//! made without further words), signed by a trusted one.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};

use super::certificate::Certificate;

/// The certificates that are trusted.
#[derive(Debug)]
pub(super) struct Trust {
    pub(super) chains: Arc<WebPkiServerVerifier>,
    pub(super) roots: Vec<CertificateDer<'static>>,
    /// Lists of revoked certificates exist, so that only `chains` may say yes.
    pub(super) has_lists: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Verifier {
    /// `None`: every certificate is as good as any other.
    pub(super) trust: Option<Trust>,
    pub(super) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(trust) = &self.trust else { return Ok(ServerCertVerified::assertion()) };
        let chains = &trust.chains;
        match chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // The chain holds; the name is not judged here.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            Err(Error::InvalidCertificate(CertificateError::Other(reason))) if !trust.has_lists => {
                self.verify_plainly(end_entity, &trust.roots, now, reason)
            }
            verified => verified,
        }
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

impl Verifier {
    /// Without a chain: is it a trusted certificate, or signed by one, and valid now?
    fn verify_plainly(
        &self,
        der: &CertificateDer<'_>,
        roots: &[CertificateDer<'static>],
        now: UnixTime,
        reason: OtherError,
    ) -> Result<ServerCertVerified, Error> {
        let refused = || Error::InvalidCertificate(CertificateError::Other(reason.clone()));
        let certificate = Certificate::read(der).ok_or_else(refused)?;
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let is_known = roots.contains(der);
        let is_signed = || {
            let mut roots = roots.iter().filter_map(|root| Certificate::read(root));
            roots.any(|root| {
                root.subject == certificate.issuer
                    && (root.validity.0..=root.validity.1).contains(&now)
                    && self.is_signed_by(&certificate, root.key)
            })
        };
        if !is_known && !is_signed() {
            return Err(CertificateError::UnknownIssuer.into());
        }
        match certificate.validity {
            (first, _) if now < first => Err(CertificateError::NotValidYet.into()),
            (_, last) if now > last => Err(CertificateError::Expired.into()),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn is_signed_by(&self, certificate: &Certificate<'_>, key: &[u8]) -> bool {
        let key = SubjectPublicKeyInfoDer::from(key);
        let mut algorithms = self
            .algorithms
            .all
            .iter()
            .filter(|algorithm| certificate.is_signed_with(algorithm.signature_alg_id().as_ref()));
        algorithms.any(|algorithm| key_verifies(&key, *algorithm, certificate.signed, certificate.signature))
    }
}

/// The public key, whatever else the certificate says.
fn key_of(certificate: &CertificateDer<'_>) -> Result<SubjectPublicKeyInfoDer<'static>, Error> {
    let read = Certificate::read(certificate).ok_or(CertificateError::BadEncoding)?;
    Ok(SubjectPublicKeyInfoDer::from(read.key.to_vec()))
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
