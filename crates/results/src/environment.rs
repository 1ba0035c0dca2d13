//! The environment of a run: the client's host and the server's properties. This module sends no queries; the caller
//! passes in the server's properties.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Conditions, Disk, Host, SafeText};

/// The client's host and the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The client's host.
    pub host: Host,
    /// Conditions that affect the host's speed.
    pub conditions: Conditions,
    /// The disk of the server or of the records; `null` if not examined.
    pub disk: Option<Disk>,
    /// The connection to the server; `null` if not examined.
    pub connection: Option<ConnectionInUse>,
    /// The server; `null` if its properties could not be read.
    pub server: Option<ServerFacts>,
}

/// Utilization from which CPUs have little capacity left for others.
const FULL: f64 = 0.9;

impl Environment {
    /// Whether client and server share a host whose CPUs were almost fully used during the run.
    pub(crate) fn has_full_processors(&self) -> bool {
        let is_beside = self.connection.as_ref().is_some_and(|connection| connection.same_host);
        is_beside && self.conditions.processors.is_some_and(|shares| shares.busy >= FULL)
    }
}

/// The connection to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionInUse {
    /// Transport.
    pub transport: TransportInUse,
    /// Whether client and server are on one host, by the address; wrong for a tunnel.
    pub same_host: bool,
    /// TLS parameters; `null` without TLS.
    pub tls: Option<TlsInUse>,
    /// The version of PostgreSQL's protocol.
    pub protocol_version: String,
}

/// Transport of a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportInUse {
    /// A Unix-domain socket.
    UnixSocket,
    /// TCP within the host.
    Loopback,
    /// TCP over a network.
    Network,
}

/// TLS parameters negotiated by server and client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsInUse {
    /// Protocol version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// The server's properties, as reported by the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFacts {
    /// `server_version`, such as `18.1`.
    pub version: String,
    /// `server_version_num`, such as `180001`.
    pub server_version_num: u32,
    /// All settings with a value other than the default.
    pub non_default_settings: Settings,
    /// Settings for durability, checkpoints and memory, with default values or others; empty if they could not be read.
    pub main_settings: Settings,
    /// Extensions of the database and their versions.
    pub extensions: BTreeMap<String, String>,
    /// Whether the server was built with assertions, which slow it down; `null` if unknown.
    pub debug_assertions: Option<bool>,
    /// Build options, as far as the server provides them.
    pub build: BuildFingerprint,
}

/// Build options: servers of one version can differ in them, and therefore in speed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildFingerprint {
    /// `CONFIGURE` of `pg_config`.
    pub configure: Option<String>,
    /// `CFLAGS` of `pg_config`.
    pub cflags: Option<String>,
    /// Output of `select version()`.
    pub version: String,
}

/// Server settings by name. Values with secrets are masked on insertion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Settings(BTreeMap<String, SafeText>);

/// Settings with shell commands of the administrator, which often contain keys and tokens.
const COMMAND_SETTINGS: [&str; 5] = [
    "archive_cleanup_command",
    "archive_command",
    "recovery_end_command",
    "restore_command",
    "ssl_passphrase_command",
];

impl Settings {
    /// The value of a setting; `None` if it has its default.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(SafeText::as_str)
    }

    /// All settings, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Number of settings.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all settings are at their defaults.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, String)> for Settings {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(settings: T) -> Settings {
        let masked = |(name, value): (String, String)| {
            let value = match name.as_str() {
                name if COMMAND_SETTINGS.contains(&name) => SafeText::masked(),
                // Custom settings can contain secrets; the server's own known settings do not.
                name if name.contains('.') => SafeText::named(name, &value),
                _ => value.into(),
            };
            (name, value)
        };
        Settings(settings.into_iter().map(masked).collect())
    }
}

impl From<BTreeMap<String, String>> for Settings {
    fn from(settings: BTreeMap<String, String>) -> Settings {
        settings.into_iter().collect()
    }
}
