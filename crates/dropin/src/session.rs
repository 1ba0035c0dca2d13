//! Connections of the drop-in and their error messages. `connect` resolves the server; this module has pgbench's
//! rules for the database name.

use connect::{ConnectError, Environment, Overrides, Target};

use crate::message::{Level, PROGRAM, Stop};
use crate::options::Options;

/// The target, from options and environment.
///
/// # Errors
/// The parameters are invalid.
pub fn target(options: &Options, environment: &Environment) -> Result<Target, Stop> {
    let overrides = Overrides {
        dbname: Some(database(options, environment)),
        fallback_application_name: Some(PROGRAM.to_owned()),
        ..options.connection.clone()
    };
    let purpose = if options.initialize { INITIALIZATION } else { SETUP };
    let target = connect::resolve(None, &overrides, environment)
        .map_err(|error| could_not_connect(&error, purpose))?;
    // pgbench waits for its server without limit.
    Ok(Target { control_timeout: None, ..target })
}

/// The database: as given, otherwise `PGDATABASE`, `PGUSER`, or the system's user. `-U` has no effect on it.
fn database(options: &Options, environment: &Environment) -> String {
    let variable = |name: &str| {
        let value = environment.variables.get(name)?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    };
    let named =
        options.connection.dbname.clone().or_else(|| variable("PGDATABASE")).or_else(|| variable("PGUSER"));
    named.or_else(|| environment.os_user.clone()).unwrap_or_default()
}

/// Purpose of a session, in the message about a failed connection.
pub const INITIALIZATION: &str = "initialization";
pub(crate) const SETUP: &str = "setup";

/// The error of a failed connection.
#[must_use]
pub fn could_not_connect(error: &ConnectError, purpose: &str) -> Stop {
    Stop::error(error.as_libpq()).and(Level::Error, format_args!("could not create connection for {purpose}"))
}

/// The server's error in libpq's words.
pub(crate) fn words(error: &ConnectError, query: Option<&str>) -> String {
    match error {
        ConnectError::Server(error) => error.report(query.map(str::as_bytes)),
        other => other.as_libpq(),
    }
}
