//! The server that a fault strikes: one of the test's own, or the one that `quickstart` has started. Says where it is,
//! which of its backends have load, and does the damage.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use connect::{Overrides, Session, resolve};
use rustix::process::Signal;
use testkit::cluster::Cluster;
use testkit::condition::pause;
use testkit::fault_proxy::{FaultProxy, WireFault};
use testkit::small_disk::SmallDisk;

use super::matrix::{Fault, Tried};
use crate::harness::{Bench, Running};
use crate::processes::{send, signal_server};

/// How long a paused server is silent.
const PAUSE: Duration = Duration::from_secs(5);
/// Set where a full disk must be tried.
const REQUIRED: &str = "PGMETER_TEST_MOUNT";
/// A pause is a stall only beside transactions that are much shorter.
const TRANSACTIONS_BEFORE_PAUSE: u32 = 40;
/// A load begins, and a server's last sessions end, within this.
const PATIENCE: Duration = Duration::from_secs(60);
/// The size of a disk that is full soon: a database, and a little.
const TABLES_MIB: u32 = 24;
/// One that takes a server and not its tables.
const SERVER_MIB: u32 = 160;

/// A server of the test's own, and what stands around it.
pub(crate) struct Ground {
    cluster: Cluster,
    fault: Fault,
    database: String,
    proxy: Option<FaultProxy>,
    /// Unmounted after the server has ended: fields are dropped in this order.
    _disk: Option<SmallDisk>,
}

/// Why a cell cannot be tried on this machine.
pub(crate) struct NotTried(pub(crate) String);

impl Ground {
    /// A server with a table for the load.
    pub(crate) fn new(bench: &Bench, fault: Fault) -> Result<Ground, NotTried> {
        // A server that recovers has what was committed.
        let cluster = Cluster::start_with("18", &[("synchronous_commit", "on")]);
        let mut disk = None;
        let database = if fault == Fault::DiskFull {
            let data = fs::metadata(cluster.directory().join("data")).expect("it has data");
            let path = bench.path().join("disk");
            disk = Some(small_disk(&path, TABLES_MIB, (data.uid(), data.gid()))?);
            cluster.execute(&format!("create tablespace small location '{}'", path.display()));
            cluster.execute("create database full_disk tablespace small");
            cluster.conninfo().replace("dbname=postgres", "dbname=full_disk")
        } else {
            cluster.database("load")
        };
        Cluster::session(&database).execute(&tables(fault)).expect("tables can be made");
        let wire_fault = match fault {
            Fault::SlowReader => Some(WireFault::SlowReader),
            Fault::Reset => Some(WireFault::Reset),
            Fault::WrongBytes => Some(WireFault::WrongBytes),
            _ => None,
        };
        let proxy = wire_fault.map(|fault| {
            let socket = Path::new(word(&database, "host="));
            let socket = socket.join(format!(".s.PGSQL.{}", word(&database, "port=")));
            FaultProxy::start(&socket, fault).expect("a proxy can be started")
        });
        Ok(Ground { cluster, fault, database, proxy, _disk: disk })
    }

    /// Where the command under test connects.
    pub(crate) fn conninfo(&self) -> String {
        let Some(proxy) = &self.proxy else { return self.database.clone() };
        let (host, port) = (word(&self.database, "host="), word(&self.database, "port="));
        let over_tcp = self.database.replace(&format!("host={host}"), "host=127.0.0.1");
        over_tcp.replace(&format!("port={port}"), &format!("port={} sslmode=disable", proxy.port()))
    }

