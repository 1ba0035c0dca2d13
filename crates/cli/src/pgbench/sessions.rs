//! Connections of the drop-in and their error messages. `connect` resolves the server; this module has pgbench's
//! rules for the database name.

use connect::{ConnectError, Environment, Overrides, Session, Target};
use dropin::{Level, Options, PROGRAM, Stop};
use run::RunError;

use super::diagnostics::Diagnostics;
use crate::password::connect_asking;
use crate::signals::Signals;

/// The target, from options and environment.
pub(super) fn target(options: &Options) -> Result<Target, Stop> {
    let environment = Environment::of_process();
    let overrides = Overrides {
        dbname: Some(database(options, &environment)),
        fallback_application_name: Some(PROGRAM.to_owned()),
        ..options.connection.clone()
    };
    let purpose = if options.initialize { INITIALIZATION } else { SETUP };
    let target = connect::resolve(None, &overrides, &environment)
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
pub(super) const INITIALIZATION: &str = "initialization";
pub(super) const SETUP: &str = "setup";

/// Messages that libpq prints on stderr before it connects: it looks for a password first.
pub(super) fn warn(target: &Target, diagnostics: &Diagnostics) {
    if let Some(words) = &target.password_file_warning {
        diagnostics.write(&format!("{words}\n"));
    }
}

/// The session that initializes.
pub(super) fn open(
    target: &mut Target,
    diagnostics: &Diagnostics,
    signals: &Signals,
) -> Result<Session, Stop> {
    warn(target, diagnostics);
    connect_asking(target, signals).map_err(|error| match error {
        RunError::Connect(error) => could_not_connect(&error, INITIALIZATION),
        other => Stop::error(other),
    })
}

/// Error of a failed connection.
pub(super) fn could_not_connect(error: &ConnectError, purpose: &str) -> Stop {
    Stop::error(error.as_libpq()).and(Level::Error, format_args!("could not create connection for {purpose}"))
}

/// The server's error in libpq's words.
pub(super) fn words(error: &ConnectError, query: Option<&str>) -> String {
    match error {
        ConnectError::Server(error) => error.report(query.map(str::as_bytes)),
        other => other.as_libpq(),
    }
}
