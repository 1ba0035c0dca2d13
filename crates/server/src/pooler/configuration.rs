//! The configuration of a pooler as text: what it listens on, where the server is, who may connect. Checks the settings
//! that users add. Pure but for the server's password.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{PoolerListens, PoolerOptions, PoolerProgram, RULES, USERS};
use crate::ServerError;
use crate::access::SUPERUSER;
use crate::home::{self, Home};

/// Prepared statements that are kept by default, as in PgBouncer 1.24 and newer.
const PREPARED_STATEMENTS: u32 = 200;
/// Settings that pgmeter sets itself, with the key of an experiment that sets them, if there is one.
const OWN: [(&str, &str); 27] = [
    ("pool_mode", "mode"),
    ("default_pool_size", "pool_size"),
    ("max_prepared_statements", "max_prepared_statements"),
    ("max_client_conn", ""),
    ("listen_addr", ""),
    ("listen_port", ""),
    ("unix_socket_dir", ""),
    ("unix_socket_mode", ""),
    ("unix_socket_group", ""),
    ("auth_type", ""),
    ("auth_file", ""),
    ("auth_hba_file", ""),
    ("auth_ident_file", ""),
    ("auth_query", ""),
    ("auth_user", ""),
    ("admin_users", ""),
    ("stats_users", ""),
    ("logfile", ""),
    ("pidfile", ""),
    ("syslog", ""),
    ("user", ""),
    ("conffile", ""),
    ("client_tls_sslmode", ""),
    ("client_tls_key_file", ""),
    ("client_tls_cert_file", ""),
    ("log_connections", ""),
    ("log_disconnections", ""),
];

/// Checks a setting that a user adds to the section `[pgbouncer]`.
///
/// # Errors
/// A sentence: the name is not that of a setting, pgmeter sets it itself, or the value has several lines.
pub fn check_setting(name: &str, value: &str) -> Result<(), ServerError> {
    let refused = |reason: String| Err(ServerError::BadPoolerSetting { name: name.to_owned(), reason });
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return refused("names of PgBouncer's settings consist of a to z, 0 to 9 and _".to_owned());
    }
    if value.chars().any(char::is_control) {
        return refused("its value must be one line without control characters".to_owned());
    }
    match OWN.iter().find(|(own, _)| *own == name) {
        None => Ok(()),
        Some((_, "")) => refused("pgmeter sets it itself".to_owned()),
        Some((_, key)) => refused(format!("use the key {key} of [pooler] instead")),
    }
}

/// The parts of a configuration.
pub(super) struct Configuration<'a> {
    pub(super) program: &'a PoolerProgram,
    pub(super) options: &'a PoolerOptions,
    /// The directory of the server's socket, and its port.
    pub(super) server: (&'a Path, u16),
    pub(super) directory: &'a Path,
    pub(super) port: u16,
    pub(super) home: &'a Home,
}

impl Configuration<'_> {
    /// Prepared statements that are kept; `None` if the version cannot.
    pub(super) fn max_prepared_statements(&self) -> Option<u32> {
        let can = self.program.version.keeps_prepared_statements();
        can.then_some(self.options.max_prepared_statements.unwrap_or(PREPARED_STATEMENTS))
    }

    /// The main file. Values end with the line, and have no quotes outside of connection strings.
    pub(super) fn text(&self) -> Result<String, ServerError> {
        let PoolerOptions { mode, pool_size, clients_max, settings, listens, .. } = self.options;
        settings.iter().try_for_each(|(name, value)| check_setting(name, value))?;
        if self.options.max_prepared_statements.is_some() && self.max_prepared_statements().is_none() {
            return Err(ServerError::BadPoolerSetting {
                name: "max_prepared_statements".to_owned(),
                reason: format!("it needs PgBouncer 1.21 or newer, and this is {}", self.program.version),
            });
        }
        let (socket_directory, server_port) = self.server;
        let socket_directory = socket_directory.display().to_string();
        let address = if *listens == PoolerListens::Nowhere { "" } else { "127.0.0.1" };
        let file = |name: &str| self.directory.join(name).display().to_string();
        let mut text = "; pgmeter wrote this file; it is removed with the pooler.\n[databases]\n".to_owned();
        let _ = writeln!(text, "* = host='{}' port={server_port}", socket_directory.replace('\'', "''"));
        text.push_str("\n[pgbouncer]\n");
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "{name} = {value}");
        };
        line("listen_addr", address);
        line("listen_port", &self.port.to_string());
        line("unix_socket_dir", &socket_directory);
        line("auth_type", "hba");
        line("auth_hba_file", &file(RULES));
        line("auth_file", &file(USERS));
        line("admin_users", SUPERUSER);
        line("pool_mode", mode.name());
        line("default_pool_size", &pool_size.to_string());
        line("max_client_conn", &clients_max.to_string());
        line("log_connections", "0");
        line("log_disconnections", "0");
        line("log_stats", "0");
        if let Some(statements) = self.max_prepared_statements() {
            line("max_prepared_statements", &statements.to_string());
        }
        if *listens == PoolerListens::Tls {
            line("client_tls_sslmode", "require");
            line("client_tls_key_file", &self.home.file(home::KEY).display().to_string());
            line("client_tls_cert_file", &self.home.file(home::CERTIFICATE).display().to_string());
        }
        settings.iter().for_each(|(name, value)| line(name, value));
        Ok(text)
    }

    /// Who may connect: over the socket, whose directory is closed to other users, everybody; over TCP, who knows the
    /// server's password.
    pub(super) fn rules(&self) -> String {
        match self.options.listens {
            PoolerListens::Nowhere => "local all all trust\n".to_owned(),
            PoolerListens::Tcp | PoolerListens::Tls => {
                "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n".to_owned()
            }
        }
    }

    /// The users; with the password of the server where it is needed.
    pub(super) fn users(&self) -> Result<String, ServerError> {
        let password = match self.options.listens {
            PoolerListens::Nowhere => String::new(),
            PoolerListens::Tcp | PoolerListens::Tls => {
                let path = self.home.file(home::PASSWORD_FILE);
                let text = fs::read_to_string(&path).map_err(ServerError::io("read", &path))?;
                // The password has hexadecimal digits only.
                text.trim_end().rsplit(':').next().unwrap_or_default().to_owned()
            }
        };
        Ok(format!("\"{SUPERUSER}\" \"{password}\"\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str, value: &str) -> String {
        check_setting(name, value).map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn a_setting_that_pgmeter_sets_itself_is_refused_with_the_key_to_use() {
        assert_eq!(refusal("query_wait_timeout", "5"), "none");
        assert!(refusal("pool_mode", "session").contains("use the key mode of [pooler]"));
        assert!(refusal("auth_type", "any").contains("pgmeter sets it itself"));
    }

    #[test]
    fn a_setting_cannot_smuggle_in_another_line_or_section() {
        for (name, value) in [
            ("server_lifetime", "1\nauth_type = any"),
            ("server_lifetime", "1\r[databases]"),
            ("a b", "1"),
            ("%include /etc/passwd", ""),
            ("", "1"),
            ("[databases]", "x"),
        ] {
            assert_ne!(refusal(name, value), "none", "{name} = {value}");
        }
    }
}
