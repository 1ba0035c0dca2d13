//! Servers that stay, by name: created, started, stopped and listed by separate commands.

use std::path::PathBuf;

use crate::{Installation, Locations, ServerError, ServerOptions};

/// What is known of one server.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The process id of its postmaster while it runs.
    pub pid: Option<u32>,
    /// Whether it goes away with the process that started it.
    pub temporary: bool,
    /// The TCP port of its last start; 0 before the first.
    pub port: u16,
    /// How to connect over the Unix socket.
    pub conninfo: String,
    /// How to connect over TCP from this machine.
    pub conninfo_tcp: String,
    /// Where its data are.
    pub data_dir: PathBuf,
    /// Where its log is.
    pub log_file: PathBuf,
    /// The programs it runs with.
    pub bin_dir: PathBuf,
}

/// Makes a server of that name, with its data directory, without starting it.
///
/// # Errors
/// A name that is taken or no name; what initdb says.
pub fn install(
    name: &str,
    installation: &Installation,
    options: &ServerOptions,
    locations: &Locations,
) -> Result<Status, ServerError> {
    let _ = (installation, options, locations);
    Err(ServerError::NoSuchVersion { text: name.to_owned() })
}

/// Starts it and waits until it accepts connections. Already running is no error.
///
/// # Errors
/// No server of that name; whatever keeps it from starting, with the last lines of its log.
pub fn start(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let _ = locations;
    Err(ServerError::NoSuchVersion { text: name.to_owned() })
}

/// Stops it and keeps its data. Already stopped is no error.
///
/// # Errors
/// No server of that name; it does not end.
pub fn stop(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let _ = locations;
    Err(ServerError::NoSuchVersion { text: name.to_owned() })
}

/// Stops it and removes everything it had.
///
/// # Errors
/// No server of that name; it does not end; something cannot be removed.
pub fn remove(name: &str, locations: &Locations) -> Result<(), ServerError> {
    let _ = locations;
    Err(ServerError::NoSuchVersion { text: name.to_owned() })
}

/// What is known of one server.
///
/// # Errors
/// No server of that name.
pub fn status(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let _ = locations;
    Err(ServerError::NoSuchVersion { text: name.to_owned() })
}

/// All servers, by name.
///
/// # Errors
/// The state directory cannot be read.
pub fn list(locations: &Locations) -> Result<Vec<Status>, ServerError> {
    let _ = locations;
    Ok(Vec::new())
}
