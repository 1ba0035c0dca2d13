//! The resolved parameters of a connection: hosts, user, database, TLS, timeouts. Created by `resolve`; used by
//! sessions and by the engine, which opens thousands of connections from one target. Debug and Display omit the
//! password.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use wire::{ChannelBinding, Password, RequiredMethods, StartupParameters};

use stats::SplitMix64;

use crate::address::Address;
use crate::error::{Attempt, ConnectError};
use crate::lock_wait::Patience;
use crate::quote::{connection_value, short_connection_value};
use crate::tls::{TlsMode, TlsSettings};

/// Default socket directories: that of Debian and Red Hat, then PostgreSQL's own.
pub(crate) const USUAL_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// Maximum length of a path in the kernel's `sockaddr_un`, without the final zero byte.
const SOCKET_PATH_LENGTH_MAX: usize = 107;

/// The resolved parameters of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Hosts in the order of attempts; never empty.
    pub hosts: Vec<Host>,
    /// The role.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password given directly; one from a password file is in [`Host::password`].
    pub password: Option<Password>,
    /// Application name, shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Server options, as in `-c geqo=off`.
    pub options: Option<String>,
    /// Limit for connecting to one address, including authentication; `None` uses the system's limit.
    pub connect_timeout: Option<Duration>,
    /// Limit for control sessions while the server does not answer, for connecting and for statements
    /// ([`StatementLimit`](crate::StatementLimit)); `None`: no limit, as in libpq programs.
    pub control_timeout: Option<Duration>,
    /// How long control sessions wait for locks that others want too.
    pub patience: Patience,
    /// Detection of dead TCP connections.
    pub keep_alive: KeepAlive,
    /// Further start-up parameters, such as `client_encoding`.
    pub extra: Vec<(String, String)>,
    /// The keywords from which this was resolved, wherever they were given, without passwords; see
    /// [`Target::connection_string`].
    pub given: Vec<(&'static str, String)>,
    /// Encryption; ignored for Unix sockets.
    pub tls: TlsSettings,
    /// Use of SCRAM channel binding.
    pub channel_binding: ChannelBinding,
    /// Accepted authentication methods.
    pub required_methods: RequiredMethods,
    /// Required state of the server.
    pub session_attributes: SessionAttributes,
    /// Order of attempts among hosts and their addresses.
    pub host_order: HostOrder,
    /// Reason why an existing password file was not used: a clause for the message about a missing password.
    pub password_file_unused: Option<String>,
    /// libpq's warning about an unused password file, printed to stderr on each connect. libpq prints none for a file
    /// that is missing or unreadable. For programs that are compatible with libpq programs.
    pub password_file_warning: Option<String>,
}

/// Default limit for control sessions, overridden by `PGMETER_CONTROL_TIMEOUT`. Most statements take milliseconds; a
/// server under heavy load may need seconds.
pub const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// One server of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Host name.
    pub name: HostName,
    /// The address, if given; the name is then not resolved.
    pub hostaddr: Option<IpAddr>,
    /// The port, also part of the name of a Unix socket.
    pub port: u16,
    /// The host's password from the password file.
    pub password: Option<Password>,
}

/// Kinds of host names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostName {
    /// No host was given: the default socket directories.
    Usual,
    /// The directory of a Unix socket.
    Directory(PathBuf),
    /// A host name or an address.
    Network(String),
}

/// libpq's `keepalives…` and `tcp_user_timeout`; `None` uses the system's default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Whether the kernel sends keep-alive probes.
    pub is_on: bool,
    /// Idle time before the first probe.
    pub idle: Option<Duration>,
    /// Time between probes.
    pub interval: Option<Duration>,
    /// Number of unanswered probes that end the connection.
    pub count: Option<u32>,
    /// Maximum time that sent data may stay unacknowledged, in milliseconds.
    pub user_timeout_ms: Option<u32>,
}

impl Default for KeepAlive {
    fn default() -> KeepAlive {
        KeepAlive { is_on: true, idle: None, interval: None, count: None, user_timeout_ms: None }
    }
}

