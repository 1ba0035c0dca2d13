//! A loading through PgBouncer, in transaction mode with one connection to the server: whoever gets that connection
//! next finds its settings as they were.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use connect::{Overrides, Session, Target};
use pgmeter_workload::{InitOptions, PartitionMethod, Partitioning};
use testkit::cluster::Cluster;

use crate::harness::{NEWEST, lines};

/// Beyond this a pooler does not start any more.
const LIMIT: Duration = Duration::from_secs(30);
/// Every parameter that the session would not have by itself.
const CHANGED: &str = "select name || '=' || setting from pg_catalog.pg_settings \
    where source = 'session' and name <> 'application_name' order by name";

struct PgBouncer {
    child: Child,
    folder: tempfile::TempDir,
    database: String,
}

impl PgBouncer {
    /// In front of a fresh database; `None`, which is said, where there is no PgBouncer.
    #[allow(clippy::print_stderr)] // that it was skipped
    fn start(cluster: &Cluster) -> Option<PgBouncer> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].map(Path::new);
        let Some(program) = program.into_iter().find(|path| path.is_file()) else {
            assert!(std::env::var_os("PGMETER_TEST_PGBOUNCER").is_none(), "PgBouncer is required here");
            eprintln!("SKIPPED: there is no pgbouncer, so nothing was loaded through a pooler");
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

    fn target(&self) -> Target {
        let conninfo =
            format!("host={} port=6432 user=postgres dbname={}", self.folder.path().display(), self.database);
        connect::resolve(Some(&conninfo), &Overrides::default(), &connect::Environment::default())
            .expect("a target")
    }

    /// A session, as soon as the pooler is there.
    fn session(&mut self) -> Session {
        let target = self.target();
        let since = Instant::now();
        loop {
            match Session::connect(&target) {
                Ok(session) => return session,
                Err(error) => {
                    let ended = self.child.try_wait().expect("a child of ours");
                    let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                    assert!(ended.is_none() && since.elapsed() < LIMIT, "{error}\n{log}");
                    std::thread::yield_now();
                }
            }
        }
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_loading_leaves_no_setting_behind_in_the_connections_of_a_pooler() {
    // Too little for the keys of one branch: the loading asks for more.
    let cluster = Cluster::start_with(NEWEST, &[("maintenance_work_mem", "1MB")]);
    for partitions in [0, 2] {
        let Some(mut pooler) = PgBouncer::start(&cluster) else { return };
        let mut session = pooler.session();
        let partitioning =
            (partitions > 0).then_some(Partitioning { method: PartitionMethod::Range, partitions });
        let options = InitOptions { partitioning, jobs: 2, ..InitOptions::default() };
        let target = pooler.target();
        let mut go_on = |_: pgmeter_workload::InitProgress<'_>| std::ops::ControlFlow::Continue(());
        let done = pgmeter_workload::init(&target, &mut session, &options, &mut go_on);
        done.expect("a pooler is no obstacle");
        drop(session);
        let mut next = pooler.session();
        assert_eq!(lines(&mut next, CHANGED), Vec::<String>::new(), "{partitions} partitions");
        assert_eq!(lines(&mut next, "select count(*)::text from pgbench_accounts"), ["100000"]);
    }
}
