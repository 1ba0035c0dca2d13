//! Standbys of a running server: how one is made from a copy of the primary's files and follows its upstream server.
//! `recovery` has the settings and files of a standby.
//!
//! Embedded archives have no `pg_basebackup`, so the copy is made with the functions of the low-level backup API
//! (non-exclusive, in all versions since 9.6). The primary keeps running, its port and its other standbys stay, and a
//! replication slot, created before the copy, keeps all WAL that the standby needs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::quote::{literal, short_connection_value};
use connect::{ConnectError, Session};

use crate::access::{self, SUPERUSER};
use crate::account::Account;
use crate::files::{create, read_limited_without_links, read_small};
use crate::home::{self, Description, Home, Upstream};

use crate::patience::{StopFlag, wait_for};
use crate::process::FAST_SHUTDOWN;
use crate::recovery::{self, is_before, slot, write, write_role};
use crate::tablespaces::Tablespace;
use crate::version::Major;
use crate::{
    Instrumentation, Locations, Server, ServerError, Setting, copies, launch, memory, settings, tls,
};

/// Usual time within which a standby must follow its upstream server, as long as any server may take to start.
const ATTACH_LIMIT: Duration = Duration::from_secs(60);
/// Maximum length of a standby's name. A slot's name has at most 63 characters.
const NAME_LENGTH_LIMIT: usize = 40;
/// How long the slot of a standby that was stopped may remain in use: its connection may lead through a slow network.
const SLOT_LIMIT: Duration = Duration::from_secs(30);
/// The version that renamed the functions of the backup API.
const BACKUP_RENAMED: u32 = 15;
/// The first version that can be told not to wait for an archive at the end of a backup.
const ARCHIVE_OPTIONAL_SINCE: u32 = 10;
/// The first version whose libpq, and so whose WAL receiver, knows `require_auth`.
const REQUIRE_AUTH_SINCE: u32 = 16;
/// How soon a standby tries again to reach its upstream server, unless the user says otherwise; PostgreSQL's 5 s would
/// often be spent on the first connection.
const RETRY: (&str, &str) = ("wal_retrieve_retry_interval", "500ms");
const HOT_STANDBY: &str = "hot_standby";

/// Files of the data directory.
const LABEL_FILE: &str = "backup_label";
/// What `ALTER SYSTEM` has set; the server reads it after its configuration file.
const ALTERED_FILE: &str = "postgresql.auto.conf";
/// Far more than all settings of PostgreSQL need.
const ALTERED_BYTES: u64 = 1 << 20;
/// Settings of a primary that its standbys do not take over.
const OF_PRIMARY: [&str; 2] = ["port", "synchronous_standby_names"];

/// Options of a standby.
#[derive(Clone, Debug)]
pub struct StandbyOptions<'a> {
    /// Its name in the setting `synchronous_standby_names` and in `pg_stat_replication`: lower-case letters, digits and
    /// underscores.
    pub name: String,
    /// The server whose WAL it receives, if that is another standby (cascading replication).
    pub upstream: Option<&'a Server>,
    /// The TCP address at which it reaches that server, for example a relay's; then that server needs
    /// [`crate::ServerOptions::tcp`]. By default the server's Unix socket.
    pub address: Option<SocketAddr>,
    /// Settings that override those of the primary.
    pub settings: Vec<(String, String)>,
    /// Whether it listens on TCP, as in [`crate::ServerOptions::tcp`].
    pub tcp: bool,
    /// Time limit from its start until it streams.
    pub limit: Duration,
    /// Set to abandon the start; then everything of it is removed.
    pub stop: Option<Arc<AtomicBool>>,
}

impl StandbyOptions<'_> {
    /// A standby of the primary itself, over its socket.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            upstream: None,
            address: None,
            settings: Vec::new(),
            tcp: false,
            limit: ATTACH_LIMIT,
            stop: None,
        }
    }
}

impl Upstream {
    fn new(upstream: &Server, options: &StandbyOptions<'_>) -> Result<Upstream, ServerError> {
        let name = options.name.clone();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > NAME_LENGTH_LIMIT || !name.chars().all(plain) {
            return Err(ServerError::BadStandbyName { name });
        }
        let place = match options.address {
            None => {
                let host = upstream.socket_directory().display().to_string();
                format!("host={} port={}", short_connection_value(&host), upstream.port())
            }
            Some(address) => {
                let password = password(upstream)?;
                // A program that took over the relay's port could otherwise ask for the password in clear text.
                let method = match is_before(upstream.about(), REQUIRE_AUTH_SINCE) {
                    true => String::new(),
                    false => format!(" require_auth={}", access::password_method(upstream.about())),
                };
                format!(
                    "host={} port={} password={} sslmode=disable{method}",
                    address.ip(),
                    address.port(),
                    short_connection_value(&password)
                )
            }
        };
        let conninfo = format!("{place} user={SUPERUSER} application_name={name} connect_timeout=10");
        Ok(Upstream { name, conninfo, limit: options.limit })
    }
}

