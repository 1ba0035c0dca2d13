//! Versions of TLS. Also those that no current library can use.
//! Pure.

use serde::Serialize;

/// A version of TLS, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Version {
    /// TLS 1.0
    #[serde(rename = "TLSv1")]
    V10,
    /// TLS 1.1
    #[serde(rename = "TLSv1.1")]
    V11,
    /// TLS 1.2
    #[serde(rename = "TLSv1.2")]
    V12,
    /// TLS 1.3
    #[serde(rename = "TLSv1.3")]
    V13,
}

impl Version {
    /// All, with their code and the name that PostgreSQL's settings use.
    pub const ALL: [(Version, u16, &'static str); 4] = [
        (Version::V10, 0x0301, "TLSv1"),
        (Version::V11, 0x0302, "TLSv1.1"),
        (Version::V12, 0x0303, "TLSv1.2"),
        (Version::V13, 0x0304, "TLSv1.3"),
    ];

    /// By its code.
    pub(crate) fn of_code(code: u16) -> Option<Version> {
        Version::ALL.iter().find(|(_, known, _)| *known == code).map(|(version, ..)| *version)
    }

    pub(crate) fn code(self) -> u16 {
        Version::ALL.iter().find(|(version, ..)| *version == self).map_or(0, |(_, code, _)| *code)
    }

    /// As in PostgreSQL's `ssl_min_protocol_version`.
    pub fn name(self) -> &'static str {
        Version::ALL.iter().find(|(version, ..)| *version == self).map_or("", |(.., name)| name)
    }
}
