//! Temporary clusters for tests: a real PostgreSQL server per test process and major version, with a new database per
//! test. Rust does not drop statics, and killed processes drop nothing. So the guard process of `server` stops a shared
//! cluster; if the guard is killed too, the next sweep does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::extent;
use crate::pgbench::DEBIAN;
use connect::{Overrides, Session, resolve};
use server::{Environment, Instrumentation, Locations, Server, ServerOptions, StandbyOptions, obtain, sweep};

/// Small and fast, without durability. The tests of a process leave hundreds of databases: autovacuum would be busy in
/// them all the time. The files can be in memory, so that WAL that nobody needs is removed early.
const SETTINGS: [(&str, &str); 7] = [
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("synchronous_commit", "off"),
    ("shared_buffers", "64MB"),
    ("max_connections", "300"),
    ("autovacuum_naptime", "1h"),
    ("max_wal_size", "256MB"),
];
/// So few that a small table does not fit in: for tests of reads from disk. The server is in the folder that
/// [`ON_DISK`] names, if any.
pub const FEW_BUFFERS: (&str, &str) = ("shared_buffers", "1MB");
/// A folder on a disk, where the others are in memory.
const ON_DISK: &str = "PGMETER_TEST_DISK_DIR";
/// Length of the part of a test's name in the name of its database, which PostgreSQL limits to 63 bytes.
const NAME_LENGTH: usize = 48;

/// A running server of this test process.
#[derive(Debug)]
pub struct Cluster {
    server: Server,
    databases: AtomicU32,
}

impl Cluster {
    /// The versions to test on: the newest of these, or all where the tests look at everything ([`extent`](crate::extent)).
    pub fn versions<const N: usize>(of: [&'static str; N]) -> Vec<&'static str> {
        Cluster::cases(of, |version| version)
    }

    /// The cases to test: those of the newest version, or all as for [`Cluster::versions`].
    pub fn cases<C, const N: usize>(of: [C; N], version: impl Fn(&C) -> &'static str) -> Vec<C> {
        let newest = of.iter().map(|case| number(version(case))).fold(0.0, f64::max);
        of.into_iter().filter(|case| extent::is_all() || number(version(case)) >= newest).collect()
    }

    /// The server of this major version ("18", "9.6") shared by all tests of the process; the first call starts it.
    ///
    /// # Panics
    /// It cannot be fetched or started.
    pub fn shared(major: &str) -> &'static Cluster {
        static SHARED: Mutex<BTreeMap<String, &'static OnceLock<Cluster>>> = Mutex::new(BTreeMap::new());
        let cell = *SHARED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(major.to_owned())
            .or_insert_with(|| Box::leak(Box::default()));
        cell.get_or_init(|| Cluster::start(major))
    }

    /// A separate server, for tests that stop it or change its settings; removed on drop.
    ///
    /// # Panics
    /// It cannot be fetched or started.
    pub fn start(major: &str) -> Cluster {
        Cluster::start_with(major, &[])
    }

    /// A separate server with these settings.
    ///
    /// # Panics
    /// It cannot be fetched or started.
    pub fn start_with(major: &str, settings: &[(&str, &str)]) -> Cluster {
        Cluster::start_from(None, major, settings)
    }

    /// A server of Debian's newest PostgreSQL that has this library, with the library loaded. `None` if there is none,
    /// which the test must report.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start_with_library(library: &str) -> Option<Cluster> {
        let bin_dir = debian_with(library)?;
        Some(Cluster::start_from(Some(&bin_dir), "", &[("shared_preload_libraries", library)]))
    }

    /// A server of Debian's PostgreSQL with pg_stat_kcache and pg_stat_statements loaded, and few shared buffers. `None`
    /// if there is none, which the test must report.
    ///
    /// # Panics
    /// It cannot be started, or `PGMETER_TEST_KCACHE` says that it has to be there.
    pub fn start_with_kcache(settings: &[(&str, &str)]) -> Option<Cluster> {
        let Some(bin_dir) = debian_with("pg_stat_kcache") else {
            assert!(std::env::var_os("PGMETER_TEST_KCACHE").is_none(), "pg_stat_kcache is required here");
            return None;
        };
        let libraries = [("shared_preload_libraries", "pg_stat_statements, pg_stat_kcache")];
        let settings: Vec<_> =
            [FEW_BUFFERS].into_iter().chain(libraries).chain(settings.iter().copied()).collect();
        Some(Cluster::start_from(Some(&bin_dir), "", &settings))
    }

