//! A running server owned by this process, from the creation of its directory to its removal. The public interface
//! for temporary servers; `named` handles permanent ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use connect::{ConnectError, Environment, Overrides, Session, Target, resolve};
use rustix::process::Signal;

use crate::access::{self, SUPERUSER};
use crate::account::Account;
use crate::guard::Guard;
use crate::handle::ServerHandle;
use crate::home::{self, Description, Home, LockedHome};
use crate::launch::PortChoice;
use crate::patience::{StopFlag, wait_for};
use crate::postmaster::SharedPostmaster;
use crate::process::{FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN, ShutdownStep};
use crate::status::Status;
use crate::{
    Installation, Instrumentation, Locations, ServerError, Setting, copies, launch, memory, removal,
    settings, tablespaces, tls,
};

/// How long a server may take to read its configuration file.
const RELOAD_LIMIT: Duration = Duration::from_secs(20);

/// Options for starting a server.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Its name; generated if not given.
    pub name: Option<String>,
    /// Settings of `postgresql.conf` that override ours, in order; the last one of a name wins.
    pub settings: Vec<(String, String)>,
    /// If this process runs as root: the user that runs the server; by default `postgres` if it exists, otherwise
    /// `nobody`.
    pub server_user: Option<String>,
    /// Whether it continues after this process, until it is stopped by name.
    pub keep: bool,
    /// Its own instrumentation.
    pub instrumentation: Instrumentation,
    /// Whether it listens on TCP, on 127.0.0.1, in addition to its Unix socket: see [`Server::conninfo_tcp`].
    pub tcp: bool,
    /// Whether it listens on TCP with TLS and its own certificate: see [`Server::conninfo_tls`].
    pub tls: bool,
    /// Whether standbys can be made of it: see [`Server::standby`].
    pub replication: bool,
    /// Tablespaces that exist from the start: names, and directories in which a private one is created for each;
    /// without a directory next to the data.
    pub tablespaces: Vec<(String, Option<PathBuf>)>,
    /// Set to abandon the start; then everything is removed.
    pub stop: Option<Arc<AtomicBool>>,
}

/// A running server. Dropping it stops it and removes everything, unless it is kept.
#[derive(Debug)]
pub struct Server {
    pub(crate) about: Description,
    pub(crate) claim: LockedHome,
    pub(crate) account: Account,
    /// From its start on.
    postmaster: SharedPostmaster,
    /// Until it is kept or gone.
    guard: Option<Guard>,
    /// Nothing of it is left.
    removed: bool,
    /// Starting it is to be given up.
    pub(crate) stop: StopFlag,
}

impl Server {
    /// Creates a data directory, starts the server and waits until it accepts connections. If this process is killed
    /// meanwhile, everything is removed too.
    ///
    /// # Errors
    /// The start fails, with the end of its log; everything is removed.
    pub fn start(
        installation: &Installation,
        options: &ServerOptions,
        locations: &Locations,
    ) -> Result<Server, ServerError> {
        let mut server = Server::prepare(installation, options, locations)?;
        server.launch()?;
        server.create_tablespaces()?;
        if options.keep {
            server.keep_running()?;
        }
        Ok(server)
    }

    /// A server with a data directory that was not started yet. Dropping it removes everything.
    pub(crate) fn prepare(
        installation: &Installation,
        options: &ServerOptions,
        locations: &Locations,
    ) -> Result<Server, ServerError> {
        let account = Account::choose(options.server_user.as_deref())?;
        let of_tls = tls::SETTINGS.iter().filter(|_| options.tls);
        let of_tls = of_tls.map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let wanted: Vec<_> = of_tls.chain(options.settings.iter().cloned()).collect();
        let mut settings = settings::merged(memory::memory(), options.instrumentation, &wanted)?;
        if options.instrumentation == Instrumentation::On {
            settings::time_flushes(&mut settings, installation.version.major());
        }
        if options.replication {
            settings::allow_replication(&mut settings, installation.version.major());
        }
        settings::fixed_port(&settings)?;
        let (version, bin_dir) = (installation.version.to_string(), installation.bin_dir.clone());
        let mut about = Description::new(version, bin_dir, account.name.clone(), settings);
        about.needs_extension = settings::loads_statements(&about.settings);
        about.tcp = options.tcp || options.tls || settings::wants_tcp(&about.settings);
        let stop = StopFlag::new(options.stop.clone());
        let server = Server::with_home(
            (about, options.name.as_deref()),
            account,
            &options.tablespaces,
            stop,
            locations,
        )?;
        launch::initdb(&server.claim.home, &server.about, &server.account)?;
        server.stop.check()?;
        if options.tls {
            tls::make(&server.claim.home, &server.account)?;
        }
        Ok(server)
    }

