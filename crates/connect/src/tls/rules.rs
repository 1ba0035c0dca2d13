//! Conditions of libpq with OpenSSL for the certificates of a chain that `webpki` does not check: key usage, key
//! identifiers, and most fields of trusted certificates. Stricter where that is simpler, as listed in the manual.
//! `trust` calls these functions for chains with valid signatures.
//!
//! OpenSSL 3.0: `x509_vfy.c`, `check_extensions`, `check_name_constraints`; `v3_purp.c`, `check_purpose_ssl_server`,
//! `X509_check_issued`.

use x509_cert::der::Decode;
use x509_cert::der::asn1::BitString;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, NameConstraints,
    SubjectKeyIdentifier,
};

use super::certificate::{Certificate, Malformed};

/// Why a chain is refused: a clause about the server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("a certificate of its chain is malformed")]
    Malformed,
    #[error("a certificate of its chain has an extension that is not supported")]
    Extension,
    #[error("the key usage or extended key usage of a certificate of its chain does not include TLS servers")]
    Purpose,
    #[error("the signing certificate is not a certificate authority (basic constraints, key usage)")]
    NoAuthority,
    #[error("the chain is longer than one of its authorities allows (path length)")]
    PathLength,
    #[error("the authority given by its key identifier or serial number did not sign it")]
    Identifier,
    #[error("one of its authorities has unsupported name constraints")]
    Constraints,
    #[error("its chain contains a self-signed certificate that is not trusted")]
    SelfIssued,
    #[error("the trusted authority's key usage does not include signing revocation lists")]
    Lists,
}

impl From<Malformed> for Refusal {
    fn from(_: Malformed) -> Refusal {
        Refusal::Malformed
    }
}

const fn id(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(text)
}

const SERVER_AUTHENTICATION: ObjectIdentifier = id("1.3.6.1.5.5.7.3.1");
const NETSCAPE_TYPE: ObjectIdentifier = id("2.16.840.1.113730.1.1");
/// The bit of [`NETSCAPE_TYPE`] for TLS servers.
const NETSCAPE_SERVER: usize = 1;

/// Extensions that may be critical. OpenSSL accepts some more that are not implemented here: policies, and the list
/// below.
const KNOWN: [ObjectIdentifier; 6] = [
    // Key usage, alternative names, basic constraints, name constraints, distribution points, extended key usage.
    id("2.5.29.15"),
    id("2.5.29.17"),
    id("2.5.29.19"),
    id("2.5.29.30"),
    id("2.5.29.31"),
    id("2.5.29.37"),
];
/// OpenSSL evaluates these, critical or not: proxy certificates, blocks of addresses and of autonomous systems.
const UNSUPPORTED: [ObjectIdentifier; 3] =
    [id("1.3.6.1.5.5.7.1.14"), id("1.3.6.1.5.5.7.1.7"), id("1.3.6.1.5.5.7.1.8")];

/// Checks for each certificate of a chain.
pub(super) fn check_form(certificate: &Certificate) -> Result<(), Refusal> {
    let extensions = certificate.extensions().ok_or(Refusal::Malformed)?;
    if !certificate.is_version_3() && !extensions.is_empty() {
        return Err(Refusal::Malformed);
    }
    let is_unsupported = extensions.iter().any(|extension| {
        UNSUPPORTED.contains(&extension.extn_id) || extension.critical && !KNOWN.contains(&extension.extn_id)
    });
    if is_unsupported { Err(Refusal::Extension) } else { Ok(()) }
}

/// Checks for the server's certificate.
pub(super) fn check_server(certificate: &Certificate) -> Result<(), Refusal> {
    let usage = certificate.extension::<KeyUsage>()?;
    let netscape =
        certificate.extensions().unwrap_or_default().iter().find(|found| found.extn_id == NETSCAPE_TYPE);
    let netscape = match netscape {
        Some(found) => Some(BitString::from_der(found.extn_value.as_bytes()).map_err(|_| Malformed)?),
        None => None,
    };
    let may_serve = usage
        .is_none_or(|usage| usage.digital_signature() || usage.key_encipherment() || usage.key_agreement());
    let is_of_server = netscape.is_none_or(|kinds| kinds.get(NETSCAPE_SERVER) == Some(true));
    if may_serve && is_of_server { check_extended_usage(certificate) } else { Err(Refusal::Purpose) }
}

