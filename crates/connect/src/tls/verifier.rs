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
        let mut periods = vec![certificate.validity];
        if !roots.contains(der) {
            let mut roots = roots.iter().filter_map(|root| Certificate::read(root));
            let signer = roots
                .find(|root| root.subject == certificate.issuer && self.is_signed_by(&certificate, root.key));
            periods.push(signer.ok_or(CertificateError::UnknownIssuer)?.validity);
        }
        if periods.iter().any(|(first, _)| now < *first) {
            return Err(CertificateError::NotValidYet.into());
        }
        if periods.iter().any(|(_, last)| now > *last) {
            return Err(CertificateError::Expired.into());
        }
        Ok(ServerCertVerified::assertion())
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::RootCertStore;
    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// Made by openssl 3.0 as the manual has it ("Creating Certificates"): an authority of version 3, and a server's
    /// certificate of version 1 that it has signed. Valid from 2026 to 2126.
    const ROOT: &str = "\
-----BEGIN CERTIFICATE-----
MIIBfDCCASGgAwIBAgIUEh3PbzuyNBbiAPPqQeIJmuglJYUwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHdjEtcm9vdDAgFw0yNjExMjExNTMyMTFaGA8yMTI2MTAyODE1
MzIxMVowEjEQMA4GA1UEAwwHdjEtcm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABHbejjKGr2YcyyF1YWSuCJmSdGiVOSnWZ0tPk0Xr05clEzOImuTC5cu6EeRu
/ZXQYvCywIZ5ksD2Wtl3AW2YhT+jUzBRMB0GA1UdDgQWBBTN99G/Mu3Y8KtRXBuY
aoLqiXYdVzAfBgNVHSMEGDAWgBTN99G/Mu3Y8KtRXBuYaoLqiXYdVzAPBgNVHRMB
Af8EBTADAQH/MAoGCCqGSM49BAMCA0kAMEYCIQCo0U3uaiD2oLfbcO83mA2qk4Ty
aaGRpRUPMnn9CAIqfwIhANU/WIH/eSwUkgTFUsFTkD/nWetBks5Ebr6qtQD0jA8P
-----END CERTIFICATE-----
";
    const LEAF: &str = "\
-----BEGIN CERTIFICATE-----
MIIBIzCByQIUGIDCvvnL5GDmBP0oc18i8HcMQBAwCgYIKoZIzj0EAwIwEjEQMA4G
A1UEAwwHdjEtcm9vdDAgFw0yNjExMjExNTMyMTJaGA8yMTI2MTAyODE1MzIxMlow
FDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
8kOEBjrqMS0FsVbjizDyhTkSoNBx9VEARzJ01ntXNDyDNl8aDNpmPUlljvPIBYk7
1lc4G/5wEm9sfvlyRll5izAKBggqhkjOPQQDAgNJADBGAiEAwPmmFC5eUrHTVYTY
3LAr8IfRoJIkglLs/eArC+MI1AICIQDwxaYtFtawpJ5l8K4H6zumsAqRTyvgpBuD
qAxXRSFlnA==
-----END CERTIFICATE-----
";
    const IN_2050: u64 = 2_524_608_000;
    const IN_2000: u64 = 946_684_800;
    const IN_2130: u64 = 5_049_129_600;

    fn verify(leaf: &[u8], seconds: u64) -> Result<ServerCertVerified, Error> {
        let root = CertificateDer::from_pem_slice(ROOT.as_bytes()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let mut store = RootCertStore::empty();
        store.add(root.clone()).unwrap();
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build().unwrap();
        let trust = Some(Trust { chains, roots: vec![root], has_lists: false });
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let name = ServerName::try_from("localhost").unwrap();
        Verifier { trust, algorithms }.verify_server_cert(&CertificateDer::from(leaf), &[], &name, &[], now)
    }

    #[test]
    fn a_certificate_of_version_1_is_believed_if_a_trusted_one_has_signed_it_and_no_byte_is_changed() {
        let leaf = CertificateDer::from_pem_slice(LEAF.as_bytes()).unwrap();
        verify(&leaf, IN_2050).unwrap();
        assert_eq!(Certificate::read(&leaf).unwrap().check_host("localhost"), Ok(()));
        assert_eq!(Certificate::read(&leaf).unwrap().check_host("other"), Err(vec!["localhost".to_owned()]));
        let refusal = |seconds| verify(&leaf, seconds).unwrap_err();
        assert_eq!(refusal(IN_2000), CertificateError::NotValidYet.into());
        assert_eq!(refusal(IN_2130), CertificateError::Expired.into());
        for place in 0..leaf.len() {
            let mut changed = leaf.to_vec();
            changed[place] ^= 1;
            assert!(verify(&changed, IN_2050).is_err(), "byte {place}");
        }
        for length in 0..leaf.len() {
            assert!(verify(&leaf[..length], IN_2050).is_err(), "{length} bytes");
        }
    }
}