    /// Writes a table to disk and removes it from the system's cache. Returns its size.
    ///
    /// # Panics
    /// The table or its file is not there.
    pub fn forget(&self, conninfo: &str, table: &str) -> u64 {
        let mut session = Cluster::session(conninfo);
        session.execute("checkpoint").expect("a superuser");
        let rows = session.query(&format!("select pg_relation_filepath('{table}')")).expect("a table");
        let file = self.directory().join("data").join(rows[0].get(0).expect("it has a file"));
        let file = fs::File::open(file).expect("it can be read");
        file.sync_all().expect("it can be written to disk");
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("Linux forgets it");
        file.metadata().expect("it has a size").len()
    }

    fn start_from(bin_dir: Option<&Path>, major: &str, settings: &[(&str, &str)]) -> Cluster {
        let of_process = Locations::from_environment(&Environment::of_process());
        let started = of_process.and_then(|locations| {
            sweep(&locations);
            // Ignores installed programs, so that tests are the same on all machines.
            let disk = std::env::var_os(ON_DISK).filter(|_| settings.contains(&FEW_BUFFERS));
            let state_dir = disk.map_or(locations.state_dir, PathBuf::from);
            let locations = Locations { search_path: Vec::new(), state_dir, ..locations };
            let installation = obtain(major, bin_dir, &locations, &mut |_| {})?;
            let settings =
                SETTINGS.iter().chain(settings).map(|&(name, value)| (name.to_owned(), value.to_owned()));
            let options = ServerOptions {
                settings: settings.collect(),
                tcp: true,
                instrumentation: Instrumentation::Off,
                ..ServerOptions::default()
            };
            Server::start(&installation, &options, &locations)
        });
        match started {
            Ok(server) => Cluster { server, databases: AtomicU32::new(0) },
            Err(error) => panic!("no PostgreSQL {major} to test with: {error}"),
        }
    }

    /// The server.
    pub fn running(&self) -> &Server {
        &self.server
    }

    /// A standby of this server with these settings of its own, which the test drops before the server.
    ///
    /// # Panics
    /// It cannot be made.
    pub fn standby(&self, name: &str, settings: &[(&str, &str)]) -> Server {
        let settings = settings.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let options = StandbyOptions { settings, ..StandbyOptions::new(name) };
        let made = Locations::from_environment(&Environment::of_process())
            .and_then(|locations| self.server.standby(&options, &locations));
        made.unwrap_or_else(|error| panic!("no standby to test with: {error}"))
    }

    /// The server's directory; the data directory is `data` in it.
    pub fn directory(&self) -> &Path {
        self.server.directory()
    }

    /// The server, for tests that stop it.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Creates a database whose name begins with `name`; returns its connection string for the Unix socket.
    ///
    /// # Panics
    /// The server has stopped or reports an error.
    pub fn database(&self, name: &str) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let plain: String = name.chars().take(NAME_LENGTH).map(plain).collect();
        let database = format!("{plain}_{number}");
        self.execute(&format!("create database {database} template template0"));
        self.conninfo().replace("dbname=postgres", &format!("dbname={database}"))
    }

    /// Connection string for the superuser and the database `postgres`, over the Unix socket.
    pub fn conninfo(&self) -> String {
        self.server.conninfo()
    }

    /// Connection string for the superuser over TCP, with the password in a file.
    ///
    /// # Panics
    /// Never: clusters for tests listen on TCP.
    pub fn conninfo_tcp(&self) -> String {
        self.server.conninfo_tcp().expect("it was started with TCP")
    }

    /// The superuser's password, required over TCP only.
    ///
    /// # Panics
    /// The server's password file is missing.
    pub fn password(&self) -> String {
        let text = fs::read_to_string(self.server.directory().join("pgpass")).expect("it is there");
        text.trim().rsplit(':').next().expect("it has fields").to_owned()
    }

    /// A session with this connection string, independent of the process's environment.
    ///
    /// # Panics
    /// Connecting fails.
    pub fn session(conninfo: &str) -> Session {
        let target = resolve(Some(conninfo), &Overrides::default(), &connect::Environment::default());
        let session = target.and_then(|target| Session::connect(&target));
        session.unwrap_or_else(|error| panic!("no session with \"{conninfo}\": {error}"))
    }

    /// Executes statements as the superuser in the database `postgres`.
    ///
    /// # Panics
    /// The server has stopped or reports an error.
    pub fn execute(&self, sql: &str) {
        let done = Cluster::session(&self.conninfo()).execute(sql);
        done.unwrap_or_else(|error| panic!("\"{sql}\": {error}"));
    }

    /// Replaces `pg_hba.conf` by these lines, and a line for this test over the Unix socket: for tests of passwords,
    /// with a separate cluster. Applies to new connections.
    ///
    /// # Panics
    /// The file cannot be written, or the server has stopped.
    pub fn admit(&self, lines: &str) {
        let text = format!("local all all trust\n{lines}\n");
        fs::write(self.server.hba_file(), text).expect("the server's home is ours");
        self.execute("select pg_reload_conf()");
    }
}

