//! What a scan found, as data: the outcome of each question. `scan` collects the outcomes;
//! nothing here judges.

use serde::Serialize;

use crate::answer::alert_name;
use crate::key_exchange::KeyExchange;
use crate::suite::Suite;
use crate::version::Version;

/// A way to start TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// After SSLRequest, an exchange in PostgreSQL's protocol.
    SslRequest,
    /// At once, with ALPN; PostgreSQL 17 and later.
    Direct,
}

/// What was found by one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayScan {
    /// How TLS was started.
    pub way: Way,
    /// Number of connections that were made.
    pub connections: u32,
    /// Protocol that the server chose by ALPN; `null` if it chose none, or if that is unknown.
    pub alpn: Option<String>,
    /// Whether an answer to ALPN was seen, in an accepted version.
    pub alpn_is_known: bool,
    /// An outcome for each version.
    pub versions: Vec<VersionFinding>,
    /// An outcome for each cipher suite, by number. Empty if no version was accepted.
    pub suites: Vec<SuiteFinding>,
}

/// The outcome for a version.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionFinding {
    /// The version.
    pub version: Version,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The outcome for a suite.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SuiteFinding {
    /// Its number in IANA's registry.
    pub code: u16,
    /// Its name there.
    pub name: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of one ClientHello.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The server continued the handshake with what was asked for.
    Accepted(Accepted),
    /// The server refused by an alert.
    Alert {
        /// Its number.
        alert: u8,
        /// Its name.
        alert_name: String,
    },
    /// The server continued with an older version than the one that was asked for.
    OlderVersion {
        /// Its code.
        version_code: u16,
    },
    /// The server answered SSLRequest with "no".
    NotOffered,
    /// The server answered with an error message instead.
    ServerError {
        /// Its text.
        message: String,
    },
    /// The server closed the connection without an answer.
    Closed,
    /// No complete answer within the time limit.
    NoAnswer,
    /// No connection could be made.
    NotConnected {
        /// Why.
        reason: String,
    },
    /// The bytes of the server are no answer.
    Unreadable {
        /// Why.
        reason: String,
    },
    /// No ClientHello was sent, because no accepted version has this suite.
    NotInVersions,
    /// No ClientHello was sent, because the server had stopped answering.
    NotTried,
}

/// What a server chose. In JSON its fields stand beside those of the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Accepted {
    /// Version.
    #[serde(rename = "chosen_version")]
    pub version: Version,
    /// Name of the suite.
    #[serde(rename = "chosen_suite")]
    pub suite: String,
    /// Exchange of keys, if it is visible.
    pub key_exchange: Option<KeyExchange>,
    /// RFC 7627; `null` for TLS 1.3, which has it always.
    pub extended_master_secret: Option<bool>,
    /// RFC 5746; `null` for TLS 1.3, which does not renegotiate.
    pub secure_renegotiation: Option<bool>,
    /// Whether the server would compress.
    pub compression: bool,
}

impl Outcome {
    pub(crate) fn alert(alert: u8) -> Outcome {
        Outcome::Alert { alert, alert_name: alert_name(alert) }
    }

    /// What the server chose, if it accepted.
    pub fn accepted(&self) -> Option<&Accepted> {
        match self {
            Outcome::Accepted(accepted) => Some(accepted),
            _ => None,
        }
    }

    /// Whether the server refused, in contrast to silence, errors and questions that were not asked.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Outcome::Alert { .. } | Outcome::OlderVersion { .. } | Outcome::NotOffered)
    }

    /// Whether the server may have stopped answering.
    pub(crate) fn is_silence(&self) -> bool {
        matches!(self, Outcome::NoAnswer | Outcome::NotConnected { .. })
    }
}

impl WayScan {
    /// Versions that were accepted.
    pub fn accepted_versions(&self) -> impl Iterator<Item = Version> {
        let accepted = self.versions.iter().filter(|finding| finding.outcome.accepted().is_some());
        accepted.map(|finding| finding.version)
    }

    /// Suites that were accepted, with what the server chose.
    pub fn accepted_suites(&self) -> impl Iterator<Item = (Suite, &Accepted)> {
        self.suites.iter().filter_map(|finding| {
            let suite = Suite { code: finding.code, name: finding.name.clone() };
            finding.outcome.accepted().map(|accepted| (suite, accepted))
        })
    }
}
