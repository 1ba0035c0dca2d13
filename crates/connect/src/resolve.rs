//! From what the user said to where the connection goes: connection string, flags, environment, defaults.
//! Pure but for reading the password file. Called by the command line and by the manager of embedded servers.

use crate::{ConnectError, Environment, Target};

/// What flags say. As in libpq, a connection string's own words win over these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `-h`
    pub host: Option<String>,
    /// `-p`, as text, since a list is allowed
    pub port: Option<String>,
    /// `-U`
    pub user: Option<String>,
    /// `-d`: a database, or a connection string, like the argument beside it
    pub dbname: Option<String>,
    /// The application name when neither string nor environment gives one; `pgmeter` if `None`.
    pub fallback_application_name: Option<String>,
}

/// Resolves a connection: a database name, a keyword/value string or a URI; `None` takes the defaults.
pub fn resolve(
    connection: Option<&str>,
    overrides: &Overrides,
    environment: &Environment,
) -> Result<Target, ConnectError> {
    let _ = (connection, overrides, environment);
    Err(ConnectError::Settings(String::new()))
}