fn check_extended_usage(certificate: &Certificate) -> Result<(), Refusal> {
    let usage = certificate.extension::<ExtendedKeyUsage>()?;
    let may_serve = usage.is_none_or(|usage| usage.0.contains(&SERVER_AUTHENTICATION));
    if may_serve { Ok(()) } else { Err(Refusal::Purpose) }
}

/// Whether its basic constraints mark it as an authority.
pub(super) fn is_authority(certificate: &Certificate) -> bool {
    matches!(certificate.extension::<BasicConstraints>(), Ok(Some(BasicConstraints { ca: true, .. })))
}

/// Checks for each authority; `below` is the number of authorities between it and the server's certificate. A trusted
/// certificate need not be marked as an authority if it has version 1, which has no such mark, or a key usage.
pub(super) fn check_authority(
    certificate: &Certificate,
    below: usize,
    is_trusted: bool,
) -> Result<(), Refusal> {
    let constraints = certificate.extension::<BasicConstraints>()?;
    let usage = certificate.extension::<KeyUsage>()?;
    let is_authority = match &constraints {
        Some(constraints) => constraints.ca,
        None => is_trusted && (!certificate.is_version_3() || usage.is_some()),
    };
    if !is_authority || usage.is_some_and(|usage| !usage.key_cert_sign()) {
        return Err(Refusal::NoAuthority);
    }
    let length_max = constraints.and_then(|constraints| constraints.path_len_constraint);
    if length_max.is_some_and(|max| below > usize::from(max)) {
        return Err(Refusal::PathLength);
    }
    check_extended_usage(certificate)
}

/// Checks for a trusted authority whose revocation list is used.
pub(super) fn check_signs_lists(authority: &Certificate) -> Result<(), Refusal> {
    let usage = authority.extension::<KeyUsage>()?;
    if usage.is_some_and(|usage| !usage.crl_sign()) { Err(Refusal::Lists) } else { Ok(()) }
}

/// Compares the key identifiers of a certificate and its issuer, by which OpenSSL finds the issuer.
pub(super) fn check_identifier(certificate: &Certificate, issuer: &Certificate) -> Result<(), Refusal> {
    let Some(identifier) = certificate.extension::<AuthorityKeyIdentifier>()? else { return Ok(()) };
    let AuthorityKeyIdentifier { key_identifier, authority_cert_issuer, authority_cert_serial_number } =
        identifier;
    let own = issuer.extension::<SubjectKeyIdentifier>()?;
    let is_key = match (&key_identifier, &own) {
        (Some(named), Some(own)) => named.as_bytes() == own.0.as_bytes(),
        _ => true,
    };
    let is_serial =
        authority_cert_serial_number.is_none_or(|serial| serial.as_bytes() == issuer.serial_number());
    let mut names = authority_cert_issuer.iter().flatten();
    let name = names.find_map(|name| match name {
        GeneralName::DirectoryName(name) => Some(name),
        _ => None,
    });
    let is_issuer = name.is_none_or(|name| name == issuer.issuer());
    if is_key && is_serial && is_issuer { Ok(()) } else { Err(Refusal::Identifier) }
}

/// For an authority without verification of name constraints.
pub(super) fn check_unconstrained(authority: &Certificate) -> Result<(), Refusal> {
    match authority.extension::<NameConstraints>()? {
        Some(_) => Err(Refusal::Constraints),
        None => Ok(()),
    }
}

/// For an authority with name constraints, and the server's certificate. `webpki` compares alternative names with
/// constraints of hosts and addresses; OpenSSL also compares the subject.
pub(super) fn check_constraints(authority: &Certificate, server: &Certificate) -> Result<(), Refusal> {
    let Some(constraints) = authority.extension::<NameConstraints>()? else { return Ok(()) };
    let NameConstraints { permitted_subtrees, excluded_subtrees } = constraints;
    let mut trees = permitted_subtrees.iter().chain(&excluded_subtrees).flatten();
    let are_compared =
        trees.all(|tree| matches!(tree.base, GeneralName::DnsName(_) | GeneralName::IpAddress(_)));
    let names = server.alternative_names();
    let has_name = names.iter().any(|name| matches!(name, GeneralName::DnsName(_)));
    if are_compared && has_name { Ok(()) } else { Err(Refusal::Constraints) }
}
