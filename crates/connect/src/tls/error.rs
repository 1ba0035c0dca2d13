//! Errors of TLS: a clause for a message, and a remedy. Created by the other modules of `tls`; `error` adds the
//! address.

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// Why TLS failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsError {
    why: String,
    next: &'static str,
    is_not_offered: bool,
}

/// `why. next`
impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next {
            "" => formatter.write_str(&self.why),
            next => write!(formatter, "{}. {next}", self.why),
        }
    }
}

impl std::error::Error for TlsError {}

/// For sockets with TLS, whose errors are I/O errors.
impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

const WRONG_SERVER: &str = "Check that this is the intended server";
const NAME_THE_ROOT: &str = "Give the issuer's certificate with sslrootcert, or use the system's certificates \
                             with sslrootcert=system";
const ISSUE_IT_AGAIN: &str =
    "Issue it again; docs/connections.md describes the requirements for certificate chains";
const NAME_A_CERTIFICATE: &str = "Give the client's certificate and key with sslcert and sslkey";

impl TlsError {
    pub(super) fn new(why: impl Into<String>, next: &'static str) -> TlsError {
        TlsError { why: why.into(), next, is_not_offered: false }
    }

    /// The reason and the remedy.
    pub(crate) fn parts(&self) -> (String, String) {
        (self.why.clone(), self.next.to_owned())
    }

    /// True if the server answered that it does not support TLS; the connection may continue without it.
    pub fn is_not_offered(&self) -> bool {
        self.is_not_offered
    }

    pub(super) fn not_offered() -> TlsError {
        let error = TlsError::new(
            "the server does not support TLS, which sslmode requires",
            "Set ssl = on in the server's configuration, or use sslmode=prefer if the network can be trusted",
        );
        TlsError { is_not_offered: true, ..error }
    }

    /// Answer of a server that cannot start a process, sent before it reads the request.
    pub(super) fn refused() -> TlsError {
        TlsError::new("the server answered the request for TLS with an error", "See the server's log")
    }

    /// The connection was closed before encryption started.
    pub fn closed() -> TlsError {
        TlsError::new("the server closed the connection during the TLS handshake", "See the server's log")
    }

    pub(super) fn not_negotiated() -> TlsError {
        TlsError::new(
            "the TLS service there is not PostgreSQL (it does not negotiate the protocol by ALPN)",
            WRONG_SERVER,
        )
    }

    pub(super) fn no_postgres() -> TlsError {
        TlsError::new(
            "the service there does not use PostgreSQL's protocol (its response to SSLRequest is neither S nor N)",
            "Check host and port: another service listens there",
        )
    }

    pub(super) fn no_certificate() -> TlsError {
        TlsError::new("the server sent no certificate", "")
    }

    pub(super) fn wrong_name(host: &str, names: &[String]) -> TlsError {
        let names = match names {
            [] => "it contains no name".to_owned(),
            names => format!("it is for {}", names.join(", ")),
        };
        TlsError::new(
            format!("the server's certificate is not for the host \"{host}\": {names}"),
            "Connect with a name in the certificate, or use sslmode=verify-ca, which does not check the name",
        )
    }
}

impl From<Error> for TlsError {
    fn from(error: Error) -> TlsError {
        match &error {
            Error::InvalidCertificate(reason) => of_certificate(reason),
            Error::AlertReceived(alert) => of_alert(*alert),
            Error::InvalidMessage(_) => {
                TlsError::new(format!("the service there does not use TLS ({error})"), WRONG_SERVER)
            }
            Error::PeerIncompatible(_) => TlsError::new(
                format!("server and client have no TLS parameters in common ({error})"),
                "TLS 1.2 or 1.3 is required: see the server's ssl_min_protocol_version, \
                 ssl_max_protocol_version and \
                 ssl_ciphers",
            ),
            _ => TlsError::new(format!("TLS failed: {error}"), "See the server's log for more"),
        }
    }
}

fn of_certificate(reason: &CertificateError) -> TlsError {
    let (why, next) = match reason {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            ("the server's certificate is not trusted: its issuer is not in sslrootcert", NAME_THE_ROOT)
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("the server's certificate has expired", "Renew it on the server")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("the server's certificate is not valid yet", "Compare the clocks of client and server")
        }
        CertificateError::Revoked => ("the server's certificate is revoked", WRONG_SERVER),
        CertificateError::UnknownRevocationStatus => (
            "cannot check whether the server's certificate is revoked: there is no revocation list of its issuer",
            "Provide a revocation list of each issuer with sslcrl or sslcrldir",
        ),
        CertificateError::ExpiredRevocationList | CertificateError::ExpiredRevocationListContext { .. } => (
            "a certificate revocation list has expired",
            "Get a newer one from its issuer, and give it with sslcrl or sslcrldir",
        ),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => (
            "the server's certificate is not valid for servers (according to its extended key usage)",
            WRONG_SERVER,
        ),
        CertificateError::Other(reason) => {
            let why = format!("the server's certificate is rejected: {}", reason.0);
            return TlsError::new(why, ISSUE_IT_AGAIN);
        }
        _ => {
            let why = format!("the server's certificate is rejected: {reason}");
            return TlsError::new(why, ISSUE_IT_AGAIN);
        }
    };
    TlsError::new(why, next)
}

fn of_alert(alert: AlertDescription) -> TlsError {
    match alert {
        AlertDescription::CertificateRequired => {
            TlsError::new("the server requires a client certificate", NAME_A_CERTIFICATE)
        }
        AlertDescription::UnknownCA
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown => TlsError::new(
            "the server does not trust the client's certificate",
            "Add the issuer's certificate to the server's ssl_ca_file",
        ),
        AlertDescription::CertificateExpired | AlertDescription::CertificateRevoked => {
            TlsError::new("the client's certificate has expired or is revoked", NAME_A_CERTIFICATE)
        }
        AlertDescription::NoApplicationProtocol => TlsError::not_negotiated(),
        AlertDescription::ProtocolVersion => TlsError::new(
            "server and client have no TLS version in common",
            "See ssl_min_protocol_version and ssl_max_protocol_version, here and on the server",
        ),
        _ => TlsError::new(format!("the server refused TLS ({alert:?})"), "See the server's log for more"),
    }
}
