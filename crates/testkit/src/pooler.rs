//! PgBouncer before a cluster, in transaction mode with one connection to the server: the client that gets that
//! connection next finds in it whatever another one left. Not installed everywhere.

use connect::{Environment, Overrides, Session, Target};
use server::{Locations, Pooler, PoolerListens, PoolerOptions, PoolerProgram, find_pooler};
use stats::PoolMode;

use crate::cluster::Cluster;

/// What a session has that it would not have by itself: parameters and prepared statements.
const LEFT: &str = "select name || '=' || setting from pg_catalog.pg_settings \
    where source = 'session' and name <> 'application_name' \
    union all select 'prepared ' || name from pg_catalog.pg_prepared_statements order by 1";

/// The state of a pooler's connection to the server, of which the next client gets what is not as at its start.
#[derive(Debug, PartialEq, Eq)]
pub struct PooledConnection {
    /// The process of the server.
    pub backend: String,
    /// Parameters that differ from their values at the start of the session, but for the client's name.
    pub settings: Vec<String>,
    /// Names of prepared statements.
    pub prepared: Vec<String>,
    /// Advisory locks.
    pub locks: Vec<String>,
}

/// A pooler in front of a database of its own; ends when dropped.
#[derive(Debug)]
pub struct PgBouncer {
    pooler: Pooler,
    database: String,
}

/// The installed PgBouncer; `None`, which the test has to say aloud, where there is none.
///
/// # Panics
/// There is none, and `PGMETER_TEST_PGBOUNCER` says that it has to be there.
pub fn program() -> Option<PoolerProgram> {
    let locations = Locations::from_environment(&server::Environment::of_process()).expect("directories");
    let found = find_pooler(None, &locations);
    let is_required = std::env::var_os("PGMETER_TEST_PGBOUNCER").is_some();
    assert!(found.is_ok() || !is_required, "PgBouncer is required here: {found:?}");
    found.ok()
}

/// Options of a pooler with this mode and number of connections to the server, over its socket only.
pub fn options(mode: PoolMode, pool_size: u32) -> PoolerOptions {
    PoolerOptions {
        mode,
        pool_size,
        clients_max: 100,
        max_prepared_statements: None,
        settings: Vec::new(),
        listens: PoolerListens::Nowhere,
        stop: None,
    }
}

impl PgBouncer {
    /// In front of a fresh database of a server that no other test puts a pooler in front of at the same time: both would
    /// have the same socket. `None`, which the test has to say aloud, where there is no PgBouncer.
    ///
    /// # Panics
    /// It cannot be started, or `PGMETER_TEST_PGBOUNCER` says that it has to be there.
    pub fn start(cluster: &Cluster) -> Option<PgBouncer> {
        PgBouncer::start_with(cluster, &options(PoolMode::Transaction, 1))
    }

    /// The same with these options.
    ///
    /// # Panics
    /// As [`PgBouncer::start`].
    pub fn start_with(cluster: &Cluster, options: &PoolerOptions) -> Option<PgBouncer> {
        let program = program()?;
        let conninfo = cluster.database("pooled");
        let database = target_of(&conninfo).database;
        let pooler = cluster.running().start_pooler(&program, options).expect("PgBouncer can be started");
        Some(PgBouncer { pooler, database })
    }

    /// The pooler itself.
    pub fn pooler(&self) -> &Pooler {
        &self.pooler
    }

    /// How to connect.
    pub fn conninfo(&self) -> String {
        format!("{} dbname={}", self.pooler.conninfo(), self.database)
    }

    /// The pooler as a target.
    ///
    /// # Panics
    /// Never: it has one address.
    pub fn target(&self) -> Target {
        target_of(&self.conninfo())
    }

    /// What sessions before have left in the connection to the server.
    ///
    /// # Panics
    /// The pooler does not answer.
    pub fn left_behind(&mut self) -> Vec<String> {
        let rows = self.session().query(LEFT).expect("it answers");
        rows.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect()
    }

    /// The connection to the server as a client finds it now.
    ///
    /// # Panics
    /// The pooler does not answer.
    pub fn connection(&mut self) -> PooledConnection {
        let mut session = self.session();
        let mut lines = |sql: &str| -> Vec<String> {
            let rows = session.query(sql).expect("it answers");
            rows.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect()
        };
        PooledConnection {
            backend: lines("select pg_catalog.pg_backend_pid()").concat(),
            settings: lines(
                "select name || '=' || setting from pg_catalog.pg_settings where (source = 'session' or setting is \
                 distinct from reset_val and context not in ('internal', 'postmaster', 'sighup')) \
                 and name not in ('application_name', 'transaction_isolation', 'transaction_read_only', \
                 'transaction_deferrable') order by 1",
            ),
            prepared: lines("select name from pg_catalog.pg_prepared_statements order by 1"),
            locks: lines(
                "select concat_ws(' ', classid, objid, objsubid) from pg_catalog.pg_locks \
                 where locktype = 'advisory' and pid = pg_catalog.pg_backend_pid() order by 1",
            ),
        }
    }

    /// A session.
    ///
    /// # Panics
    /// The pooler refuses it.
    pub fn session(&mut self) -> Session {
        Session::connect(&self.target()).unwrap_or_else(|error| panic!("{error}\n{}", self.pooler.log()))
    }
}

fn target_of(conninfo: &str) -> Target {
    connect::resolve(Some(conninfo), &Overrides::default(), &Environment::default()).expect("a target")
}