    /// The server, for the damage.
    pub(crate) fn struck(&mut self) -> Struck<'_> {
        let postmaster = self.cluster.server().pid().expect("it runs");
        Struck { conninfo: self.database.clone(), postmaster, proxy: self.proxy.as_ref() }
    }

    /// Lets a stopped server go on.
    pub(crate) fn resume(&mut self) {
        if let Some(postmaster) = self.cluster.server().pid() {
            signal_server(postmaster, Signal::CONT);
        }
    }

    /// A session as soon as the server takes one.
    fn session_after_recovery(&self) -> Session {
        let environment = connect::Environment::default();
        let target = resolve(Some(&self.cluster.conninfo()), &Overrides::default(), &environment);
        let target = target.expect("it is a connection string");
        let since = Instant::now();
        loop {
            match Session::connect(&target) {
                Ok(session) => return session,
                Err(error) => assert!(since.elapsed() < PATIENCE, "the server did not recover: {error}"),
            }
            pause();
        }
    }

    /// What a command left on the server that goes on: sessions and databases.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut session = self.session_after_recovery();
        let mut ask = |sql: &str| -> Vec<String> {
            let rows = session.query(sql).expect("the query is right");
            rows.iter().filter_map(|row| row.get(0).map(str::to_owned)).collect()
        };
        let sessions = "select 'session: ' || left(query, 60) from pg_stat_activity \
                        where backend_type = 'client backend' and pid <> pg_backend_pid()";
        let since = Instant::now();
        while !ask(sessions).is_empty() && since.elapsed() < PATIENCE {
            pause();
        }
        let mut left = ask(sessions);
        // The next experiment or comparison removes those of one whose server did not answer.
        if self.fault != Fault::ServerStopped {
            left.extend(ask("select 'database: ' || datname from pg_database where datname like 'pgmeter%'"));
        }
        left
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.resume();
    }
}

/// The tables of the load, as SQL: experiments make them in databases of their own.
pub(crate) fn tables(fault: Fault) -> String {
    let place = if fault == Fault::DiskFull { " tablespace small" } else { "" };
    format!(
        "create table load (id, n){place} as select i, 0 from generate_series(0, 9) i; \
         create table filler (t text){place};"
    )
}

/// The value of a word of a connection string without quotes.
fn word<'a>(conninfo: &'a str, key: &str) -> &'a str {
    let found = conninfo.split(' ').find_map(|word| word.strip_prefix(key));
    found.unwrap_or_else(|| panic!("no {key} in {conninfo}")).trim_matches('\'')
}

fn small_disk(path: &Path, mebibytes: u32, owner: (u32, u32)) -> Result<SmallDisk, NotTried> {
    fs::create_dir(path).expect("a folder can be made");
    SmallDisk::mount(path, mebibytes, owner).map_err(|error| {
        assert!(
            std::env::var_os(REQUIRED).is_none(),
            "a tmpfs cannot be mounted, and is required here: {error}"
        );
        NotTried(format!("this machine does not permit mounting a tmpfs: {error}"))
    })
}

/// A disk for all files of a server that a command starts.
pub(crate) fn disk_for_servers(path: &Path) -> Result<SmallDisk, NotTried> {
    small_disk(path, SERVER_MIB, (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw()))
}

/// A load that has begun.
pub(crate) struct Load {
    /// A backend that has it.
    backend: u32,
    /// Its database.
    database: String,
    /// A session of the one who has looked.
    session: Session,
}

/// A running server that is about to suffer.
pub(crate) struct Struck<'a> {
    conninfo: String,
    postmaster: u32,
    proxy: Option<&'a FaultProxy>,
}

