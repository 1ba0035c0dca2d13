//! Servers that stay, by name: created, started, stopped and listed by separate commands. A temporary server is
//! listed too, but belongs to the process that started it.

use std::path::PathBuf;

use crate::home::{self, Description, Home, LockedHome};
use crate::process::{FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN, Postmaster, ShutdownStep};
use crate::{Installation, Locations, Server, ServerError, ServerOptions, guard, launch, removal};

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
    /// How to connect over TCP from this machine, if it listens there; the string names a file with the password.
    pub conninfo_tcp: Option<String>,
    /// Where its data are.
    pub data_dir: PathBuf,
    /// Where its log is.
    pub log_file: PathBuf,
    /// The programs it runs with.
    pub bin_dir: PathBuf,
}

impl Status {
    pub(crate) fn of(home: &Home, about: &Description, pid: Option<u32>) -> Status {
        Status {
            name: home.name.clone(),
            version: about.version.clone(),
            pid,
            temporary: !about.kept,
            port: about.port,
            conninfo: launch::conninfo(about),
            conninfo_tcp: about.tcp.then(|| launch::conninfo_tcp(home, about)),
            data_dir: home.data(),
            log_file: home.file(home::LOG),
            bin_dir: about.bin_dir.clone(),
        }
    }
}

/// Makes a server of that name, with its data directory, without starting it. The name in the options is not used.
///
/// # Errors
/// A name that is taken or no name; what initdb says.
pub fn install(
    name: &str,
    installation: &Installation,
    options: &ServerOptions,
    locations: &Locations,
) -> Result<Status, ServerError> {
    let options = ServerOptions { name: Some(name.to_owned()), ..options.clone() };
    Server::prepare(installation, &options, locations)?.keep()
}

/// Starts it and waits until it accepts connections: over its socket, and with `tcp`, or if its own settings say so, over
/// TCP too. Already running is no error.
///
/// # Errors
/// No server of that name; it runs already, without the TCP that is wanted now; whatever keeps it from starting, with the
/// last lines of its log.
pub fn start(name: &str, tcp: bool, locations: &Locations) -> Result<Status, ServerError> {
    let running = status(name, locations)?;
    if running.pid.is_some() {
        return if tcp && running.conninfo_tcp.is_none() {
            Err(ServerError::RunsWithoutTcp { name: name.to_owned() })
        } else {
            Ok(running)
        };
    }
    let mut server = Server::existing(&Home::named(name, locations)?)?;
    server.offer_tcp(tcp);
    server.launch()?;
    server.keep()
}

/// Stops it and keeps its data. Already stopped is no error.
///
/// # Errors
/// No server of that name; it belongs to a process that lives; it does not end.
pub fn stop(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let claim = claim(name, locations)?;
    let about = claim.home.read()?.ok_or_else(|| ServerError::NoSuchServer { name: name.to_owned() })?;
    end(&claim, &FAST_SHUTDOWN)?;
    Ok(Status::of(&claim.home, &about, None))
}

/// Stops it and removes everything it had.
///
/// # Errors
/// No server of that name; it belongs to a process that lives; it does not end; something cannot be removed.
pub fn remove(name: &str, locations: &Locations) -> Result<(), ServerError> {
    let claim = claim(name, locations)?;
    if let Ok(Some(about)) = claim.home.read() {
        // Should this process be killed from here on, the next sweep goes on with it.
        claim.write(&Description { kept: false, ..about })?;
    }
    end(&claim, &IMMEDIATE_SHUTDOWN)?;
    removal::remove(&claim)
}

/// What is known of one server.
///
/// # Errors
/// No server of that name.
pub fn status(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let home = Home::named(name, locations)?;
    let about = home.read()?.ok_or_else(|| ServerError::NoSuchServer { name: name.to_owned() })?;
    Ok(status_of(&home, &about))
}

/// All servers, by name; those whose description cannot be read are left out.
///
/// # Errors
/// The state directory cannot be read.
pub fn list(locations: &Locations) -> Result<Vec<Status>, ServerError> {
    let homes = Home::all(locations)?.into_iter();
    Ok(homes.filter_map(|home| Some(status_of(&home, &home.read().ok()??))).collect())
}

fn status_of(home: &Home, about: &Description) -> Status {
    let pid =
        Postmaster::of(&home.data()).and_then(|found| u32::try_from(found.pid.as_raw_nonzero().get()).ok());
    Status::of(home, about, pid)
}

fn claim(name: &str, locations: &Locations) -> Result<LockedHome, ServerError> {
    let home = Home::named(name, locations)?;
    let nothing = || Err(ServerError::NoSuchServer { name: name.to_owned() });
    if !home.exists() {
        return nothing();
    }
    let claim = home.claim()?;
    guard::await_end(&home.directory);
    if home.exists() { Ok(claim) } else { nothing() }
}

fn end(claim: &LockedHome, steps: &[ShutdownStep]) -> Result<(), ServerError> {
    match Postmaster::of(&claim.home.data()) {
        Some(postmaster) if !postmaster.end(steps) => Err(postmaster.will_not_end(&claim.home)),
        _ => Ok(()),
    }
}
