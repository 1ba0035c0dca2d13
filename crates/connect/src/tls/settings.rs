//! What a connection string says about TLS, as plain data: part of a target. Made by `resolve`; nothing is read
//! from files here, that is done by `files` when the first TLS connection is made.
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
    /// If the server has it; else a plain connection.
    #[default]
    Prefer,
    /// Always; the server's certificate is checked only if a file of trusted ones exists.
    Require,
    /// Always; the certificate must be trusted.
    VerifyCa,
    /// Always; the certificate must be trusted and be the host's.
    VerifyFull,
}

impl TlsMode {
    /// The modes by libpq's names.
    pub(crate) const NAMES: [(&str, TlsMode); 6] = [
        ("disable", TlsMode::Disable),
        ("allow", TlsMode::Allow),
        ("prefer", TlsMode::Prefer),
        ("require", TlsMode::Require),
        ("verify-ca", TlsMode::VerifyCa),
        ("verify-full", TlsMode::VerifyFull),
    ];

    /// True if a plain connection is not what was asked for.
    pub fn is_required(self) -> bool {
        matches!(self, TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull)
    }

    /// True if the server's certificate must be checked in any case.
    pub(crate) fn verifies(self) -> bool {
        matches!(self, TlsMode::VerifyCa | TlsMode::VerifyFull)
    }

    /// libpq's name.
    pub fn name(self) -> &'static str {
        TlsMode::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }
}

/// How TLS begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsNegotiation {
    /// The client asks in PostgreSQL's protocol whether the server has it.
    #[default]
    Postgres,
    /// At once, with ALPN; servers before 17 do not know that.
    Direct,
}

/// A file with a usual place: `~/.postgresql/root.crt` and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// There is no place to look.
    Nowhere,
    /// The usual place; it need not exist.
    Usual(PathBuf),
    /// The user has named it.
    Named(PathBuf),
}

impl TlsFile {
    /// Where it is, and whether the user has named it.
    pub(crate) fn place(&self) -> Option<(&PathBuf, bool)> {
        match self {
            TlsFile::Nowhere => None,
            TlsFile::Usual(path) => Some((path, false)),
            TlsFile::Named(path) => Some((path, true)),
        }
    }
}

/// Whom to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustedRoots {
    /// The certificates in a file.
    File(TlsFile),
    /// Those that the system trusts.
    System,
}

/// Versions of the protocol that are spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2
    V12,
    /// TLS 1.3
    V13,
}

/// All that is said about TLS.
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
    /// `sslcrldir`: a directory of such files.
    pub revoked_directory: Option<PathBuf>,
    /// `sslcert`: the client's certificate, and those between it and the one that the server trusts.
    /// Nowhere with `sslcertmode=disable`.
    pub certificate: TlsFile,
    /// `sslkey`: the private key of that.
    pub key: TlsFile,
    /// `sslsni`: whether the server is told the name that the client knows it by.
    pub sends_name: bool,
    /// `ssl_min_protocol_version`
    pub version_min: TlsVersion,
    /// `ssl_max_protocol_version`
    pub version_max: TlsVersion,
}