/// libpq's `target_session_attrs`: the required state of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionAttributes {
    /// Any server.
    #[default]
    Any,
    /// Transactions are read-write by default.
    ReadWrite,
    /// Transactions are read-only by default.
    ReadOnly,
    /// Not a standby.
    Primary,
    /// A standby.
    Standby,
    /// A standby if there is one, otherwise any server.
    PreferStandby,
}

impl SessionAttributes {
    /// libpq's names.
    pub(crate) const NAMES: [(&str, SessionAttributes); 6] = [
        ("any", SessionAttributes::Any),
        ("read-write", SessionAttributes::ReadWrite),
        ("read-only", SessionAttributes::ReadOnly),
        ("primary", SessionAttributes::Primary),
        ("standby", SessionAttributes::Standby),
        ("prefer-standby", SessionAttributes::PreferStandby),
    ];
}

/// libpq's `load_balance_hosts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostOrder {
    /// In the given order.
    #[default]
    Given,
    /// Hosts and the addresses of each in random order, for each session.
    Random,
    /// As `Random`, with a fixed seed, for reproducible runs.
    Seeded(u64),
}

impl Target {
    /// Start-up parameters for this host.
    pub fn startup_parameters(&self, host: &Host) -> StartupParameters {
        StartupParameters {
            user: self.user.clone(),
            database: Some(self.database.clone()),
            application_name: self.application_name.clone(),
            options: self.options.clone(),
            password: self.password.clone().or_else(|| host.password.clone()),
            extra: self.extra.clone(),
            channel_binding: self.channel_binding,
            required_methods: self.required_methods.clone(),
        }
    }

    /// The same target with this password for all hosts. For another attempt after an error with
    /// [`ConnectError::is_password_needed`], and for later connections.
    pub fn with_password(self, password: Password) -> Target {
        // libpq does not read the password file if a password is given.
        Target { password: Some(password), password_file_warning: None, ..self }
    }

    /// The addresses in the order of attempts: resolved host names, existing default sockets. A host that cannot be
    /// resolved is skipped if there is another.
    pub fn addresses(&self) -> Result<Vec<Address>, ConnectError> {
        let (mut addresses, mut failures) = (Vec::new(), Vec::new());
        for found in self.places() {
            match found {
                Ok(address) => addresses.push(address),
                Err(failure) => failures.push(failure),
            }
        }
        match addresses.is_empty() {
            true => Err(ConnectError::of_attempts(&self.user, &self.database, failures)),
            false => Ok(addresses),
        }
    }

    /// As [`Target::addresses`], with the failure for each host that could not be resolved.
    pub(crate) fn places(&self) -> Vec<Result<Address, Attempt>> {
        let mut places: Vec<_> = self.hosts.iter().map(Host::places).collect();
        let seed = match self.host_order {
            HostOrder::Given => return places.into_iter().flatten().collect(),
            // The standard library seeds the keys of a hasher randomly.
            HostOrder::Random => RandomState::new().hash_one(0_u8),
            HostOrder::Seeded(seed) => seed,
        };
        let mut random = SplitMix64::new(seed);
        random.shuffle(&mut places);
        places.iter_mut().for_each(|of_host| random.shuffle(of_host));
        places.into_iter().flatten().collect()
    }

    /// The host of an address from [`Target::addresses`]; the first host for other addresses.
    pub fn host_of(&self, address: &Address) -> &Host {
        self.hosts.iter().find(|host| host.has(address)).unwrap_or(&self.hosts[0])
    }

    /// A connection string with which another process resolves the same target, with a password of its own: from its
    /// environment, its password file or its service file. It contains no password, and not the path of a password file.
    pub fn connection_string(&self) -> String {
        let list = |value: fn(&Host) -> String| self.hosts.iter().map(value).collect::<Vec<_>>().join(",");
        let hostaddr = list(|host| host.hostaddr.map(|ip| ip.to_string()).unwrap_or_default());
        let order = if self.host_order == HostOrder::Given { "disable" } else { "random" };
        let own = [
            ("host", list(|host| host.name.to_string())),
            (
                "hostaddr",
                Some(hostaddr).filter(|list| list.bytes().any(|byte| byte != b',')).unwrap_or_default(),
            ),
            ("port", list(|host| host.port.to_string())),
            ("user", self.user.clone()),
            ("dbname", self.database.clone()),
            ("application_name", self.application_name.clone().unwrap_or_default()),
            ("options", self.options.clone().unwrap_or_default()),
            ("load_balance_hosts", order.to_owned()),
        ];
        let is_own = |name: &str| own.iter().any(|(known, _)| *known == name);
        let given = self.given.iter().filter(|(name, _)| !is_own(name));
        let given = given.map(|(name, value)| (*name, value));
        let all = given.chain(own.iter().map(|(name, value)| (*name, value)));
        all.map(|(name, value)| format!("{name}={}", connection_value(value))).collect::<Vec<_>>().join(" ")
    }

