//! Where a run took place: the client's host, and the server's own account of itself.
//! Nothing here asks a server: its facts are handed in as data by whoever holds a session.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Conditions, Disk, Host, SafeText};

/// The host that pgmeter ran on and the server it measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The client's host.
    pub host: Host,
    /// What bears on its speed.
    pub conditions: Conditions,
    /// The disk of the server, or of the records; `null` if nobody looked.
    pub disk: Option<Disk>,
    /// How the server was reached; `null` if nobody looked.
    pub connection: Option<ConnectionInUse>,
    /// The server; `null` if it could not be asked.
    pub server: Option<ServerFacts>,
}

/// Processors as busy as that have little left for others.
const FULL: f64 = 0.9;

impl Environment {
    /// Whether client and server share a host whose processors had little left during the run.
    pub(crate) fn has_full_processors(&self) -> bool {
        let is_beside = self.connection.as_ref().is_some_and(|connection| connection.same_host);
        is_beside && self.conditions.processors.is_some_and(|shares| shares.busy >= FULL)
    }
}

/// How the server was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionInUse {
    /// By what.
    pub transport: TransportInUse,
    /// Whether client and server are on one host, by the address: a tunnel may deceive.
    pub same_host: bool,
    /// Through which TLS; `null` without.
    pub tls: Option<TlsInUse>,
    /// The version of PostgreSQL's protocol.
    pub protocol_version: String,
}

/// What carries a connection.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportInUse {
    /// A socket in the file system.
    UnixSocket,
    /// TCP that does not leave the host.
    Loopback,
    /// TCP over a network.
    Network,
}

/// TLS as server and client agreed on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsInUse {
    /// Such as `TLSv1.3`.
    pub version: String,
    /// Such as `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// What the server says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFacts {
    /// `server_version`, such as `18.1`.
    pub version: String,
    /// `server_version_num`, such as `180001`.
    pub server_version_num: u32,
    /// All settings that are not at their default.
    pub non_default_settings: Settings,
    /// Those that decide on durability, checkpoints and memory, at their default or not; empty if they could not be
    /// read.
    pub main_settings: Settings,
    /// Extensions of the database, with their versions.
    pub extensions: BTreeMap<String, String>,
    /// Whether it was built with assertions, which make it slow; `null` if unknown.
    pub debug_assertions: Option<bool>,
    /// How the server was built, as far as it tells.
    pub build: BuildFingerprint,
}

/// How a server was built: two servers of one version can differ here, and in speed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BuildFingerprint {
    /// `CONFIGURE` of `pg_config`.
    pub configure: Option<String>,
    /// `CFLAGS` of `pg_config`.
    pub cflags: Option<String>,
    /// The whole of `select version()`.
    pub version: String,
}

/// Server settings by name. Values that hold secrets are masked when they are put in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "BTreeMap<String, String>")]
pub struct Settings(BTreeMap<String, SafeText>);

/// Settings that run a command line of the administrator's, which often names keys and tokens.
const COMMAND_SETTINGS: [&str; 5] = [
    "archive_cleanup_command",
    "archive_command",
    "recovery_end_command",
    "restore_command",
    "ssl_passphrase_command",
];

impl Settings {
    /// The value of one setting, if it is not at its default.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(SafeText::as_str)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many there are.
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
                // Customized options are named by their users; the server's own are known to hold no secret.
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
