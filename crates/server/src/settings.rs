//! The settings a server is started with: ours, the user's over them, as lines of a configuration file.

/// One setting of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As in `pg_settings`.
    pub name: String,
    /// With its unit, as it would stand in `postgresql.conf`, without quotes.
    pub value: String,
}