/// The superuser's password, from a line `*:*:*:postgres:password`.
fn password(server: &Server) -> Result<String, ServerError> {
    let path = server.directory().join(home::PASSWORD_FILE);
    if server.conninfo_tcp().is_none() || !path.exists() {
        return Err(ServerError::NoPassword { name: server.name().to_owned() });
    }
    let line = read_small(&path).map_err(ServerError::io("read", &path))?;
    Ok(line.trim_end().rsplit(':').next().unwrap_or_default().to_owned())
}

/// The settings of a standby: the primary's, without those that name the primary's place and its own standbys.
fn inherited(primary: &Description, options: &StandbyOptions<'_>) -> Vec<(String, String)> {
    let inherited = primary.settings.iter().filter(|setting| !OF_PRIMARY.contains(&setting.name.as_str()));
    let inherited = inherited.map(|Setting { name, value }| (name.clone(), value.clone()));
    let retry = (RETRY.0.to_owned(), RETRY.1.to_owned());
    let hot = (HOT_STANDBY.to_owned(), "on".to_owned());
    inherited.chain([retry]).chain(options.settings.iter().cloned()).chain([hot]).collect()
}

/// Copies the primary's files to a standby's home while the primary runs, and adds what makes it a standby.
fn copy(
    (primary, from): (&Server, &Description),
    upstream: &Server,
    (home, about, options): (&Home, &Description, &StandbyOptions<'_>),
    account: &Account,
) -> Result<(), ServerError> {
    let name = &options.name;
    let refused = |error: ConnectError| failure(name, &error.to_string());
    make_slot(upstream, name)?;
    let mut session = primary.session(SUPERUSER).map_err(refused)?;
    let new_names = !is_before(from, BACKUP_RENAMED);
    let begin = if new_names {
        "SELECT pg_backup_start('pgmeter', true)"
    } else {
        "SELECT pg_start_backup('pgmeter', true, false)"
    };
    session.patiently(|session| session.query(begin)).map_err(refused)?;
    copies::copy_running((primary.home(), from), (home, about), account)?;
    let end = match (new_names, is_before(from, ARCHIVE_OPTIONAL_SINCE)) {
        (true, _) => "SELECT labelfile FROM pg_backup_stop(false)",
        (false, false) => "SELECT labelfile FROM pg_stop_backup(false, false)",
        (false, true) => "SELECT labelfile FROM pg_stop_backup(false)",
    };
    let rows = session.patiently(|session| session.query(end)).map_err(refused)?;
    let label = rows.first().and_then(|row| row.get(0));
    let label = label.ok_or_else(|| failure(name, "the server gave no backup label"))?;
    write(home, LABEL_FILE, label, account)?;
    leave_out_altered(home, options, account)?;
    write_role(home, about, account)?;
    let password = primary.directory().join(home::PASSWORD_FILE);
    if password.exists() {
        let line = read_small(&password).map_err(ServerError::io("read", &password))?;
        create(&home.file(home::PASSWORD_FILE), 0o600, &line)?;
    }
    Ok(())
}

/// Leaves out of the copy what `ALTER SYSTEM` has set on the primary, if the standby has its own value of it.
fn leave_out_altered(
    home: &Home,
    options: &StandbyOptions<'_>,
    account: &Account,
) -> Result<(), ServerError> {
    let path = home.data().join(ALTERED_FILE);
    let bytes = match read_limited_without_links(&path, ALTERED_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(ServerError::io("read", &path))?,
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| failure(&options.name, &format!("{} is not in UTF-8", path.display())))?;
    write(home, ALTERED_FILE, &without_own(&text, options), account)
}

/// The lines `name = 'value'` of that file that apply to a standby; no value contains a newline.
fn without_own(text: &str, options: &StandbyOptions<'_>) -> String {
    let own = options.settings.iter().map(|(name, _)| name.as_str());
    let own: Vec<&str> = own.chain(OF_PRIMARY).chain([RETRY.0, HOT_STANDBY]).collect();
    let is_own = |line: &&str| {
        let name = line.split('=').next().unwrap_or_default().trim();
        own.iter().any(|own| own.eq_ignore_ascii_case(name))
    };
    text.lines().filter(|line| !is_own(line)).map(|line| format!("{line}\n")).collect()
}

fn failure(name: &str, reason: &str) -> ServerError {
    ServerError::Standby { name: name.to_owned(), reason: reason.to_owned() }
}

/// Creates the slot of a standby, which keeps WAL from now on. One of an earlier standby of that name is replaced.
fn make_slot(upstream: &Server, name: &str) -> Result<(), ServerError> {
    let refused = |error: ConnectError| failure(name, &error.to_string());
    let mut session = upstream.session(SUPERUSER).map_err(refused)?;
    drop_slot(&mut session, name)?;
    let create = format!("SELECT pg_create_physical_replication_slot({}, true)", literal(&slot(name)));
    session.query(&create).map_err(refused)?;
    Ok(())
}

/// Removes the slot of a standby that has ended; without one it does nothing.
fn drop_slot(session: &mut Session, name: &str) -> Result<(), ServerError> {
    let refused = |error: ConnectError| failure(name, &error.to_string());
    let slot = literal(&slot(name));
    let active = format!("SELECT active FROM pg_replication_slots WHERE slot_name = {slot}");
    let state = wait_for(SLOT_LIMIT, || match session.query(&active) {
        Err(error) => Some(Err(refused(error))),
        Ok(rows) => match rows.first().and_then(|row| row.get(0)) {
            Some("t") => None,
            other => Some(Ok(other.is_some())),
        },
    });
    match state {
        None => Err(failure(name, "another standby of that name is attached to the same server")),
        Some(Err(error)) => Err(error),
        Some(Ok(false)) => Ok(()),
        Some(Ok(true)) => {
            session.query(&format!("SELECT pg_drop_replication_slot({slot})")).map(drop).map_err(refused)
        }
    }
}

/// Waits until the upstream server streams to a standby.
fn await_streaming(
    session: &mut Session,
    standby: &Upstream,
    mut goes_on: impl FnMut() -> bool,
) -> Result<bool, ServerError> {
    let streaming = format!(
        "SELECT 1 FROM pg_stat_replication WHERE application_name = {} AND state = 'streaming'",
        literal(&standby.name)
    );
    let attached = wait_for(standby.limit, || match session.query(&streaming) {
        Err(error) => Some(Err(failure(&standby.name, &error.to_string()))),
        Ok(rows) if !rows.is_empty() => Some(Ok(true)),
        Ok(_) => (!goes_on()).then_some(Ok(false)),
    });
    attached.unwrap_or(Ok(false))
}

impl Server {
    /// Makes a standby of this server, starts it, and waits until it streams. Its files are copied while this server
    /// runs. It must be removed before its upstream server; [`Server::drop_standby`] then releases the WAL that is kept
    /// for it.
    ///
    /// # Errors
    /// This server does not allow replication; the standby does not start, or does not stream within its limit, with
    /// the end of its log. Everything of it is removed.
    pub fn standby(
        &self,
        options: &StandbyOptions<'_>,
        locations: &Locations,
    ) -> Result<Server, ServerError> {
        let upstream = options.upstream.unwrap_or(self);
        let followed = Upstream::new(upstream, options)?;
        let wanted = inherited(&self.about, options);
        let settings = settings::merged(memory::memory(), Instrumentation::Off, &wanted)?;
        let Description { version, bin_dir, server_user, .. } = self.about.clone();
        let mut about = Description::new(version, bin_dir, server_user, settings);
        about.tcp = options.tcp || settings::wants_tcp(&about.settings);
        about.upstream = Some(followed.clone());
        let places: Vec<_> = self.about.tablespaces.iter().map(Tablespace::wanted).collect();
        let stop = StopFlag::new(options.stop.clone());
        let mut made = Server::with_home((about, None), self.account.clone(), &places, stop, locations)?;
        match self.start_standby(&mut made, upstream, &followed, options) {
            Ok(()) => Ok(made),
            Err(error) => {
                drop(made);
                // If it cannot be removed, it keeps WAL until that server is removed too.
                let _ = upstream.drop_standby(&followed.name);
                Err(error)
            }
        }
    }

    /// Has this server follow another one from now on, and waits until it streams: a standby after a failover, or the
    /// former primary after a switchover. It is restarted.
    ///
    /// # Errors
    /// It does not stop or start; it has WAL that the other server has not, or cannot attach for another reason, with
    /// the end of its log.
    pub fn follow(&mut self, upstream: &Server, options: &StandbyOptions<'_>) -> Result<(), ServerError> {
        let followed = Upstream::new(upstream, options)?;
        make_slot(upstream, &followed.name)?;
        self.end(&FAST_SHUTDOWN)?;
        self.about.upstream = Some(followed.clone());
        write_role(&self.claim.home, &self.about, &self.account)?;
        self.launch()?;
        self.await_streaming(upstream, &followed)
    }

    fn start_standby(
        &self,
        made: &mut Server,
        upstream: &Server,
        followed: &Upstream,
        options: &StandbyOptions<'_>,
    ) -> Result<(), ServerError> {
        let to = (&made.claim.home, &made.about, options);
        copy((self, &self.about), upstream, to, &made.account)?;
        if self.claim.home.file(home::CERTIFICATE).exists() {
            tls::make(&made.claim.home, &made.account)?;
        }
        made.stop.check()?;
        made.launch()?;
        made.await_streaming(upstream, followed)
    }

    fn await_streaming(&mut self, upstream: &Server, followed: &Upstream) -> Result<(), ServerError> {
        let refused = |error: ConnectError| ServerError::Standby {
            name: followed.name.clone(),
            reason: error.to_string(),
        };
        let mut session = upstream.session(SUPERUSER).map_err(refused)?;
        let stop = self.stop.clone();
        let streams = await_streaming(&mut session, followed, || self.is_running() && !stop.is_set())?;
        stop.check()?;
        if streams { Ok(()) } else { Err(launch::not_attached(followed, self.log_tail())) }
    }

    /// Releases the WAL that this server keeps for a standby of that name, which must have ended.
    ///
    /// # Errors
    /// The server does not answer; the standby is still attached.
    pub fn drop_standby(&self, name: &str) -> Result<(), ServerError> {
        let refused =
            |error: ConnectError| ServerError::Standby { name: name.to_owned(), reason: error.to_string() };
        let mut session = self.session(SUPERUSER).map_err(refused)?;
        drop_slot(&mut session, name)
    }

    /// Whether it is a standby that was not promoted.
    pub fn is_standby(&self) -> bool {
        recovery::is_standby(&self.claim.home)
    }

    /// Its name as a standby; `None` if it was made as a primary.
    pub fn standby_name(&self) -> Option<&str> {
        self.about.upstream.as_ref().map(|upstream| upstream.name.as_str())
    }
}

/// How `synchronous_standby_names` chooses among standbys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SynchronousMethod {
    /// The first of the list that are attached.
    First,
    /// Any of the list (a quorum), since version 10.
    Any,
}