    /// A server with a guarded home and without data.
    pub(crate) fn with_home(
        (about, name): (Description, Option<&str>),
        account: Account,
        tablespaces: &[(String, Option<PathBuf>)],
        stop: StopFlag,
        locations: &Locations,
    ) -> Result<Server, ServerError> {
        let claim = LockedHome::new(name, locations)?;
        let mut server = Server {
            about,
            claim,
            account,
            postmaster: SharedPostmaster::default(),
            guard: None,
            removed: false,
            stop,
        };
        server.about.socket_directory = server.claim.make_socket_directory(&server.account)?;
        server.about.tablespaces =
            tablespaces::make_directories(tablespaces, &server.claim.home.directory, &server.account)?;
        server.claim.write(&server.about)?;
        let Description { socket_directory, tablespaces, .. } = &server.about;
        server.guard = Guard::over(&server.claim.home.directory, socket_directory, tablespaces);
        Ok(server)
    }

    /// Promotes a standby and waits until it accepts writes.
    ///
    /// # Errors
    /// It is no standby; it ends; it remains in recovery for longer than the limit, in which case the request is
    /// withdrawn.
    pub fn promote(&self, limit: Duration) -> Result<(), ServerError> {
        self.handle().promote(limit)
    }

    /// Sets these settings in its configuration file and has the running server read it. Settings that it takes only
    /// at its start change at its next start.
    ///
    /// # Errors
    /// A setting is invalid; the server does not read the file in time.
    pub fn change_settings(&mut self, wanted: &[(String, String)]) -> Result<(), ServerError> {
        const LOADED: &str = "SELECT pg_conf_load_time()";
        let own = self.about.settings.iter().map(|setting| (setting.name.clone(), setting.value.clone()));
        let all: Vec<_> = own.chain(wanted.iter().cloned()).collect();
        let settings = settings::merged(memory::memory(), Instrumentation::Off, &all)?;
        let loaded = |server: &Server| {
            let mut session = server.handle().session_within(launch::CONNECT_LIMIT).ok()?;
            session.query(LOADED).ok()?.first()?.get(0).map(str::to_owned)
        };
        let before = loaded(self);
        self.about.settings = settings;
        self.claim.write(&self.about)?;
        launch::configure(&self.claim.home, &self.about, &self.account)?;
        if !self.postmaster.send(Signal::HUP) {
            return Ok(());
        }
        let taken = wait_for(RELOAD_LIMIT, || loaded(self).filter(|now| Some(now) != before.as_ref()));
        let (server, seconds) = (self.name().to_owned(), RELOAD_LIMIT.as_secs());
        taken.map(drop).ok_or_else(|| ServerError::NotReloaded { server, seconds, log: self.log_tail() })
    }

    pub(crate) fn log_tail(&self) -> String {
        launch::tail(&self.claim.home.file(home::LOG))
    }

    pub(crate) fn home(&self) -> &Home {
        &self.claim.home
    }

    pub(crate) fn about(&self) -> &Description {
        &self.about
    }

    /// An existing, stopped server.
    pub(crate) fn existing(home: &Home) -> Result<Server, ServerError> {
        let claim = home.claim()?;
        let about = home.read()?.ok_or_else(|| ServerError::NoSuchServer { name: home.name.clone() })?;
        let root = rustix::process::geteuid().is_root();
        let account = Account::choose(root.then_some(about.server_user.as_str()))?;
        let stop = StopFlag::default();
        Ok(Server {
            about,
            claim,
            account,
            postmaster: SharedPostmaster::default(),
            guard: None,
            removed: false,
            stop,
        })
    }

