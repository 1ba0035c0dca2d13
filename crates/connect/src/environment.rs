//! What surrounds the process and decides where a connection goes: variables, home, the user's name.
//! Handed in, so that resolving a target is a function of its arguments; read in one place, `of_process`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The surroundings that connection defaults come from. Debug shows names of variables, not their values.
#[derive(Clone, Default)]
pub struct Environment {
    /// `PGHOST` and so on.
    pub variables: BTreeMap<String, OsString>,
    /// Where `.pgpass` lies.
    pub home: Option<PathBuf>,
    /// The operating system's name for the user, the last resort for the role and the database.
    pub os_user: Option<String>,
}

impl Environment {
    /// The surroundings of this process.
    pub fn of_process() -> Environment {
        Environment::default()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .field("os_user", &self.os_user)
            .finish()
    }
}