/// The value of `synchronous_standby_names` with which a commit waits for `number` of these standbys.
///
/// # Errors
/// The version has no quorum; the number is 0 or larger than the number of names.
pub fn synchronous_standby_names(
    method: SynchronousMethod,
    number: usize,
    names: &[String],
    major: Major,
) -> Result<String, ServerError> {
    const METHODS_SINCE: u32 = 10;
    if number == 0 || number > names.len() {
        return Err(ServerError::SynchronousNumber { number, standbys: names.len() });
    }
    let quoted: Vec<String> = names.iter().map(|name| connect::quote::identifier(name)).collect();
    let list = quoted.join(", ");
    match (method, major.is_before(METHODS_SINCE)) {
        (SynchronousMethod::Any, true) => Err(ServerError::NoQuorum { version: major.to_string() }),
        (SynchronousMethod::First, true) => Ok(format!("{number} ({list})")),
        (SynchronousMethod::First, false) => Ok(format!("FIRST {number} ({list})")),
        (SynchronousMethod::Any, false) => Ok(format!("ANY {number} ({list})")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::version::Wanted;

    fn names(method: SynchronousMethod, number: usize, version: &str) -> Result<String, String> {
        let both = ["near".to_owned(), "far".to_owned()];
        let major = Wanted::parse(version).unwrap().major();
        synchronous_standby_names(method, number, &both, major).map_err(|error| error.to_string())
    }

    #[test]
    fn synchronous_standbys_are_named_in_the_syntax_of_each_version() {
        use SynchronousMethod::{Any, First};
        assert_eq!(names(First, 2, "9.6").unwrap(), "2 (\"near\", \"far\")");
        assert_eq!(names(First, 1, "10").unwrap(), "FIRST 1 (\"near\", \"far\")");
        assert_eq!(names(Any, 1, "18").unwrap(), "ANY 1 (\"near\", \"far\")");
        assert!(names(Any, 1, "9.6").unwrap_err().contains("9.6"));
        for number in [0, 3] {
            assert!(names(First, number, "18").unwrap_err().contains(&format!("{number}")));
        }
    }

    #[test]
    fn a_standby_takes_the_settings_of_its_primary_but_not_its_place_and_its_standbys() {
        let setting = |name: &str| Setting { name: name.to_owned(), value: "1".to_owned() };
        let of_primary = ["port", "max_connections", "synchronous_standby_names"].map(setting).into();
        let about = Description::new("18.6".to_owned(), PathBuf::new(), String::new(), of_primary);
        let own = vec![("hot_standby".to_owned(), "off".to_owned())];
        let options = StandbyOptions { settings: own, ..StandbyOptions::new("one") };
        let all = inherited(&about, &options);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["max_connections", RETRY.0, "hot_standby", "hot_standby"]);
        assert_eq!(all.last().unwrap().1, "on");
        let altered = "# by ALTER SYSTEM\nwork_mem = '2MB'\nHot_Standby = 'off'\nport = '1'\n";
        assert_eq!(without_own(altered, &options), "# by ALTER SYSTEM\nwork_mem = '2MB'\n");
    }
}
