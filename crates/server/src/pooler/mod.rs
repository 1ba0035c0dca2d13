//! PgBouncer in front of an embedded server: started in a private directory of the server's home, by the user that runs
//! the server, because PgBouncer refuses to run as root. It ends when its [`Pooler`] is dropped, and in any case with the
//! server: the server's guard and the sweep end it too. Used by `lab` and by tests.

mod configuration;
mod program;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use connect::quote::short_connection_value;
use connect::{ConnectError, Environment, Overrides, Session, resolve};
use stats::PoolMode;

use crate::access::SUPERUSER;
use crate::account::Account;
use crate::files::{create, open_to_append};
use crate::home::{self, Home, POOLER_PREFIX};
use crate::launch::tail;
use crate::patience::{StopFlag, wait_for};
use crate::process::{POOLER_SHUTDOWN, POOLER_SHUTDOWN_SINCE_QUIT, end_child};
use crate::{Server, ServerError};

pub use configuration::check_setting as check_pooler_setting;
pub use program::{PoolerProgram, PoolerVersion, find_pooler};

use configuration::Configuration;
pub(crate) use program::NAME as PROGRAM_NAME;

/// Its configuration; private because it names the server's socket.
const CONFIGURATION: &str = "pgbouncer.ini";
/// Users with their passwords.
const USERS: &str = "userlist.txt";
/// Who may connect how.
const RULES: &str = "pg_hba.conf";
/// Messages; outside the directory, where the pooler's user cannot replace it by a link.
const LOG_SUFFIX: &str = ".log";
/// How long it may take to answer; it takes some 20 ms.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Time limit of each attempt to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// How often another port is tried when somebody took the one that was free a moment ago.
const PORT_ATTEMPTS: u32 = 10;
/// Ports in the names of sockets: above those of relays, below those that the system picks.
const PORTS: std::ops::Range<u16> = 6432..10_000;
/// The database of PgBouncer's console.
const CONSOLE: &str = "pgbouncer";

/// Number of poolers started by this process, for the names of their directories.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Options of a pooler.
#[derive(Clone, Debug)]
pub struct PoolerOptions {
    /// When connections return to the pool.
    pub mode: PoolMode,
    /// Connections to the server for each database and user.
    pub pool_size: u32,
    /// Clients that may be connected at the same time.
    pub clients_max: u32,
    /// Prepared statements that it keeps for each connection to the server; `None`: 200 if the version can. 0: none.
    pub max_prepared_statements: Option<u32>,
    /// Further settings of its section `[pgbouncer]`.
    pub settings: Vec<(String, String)>,
    /// How clients reach it besides its Unix socket.
    pub listens: PoolerListens,
    /// Set to abandon the start.
    pub stop: Option<Arc<AtomicBool>>,
}

/// How clients reach a pooler besides its Unix socket.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum PoolerListens {
    /// Not at all.
    #[default]
    Nowhere,
    /// On TCP on 127.0.0.1, with the server's password.
    Tcp,
    /// The same with TLS and the server's certificate.
    Tls,
}

/// A running PgBouncer. Dropping it ends it and removes its files.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    version: PoolerVersion,
    /// Prepared statements that it keeps for each connection to the server; `None` if the version cannot.
    max_prepared_statements: Option<u32>,
    directory: PathBuf,
    log: PathBuf,
    socket_directory: PathBuf,
    port: u16,
    listens: PoolerListens,
    /// Password file and certificate of the server.
    password_file: PathBuf,
    certificate: PathBuf,
}