impl Struck<'_> {
    /// The server that `quickstart` has started, once it has.
    pub(crate) fn of_quickstart(bench: &Bench, run: &mut Running) -> Struck<'static> {
        run.hear("running tpcb-like");
        let home = fs::read_dir(bench.path().join("state/servers")).expect("there are servers").flatten();
        let home: Vec<PathBuf> = home.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        let [home] = home.as_slice() else { panic!("one server was expected: {home:?}") };
        let pid_file = fs::read_to_string(home.join("data/postmaster.pid")).expect("it runs");
        let lines: Vec<&str> = pid_file.lines().collect();
        let conninfo = format!("host={} port={} user=postgres dbname=postgres", lines[4], lines[3]);
        Struck { conninfo, postmaster: lines[0].parse().expect("a process"), proxy: None }
    }

    /// Waits until the load is on. `None` if it never begins.
    pub(crate) fn await_load(&self, fault: Fault, tried: Tried, run: &mut Running) -> Option<Load> {
        let is_long = fault == Fault::ServerPaused && tried != Tried::Init;
        let loaded = Self::loaded(tried);
        let since = Instant::now();
        let mut session = Cluster::session(&self.conninfo);
        loop {
            let rows = session.query(&loaded).expect("the query is right");
            if let Some(row) = rows.first() {
                let backend = row.get(0).and_then(|pid| pid.parse().ok()).expect("a process");
                let database = row.get(1).expect("a database").to_owned();
                if is_long && !self.await_transactions(tried, &database, run) {
                    return None;
                }
                return Some(Load { backend, database, session });
            }
            if since.elapsed() > PATIENCE || run.has_ended() {
                return None;
            }
            pause();
        }
    }

    /// The query for the backends that have the load, and their databases.
    fn loaded(tried: Tried) -> String {
        // The control session parses the same statements before the load, so the oldest one does not count.
        let running = |statement: &str| {
            format!(
                "select pid, datname from pg_stat_activity where query like '{statement}' \
                 and pid <> pg_backend_pid() order by backend_start offset 1"
            )
        };
        match tried {
            Tried::Init => "select pid, datname from pg_stat_progress_copy".to_owned(),
            Tried::Quickstart => running("UPDATE pgbench_branches%"),
            Tried::Bench | Tried::Lab | Tried::Compare | Tried::Pgbench => running("%the load%"),
        }
    }

    /// Waits for the first transactions of a load, which the tables count: a busy machine has few looks in a run.
    fn await_transactions(&self, tried: Tried, database: &str, run: &mut Running) -> bool {
        let made =
            if tried == Tried::Quickstart { "count(*) from pgbench_history" } else { "sum(n) from load" };
        let are_enough =
            format!("select 1 from (select {made}) as load (made) where made >= {TRANSACTIONS_BEFORE_PAUSE}");
        let mut session = Cluster::session(&self.of_database(database));
        while session.query(&are_enough).expect("the query is right").is_empty() {
            if run.has_ended() {
                return false;
            }
            pause();
        }
        true
    }

    /// How to connect to another database of the server.
    fn of_database(&self, database: &str) -> String {
        let own = word(&self.conninfo, "dbname=");
        self.conninfo.replace(&format!("dbname={own}"), &format!("dbname={database}"))
    }

    /// Does the damage. What is returned goes on with it until it is dropped.
    pub(crate) fn strike(&self, fault: Fault, tried: Tried, load: Load) -> Option<Session> {
        match fault {
            Fault::ServerKilled => signal_server(self.postmaster, Signal::KILL),
            Fault::ServerStopped => signal_server(self.postmaster, Signal::STOP),
            Fault::ServerPaused => {
                signal_server(self.postmaster, Signal::STOP);
                // The fault itself lasts so long.
                std::thread::sleep(PAUSE);
                signal_server(self.postmaster, Signal::CONT);
            }
            Fault::BackendKilled => Self::kill_backend(tried, load),
            Fault::LockHeld => {
                let table = if tried == Tried::Quickstart { "pgbench_branches" } else { "load" };
                return Some(self.lock(load, table));
            }
            Fault::Reset | Fault::WrongBytes => self.proxy.expect("it has a proxy").strike(),
            // Are there from the beginning.
            Fault::DiskFull | Fault::SlowReader => {}
        }
        None
    }

    /// Kills a backend of the load. It may have ended just before, with a block of a comparison; then the next one is
    /// killed, until the server ends all its sessions.
    fn kill_backend(tried: Tried, load: Load) {
        // The session is of before, so that no backend is killed after the recovery.
        let Load { backend, mut session, .. } = load;
        let since = Instant::now();
        send(backend, Signal::KILL);
        while let Ok(rows) = session.query(&Self::loaded(tried)) {
            if let Some(pid) = rows.first().and_then(|row| row.get(0)) {
                send(pid.parse().expect("a process"), Signal::KILL);
            }
            if since.elapsed() > PATIENCE {
                return;
            }
            pause();
        }
    }

    /// Locks a table that `init` is about to drop.
    pub(crate) fn lock_for_init(&self) -> Session {
        locked(Cluster::session(&self.conninfo), "pgbench_branches")
    }

    /// Locks a table of the load until the session ends. A new session could come too late for a short run.
    fn lock(&self, load: Load, table: &str) -> Session {
        let is_here = load.database == word(&self.conninfo, "dbname=");
        let session =
            if is_here { load.session } else { Cluster::session(&self.of_database(&load.database)) };
        locked(session, table)
    }
}

/// The session with a lock of a table.
fn locked(session: Session, table: &str) -> Session {
    let mut holder = session;
    let lock = format!("create table if not exists {table} (id int); begin; lock table {table}");
    holder.execute(&lock).expect("a table can be locked");
    holder
}
