//! A server's certificate, parsed by `x509-cert`: names, validity, issuer, extensions. `rules` and `trust` verify it.
//! Parsing is total: any bytes yield a certificate or `None`.
//!
//! RFC 5280, section 4.1.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rustls::pki_types::SubjectPublicKeyInfoDer;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use x509_cert::Version;
use x509_cert::der::asn1::{AnyRef, ContextSpecific};
use x509_cert::der::oid::{AssociatedOid, ObjectIdentifier};
use x509_cert::der::{Decode, Encode, Reader, SliceReader, TagNumber};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;
use x509_cert::spki::AlgorithmIdentifierRef;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const RSA_PSS: &str = "1.2.840.113549.1.1.10";

/// A certificate.
#[derive(Clone, Debug)]
pub(super) struct Certificate(x509_cert::Certificate);

impl Certificate {
    pub(super) fn read(der: &[u8]) -> Option<Certificate> {
        x509_cert::Certificate::from_der(der).ok().map(Certificate)
    }

    /// Only version 3 has extensions.
    pub(super) fn is_version_3(&self) -> bool {
        self.0.tbs_certificate().version() == Version::V3
    }

    pub(super) fn issuer(&self) -> &Name {
        self.0.tbs_certificate().issuer()
    }

    pub(super) fn subject(&self) -> &Name {
        self.0.tbs_certificate().subject()
    }

    pub(super) fn serial_number(&self) -> &[u8] {
        self.0.tbs_certificate().serial_number().as_bytes()
    }

    /// First and last second of its validity, Unix time.
    pub(super) fn validity(&self) -> (u64, u64) {
        let validity = self.0.tbs_certificate().validity();
        (validity.not_before.to_unix_duration().as_secs(), validity.not_after.to_unix_duration().as_secs())
    }

    /// The public key.
    pub(super) fn key(&self) -> Option<SubjectPublicKeyInfoDer<'static>> {
        let key = self.0.tbs_certificate().subject_public_key_info().to_der();
        key.ok().map(SubjectPublicKeyInfoDer::from)
    }

    /// The signature algorithm (AlgorithmIdentifier without its header) and the signature. `None` if the signed part
    /// names another algorithm.
    pub(super) fn signature(&self) -> Option<(Vec<u8>, &[u8])> {
        let algorithm = self.0.signature_algorithm();
        if algorithm != self.0.tbs_certificate().signature() {
            return None;
        }
        let mut bytes = algorithm.oid.to_der().ok()?;
        if let Some(parameters) = &algorithm.parameters {
            parameters.encode_to_vec(&mut bytes).ok()?;
        }
        Some((bytes, self.0.signature().as_bytes()?))
    }

    /// All extensions; `None` if one occurs twice.
    pub(super) fn extensions(&self) -> Option<&[Extension]> {
        let extensions = self.0.tbs_certificate().extensions().map(Vec::as_slice).unwrap_or_default();
        let mut seen = BTreeSet::new();
        extensions.iter().all(|extension| seen.insert(extension.extn_id)).then_some(extensions)
    }

    /// One extension; an error if it is malformed or occurs twice.
    pub(super) fn extension<'a, T>(&'a self) -> Result<Option<T>, Malformed>
    where
        T: Decode<'a> + AssociatedOid,
    {
        let found = self.0.tbs_certificate().get_extension::<T>();
        found.map(|found| found.map(|(_, extension)| extension)).map_err(|_| Malformed)
    }

    /// Subject alternative names; empty if the extension is malformed.
    pub(super) fn alternative_names(&self) -> Vec<GeneralName> {
        let names = self.extension::<SubjectAltName>();
        names.ok().flatten().map(|names| names.0).unwrap_or_default()
    }

    /// libpq's rule: a matching subject alternative name; the first common name only if there is no alternative name of
    /// the host's kind. The error contains the names of the certificate.
    pub(super) fn check_host(&self, host: &str) -> Result<(), Vec<String>> {
        if self.extension::<SubjectAltName>().is_err() {
            return Err(Vec::new());
        }
        let ip: Option<IpAddr> = host.parse().ok();
        // libpq also treats `127.1` as an address.
        let may_be_address = ip.is_some() || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let may_be_name = ip.is_none();
        let mut names = Vec::new();
        let mut is_common_name_used = true;
        for name in self.alternative_names() {
            match name {
                GeneralName::DnsName(name) => {
                    is_common_name_used &= !may_be_name;
                    names.push(name.as_str().to_owned());
                }
                GeneralName::IpAddress(bytes) => {
                    is_common_name_used &= !may_be_address;
                    let Some(found) = address(bytes.as_bytes()) else { continue };
                    if Some(found) == ip {
                        return Ok(());
                    }
                    names.push(found.to_string());
                }
                _ => {}
            }
        }
        if is_common_name_used {
            names.extend(self.common_name());
        }
        // A name with a zero byte is truncated by some programs, so the certificate is not trusted.
        let is_honest = names.iter().all(|name| !name.contains('\0'));
        if is_honest && names.iter().any(|name| fits(name, host)) { Ok(()) } else { Err(names) }
    }

    fn common_name(&self) -> Option<String> {
        let mut attributes = self.subject().iter();
        let found = attributes.find(|attribute| attribute.oid == COMMON_NAME)?;
        Some(String::from_utf8_lossy(found.value.value()).into_owned())
    }

    /// The hash of the certificate `der`, for channel binding; `None` for signature algorithms without a hash of their
    /// own, such as Ed25519, for which none is defined.
    ///
    /// RFC 5929, section 4.1: the hash of the signature algorithm, or SHA-256 for MD5 and SHA-1.
    pub(super) fn end_point(&self, der: &[u8]) -> Option<Vec<u8>> {
        let algorithm = self.0.signature_algorithm();
        let hash = match algorithm.oid.to_string().as_str() {
            // RSA-PSS names the hash in its parameters; the default is SHA-1.
            RSA_PSS => {
                let parameters = algorithm.parameters.as_ref().map(AnyRef::from);
                parameters.and_then(pss_hash).unwrap_or(Hash::Sha256)
            }
            // PKCS #1: MD5, SHA-1; SHA-224 to SHA-512.
            "1.2.840.113549.1.1.4" | "1.2.840.113549.1.1.5" | "1.2.840.113549.1.1.11" => Hash::Sha256,
            "1.2.840.113549.1.1.12" => Hash::Sha384,
            "1.2.840.113549.1.1.13" => Hash::Sha512,
            "1.2.840.113549.1.1.14" => Hash::Sha224,
            // ECDSA: SHA-1; SHA-224 to SHA-512.
            "1.2.840.10045.4.1" | "1.2.840.10045.4.3.2" => Hash::Sha256,
            "1.2.840.10045.4.3.1" => Hash::Sha224,
            "1.2.840.10045.4.3.3" => Hash::Sha384,
            "1.2.840.10045.4.3.4" => Hash::Sha512,
            _ => return None,
        };
        Some(match hash {
            Hash::Sha224 => Sha224::digest(der).to_vec(),
            Hash::Sha256 => Sha256::digest(der).to_vec(),
            Hash::Sha384 => Sha384::digest(der).to_vec(),
            Hash::Sha512 => Sha512::digest(der).to_vec(),
        })
    }
}

