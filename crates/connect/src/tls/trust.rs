//! Verifies a chain of certificates up to a trusted one. `webpki` builds and checks the chain; `rules` adds libpq's
//! further conditions. Never accepts a chain that libpq refuses; docs/connections.md lists chains that only this
//! refuses. Three kinds that `webpki` always refuses are verified without it: a certificate that is itself trusted;
//! X.509 version 1, which commands in PostgreSQL's manual used to create; and a server's certificate with the flag of
//! an authority. The latter two must be signed directly by a trusted certificate.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, TrustAnchor, UnixTime};
use rustls::{CertificateError, OtherError};
use webpki::{
    CertRevocationList, EndEntityCert, ExpirationPolicy, KeyUsage, OwnedCertRevocationList,
    RawPublicKeyEntity, RevocationCheckDepth, RevocationOptionsBuilder, UnknownStatusPolicy, VerifiedPath,
};
use x509_cert::crl::CertificateList;
use x509_cert::der::{Decode, Encode};

use super::certificate::{Certificate, signed_part};
use super::error::TlsError;
use super::rules::{self, Refusal};

/// Trusted certificates and revocation lists.
#[derive(Debug)]
pub(super) struct Trust {
    roots: Vec<Root>,
    /// The roots in `webpki`'s form, in the same order.
    anchors: Vec<TrustAnchor<'static>>,
    /// Certificates of the file that are not self-issued: intermediate ones, trusted only below a root.
    links: Vec<CertificateDer<'static>>,
    /// Newest first.
    lists: Vec<List>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// A trusted, self-issued certificate.
#[derive(Debug)]
struct Root {
    der: CertificateDer<'static>,
    certificate: Certificate,
}

/// A certificate revocation list (CRL).
#[derive(Debug)]
struct List {
    /// Unix time.
    since: Duration,
    list: CertRevocationList<'static>,
}

impl Trust {
    /// From the certificates and lists in files. A file may contain some certificates that cannot be used.
    pub(super) fn new(
        certificates: Vec<CertificateDer<'static>>,
        lists: &[CertificateRevocationListDer<'static>],
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Result<Trust, TlsError> {
        let (mut roots, mut anchors, mut links) = (Vec::new(), Vec::new(), Vec::new());
        for der in certificates {
            let Some(certificate) = Certificate::read(&der) else { continue };
            if !is_self_issued(&certificate) {
                links.push(der);
            } else if let Ok(anchor) = webpki::anchor_from_trusted_cert(&der) {
                anchors.push(anchor.to_owned());
                roots.push(Root { der, certificate });
            }
        }
        if roots.is_empty() {
            return Err(match links.is_empty() {
                true => TlsError::new(
                    "none of the trusted certificates can be used",
                    "Check the file given by sslrootcert",
                ),
                false => TlsError::new(
                    "none of the trusted certificates is self-signed, as the end of a chain must be",
                    "Add the root authority's certificate to the file given by sslrootcert",
                ),
            });
        }
        let lists: Option<Vec<_>> = lists.iter().map(|der| List::read(der)).collect();
        let mut lists = lists.ok_or_else(|| {
            TlsError::new("a certificate revocation list is malformed", "Check the file given by sslcrl")
        })?;
        lists.sort_by_key(|list| std::cmp::Reverse(list.since));
        Ok(Trust { roots, anchors, links, lists, algorithms })
    }

    /// Verifies the server's certificate with those that it sent; does not check the host name.
    pub(super) fn judge(
        &self,
        der: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), CertificateError> {
        let certificate = Certificate::read(der).ok_or(CertificateError::BadEncoding)?;
        rules::check_form(&certificate).map_err(refused)?;
        if let Some(root) = self.roots.iter().find(|root| root.der == *der) {
            return self.judge_root(root, now);
        }
        if certificate.subject() == certificate.issuer() {
            return Err(CertificateError::UnknownIssuer);
        }
        rules::check_server(&certificate).map_err(refused)?;
        if !certificate.is_version_3() || rules::is_authority(&certificate) {
            self.judge_signed_by_root(&certificate, der, now)
        } else {
            self.judge_chain(der, sent, now)
        }
    }

    /// Verifies a server's certificate that is itself trusted.
    fn judge_root(&self, root: &Root, now: UnixTime) -> Result<(), CertificateError> {
        rules::check_server(&root.certificate).map_err(refused)?;
        self.refuse_without_list()?;
        check_dates(&root.certificate, now)
    }

    /// Fails if there are revocation lists, which only `webpki` checks.
    fn refuse_without_list(&self) -> Result<(), CertificateError> {
        if self.lists.is_empty() { Ok(()) } else { Err(CertificateError::UnknownRevocationStatus) }
    }

    /// Allows no intermediate certificates and no name constraints, since only `webpki` checks those.
    fn judge_signed_by_root(
        &self,
        certificate: &Certificate,
        der: &CertificateDer<'_>,
        now: UnixTime,
    ) -> Result<(), CertificateError> {
        self.refuse_without_list()?;
        let signers = self.roots.iter().filter(|root| {
            root.certificate.subject() == certificate.issuer()
                && self.is_signed_by(der, certificate, &root.certificate)
        });
        let signers: Vec<_> = signers.collect();
        for root in &signers {
            rules::check_unconstrained(&root.certificate).map_err(refused)?;
        }
        self.check_roots(signers, &[], certificate, now)
    }

    fn is_signed_by(&self, der: &[u8], certificate: &Certificate, signer: &Certificate) -> bool {
        let parts = (signed_part(der), certificate.signature(), signer.key());
        let (Some(signed), Some((algorithm, signature)), Some(key)) = parts else { return false };
        let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
        let mut candidates =
            self.algorithms.all.iter().filter(|candidate| candidate.signature_alg_id().as_ref() == algorithm);
        candidates.any(|candidate| key.verify_signature(*candidate, signed, signature).is_ok())
    }

    /// Lets `webpki` build chains until one meets `rules` as well.
    fn judge_chain(
        &self,
        der: &CertificateDer<'_>,
        sent: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), CertificateError> {
        let server = EndEntityCert::try_from(der).map_err(by_webpki)?;
        let links: Vec<CertificateDer<'_>> = sent.iter().chain(&self.links).cloned().collect();
        let now_unix = Duration::from_secs(now.as_secs());
        let lists: Vec<_> =
            self.lists.iter().filter(|list| list.since <= now_unix).map(|list| &list.list).collect();
        let revocation = match RevocationOptionsBuilder::new(&lists) {
            Ok(builder) => Some(
                builder
                    .with_depth(RevocationCheckDepth::Chain)
                    .with_status_policy(UnknownStatusPolicy::Deny)
                    .with_expiration_policy(ExpirationPolicy::Enforce)
                    .build(),
            ),
            Err(_) => {
                // There are no lists, or none is valid yet.
                self.refuse_without_list()?;
                None
            }
        };
        let objection = Cell::new(None);
        let verify_path = |path: &VerifiedPath<'_>| {
            self.check_path(path, now).map_err(|error| {
                objection.set(Some(error));
                webpki::Error::UnknownIssuer
            })
        };
        let found = server.verify_for_usage(
            self.algorithms.all,
            &self.anchors,
            &links,
            now,
            KeyUsage::server_auth(),
            revocation,
            Some(&verify_path),
        );
        match found {
            Ok(_) => Ok(()),
            Err(error) => Err(objection.take().unwrap_or_else(|| by_webpki(error))),
        }
    }

    /// A chain with valid signatures.
    fn check_path(&self, path: &VerifiedPath<'_>, now: UnixTime) -> Result<(), CertificateError> {
        let read = |der: &[u8]| Certificate::read(der).ok_or(CertificateError::BadEncoding);
        let server = read(&path.end_entity().der())?;
        let links: Result<Vec<_>, _> =
            path.intermediate_certificates().map(|link| read(&link.der())).collect();
        let anchor = path.anchor();
        let roots = self.anchors.iter().zip(&self.roots).filter(|(candidate, _)| {
            candidate.subject == anchor.subject
                && candidate.subject_public_key_info == anchor.subject_public_key_info
        });
        self.check_roots(roots.map(|(_, root)| root).collect(), &links?, &server, now)
    }

    /// Checks the chain from the server's certificate over these intermediate ones to the roots that may have signed
    /// the last. If there are several, such as a root and its renewal, all must meet the rules and one must be within
    /// its validity.
    fn check_roots(
        &self,
        roots: Vec<&Root>,
        links: &[Certificate],
        server: &Certificate,
        now: UnixTime,
    ) -> Result<(), CertificateError> {
        if roots.is_empty() {
            return Err(CertificateError::UnknownIssuer);
        }
        check_dates(server, now)?;
        for root in &roots {
            let root = &root.certificate;
            self.check_chain(links, root, server).map_err(refused)?;
            let is_revoked = |list: &List| {
                let own = root.subject().to_der().is_ok_and(|name| name.ends_with(list.list.issuer()));
                own && !matches!(list.list.find_serial(root.serial_number()), Ok(None))
            };
            if self.lists.iter().any(is_revoked) {
                return Err(CertificateError::Revoked);
            }
        }
        for link in links {
            check_dates(link, now)?;
        }
        let mut dates = roots.iter().map(|root| check_dates(&root.certificate, now));
        let first = dates.next().unwrap_or(Err(CertificateError::UnknownIssuer));
        if first.is_ok() || dates.any(|checked| checked.is_ok()) { Ok(()) } else { first }
    }

    /// All checks that do not depend on the time.
    fn check_chain(
        &self,
        links: &[Certificate],
        root: &Certificate,
        server: &Certificate,
    ) -> Result<(), Refusal> {
        if !self.lists.is_empty() {
            rules::check_signs_lists(root)?;
        }
        let mut below = server;
        for (count, authority) in links.iter().chain([root]).enumerate() {
            let is_trusted = count == links.len();
            rules::check_form(authority)?;
            if !is_trusted && authority.subject() == authority.issuer() {
                return Err(Refusal::SelfIssued);
            }
            rules::check_authority(authority, count, is_trusted)?;
            rules::check_identifier(below, authority)?;
            rules::check_constraints(authority, server)?;
            below = authority;
        }
        Ok(())
    }
}

impl List {
    fn read(der: &[u8]) -> Option<List> {
        let facts = CertificateList::<x509_cert::certificate::Rfc5280>::from_der(der).ok()?;
        let list = OwnedCertRevocationList::from_der(der).ok()?;
        Some(List { since: facts.tbs_cert_list.this_update.to_unix_duration(), list: list.into() })
    }
}

/// OpenSSL's definition: subject and issuer are equal, and the key identifiers do not differ. The signature is not
/// checked.
fn is_self_issued(certificate: &Certificate) -> bool {
    certificate.subject() == certificate.issuer() && rules::check_identifier(certificate, certificate).is_ok()
}

/// As in OpenSSL, a certificate expires at the start of its last second.
fn check_dates(certificate: &Certificate, now: UnixTime) -> Result<(), CertificateError> {
    let (first, last) = certificate.validity();
    match now.as_secs() {
        now if now < first => Err(CertificateError::NotValidYet),
        now if now >= last => Err(CertificateError::Expired),
        _ => Ok(()),
    }
}

fn refused(refusal: Refusal) -> CertificateError {
    CertificateError::Other(OtherError(Arc::new(refusal)))
}

fn by_webpki(error: webpki::Error) -> CertificateError {
    use webpki::Error;
    match error {
        Error::UnknownIssuer => CertificateError::UnknownIssuer,
        Error::InvalidSignatureForPublicKey => CertificateError::BadSignature,
        Error::CertExpired { .. } => CertificateError::Expired,
        Error::CertNotValidYet { .. } => CertificateError::NotValidYet,
        Error::CertRevoked => CertificateError::Revoked,
        Error::UnknownRevocationStatus => CertificateError::UnknownRevocationStatus,
        Error::CrlExpired { .. } => CertificateError::ExpiredRevocationList,
        Error::EndEntityUsedAsCa => refused(Refusal::NoAuthority),
        Error::PathLenConstraintViolated => refused(Refusal::PathLength),
        other => CertificateError::Other(OtherError(Arc::new(other))),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;

    use super::*;

    /// Created by openssl 3.0 as in the manual ("Creating Certificates"): an authority of version 3, and a server's
    /// certificate of version 1 signed by it. Valid from 2026 to 2126.
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

    fn verify(leaf: &[u8], seconds: u64) -> Result<(), CertificateError> {
        let root = CertificateDer::from_pem_slice(ROOT.as_bytes()).unwrap();
        let algorithms = ring::default_provider().signature_verification_algorithms;
        let trust = Trust::new(vec![root], &[], algorithms).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        trust.judge(&CertificateDer::from(leaf), &[], now)
    }

    #[test]
    fn a_certificate_of_version_1_is_believed_if_a_trusted_one_has_signed_it_and_no_byte_is_changed() {
        let leaf = CertificateDer::from_pem_slice(LEAF.as_bytes()).unwrap();
        verify(&leaf, IN_2050).unwrap();
        assert_eq!(Certificate::read(&leaf).unwrap().check_host("localhost"), Ok(()));
        assert_eq!(Certificate::read(&leaf).unwrap().check_host("other"), Err(vec!["localhost".to_owned()]));
        let refusal = |seconds| verify(&leaf, seconds).unwrap_err();
        assert_eq!(refusal(IN_2000), CertificateError::NotValidYet);
        assert_eq!(refusal(IN_2130), CertificateError::Expired);
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