    /// Sets whether it listens on TCP from its next start on; its settings may require that too.
    pub(crate) fn offer_tcp(&mut self, tcp: bool) {
        // A server of an earlier version listened by default without password: only its socket is kept.
        let has_password = self.claim.home.file(home::PASSWORD_FILE).exists();
        self.about.tcp = tcp || (has_password && settings::wants_tcp(&self.about.settings));
    }

    pub(crate) fn launch(&mut self) -> Result<(), ServerError> {
        let (home, port) = (&self.claim.home, PortChoice::Any);
        self.postmaster.set(launch::launch(home, &mut self.about, &self.account, &self.stop, port)?);
        if std::mem::take(&mut self.about.needs_extension) && self.counts_statements() {
            self.create_extension()?;
        }
        self.claim.write(&self.about)
    }

    /// In all databases that exist from the start; others are copies of `template1`.
    fn create_extension(&self) -> Result<(), ServerError> {
        for database in ["template1", SUPERUSER] {
            let failed = |error: ConnectError| ServerError::Extension(error.to_string());
            let mut session = self.session(database).map_err(failed)?;
            let create = format!("CREATE EXTENSION IF NOT EXISTS {}", settings::STATEMENTS);
            session.execute(&create).map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn session(&self, database: &str) -> Result<Session, ConnectError> {
        let target = resolve(Some(&self.conninfo()), &Overrides::default(), &Environment::default())?;
        let target = Target { database: database.to_owned(), ..target };
        Session::connect(&target)
    }

    /// Whether it has loaded pg_stat_statements; installations without it are started anyway.
    pub fn counts_statements(&self) -> bool {
        settings::loads_statements(&self.about.settings)
    }

    fn create_tablespaces(&self) -> Result<(), ServerError> {
        let Some(first) = self.about.tablespaces.first() else { return Ok(()) };
        let refused = |error: ConnectError| ServerError::Tablespace {
            name: first.name.clone(),
            reason: error.to_string(),
        };
        let mut session = self.session(SUPERUSER).map_err(refused)?;
        tablespaces::create(&self.about.tablespaces, &mut session)
    }

    /// Stops it normally and starts it again, so that it takes settings that it reads only at its start. Its port may
    /// change.
    ///
    /// # Errors
    /// It does not stop or start. It is then unusable.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.end(&FAST_SHUTDOWN)?;
        self.launch()
    }

    /// Stops it, copies all its files including tablespaces, and starts it again. Its port may change.
    ///
    /// # Errors
    /// It does not stop or start; something cannot be copied. It is then unusable.
    pub fn keep_copy(&mut self, number: usize) -> Result<(), ServerError> {
        self.end(&FAST_SHUTDOWN)?;
        copies::keep(&self.claim.home, &self.about, &self.account, number)?;
        self.launch()
    }

    /// Replaces its files by a copy and starts it. Its port may change.
    ///
    /// # Errors
    /// There is no such copy; otherwise as [`Server::keep_copy`].
    pub fn restore_copy(&mut self, number: usize) -> Result<(), ServerError> {
        self.end(&IMMEDIATE_SHUTDOWN)?;
        copies::restore_copy(&self.claim.home, &self.about, &self.account, number)?;
        self.launch()
    }

    /// Connection string for its Unix socket, as the superuser `postgres`, database `postgres`.
    pub fn conninfo(&self) -> String {
        launch::conninfo(&self.about)
    }

    /// Connection string for TCP from this machine, as the superuser; it refers to a file with the password. `None`
    /// for a server with a socket only.
    pub fn conninfo_tcp(&self) -> Option<String> {
        self.about.tcp.then(|| launch::conninfo_tcp(&self.claim.home, &self.about))
    }

    /// Like [`Server::conninfo_tcp`], for pgmeter's own connections: another program that took over the port does not
    /// get the password in clear text. Programs with a libpq older than 16 do not know `require_auth`.
    pub fn conninfo_tcp_guarded(&self) -> Option<String> {
        let method = access::password_method(&self.about);
        Some(format!("{} require_auth={method}", self.conninfo_tcp()?))
    }

    /// Connection string for TCP with TLS, which verifies its certificate. `None` without [`ServerOptions::tls`].
    pub fn conninfo_tls(&self) -> Option<String> {
        let home = &self.claim.home;
        home.file(home::CERTIFICATE).exists().then(|| launch::conninfo_tls(home, &self.about))
    }

    /// Path of its access rules (`pg_hba.conf`).
    pub fn hba_file(&self) -> PathBuf {
        self.claim.home.file(home::HBA_FILE)
    }

    /// Its name, for `server stop NAME`.
    pub fn name(&self) -> &str {
        &self.claim.home.name
    }

    /// The version of its programs, such as "18.6".
    pub fn version(&self) -> &str {
        &self.about.version
    }

    /// Its TCP port, also the number in the socket's name.
    pub fn port(&self) -> u16 {
        self.about.port
    }

    /// Directory of its Unix socket.
    pub fn socket_directory(&self) -> &Path {
        &self.about.socket_directory
    }

    /// Its home, with data and log.
    pub fn directory(&self) -> &Path {
        &self.claim.home.directory
    }

    /// Process ID of its postmaster; `None` after it was stopped.
    pub fn pid(&self) -> Option<u32> {
        self.postmaster.pid()
    }

    /// All its settings, ours and the user's.
    pub fn settings(&self) -> &[Setting] {
        &self.about.settings
    }

    /// Whether its postmaster is running.
    pub fn is_running(&mut self) -> bool {
        self.postmaster.is_running()
    }

    /// A handle for faults, which is valid until the server is removed or gets another port.
    pub fn handle(&self) -> ServerHandle {
        ServerHandle {
            home: self.claim.home.clone(),
            about: self.about.clone(),
            account: self.account.clone(),
            stop: self.stop.clone(),
            postmaster: self.postmaster.clone(),
            is_guarded: self.guard.is_some(),
            resume_guard: Arc::default(),
            _claim: None,
        }
    }

    /// Keeps it running under its name after this process, until `named::stop`.
    ///
    /// # Errors
    /// Its description cannot be written; it is then stopped and removed.
    pub fn keep(mut self) -> Result<Status, ServerError> {
        self.keep_running()?;
        let pid = self.pid();
        Ok(Status::of(&self.claim.home, &self.about, pid))
    }

    fn keep_running(&mut self) -> Result<(), ServerError> {
        let kept = Description { kept: true, ..self.about.clone() };
        self.claim.write(&kept)?;
        self.about = kept;
        self.dismiss_guard();
        Ok(())
    }

    fn dismiss_guard(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.dismiss();
        }
    }

    /// Stops it normally and keeps its data until it is dropped. Stopping again is not an error.
    ///
    /// # Errors
    /// It does not stop, even when killed.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        self.end(&FAST_SHUTDOWN)
    }

    /// Stops it and removes everything, whether kept or not. Calling it again is not an error.
    ///
    /// # Errors
    /// It does not stop, even when killed; something cannot be removed.
    pub fn stop_and_remove(&mut self) -> Result<(), ServerError> {
        if self.removed {
            return Ok(());
        }
        self.end(&IMMEDIATE_SHUTDOWN)?;
        removal::remove(&self.claim)?;
        self.removed = true;
        self.dismiss_guard();
        Ok(())
    }

    /// The operating system user that runs it.
    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    pub(crate) fn end(&mut self, steps: &[ShutdownStep]) -> Result<(), ServerError> {
        let Err(pid) = self.postmaster.end(&self.claim.home.data(), steps) else { return Ok(()) };
        let (name, directory) = (self.claim.home.name.clone(), self.claim.home.directory.clone());
        Err(ServerError::WillNotEnd { name, pid, directory })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.about.kept {
            // An error cannot be reported here; the guard or the next sweep removes the rest.
            let _ = self.stop_and_remove();
        }
    }
}
