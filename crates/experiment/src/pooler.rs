//! The connection pooler between the clients of a trial and its embedded server, as an experiment defines it.
//! `keys/pooler.rs` has its keys, `lab::running_pooler` starts it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stats::PoolMode;

/// The pooler of a trial.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolerSpec {
    /// When connections return to the pool; `None`: clients connect directly.
    pub mode: Option<PoolMode>,
    /// The program; `None`: the installed one.
    pub program: Option<PathBuf>,
    /// Maximum number of connections to the server.
    pub pool_size: u32,
    /// Prepared statements that it keeps for each connection to the server; `None`: 200 if the version can.
    pub max_prepared_statements: Option<u32>,
    /// Further settings.
    pub settings: BTreeMap<String, String>,
}

impl Default for PoolerSpec {
    fn default() -> Self {
        // The pool size is PgBouncer's own default.
        Self {
            mode: None,
            program: None,
            pool_size: 20,
            max_prepared_statements: None,
            settings: BTreeMap::new(),
        }
    }
}