/// A part of a certificate that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The signed part of a certificate (TBSCertificate).
pub(super) fn signed_part(der: &[u8]) -> Option<&[u8]> {
    let outer = AnyRef::from_der(der).ok()?;
    SliceReader::new(outer.value()).ok()?.tlv_bytes().ok()
}

#[derive(Clone, Copy)]
enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// RFC 4055, section 3.1: the hash is the first parameter.
fn pss_hash(parameters: AnyRef<'_>) -> Option<Hash> {
    let mut reader = SliceReader::new(parameters.value()).ok()?;
    let hash = ContextSpecific::<AlgorithmIdentifierRef<'_>>::decode_explicit(&mut reader, TagNumber(0));
    match hash.ok()??.value.oid.to_string().as_str() {
        "2.16.840.1.101.3.4.2.2" => Some(Hash::Sha384),
        "2.16.840.1.101.3.4.2.3" => Some(Hash::Sha512),
        "2.16.840.1.101.3.4.2.4" => Some(Hash::Sha224),
        _ => Some(Hash::Sha256),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    four.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

/// Equal, or with a wildcard `*.` for the first label.
fn fits(pattern: &str, host: &str) -> bool {
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let (Some(domain), Some((label, of_host))) = (pattern.strip_prefix("*."), host.split_once('.')) else {
        return false;
    };
    !domain.is_empty() && !label.is_empty() && domain.eq_ignore_ascii_case(of_host)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_stands_for_one_label() {
        for (pattern, host, expected) in [
            ("db.example.com", "DB.example.com", true),
            ("*.example.com", "db.example.com", true),
            ("*.example.com", "a.db.example.com", false),
            ("*.example.com", "example.com", false),
            ("*.example.com", ".example.com", false),
            ("*", "db", false),
            ("*.", "db.", false),
            ("d*.example.com", "db.example.com", false),
        ] {
            assert_eq!(fits(pattern, host), expected, "{pattern} {host}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_certificate_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let nested = [&[0x30, 0x82, 1, 0][..], &bytes].concat();
            for der in [&bytes, &nested] {
                if let Some(certificate) = Certificate::read(der) {
                    let _ = certificate.check_host("host");
                    let _ = certificate.end_point(der);
                }
                let _ = signed_part(der);
            }
        }
    }
}
