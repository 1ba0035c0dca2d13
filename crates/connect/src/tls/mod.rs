//! TLS for the PostgreSQL protocol with rustls: settings, certificate files, and a channel that converts between bytes
//! of the socket and of the protocol. Independent of sockets, which control sessions and the engine's driver provide.

mod certificate;
mod channel;
mod error;
mod files;
mod rules;
mod settings;
mod trust;
mod verifier;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, SupportedProtocolVersion, version};

use crate::address::Address;
use certificate::Certificate;
use trust::Trust;
use verifier::Verifier;

pub use channel::TlsChannel;
pub use error::TlsError;
pub use settings::{TlsFile, TlsMode, TlsNegotiation, TlsSettings, TlsVersion, TrustedRoots};

/// ALPN protocol name; servers since 17 check it.
const PROTOCOL: &[u8] = b"postgresql";

/// Configuration for TLS connections: loaded certificates and keys. Created once and used for every connection; a clone
/// shares the same data.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    negotiation: TlsNegotiation,
    checks_name: bool,
}

impl Tls {
    /// Reads the files named in the settings.
    pub fn new(settings: &TlsSettings) -> Result<Tls, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let trust = match files::roots(settings)? {
            Some(certificates) => Some(Trust::new(certificates, &files::revoked(settings)?, algorithms)?),
            None => None,
        };
        let versions = Tls::versions(settings);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier { trust, algorithms }));
        let mut config = match files::identity(settings)? {
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|error| {
                TlsError::new(
                    format!("the client's certificate and its key cannot be used ({error})"),
                    "Check that sslcert and sslkey match",
                )
            })?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.enable_sni = settings.sends_name;
        // PostgreSQL servers do not resume TLS sessions.
        config.resumption = Resumption::disabled();
        Ok(Tls {
            config: Arc::new(config),
            negotiation: settings.negotiation,
            checks_name: settings.mode == TlsMode::VerifyFull,
        })
    }

    fn versions(settings: &TlsSettings) -> Vec<&'static SupportedProtocolVersion> {
        let range = settings.version_min..=settings.version_max;
        let all = [(TlsVersion::V12, &version::TLS12), (TlsVersion::V13, &version::TLS13)];
        all.into_iter().filter(|(version, _)| range.contains(version)).map(|(_, known)| known).collect()
    }

    /// Starts a connection to this address: appends the first bytes to send to `out`.
    pub fn connect(&self, address: &Address, out: &mut Vec<u8>) -> Result<TlsChannel, TlsError> {
        let (host, name) = match address {
            Address::Tcp { host, address } => (host.clone(), server_name(host, address.ip())),
            // Unix sockets do not use TLS; there would be no name to check.
            Address::Unix(_) => ("localhost".to_owned(), ServerName::from(IpAddr::from([127, 0, 0, 1]))),
        };
        let connection = rustls::ClientConnection::new(Arc::clone(&self.config), name)?;
        let host = self.checks_name.then_some(host);
        Ok(TlsChannel::begin(connection, self.negotiation, host, out))
    }
}

/// Verifies certificates without a connection, for tools. All arguments are DER: trusted certificates, revocation
/// lists, and the server's certificates with its own first. `host` is the name to verify, if any.
pub fn judge_certificates(
    trusted: &[&[u8]],
    revoked: &[&[u8]],
    shown: &[&[u8]],
    host: Option<&str>,
    now_unix: Duration,
) -> Result<(), TlsError> {
    let certificates = |list: &[&[u8]]| list.iter().map(|der| CertificateDer::from(der.to_vec())).collect();
    let lists: Vec<_> = revoked.iter().map(|der| der.to_vec().into()).collect();
    let algorithms = ring::default_provider().signature_verification_algorithms;
    let trust = Trust::new(certificates(trusted), &lists, algorithms)?;
    let shown: Vec<CertificateDer<'static>> = certificates(shown);
    let Some((own, others)) = shown.split_first() else { return Err(TlsError::no_certificate()) };
    let judged = trust.judge(own, others, UnixTime::since_unix_epoch(now_unix));
    judged.map_err(|error| TlsError::from(rustls::Error::InvalidCertificate(error)))?;
    check_host(Certificate::read(own).as_ref(), host)
}

/// Whether a certificate, DER, is for this host by libpq's rules. The error contains the names that it is for.
pub fn certificate_fits(der: &[u8], host: &str) -> Result<(), Vec<String>> {
    Certificate::read(der).map_or(Err(Vec::new()), |certificate| certificate.check_host(host))
}

/// Whether the certificate is valid for this host; true if the name is not verified.
fn check_host(certificate: Option<&Certificate>, host: Option<&str>) -> Result<(), TlsError> {
    let Some(host) = host else { return Ok(()) };
    let names = certificate.map_or(Err(Vec::new()), |read| read.check_host(host));
    names.map_err(|names| TlsError::wrong_name(host, &names))
}

/// The name for SNI; addresses are not sent.
fn server_name(host: &str, ip: IpAddr) -> ServerName<'static> {
    match ServerName::try_from(host.strip_suffix('.').unwrap_or(host).to_owned()) {
        Ok(name) => name,
        // A host that is not a valid DNS name cannot be sent.
        Err(_) => ServerName::from(ip),
    }
}

/// Omits certificates and keys.
impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tls")
            .field("negotiation", &self.negotiation)
            .field("checks_name", &self.checks_name)
            .finish_non_exhaustive()
    }
}
