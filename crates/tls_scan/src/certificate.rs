//! A chain of certificates as facts: names, dates, key, signature. `connect` parses and verifies certificates for
//! connections; this describes them, whether they are valid or not. Pure.
//!
//! RFC 5280, section 4.1.

use calendar::UtcTime;
use serde::Serialize;
use sha2::{Digest, Sha256};
use x509_cert::Certificate;
use x509_cert::der::asn1::{AnyRef, ObjectIdentifier, UintRef};
use x509_cert::der::referenced::OwnedToRef;
use x509_cert::der::{Decode, Reader, SliceReader};
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, SubjectAltName};
use x509_cert::spki::SubjectPublicKeyInfoRef;

use crate::key_exchange::bits;

/// Certificates as a server sends them, its own first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// The certificates.
    pub certificates: Vec<CertificateFacts>,
    /// Names of the server's certificate if it is not for the host, by libpq's rules; `null` if it is, or no host was
    /// given.
    pub names_of_another_host: Option<Vec<String>>,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateFacts {
    /// SHA-256 of its DER encoding, hexadecimal.
    pub sha256: String,
    /// Its contents; `null` if it cannot be read.
    pub contents: Option<CertificateContents>,
}

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateContents {
    /// Subject, as in RFC 4514.
    pub subject: String,
    /// Issuer, as in RFC 4514.
    pub issuer: String,
    /// Subject alternative names: hosts and addresses.
    pub names: Vec<String>,
    /// Serial number, hexadecimal.
    pub serial: String,
    /// Start of the validity.
    pub not_before: UtcTime,
    /// End of the validity.
    pub not_after: UtcTime,
    /// Public key.
    pub key: Key,
    /// Signature algorithm, such as `sha256WithRSAEncryption`.
    pub signature: String,
    /// Whether subject and issuer are equal.
    pub self_issued: bool,
    /// Whether it may sign others.
    pub authority: bool,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Such as `RSA` or `EC secp256r1`.
    pub algorithm: String,
    /// Size of the modulus or the field; `null` if unknown.
    pub bits: Option<u32>,
}

