//! Resolves connection strings, flags, environment variables and defaults to a target. Reads only the service file and
//! the password file. Used by the command line and by `server`.
//!
//! The precedence is that of pgbench with libpq: keywords of a connection string, then flags, the service, variables,
//! defaults. Any text yields a target or an error.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use wire::Password;

use crate::conninfo::{self, Pair};
use crate::environment::Environment;
use crate::error::ConnectError;
use crate::keywords::{self, Keyword, Treatment};
use crate::lock_wait::Patience;
use crate::password_file::{Entry, PasswordFile, Unused};
use crate::quote::connection_value;
use crate::service;
use crate::target::{Host, HostName, HostOrder, KeepAlive, SessionAttributes, Target, USUAL_DIRECTORIES};
use crate::uri;

mod tls;

const DEFAULT_PORT: u16 = 5432;
/// Default application name of sessions.
pub const DEFAULT_APPLICATION_NAME: &str = "pgmeter";

/// Values of flags. As in libpq, the keywords of a connection string have precedence.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `-h`; a comma-separated list is allowed
    pub host: Option<String>,
    /// `-p`; a comma-separated list is allowed
    pub port: Option<String>,
    /// `-U`
    pub user: Option<String>,
    /// `-d`: a database, or a connection string if there is no other
    pub dbname: Option<String>,
    /// Application name if neither the string nor the environment sets one. As in pgbench, it has precedence over
    /// `fallback_application_name` in a string or a service. If `None`, that parameter applies, then `pgmeter`.
    pub fallback_application_name: Option<String>,
}

/// `dbname` may be a connection string with a password, so only its presence is shown.
impl fmt::Debug for Overrides {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Overrides")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("dbname", &self.dbname.as_ref().map(|_| "…"))
            .field("fallback_application_name", &self.fallback_application_name)
            .finish()
    }
}

