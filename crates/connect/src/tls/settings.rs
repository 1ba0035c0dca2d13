//! TLS settings of a target, as plain data. Created by `resolve`; `files` reads the files for the first TLS connection.
//!
//! Manual: libpq, "SSL Support".

use std::path::PathBuf;

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disable,
    /// Only if the server refuses a plain connection.
    Allow,
    /// If the server supports it, otherwise a plain connection.
    #[default]
    Prefer,
    /// Always; the server's certificate is verified only if a root file exists.
    Require,
    /// Always; the certificate must be trusted.
    VerifyCa,
    /// Always; the certificate must be trusted and match the host name.
    VerifyFull,
}

impl TlsMode {
    /// libpq's names.
    pub(crate) const NAMES: [(&str, TlsMode); 6] = [
        ("disable", TlsMode::Disable),
        ("allow", TlsMode::Allow),
        ("prefer", TlsMode::Prefer),
        ("require", TlsMode::Require),
        ("verify-ca", TlsMode::VerifyCa),
        ("verify-full", TlsMode::VerifyFull),
    ];

    /// True if plain connections are not allowed.
    pub fn is_required(self) -> bool {
        matches!(self, TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull)
    }

    /// True if the server's certificate is always verified.
    pub(crate) fn verifies(self) -> bool {
        matches!(self, TlsMode::VerifyCa | TlsMode::VerifyFull)
    }

    /// libpq's name.
    pub fn name(self) -> &'static str {
        TlsMode::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// Negotiation of TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsNegotiation {
    /// By SSLRequest in PostgreSQL's protocol.
    #[default]
    Postgres,
    /// At once, with ALPN; servers before 17 do not support it.
    Direct,
}

/// A file with a default path, such as `~/.postgresql/root.crt`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// No path.
    Nowhere,
    /// The default path; the file may be missing.
    Usual(PathBuf),
    /// Given by the user.
    Named(PathBuf),
}

impl TlsFile {
    /// The path, and whether the user gave it.
    pub(crate) fn place(&self) -> Option<(&PathBuf, bool)> {
        match self {
            TlsFile::Nowhere => None,
            TlsFile::Usual(path) => Some((path, false)),
            TlsFile::Named(path) => Some((path, true)),
        }
    }
}

/// Trusted certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustedRoots {
    /// The certificates in a file.
    File(TlsFile),
    /// The system's trusted certificates.
    System,
}

/// Supported versions of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2
    V12,
    /// TLS 1.3
    V13,
}

/// All TLS settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// `sslmode`
    pub mode: TlsMode,
    /// `sslnegotiation`
    pub negotiation: TlsNegotiation,
    /// `sslrootcert`
    pub roots: TrustedRoots,
    /// `sslcrl`
    pub revoked: TlsFile,
    /// `sslcrldir`: a directory of such files
    pub revoked_directory: Option<PathBuf>,
    /// `sslcert`: the client's certificate and intermediate ones. `Nowhere` with `sslcertmode=disable`.
    pub certificate: TlsFile,
    /// `sslkey`: the private key of the client's certificate
    pub key: TlsFile,
    /// `sslsni`: whether the client sends the host name
    pub sends_name: bool,
    /// `ssl_min_protocol_version`
    pub version_min: TlsVersion,
    /// `ssl_max_protocol_version`
    pub version_max: TlsVersion,
}