/// Object identifiers with their names.
const SIGNATURES: [(&str, &str); 17] = [
    ("1.2.840.113549.1.1.4", "md5WithRSAEncryption"),
    ("1.2.840.113549.1.1.5", "sha1WithRSAEncryption"),
    ("1.2.840.113549.1.1.10", "rsassaPss"),
    ("1.2.840.113549.1.1.11", "sha256WithRSAEncryption"),
    ("1.2.840.113549.1.1.12", "sha384WithRSAEncryption"),
    ("1.2.840.113549.1.1.13", "sha512WithRSAEncryption"),
    ("1.2.840.113549.1.1.14", "sha224WithRSAEncryption"),
    ("1.2.840.10045.4.1", "ecdsa-with-SHA1"),
    ("1.2.840.10045.4.3.1", "ecdsa-with-SHA224"),
    ("1.2.840.10045.4.3.2", "ecdsa-with-SHA256"),
    ("1.2.840.10045.4.3.3", "ecdsa-with-SHA384"),
    ("1.2.840.10045.4.3.4", "ecdsa-with-SHA512"),
    ("1.2.840.10040.4.3", "dsa-with-sha1"),
    ("2.16.840.1.101.3.4.3.2", "dsa-with-sha256"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
    ("2.16.840.1.101.3.4.3.18", "ML-DSA-65"),
];

const RSA: &str = "1.2.840.113549.1.1.1";
const RSA_PSS: &str = "1.2.840.113549.1.1.10";
const EC: &str = "1.2.840.10045.2.1";

/// Keys whose size follows from the algorithm.
const KEYS: [(&str, &str, Option<u32>); 4] = [
    ("1.3.101.112", "Ed25519", Some(253)),
    ("1.3.101.113", "Ed448", Some(446)),
    ("1.2.840.10040.4.1", "DSA", None),
    ("2.16.840.1.101.3.4.3.18", "ML-DSA-65", None),
];

const CURVES: [(&str, &str, u32); 9] = [
    ("1.2.840.10045.3.1.1", "secp192r1", 192),
    ("1.3.132.0.33", "secp224r1", 224),
    ("1.2.840.10045.3.1.7", "secp256r1", 256),
    ("1.3.132.0.10", "secp256k1", 256),
    ("1.3.132.0.34", "secp384r1", 384),
    ("1.3.132.0.35", "secp521r1", 521),
    ("1.3.36.3.3.2.8.1.1.7", "brainpoolP256r1", 256),
    ("1.3.36.3.3.2.8.1.1.11", "brainpoolP384r1", 384),
    ("1.3.36.3.3.2.8.1.1.13", "brainpoolP512r1", 512),
];

impl Chain {
    /// From DER, the server's own first. `host` is compared with the names of the first.
    pub(crate) fn new(certificates: &[Vec<u8>], host: Option<&str>) -> Chain {
        let own = certificates.first();
        let names = own.zip(host).and_then(|(own, host)| connect::certificate_fits(own, host).err());
        let certificates = certificates.iter().map(|der| CertificateFacts::new(der)).collect();
        Chain { certificates, names_of_another_host: names }
    }
}

impl CertificateFacts {
    /// From DER.
    pub fn new(der: &[u8]) -> CertificateFacts {
        let contents =
            Certificate::from_der(der).ok().map(|certificate| CertificateContents::new(&certificate));
        CertificateFacts { sha256: hexadecimal(&Sha256::digest(der)), contents }
    }
}

impl CertificateContents {
    fn new(certificate: &Certificate) -> CertificateContents {
        let signed = certificate.tbs_certificate();
        let names = signed.get_extension::<SubjectAltName>().ok().flatten();
        let constraints = signed.get_extension::<BasicConstraints>().ok().flatten();
        let validity = signed.validity();
        CertificateContents {
            subject: signed.subject().to_string(),
            issuer: signed.issuer().to_string(),
            names: names.map(|(_, names)| names.0.iter().filter_map(in_words).collect()).unwrap_or_default(),
            serial: hexadecimal(signed.serial_number().as_bytes()),
            not_before: utc(validity.not_before.to_unix_duration()),
            not_after: utc(validity.not_after.to_unix_duration()),
            key: Key::new(&signed.subject_public_key_info().owned_to_ref()),
            signature: named(certificate.signature_algorithm().oid, &SIGNATURES),
            self_issued: signed.subject() == signed.issuer(),
            authority: constraints.is_some_and(|(_, constraints)| constraints.ca),
        }
    }
}

impl Key {
    fn new(info: &SubjectPublicKeyInfoRef<'_>) -> Key {
        let identifier = info.algorithm.oid.to_string();
        match identifier.as_str() {
            RSA => Key { algorithm: "RSA".to_owned(), bits: modulus(info) },
            RSA_PSS => Key { algorithm: "RSA-PSS".to_owned(), bits: modulus(info) },
            EC => {
                let curve = info.algorithm.parameters_oid().map(|oid| oid.to_string()).unwrap_or_default();
                match CURVES.iter().find(|(known, ..)| *known == curve) {
                    Some((_, name, bits)) => Key { algorithm: format!("EC {name}"), bits: Some(*bits) },
                    None => Key { algorithm: format!("EC {curve}"), bits: None },
                }
            }
            other => match KEYS.iter().find(|(known, ..)| *known == other) {
                Some((_, name, bits)) => Key { algorithm: (*name).to_owned(), bits: *bits },
                None => Key { algorithm: identifier, bits: None },
            },
        }
    }
}

/// RFC 8017, appendix A.1.1: a sequence that begins with the modulus.
fn modulus(info: &SubjectPublicKeyInfoRef<'_>) -> Option<u32> {
    let sequence = AnyRef::from_der(info.subject_public_key.as_bytes()?).ok()?;
    let mut reader = SliceReader::new(sequence.value()).ok()?;
    let modulus: UintRef<'_> = reader.decode().ok()?;
    Some(bits(modulus.as_bytes()))
}

fn named(oid: ObjectIdentifier, names: &[(&str, &str)]) -> String {
    let identifier = oid.to_string();
    let known = names.iter().find(|(known, _)| *known == identifier);
    known.map_or(identifier.clone(), |(_, name)| (*name).to_owned())
}

/// Names of hosts and addresses; other kinds do not name a server.
fn in_words(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.as_str().to_owned()),
        GeneralName::IpAddress(bytes) => {
            let four =
                <[u8; 4]>::try_from(bytes.as_bytes()).map(|four| std::net::IpAddr::from(four).to_string());
            let sixteen = || {
                <[u8; 16]>::try_from(bytes.as_bytes())
                    .map(|sixteen| std::net::IpAddr::from(sixteen).to_string())
            };
            four.or_else(|_| sixteen()).ok()
        }
        _ => None,
    }
}

