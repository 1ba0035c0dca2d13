//! Throw-away clusters for tests: a real PostgreSQL, one per test process and major version, a fresh database per
//! test, gone when the process ends however it ends. Used by the tests that must talk to a real server.

use std::sync::Mutex;

/// A running server that belongs to this test process.
pub struct Cluster {
    conninfo: Mutex<String>,
}

impl Cluster {
    /// The server of this major version ("18", "9.6") that all tests of the process share; the first call starts it.
    ///
    /// # Panics
    /// It cannot be fetched or started: a test that cannot run says so.
    pub fn shared(major: &str) -> &'static Cluster {
        panic!("no server of PostgreSQL {major}")
    }

    /// A server of one's own, for tests that stop it or change its settings; goes away when dropped.
    ///
    /// # Panics
    /// It cannot be fetched or started.
    pub fn start(major: &str) -> Cluster {
        panic!("no server of PostgreSQL {major}")
    }

    /// Creates a fresh database whose name begins with `name` and says how to connect to it.
    ///
    /// # Panics
    /// The server is gone or refuses.
    pub fn database(&self, name: &str) -> String {
        format!("{} dbname={name}", self.conninfo.lock().expect("no test panics while it holds this"))
    }
}