    /// The same target with this address only: all clients connect to the address of the first session, without
    /// resolving names again.
    pub fn single(&self, address: &Address) -> Target {
        let mut host = self.host_of(address).clone();
        match address {
            Address::Unix(path) => {
                host.name = HostName::Directory(path.parent().unwrap_or(Path::new("/")).to_owned());
                host.hostaddr = None;
            }
            Address::Tcp { host: name, address } => {
                host.name = HostName::Network(name.clone());
                host.hostaddr = Some(address.ip());
                host.port = address.port();
            }
        }
        Target { hosts: vec![host], ..self.clone() }
    }
}

impl Host {
    fn places(&self) -> Vec<Result<Address, Attempt>> {
        match (&self.name, self.hostaddr) {
            (HostName::Usual, _) => self.usual_sockets(),
            (HostName::Directory(directory), _) => vec![socket(directory, self.port)],
            (HostName::Network(name), Some(ip)) => {
                vec![Ok(Address::Tcp { host: name.clone(), address: SocketAddr::new(ip, self.port) })]
            }
            (HostName::Network(name), None) => match (name.as_str(), self.port).to_socket_addrs() {
                Ok(found) => found.map(|address| Ok(Address::Tcp { host: name.clone(), address })).collect(),
                Err(error) => vec![Err(Attempt::name_not_found(name, &error))],
            },
        }
    }

    /// The existing default sockets; if none exists, all of them, so that the error lists the searched paths.
    fn usual_sockets(&self) -> Vec<Result<Address, Attempt>> {
        let all = || USUAL_DIRECTORIES.iter().map(|directory| socket(Path::new(directory), self.port));
        let existing: Vec<_> =
            all().filter(|place| matches!(place, Ok(Address::Unix(path)) if path.exists())).collect();
        if existing.is_empty() { all().collect() } else { existing }
    }

    fn has(&self, address: &Address) -> bool {
        match (&self.name, address) {
            (HostName::Usual, Address::Unix(path)) => USUAL_DIRECTORIES
                .iter()
                .any(|directory| *path == socket_path(Path::new(directory), self.port)),
            (HostName::Directory(directory), Address::Unix(path)) => {
                *path == socket_path(directory, self.port)
            }
            (HostName::Network(name), Address::Tcp { host, address }) => {
                name == host
                    && self.port == address.port()
                    && self.hostaddr.is_none_or(|hostaddr| hostaddr == address.ip())
            }
            _ => false,
        }
    }
}