fn utc(since_1970: std::time::Duration) -> UtcTime {
    UtcTime::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{
        CertificateParams, DnType, IsCa, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, date_time_ymd,
    };

    use super::*;

    fn certificate(algorithm: &'static rcgen::SignatureAlgorithm) -> Vec<u8> {
        let mut parameters =
            CertificateParams::new(vec!["db.example.com".to_owned(), "10.0.0.7".to_owned()]).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, "db, \u{1b}[1m");
        parameters.not_before = date_time_ymd(2020, 2, 29);
        parameters.not_after = date_time_ymd(2100, 1, 1);
        parameters.is_ca = IsCa::NoCa;
        let key = KeyPair::generate_for(algorithm).unwrap();
        parameters.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_is_described_with_names_dates_key_and_signature() {
        let facts = CertificateFacts::new(&certificate(&PKCS_ECDSA_P384_SHA384)).contents.unwrap();
        assert_eq!(facts.names, ["db.example.com", "10.0.0.7"]);
        assert!(facts.subject.starts_with("CN=db\\,"), "{}", facts.subject);
        assert_eq!(facts.not_before.to_string(), "2020-02-29T00:00:00.000Z");
        assert_eq!(facts.not_after.to_string(), "2100-01-01T00:00:00.000Z");
        assert_eq!(facts.key, Key { algorithm: "EC secp384r1".to_owned(), bits: Some(384) });
        assert_eq!(facts.signature, "ecdsa-with-SHA384");
        assert!(facts.self_issued && !facts.authority);
        let facts = CertificateFacts::new(&certificate(&PKCS_ED25519)).contents.unwrap();
        assert_eq!((facts.key.algorithm.as_str(), facts.signature.as_str()), ("Ed25519", "Ed25519"));
    }

    #[test]
    fn a_chain_says_whether_it_is_for_the_host() {
        let der = certificate(&PKCS_ED25519);
        let names = |host| Chain::new(std::slice::from_ref(&der), host).names_of_another_host;
        assert_eq!(names(Some("db.example.com")), None);
        assert_eq!(names(None), None);
        let expected = vec!["db.example.com".to_owned(), "10.0.0.7".to_owned()];
        assert_eq!(names(Some("localhost")), Some(expected));
    }

    proptest! {
        #[test]
        fn any_bytes_are_described(
            place in any::<prop::sample::Index>(), value in any::<u8>(), other in any::<prop::sample::Index>(),
        ) {
            let mut der = certificate(&PKCS_ED25519);
            let (first, second) = (place.index(der.len()), other.index(der.len()));
            der[first] = value;
            let _ = CertificateFacts::new(&der);
            der[second] = !value;
            let _ = Chain::new(&[der[..first].to_vec(), der], Some("localhost"));
        }
    }
}