impl Server {
    /// Starts a pooler in front of this server, and waits until it answers.
    ///
    /// # Errors
    /// It does not start, or the version cannot do what the options require.
    pub fn start_pooler(
        &self,
        program: &PoolerProgram,
        options: &PoolerOptions,
    ) -> Result<Pooler, ServerError> {
        let (home, account) = (self.home(), self.account());
        if let Some(barrier) = account.barrier(&program.path) {
            let way_out = "name one that all users can execute with program in [pooler]";
            let (user, path) = (account.name.clone(), program.path.clone());
            return Err(ServerError::OutOfReach { user, path, barrier, way_out });
        }
        let stop = StopFlag::new(options.stop.clone());
        let mut attempt = 1;
        loop {
            stop.check()?;
            let mut pooler = self.spawn_pooler(program, options, home, account)?;
            match pooler.await_answer(&stop) {
                Ok(()) => return Ok(pooler),
                Err(ServerError::PoolerFailed { log, .. })
                    if attempt < PORT_ATTEMPTS && log.contains("Address already in use") =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn spawn_pooler(
        &self,
        program: &PoolerProgram,
        options: &PoolerOptions,
        home: &Home,
        account: &Account,
    ) -> Result<Pooler, ServerError> {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = home.file(&format!("{POOLER_PREFIX}{}-{number}", std::process::id()));
        let log = directory.with_extension(&LOG_SUFFIX[1..]);
        let port = self.pooler_port(options.listens)?;
        let configuration = Configuration {
            program,
            options,
            server: (self.socket_directory(), self.port()),
            directory: &directory,
            port,
            home,
        };
        // Checks before anything is created.
        let text = configuration.text()?;
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&directory)
            .map_err(ServerError::io("create the directory", &directory))?;
        let closed = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&directory, closed).map_err(ServerError::io("close", &directory))?;
        let written = (|| {
            account.give_directory(&directory)?;
            for (name, text) in
                [(CONFIGURATION, text), (USERS, configuration.users()?), (RULES, configuration.rules())]
            {
                let path = directory.join(name);
                account.give(create(&path, 0o600, &text)?, &path)?;
            }
            run_in(&directory, &log, account, program)
        })();
        let child = written.inspect_err(|_| remove_files(&directory, &log))?;
        Ok(Pooler {
            child,
            version: program.version,
            max_prepared_statements: configuration.max_prepared_statements(),
            directory,
            log,
            socket_directory: self.socket_directory().to_owned(),
            port,
            listens: options.listens,
            password_file: home.file(home::PASSWORD_FILE),
            certificate: home.file(home::CERTIFICATE),
        })
    }

    /// A port on TCP that is free now, or a number that no socket beside the server's has.
    fn pooler_port(&self, listens: PoolerListens) -> Result<u16, ServerError> {
        if listens == PoolerListens::Nowhere {
            let is_free = |port: &u16| !self.socket_directory().join(format!(".s.PGSQL.{port}")).exists();
            let full = || {
                let error = io::Error::other("all numbers of sockets are taken");
                ServerError::io("start a pooler in", self.socket_directory())(error)
            };
            return PORTS.into_iter().find(is_free).ok_or_else(full);
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let port = listener.and_then(|listener| listener.local_addr()).map(|address| address.port());
        port.map_err(ServerError::io("find a free port on", Path::new("127.0.0.1")))
    }
}

fn run_in(
    directory: &Path,
    log: &Path,
    account: &Account,
    program: &PoolerProgram,
) -> Result<Child, ServerError> {
    let mut command: Command = account.command(&program.path, directory);
    let files = open_to_append(log).and_then(|file| Ok((file.try_clone()?, file)));
    let (out, err) = files.map_err(ServerError::io("open", log))?;
    command.arg(directory.join(CONFIGURATION)).stdin(Stdio::null()).stdout(out).stderr(err);
    // Ctrl-C at the terminal is for this process.
    command.process_group(0).spawn().map_err(ServerError::io("run", &program.path))
}

impl Pooler {
    /// Its version.
    pub fn version(&self) -> PoolerVersion {
        self.version
    }

    /// Prepared statements that it keeps for each connection to the server; `None` if the version cannot.
    pub fn max_prepared_statements(&self) -> Option<u32> {
        self.max_prepared_statements
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its directory, with its configuration.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Connection string for its Unix socket, as the superuser `postgres`, database `postgres`.
    pub fn conninfo(&self) -> String {
        self.conninfo_of(SUPERUSER)
    }

    /// Connection string for its console, which answers `SHOW STATS` and the like.
    pub fn conninfo_console(&self) -> String {
        self.conninfo_of(CONSOLE)
    }

    fn conninfo_of(&self, database: &str) -> String {
        let host = short_connection_value(&self.socket_directory.display().to_string());
        format!("host={host} port={} user={SUPERUSER} dbname={database}", self.port)
    }

    /// Connection string for TCP from this machine, with TLS if it listens so; `None` if it has a socket only. Another
    /// program that took over the port does not get the password.
    pub fn conninfo_tcp(&self) -> Option<String> {
        let password_file = short_connection_value(&self.password_file.display().to_string());
        let of_tcp = format!(
            "host=127.0.0.1 port={} user={SUPERUSER} dbname={SUPERUSER} passfile={password_file} \
             require_auth=scram-sha-256",
            self.port
        );
        match self.listens {
            PoolerListens::Nowhere => None,
            PoolerListens::Tcp => Some(of_tcp),
            PoolerListens::Tls => {
                let certificate = short_connection_value(&self.certificate.display().to_string());
                Some(format!("{of_tcp} sslmode=verify-ca sslrootcert={certificate}"))
            }
        }
    }

    /// Whether it is running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The end of its log.
    pub fn log(&self) -> String {
        tail(&self.log)
    }

    /// Waits until its console answers, which needs no connection to the server, and until it listens on TCP if it should.
    fn await_answer(&mut self, stop: &StopFlag) -> Result<(), ServerError> {
        let failed = |pooler: &Pooler| ServerError::PoolerFailed {
            version: pooler.version.to_string(),
            log: pooler.log(),
        };
        let answered = wait_for(START_LIMIT, || {
            if stop.is_set() {
                return Some(Err(ServerError::Interrupted));
            }
            if !self.is_running() {
                return Some(Err(failed(self)));
            }
            self.version_of_console().is_ok().then_some(Ok(()))
        });
        answered.unwrap_or_else(|| {
            let (version, log) = (self.version.to_string(), self.log());
            Err(ServerError::PoolerTooSlow { version, seconds: START_LIMIT.as_secs(), log })
        })?;
        // It continues with its Unix socket if the port is taken, and says so in its log only.
        if self.listens != PoolerListens::Nowhere && self.log().contains("Address already in use") {
            return Err(failed(self));
        }
        Ok(())
    }

    fn version_of_console(&self) -> Result<(), ConnectError> {
        let connection = format!("{} connect_timeout={}", self.conninfo_console(), CONNECT_LIMIT.as_secs());
        let target = resolve(Some(&connection), &Overrides::default(), &Environment::default())?;
        Session::connect(&target)?.query("SHOW VERSION").map(drop)
    }

    /// Ends it at once, with all its connections. Ending it again is not an error.
    ///
    /// # Errors
    /// It does not end, even when killed.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        let steps =
            if self.version.quits_by_signal() { &POOLER_SHUTDOWN_SINCE_QUIT } else { &POOLER_SHUTDOWN };
        if !end_child(&mut self.child, steps) {
            return Err(ServerError::PoolerWillNotEnd { pid: self.child.id() });
        }
        remove_files(&self.directory, &self.log);
        let _ = fs::remove_file(self.socket_directory.join(format!(".s.PGSQL.{}", self.port)));
        Ok(())
    }
}

/// What cannot be removed now is removed with the server's home.
fn remove_files(directory: &Path, log: &Path) {
    let _ = fs::remove_dir_all(directory);
    let _ = fs::remove_file(log);
}

impl Drop for Pooler {
    fn drop(&mut self) {
        // An error cannot be reported here; the end of the server tries again.
        let _ = self.stop();
    }
}