/// Resolves a database name, a keyword/value string or a URI; `None` uses the defaults.
pub fn resolve(
    connection: Option<&str>,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<Target, ConnectError> {
    let settings = Settings::gather(connection, overrides, environment)?;
    settings.refuse_what_is_missing()?;
    let user = match settings.given("user") {
        Some(user) => user.to_owned(),
        None => environment.os_user.clone().ok_or_else(no_user)?,
    };
    let database = settings.given("dbname").unwrap_or(&user).to_owned();
    let password = settings.given("password").map(Password::new);
    let mut target = Target {
        hosts: settings.hosts()?,
        user,
        database,
        password,
        application_name: settings.application_name(overrides),
        options: settings.given("options").map(str::to_owned),
        connect_timeout: settings.seconds("connect_timeout")?,
        control_timeout: Some(environment.control_timeout()?),
        patience: Patience::within(environment.control_timeout()?),
        keep_alive: settings.keep_alive()?,
        extra: settings.extra(environment)?,
        given: settings.without_passwords(),
        tls: settings.tls(environment)?,
        channel_binding: settings.channel_binding()?,
        required_methods: settings.required_methods()?,
        session_attributes: settings
            .choice("target_session_attrs", &SessionAttributes::NAMES)?
            .unwrap_or_default(),
        host_order: settings.host_order()?,
        password_file_unused: None,
        password_file_warning: None,
    };
    if target.password.is_none() {
        look_up_passwords(&mut target, &settings, environment);
    }
    Ok(target)
}

/// A connection string and flags as one connection string, for places that keep one. If no flag adds to it, the string stays
/// as it is; `None` if nothing is given.
pub fn connection_text(
    connection: Option<&str>,
    overrides: &Overrides,
) -> Result<Option<String>, ConnectError> {
    let Overrides { host, port, user, dbname, fallback_application_name: _ } = overrides;
    let are_flags_given = [host, port, user].iter().any(|flag| flag.is_some());
    let text = connection.or(dbname.as_deref()).filter(|text| !text.is_empty());
    if !are_flags_given && (connection.is_none() || dbname.is_none()) {
        return Ok(text.map(str::to_owned));
    }
    let settings = Settings::of_words(connection, overrides, &Environment::default())?;
    let pairs =
        settings.values.iter().map(|(name, (value, _))| format!("{name}={}", connection_value(value)));
    Ok(Some(pairs.collect::<Vec<_>>().join(" ")))
}

/// Source of a value, for messages.
#[derive(Clone, Debug)]
enum Origin {
    ConnectionString,
    Flag(&'static str),
    Service { file: Rc<Path>, line: usize },
    Variable(&'static str),
}

impl Origin {
    /// The setting with its source, such as `sslmode=require`, `PGSSLMODE=require` or `-p 70000`.
    fn show(&self, name: &str, value: &str) -> String {
        let value = if keywords::is_secret(name) { "…" } else { value };
        match self {
            Origin::ConnectionString => format!("{name}={value} in the connection string"),
            Origin::Flag(flag) => format!("{flag} {value}"),
            Origin::Service { file, line } => {
                format!("{name}={value} in the service file {}, line {line}", file.display())
            }
            Origin::Variable(variable) => format!("{variable}={value} in the environment"),
        }
    }
}

/// Values of all given keywords, each from the source with precedence.
struct Settings {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Settings {
    fn gather(
        connection: Option<&str>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Settings, ConnectError> {
        let mut settings = Settings::of_words(connection, overrides, environment)?;
        settings.add_service(environment)?;
        settings.add_variables(environment)?;
        settings.refuse_zero_bytes()?;
        Ok(settings)
    }

    /// What the connection string and the flags give; PGDATABASE if neither names a database.
    fn of_words(
        connection: Option<&str>,
        overrides: &Overrides,
        environment: &Environment,
    ) -> Result<Settings, ConnectError> {
        let mut settings = Settings { values: BTreeMap::new() };
        let Overrides { host, port, user, dbname, fallback_application_name: _ } = overrides;
        for (name, flag, value) in [("host", "-h", host), ("port", "-p", port), ("user", "-U", user)] {
            // A flag with an empty value has no effect, as in libpq.
            if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
                settings.values.insert(name, (value.to_owned(), Origin::Flag(flag)));
            }
        }
        let named = match (connection, dbname) {
            (Some(text), _) => Some((text, Origin::ConnectionString)),
            (None, Some(text)) => Some((text.as_str(), Origin::Flag("-d"))),
            (None, None) => {
                environment.get_given("PGDATABASE")?.map(|text| (text, Origin::Variable("PGDATABASE")))
            }
        };
        if let Some((text, origin)) = named {
            settings.add_text(text, origin)?;
        }
        if let (Some(_), Some(flag)) = (connection, dbname) {
            settings.add_database_flag(flag)?;
        }
        Ok(settings)
    }

    /// Adds a connection string if the text is one, otherwise a database name.
    fn add_text(&mut self, text: &str, origin: Origin) -> Result<(), ConnectError> {
        let pairs = parse(text)?;
        // Messages name only the keyword of a string, not the source of the string.
        for (keyword, value) in pairs.into_iter().flatten() {
            self.values.insert(keyword.name, (value, Origin::ConnectionString));
        }
        if !looks_like_a_string(text) && !text.is_empty() {
            self.values.insert("dbname", (text.to_owned(), origin));
        }
        Ok(())
    }

    /// With a connection string, `-d` sets the database if the string has none.
    fn add_database_flag(&mut self, flag: &str) -> Result<(), ConnectError> {
        if looks_like_a_string(flag) {
            return Err(ConnectError::Settings(
                "two connection strings are given, one of them with -d: remove one".to_owned(),
            ));
        }
        match self.given("dbname") {
            Some(named) if named != flag => Err(ConnectError::Settings(format!(
                "two databases are given, \"{named}\" and \"{flag}\" (-d): remove one"
            ))),
            _ => {
                self.values.insert("dbname", (flag.to_owned(), Origin::Flag("-d")));
                Ok(())
            }
        }
    }

    /// Adds the service's settings that neither the string nor the flags set.
    fn add_service(&mut self, environment: &Environment) -> Result<(), ConnectError> {
        let said = |name: &str, variable: &str| match self.values.get(name) {
            Some((value, _)) => Ok(Some(value.clone()).filter(|value| !value.is_empty())),
            None => Ok(environment.get_given(variable)?.map(str::to_owned)),
        };
        let Some(name) = said("service", "PGSERVICE")? else { return Ok(()) };
        let file = said("servicefile", "PGSERVICEFILE")?;
        let (path, found) = service::find(&name, file.as_deref(), environment)?;
        let path: Rc<Path> = path.into();
        for service::Setting { keyword, value, line } in found {
            let origin = Origin::Service { file: Rc::clone(&path), line };
            self.values.entry(keyword.name).or_insert((value, origin));
        }
        Ok(())
    }

    /// Adds the variables for keywords without a value; an earlier empty value stays.
    fn add_variables(&mut self, environment: &Environment) -> Result<(), ConnectError> {
        for &Keyword { name, variable, .. } in keywords::KEYWORDS {
            let Some(variable) = variable else { continue };
            if self.values.contains_key(name) {
                continue;
            }
            if let Some(value) = environment.get(variable)? {
                self.values.insert(name, (value.to_owned(), Origin::Variable(variable)));
            }
        }
        Ok(())
    }

    /// A zero byte would end a value early in protocol messages.
    fn refuse_zero_bytes(&self) -> Result<(), ConnectError> {
        match self.values.iter().find(|(_, (value, _))| value.contains('\0')) {
            Some((name, _)) => Err(ConnectError::Settings(format!(
                "the value of {name} contains a zero byte, which PostgreSQL does not accept"
            ))),
            None => Ok(()),
        }
    }

    /// All values but those of passwords.
    fn without_passwords(&self) -> Vec<(&'static str, String)> {
        let is_shown = |name: &str| name != "passfile" && !keywords::is_secret(name);
        let shown = self.values.iter().filter(|(name, _)| is_shown(name));
        shown.map(|(name, (value, _))| (*name, value.clone())).collect()
    }

    /// The value of a keyword, `None` if it is empty.
    fn given(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// An error with the setting, its source and the problem.
    fn wrong(&self, name: &str, what: &str) -> ConnectError {
        let said = match self.values.get(name) {
            Some((value, origin)) => origin.show(name, value),
            None => name.to_owned(),
        };
        ConnectError::Settings(format!("{said}: {what}"))
    }

    fn refuse_what_is_missing(&self) -> Result<(), ConnectError> {
        for keyword in keywords::KEYWORDS {
            let Treatment::Only(values, reason) = keyword.treatment else { continue };
            let refused = self.given(keyword.name).is_some_and(|value| !values.contains(&value));
            if refused {
                return Err(self.wrong(keyword.name, reason));
            }
        }
        Ok(())
    }

    /// The value for a keyword with fixed words; `None` if it is not given.
    fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<Option<T>, ConnectError> {
        let Some(value) = self.given(name) else { return Ok(None) };
        if let Some((_, meaning)) = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(value)) {
            return Ok(Some(*meaning));
        }
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        Err(self.wrong(name, &format!("invalid value; allowed are {}", known.join(", "))))
    }

    fn host_order(&self) -> Result<HostOrder, ConnectError> {
        let words = [("disable", HostOrder::Given), ("random", HostOrder::Random)];
        Ok(self.choice("load_balance_hosts", &words)?.unwrap_or_default())
    }

    /// The elements of a comma-separated list; empty if the value is not given.
    fn list(&self, name: &str) -> Vec<&str> {
        self.given(name).map(|value| value.split(',').collect()).unwrap_or_default()
    }

    fn hosts(&self) -> Result<Vec<Host>, ConnectError> {
        let (names, addresses, ports) = (self.list("host"), self.list("hostaddr"), self.list("port"));
        let count = names.len().max(addresses.len()).max(1);
        if !names.is_empty() && !addresses.is_empty() && names.len() != addresses.len() {
            let what = format!("the number of addresses must equal the number of hosts, {}", names.len());
            return Err(self.wrong("hostaddr", &what));
        }
        if ports.len() > 1 && ports.len() != count {
            return Err(self.wrong(
                "port",
                &format!(
                    "the number of ports must be 1 or equal the number of hosts, \
                                                    {count}"
                ),
            ));
        }
        (0..count)
            .map(|index| {
                let hostaddr = self.host_address(addresses.get(index).copied().unwrap_or_default())?;
                let port = ports.get(index).or(ports.last()).copied().unwrap_or_default();
                Ok(Host {
                    name: self.host_name(names.get(index).copied().unwrap_or_default(), hostaddr)?,
                    hostaddr,
                    port: self.port(port)?,
                    password: None,
                })
            })
            .collect()
    }

    fn host_name(&self, name: &str, hostaddr: Option<IpAddr>) -> Result<HostName, ConnectError> {
        match name.chars().next() {
            None => Ok(hostaddr.map_or(HostName::Usual, |address| HostName::Network(address.to_string()))),
            // With `hostaddr`, the host is only a label, as in libpq.
            Some('/') if hostaddr.is_none() => Ok(HostName::Directory(PathBuf::from(name))),
            Some('@') => {
                Err(self
                    .wrong("host", "sockets in the abstract namespace are not supported; give a directory"))
            }
            Some(_) => Ok(HostName::Network(name.to_owned())),
        }
    }

    fn host_address(&self, text: &str) -> Result<Option<IpAddr>, ConnectError> {
        if text.is_empty() {
            return Ok(None);
        }
        let what = "this must be an IP address; use host for a name";
        text.parse().map(Some).map_err(|_| self.wrong("hostaddr", what))
    }

    fn port(&self, text: &str) -> Result<u16, ConnectError> {
        if text.is_empty() {
            return Ok(DEFAULT_PORT);
        }
        let port = text.trim().parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| self.wrong("port", "a port must be a number from 1 to 65535"))
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, ConnectError> {
        self.given(name)
            .map(|value| value.trim().parse().map_err(|_| self.wrong(name, "this must be a whole number")))
            .transpose()
    }

    /// Zero and negative values mean no limit.
    fn seconds(&self, name: &str) -> Result<Option<Duration>, ConnectError> {
        let seconds = self.integer(name)?.and_then(|seconds| u64::try_from(seconds).ok());
        Ok(seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs))
    }

    fn keep_alive(&self) -> Result<KeepAlive, ConnectError> {
        let count = self.integer("keepalives_count")?.and_then(|count| u32::try_from(count).ok());
        let user_timeout_ms = self.integer("tcp_user_timeout")?.and_then(|limit| u32::try_from(limit).ok());
        Ok(KeepAlive {
            is_on: self.integer("keepalives")? != Some(0),
            idle: self.seconds("keepalives_idle")?,
            interval: self.seconds("keepalives_interval")?,
            count: count.filter(|count| *count > 0),
            user_timeout_ms: user_timeout_ms.filter(|limit| *limit > 0),
        })
    }

    /// An explicit empty application name sends none.
    fn application_name(&self, overrides: &Overrides) -> Option<String> {
        let fallback =
            || match (&overrides.fallback_application_name, self.given("fallback_application_name")) {
                (Some(name), _) => name.clone(),
                (None, Some(name)) => name.to_owned(),
                (None, None) => DEFAULT_APPLICATION_NAME.to_owned(),
            };
        let name = self.values.get("application_name").map_or_else(fallback, |(name, _)| name.clone());
        Some(name).filter(|name| !name.is_empty())
    }

    fn extra(&self, environment: &Environment) -> Result<Vec<(String, String)>, ConnectError> {
        let mut extra = Vec::new();
        if let Some(encoding) = self.given("client_encoding") {
            // libpq takes the encoding from the locale; pgmeter always sends UTF-8.
            let encoding = if encoding == "auto" { "UTF8" } else { encoding };
            extra.push(("client_encoding".to_owned(), encoding.to_owned()));
        }
        for (variable, setting) in keywords::SERVER_SETTINGS {
            let value = environment.get_given(variable)?;
            if let Some(value) = value.filter(|value| !value.eq_ignore_ascii_case("default")) {
                extra.push(((*setting).to_owned(), value.to_owned()));
            }
        }
        Ok(extra)
    }
}

/// The pairs of a connection string; `None` for a database name.
fn parse(text: &str) -> Result<Option<Vec<Pair>>, ConnectError> {
    if let Some(rest) = uri::strip_scheme(text) {
        return uri::parse(rest).map(Some);
    }
    if looks_like_a_string(text) {
        return conninfo::parse(text).map(Some);
    }
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some() || (text.contains('@') && text.contains(':')) {
        // The message shows nothing of the text, which may contain a password.
        return Err(ConnectError::Settings(
            "the connection looks like a URI, but does not begin with postgresql:// or postgres://"
                .to_owned(),
        ));
    }
    Ok(None)
}

/// libpq's rule: a text that is not a URI and has no equals sign is a database name.
fn looks_like_a_string(text: &str) -> bool {
    uri::strip_scheme(text).is_some() || text.contains('=')
}

fn no_user() -> ConnectError {
    let text =
        "no user is given, and the operating system has no name for the current user: give one with -U";
    ConnectError::Settings(text.to_owned())
}

/// Searches the password file for each host.
fn look_up_passwords(target: &mut Target, settings: &Settings, environment: &Environment) {
    let named = settings.given("passfile").map(PathBuf::from);
    let usual = || environment.home.as_ref().map(|home| home.join(".pgpass"));
    let is_named = named.is_some();
    let Some(path) = named.or_else(usual) else { return };
    let file = match PasswordFile::read(&path, is_named) {
        Ok(file) => file,
        Err(Unused { reason, warning }) => {
            target.password_file_unused = Some(reason);
            // libpq searches the file for each host.
            let hosts = target.hosts.len();
            target.password_file_warning = warning.map(|warning| vec![warning; hosts].join("\n"));
            return;
        }
    };
    for host in &mut target.hosts {
        host.password = file.find(&Entry {
            host: &name_in_password_file(&host.name),
            port: host.port,
            database: &target.database,
            user: &target.user,
        });
    }
}

/// Sockets in the default directories are `localhost` in the password file, as in libpq.
fn name_in_password_file(name: &HostName) -> String {
    match name {
        HostName::Usual => "localhost".to_owned(),
        HostName::Directory(directory)
            if USUAL_DIRECTORIES.iter().any(|usual| directory.as_os_str() == *usual) =>
        {
            "localhost".to_owned()
        }
        HostName::Directory(directory) => directory.to_string_lossy().into_owned(),
        HostName::Network(name) => name.clone(),
    }
}

#[cfg(test)]
mod tests;
