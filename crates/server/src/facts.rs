//! What a server says of itself, for the record: version, settings that are not the default, how it was built.

use crate::Setting;

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The setting `server_version`: "18.6".
    pub version: String,
    /// The setting `server_version_num`: 180006.
    pub version_num: u32,
    /// The answer of `version()`, with compiler and architecture.
    pub version_text: String,
    /// Settings that differ from PostgreSQL's defaults, by name; none that could hold a secret.
    pub settings: Vec<Setting>,
    /// Whether it survives a power cut: `fsync`.
    pub fsync: bool,
    /// Whether it was built with assertions, which makes it slow.
    pub debug_assertions: bool,
    /// How it was built, where the view `pg_config` may be read (superuser, 9.6 and later).
    pub build: Option<Build>,
}

/// How a server was built, from the view `pg_config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// CFLAGS.
    pub cflags: String,
    /// CONFIGURE.
    pub configure: String,
    /// CC.
    pub cc: String,
}
/// Asks the server.
///
/// # Errors
/// The session ends or a query fails.
pub fn facts() {}