/// The server's socket file.
fn socket_path(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

fn socket(directory: &Path, port: u16) -> Result<Address, Attempt> {
    let path = socket_path(directory, port);
    let is_too_long = path.as_os_str().len() > SOCKET_PATH_LENGTH_MAX;
    if is_too_long { Err(Attempt::socket_path_too_long(&path)) } else { Ok(Address::Unix(path)) }
}

/// As a connection string, without the password.
impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |value: fn(&Host) -> String| self.hosts.iter().map(value).collect::<Vec<_>>().join(",");
        let host = list(|host| host.name.to_string());
        let hostaddr = list(|host| host.hostaddr.map(|ip| ip.to_string()).unwrap_or_default());
        let port = list(|host| host.port.to_string());
        let sslmode = self.tls.mode.name().to_owned();
        let pairs = [
            ("host", &host),
            ("hostaddr", &hostaddr),
            ("port", &port),
            ("user", &self.user),
            ("dbname", &self.database),
            ("sslmode", &sslmode),
        ];
        let mut separator = "";
        for (name, value) in pairs {
            // Parameters without a value are omitted; commas alone still count hosts.
            let is_left_out = match name {
                "host" => value.is_empty(),
                "hostaddr" => value.bytes().all(|byte| byte == b','),
                "sslmode" => self.tls.mode == TlsMode::default(),
                _ => false,
            };
            if !is_left_out {
                write!(formatter, "{separator}{name}={}", short_connection_value(value))?;
                separator = " ";
            }
        }
        Ok(())
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostName::Usual => Ok(()),
            HostName::Directory(directory) => write!(formatter, "{}", directory.display()),
            HostName::Network(name) => formatter.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Environment, Overrides, resolve};

    fn target(text: &str) -> Target {
        let environment = Environment { os_user: Some("alice".to_owned()), ..Environment::default() };
        resolve(Some(text), &Overrides::default(), &environment).unwrap()
    }

    #[test]
    fn addresses_follow_the_hosts_in_order() {
        let target = target("host=/run/x,127.0.0.1,db hostaddr=,,::1 port=1,2,3");
        let addresses = target.addresses().unwrap();
        let shown: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["socket \"/run/x/.s.PGSQL.1\"", "host \"127.0.0.1\", port 2", "host \"db\" (::1), port 3"]
        );
        for (address, host) in addresses.iter().zip(&target.hosts) {
            assert_eq!(target.host_of(address), host);
        }
    }

    #[test]
    fn another_process_resolves_the_same_target_from_its_connection_string() {
        let texts = [
            "host=a,/run/x hostaddr=127.0.0.1, port=1,2 user='al ice' dbname='it\\'s' password=secret options='-c geqo=off'",
            "port=7 sslmode=require sslrootcert=/r sslcrldir=/d sslsni=0 ssl_min_protocol_version=TLSv1.3 passfile=/p",
            "host=h target_session_attrs=primary load_balance_hosts=random application_name='' keepalives=0 connect_timeout=3",
            "host=h require_auth=scram-sha-256 channel_binding=require client_encoding=latin1 tcp_user_timeout=5",
        ];
        for text in texts {
            let first = target(text);
            let string = first.connection_string();
            assert!(!string.contains("secret") && !string.contains("/p"), "{string}");
            let mut again = target(&string);
            assert_eq!(again.connection_string(), string);
            again.given.clone_from(&first.given);
            assert_eq!(again, Target { password: None, password_file_unused: None, ..first }, "{string}");
        }
    }

    #[test]
    fn a_host_that_cannot_be_found_is_left_out_if_there_is_another() {
        // Longer than a DNS label, so that no name server is queried.
        let name = format!("{}.invalid", "x".repeat(64));
        assert_eq!(target(&format!("host={name},127.0.0.1")).addresses().unwrap().len(), 1);
        let sentence = target(&format!("host={name}")).addresses().unwrap_err().to_string();
        assert!(sentence.contains(&name) && sentence.contains("could not be found"), "{sentence}");
    }

    #[test]
    fn a_single_address_needs_no_look_up_and_leads_to_itself() {
        for text in ["host=localhost port=7", "host=/run/x port=8", "port=9", "host=a hostaddr=127.0.0.1"] {
            let target = target(text);
            let address = target.addresses().unwrap().remove(0);
            let single = target.single(&address);
            assert_eq!(single.addresses().unwrap(), [address], "{text}");
            assert_eq!(single.hosts.len(), 1);
        }
    }

    #[test]
    fn a_socket_path_that_the_kernel_cannot_take_is_an_error_of_its_own() {
        let sentence = target(&format!("host=/{}", "x".repeat(120))).addresses().unwrap_err().to_string();
        assert!(sentence.contains("limit of 107 bytes"), "{sentence}");
    }

    #[test]
    fn a_target_shows_itself_as_a_connection_string_without_the_password() {
        let check = |text: &str, expected: &str| assert_eq!(target(text).to_string(), expected);
        check("host=h user=u password=secret", "host=h port=5432 user=u dbname=u");
        check("host=h1,/d port=1,2 dbname=x", "host=h1,/d port=1,2 user=alice dbname=x");
        check(r"dbname='it\'s a \\'", r"port=5432 user=alice dbname='it\'s a \\'");
        check("host=, dbname=,", "host=, port=5432,5432 user=alice dbname=,");
        check("host=h hostaddr=::1", "host=h hostaddr=::1 port=5432 user=alice dbname=alice");
    }
}
