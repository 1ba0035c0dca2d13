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
    /// In front of a fresh database; `None`, which the test has to say aloud, where there is no PgBouncer.
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
