//! Facts about a server for the record: version, non-default settings, build options. Works with any server and any
//! user; values that the user may not read are omitted. Secrets never get into a record.

use connect::{ConnectError, Row, Session};

use crate::{ServerError, Setting};

/// Facts about a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The setting `server_version`: "18.6".
    pub version: String,
    /// The setting `server_version_num`: 180006.
    pub version_num: u32,
    /// The answer of `version()`, with compiler and architecture.
    pub version_text: String,
    /// Settings that differ from PostgreSQL's defaults, by name, with units; without those that may contain a secret.
    pub settings: Vec<Setting>,
    /// Settings for durability, checkpoints and memory, whether default or not, if this user may read them.
    pub main_settings: Vec<Setting>,
    /// Extensions of the database: name and version.
    pub extensions: Vec<(String, String)>,
    /// Its data directory, if this user may read it.
    pub data_directory: Option<String>,
    /// TLS version and cipher of this session.
    pub tls: Option<(String, String)>,
    /// Whether it survives a power failure: `fsync`.
    pub fsync: bool,
    /// Whether it was built with assertions, which makes it slow.
    pub debug_assertions: bool,
    /// Build options, if the view `pg_config` may be read (superuser, 9.6 and later).
    pub build: Option<Build>,
}

/// Build options of a server, from the view `pg_config`. Servers are comparable if these are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// The compiler.
    pub cc: String,
    /// Its flags: `-O2` or not.
    pub cflags: String,
    /// The linker's flags.
    pub ldflags: String,
    /// The options of `configure`.
    pub configure: String,
}

const IDENTITY: &str = "select version(), current_setting('server_version'), current_setting('server_version_num'), \
                        current_setting('fsync'), current_setting('debug_assertions')";

/// With the settings of the connection string (client), which the load's sessions have too, except its names. Without
/// those of this session alone (session), and without those that follow from others or from the location of files
/// (override), except those that initdb fixed. The query runs with the session's own `search_path`,
/// because that is one of the settings; so each function, operator and type is schema-qualified.
const SETTINGS: &str = "select name, pg_catalog.current_setting(name) from pg_catalog.pg_settings \
                        where (source operator(pg_catalog.<>) all \
                                 ('{default,override,session}'::pg_catalog.text[]) \
                               and name operator(pg_catalog.<>) all \
                                 ('{application_name,client_encoding}'::pg_catalog.text[]) \
                               or name operator(pg_catalog.=) any \
                                 ('{data_checksums,wal_segment_size}'::pg_catalog.text[])) \
                          and not coalesce(setting operator(pg_catalog.=) boot_val, \
                                           setting is null and boot_val is null) \
                        order by name";

/// Settings for durability, checkpoints and memory, and the data directory; not all versions have all of them.
const MAIN_SETTINGS: &str = "select name, current_setting(name) from pg_settings where name in \
                             ('fsync', 'full_page_writes', 'synchronous_commit', 'wal_sync_method', 'wal_level', \
                              'checkpoint_timeout', 'checkpoint_completion_target', 'max_wal_size', 'shared_buffers', \
                              'autovacuum', 'commit_delay', 'synchronous_standby_names', 'data_directory') \
                             order by name";

/// Not relevant for comparing servers.
const DATA_DIRECTORY: &str = "data_directory";

const EXTENSIONS: &str = "select extname, extversion from pg_extension order by extname";

const TLS: &str = "select version, cipher from pg_stat_ssl where pid = pg_backend_pid() and ssl";

const BUILD: &str = "select name, setting from pg_config";

/// Parts of the names of settings whose values may be or contain a secret.
const SECRETS: [&str; 8] =
    ["conninfo", "command", "passphrase", "password", "secret", "token", "credential", "private"];
/// Exceptions: such names without secrets.
const NO_SECRETS: [&str; 1] = ["password_encryption"];

/// Queries the server.
///
/// # Errors
/// The session ends or a query fails.
pub fn facts(session: &mut Session) -> Result<Facts, ServerError> {
    ask(session).map_err(|error| ServerError::Facts(error.to_string()))
}

fn ask(session: &mut Session) -> Result<Facts, ConnectError> {
    let identity = session.query_catalogs(IDENTITY)?;
    let text = |column| identity.first().and_then(|row| row.get(column)).unwrap_or_default().to_owned();
    let (data_directory, main_settings) = session
        .query_catalogs(MAIN_SETTINGS)?
        .iter()
        .filter_map(setting)
        .partition::<Vec<_>, _>(|setting| setting.name == DATA_DIRECTORY);
    let pair = |row: &Row| Some((row.get(0)?.to_owned(), row.get(1)?.to_owned()));
    Ok(Facts {
        main_settings,
        data_directory: data_directory.into_iter().next().map(|setting| setting.value),
        extensions: session.query_catalogs(EXTENSIONS)?.iter().filter_map(pair).collect(),
        tls: session.query_catalogs(TLS)?.first().and_then(pair),
        version_text: text(0),
        version: text(1),
        version_num: text(2).parse().unwrap_or(0),
        fsync: text(3) == "on",
        debug_assertions: text(4) == "on",
        settings: session.query(SETTINGS)?.iter().filter_map(setting).collect(),
        build: build(session)?,
    })
}

fn setting(row: &Row) -> Option<Setting> {
    let (name, value) = (row.get(0)?, row.get(1)?);
    (!may_be_secret(name)).then(|| Setting { name: name.to_owned(), value: value.to_owned() })
}

fn may_be_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let key = name.contains('.') && name.contains("key");
    !NO_SECRETS.contains(&name.as_str()) && (key || SECRETS.iter().any(|part| name.contains(part)))
}

/// Only superusers may query this; for others the error is ignored.
fn build(session: &mut Session) -> Result<Option<Build>, ConnectError> {
    let rows = match session.query_catalogs(BUILD) {
        Ok(rows) => rows,
        Err(error) if error.server_error().is_some() => return Ok(None),
        Err(error) => return Err(error),
    };
    let value = |name| {
        let row = rows.iter().find(|row| row.get(0) == Some(name));
        row.and_then(|row| row.get(1)).unwrap_or_default().to_owned()
    };
    Ok(Some(Build {
        cc: value("CC"),
        cflags: value("CFLAGS"),
        ldflags: value("LDFLAGS"),
        configure: value("CONFIGURE"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_may_hold_a_secret_are_left_out() {
        for name in
            ["primary_conninfo", "archive_command", "ssl_passphrase_command", "my.api_key", "App.Secret"]
        {
            assert!(may_be_secret(name), "{name}");
        }
        for name in ["password_encryption", "shared_buffers", "ssl_key_file", "work_mem"] {
            assert!(!may_be_secret(name), "{name}");
        }
    }
}