/// Directory of Debian's newest server that has a library.
fn debian_with(library: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(DEBIAN).ok()?.filter_map(Result::ok);
    let versions = folders.filter_map(|entry| {
        let version: u32 = entry.file_name().to_str()?.parse().ok()?;
        let has = |file: String| entry.path().join(file).is_file();
        let fits = has(format!("lib/{library}.so")) && has("bin/initdb".to_owned());
        fits.then(|| (version, entry.path().join("bin")))
    });
    versions.max().map(|(_, bin_dir)| bin_dir)
}

/// 9.6 of "9.6".
fn number(version: &str) -> f64 {
    version.parse().expect("a number")
}

/// Characters that need no quotes in SQL or in a connection string.
fn plain(character: char) -> char {
    if character.is_ascii_alphanumeric() { character.to_ascii_lowercase() } else { '_' }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);
    /// Makes a copy of this test program start a shared cluster, and selects how it ends.
    const ENDING: &str = "PGMETER_TEST_ENDING";

    fn ask(conninfo: &str, sql: &str) -> String {
        Cluster::session(conninfo).query(sql).unwrap()[0].get(0).unwrap().to_owned()
    }

    #[test]
    fn tests_share_a_server_and_have_a_database_each() {
        let (one, two) =
            (Cluster::shared("18").database("Some test!"), Cluster::shared("18").database("Some test!"));
        assert_ne!(one, two);
        let identity = "select pg_postmaster_start_time()";
        assert_eq!(ask(&one, identity), ask(&two, identity));
        assert!(ask(&one, "select current_database()").starts_with("some_test__"));
    }

    #[test]
    fn versions_do_not_share() {
        let version = |major| ask(&Cluster::shared(major).conninfo(), "show server_version_num");
        assert!(version("9.6").starts_with("906") && version("18").starts_with("18"));
    }

    #[test]
    fn a_cluster_of_ones_own_has_its_settings_and_goes_away_when_dropped() {
        let cluster = Cluster::start_with("18", &[("work_mem", "5MB"), ("fsync", "on")]);
        assert_eq!(ask(&cluster.conninfo(), "show work_mem"), "5MB");
        assert_eq!(ask(&cluster.conninfo_tcp(), "show fsync"), "on");
        let directory = cluster.server.directory().to_owned();
        drop(cluster);
        assert!(!directory.exists());
    }

    #[test]
    fn a_cluster_asks_for_passwords_when_it_is_told_to() {
        let cluster = Cluster::start("18");
        cluster.execute("create role guest login password 'secret'");
        cluster.admit("host all all 127.0.0.1/32 scram-sha-256");
        let guest = cluster.conninfo_tcp().replace("user=postgres", "user=guest");
        assert_eq!(ask(&format!("{guest} password=secret"), "select current_user"), "guest");
        let target = resolve(Some(&guest), &Overrides::default(), &connect::Environment::default()).unwrap();
        assert!(Session::connect(&target).is_err());
    }

    #[test]
    fn nothing_is_left_of_a_shared_cluster_however_its_process_ends() {
        for ending in ["return", "panic", "abort", "exit"] {
            let mut process = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "cluster::tests::a_process_with_a_shared_cluster", "--nocapture"])
                .env(ENDING, ending)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let output = BufReader::new(process.stdout.take().unwrap());
            let lines: Vec<String> = output.lines().map(Result::unwrap).collect();
            process.wait().unwrap();
            let said =
                |what: &str| lines.iter().find_map(|line| line.strip_prefix(what)).expect("said").to_owned();
            let (pid, directory) = (said("pid: "), said("directory: "));
            let since = Instant::now();
            let postmaster = Path::new("/proc").join(pid);
            while postmaster.exists() || Path::new(&directory).exists() {
                assert!(since.elapsed() < LIMIT, "{ending}: {directory} is still there");
                crate::condition::pause();
            }
        }
    }

    /// The child process of the test above.
    #[test]
    #[allow(clippy::print_stdout, clippy::exit)]
    fn a_process_with_a_shared_cluster() {
        let Ok(ending) = std::env::var(ENDING) else { return };
        let cluster = Cluster::shared("18");
        println!(
            "\npid: {}\ndirectory: {}",
            cluster.server.pid().unwrap(),
            cluster.server.directory().display()
        );
        match ending.as_str() {
            "panic" => panic!("as it was told"),
            "abort" => std::process::abort(),
            "exit" => std::process::exit(1),
            _ => {}
        }
    }
}
