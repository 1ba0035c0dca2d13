//! PgBouncer before a cluster, in transaction mode with one connection to the server: the client that gets that
//! connection next finds in it whatever another one left. Not installed everywhere.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use connect::{Environment, Overrides, Session, Target};

use crate::cluster::Cluster;

/// Vain attempts to connect, of some 50 µs each, after which it does not start any more.
const ATTEMPTS_MAX: u32 = 500_000;
/// What a session has that it would not have by itself: parameters and prepared statements.
const LEFT: &str = "select name || '=' || setting from pg_catalog.pg_settings \
    where source = 'session' and name <> 'application_name' \
    union all select 'prepared ' || name from pg_catalog.pg_prepared_statements order by 1";

/// A pooler in front of a database of its own; ends when dropped.
#[derive(Debug)]
pub struct PgBouncer {
    child: Child,
    folder: tempfile::TempDir,
    database: String,
}

impl PgBouncer {
    /// In front of a fresh database; `None`, which the test has to say aloud, where there is no PgBouncer.
    ///
    /// # Panics
    /// It cannot be started, or `PGMETER_TEST_PGBOUNCER` says that it has to be there.
    pub fn start(cluster: &Cluster) -> Option<PgBouncer> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(Path::new);
        let Some(program) = program.into_iter().find(|path| path.is_file()) else {
            assert!(std::env::var_os("PGMETER_TEST_PGBOUNCER").is_none(), "PgBouncer is required here");
            return None;
        };
        let conninfo = cluster.database("pooled");
        let word = |key: &str| {
            let found = conninfo.split_whitespace().find_map(|word| word.strip_prefix(key));
            found.expect("clusters say where they are").trim_matches('\'').to_owned()
        };
        let (host, port, database) = (word("host="), word("port="), word("dbname="));
        // PgBouncer refuses to run as root; the server's own user may reach its socket.
        let owner = fs::metadata(cluster.directory().join("data")).expect("a data directory");
        let folder = tempfile::Builder::new().prefix("pgmeter-test-").tempdir().expect("a directory");
        std::os::unix::fs::chown(folder.path(), Some(owner.uid()), Some(owner.gid())).expect("it is ours");
        let at = folder.path().display();
        let ini = format!(
            "[databases]\n{database} = host={host} port={port} user=postgres pool_size=1\n\
             [pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {at}\nauth_type = any\n\
             pool_mode = transaction\nlogfile = {at}/log\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, ini).expect("it can be written");
        let mut command = Command::new(program);
        if rustix::process::geteuid().is_root() {
            command.uid(owner.uid()).gid(owner.gid());
        }
        let child = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Some(PgBouncer { child: child.expect("pgbouncer can be started"), folder, database })
    }

    /// How to connect.
    pub fn conninfo(&self) -> String {
        format!("host={} port=6432 user=postgres dbname={}", self.folder.path().display(), self.database)
    }

    /// The pooler as a target.
    ///
    /// # Panics
    /// Never: it has one address.
    pub fn target(&self) -> Target {
        connect::resolve(Some(&self.conninfo()), &Overrides::default(), &Environment::default())
            .expect("a target")
    }

    /// What sessions before have left in the connection to the server.
    ///
    /// # Panics
    /// The pooler does not answer.
    pub fn left_behind(&mut self) -> Vec<String> {
        let rows = self.session().query(LEFT).expect("it answers");
        rows.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect()
    }

    /// A session, as soon as the pooler is there.
    ///
    /// # Panics
    /// It does not come up.
    pub fn session(&mut self) -> Session {
        let target = self.target();
        for attempt in 1.. {
            match Session::connect(&target) {
                Ok(session) => return session,
                Err(error) => {
                    let ended = self.child.try_wait().expect("a child of ours");
                    let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                    assert!(ended.is_none() && attempt < ATTEMPTS_MAX, "{error}\n{log}");
                    std::thread::yield_now();
                }
            }
        }
        unreachable!("the attempts are limited")
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
