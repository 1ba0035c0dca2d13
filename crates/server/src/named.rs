//! Servers with names: created, started, stopped and listed by separate commands. A temporary server is listed too,
//! but belongs to the process that started it.

use crate::home::{Description, Home, LockedHome};
use crate::process::{FAST_SHUTDOWN, IMMEDIATE_SHUTDOWN, Postmaster, ShutdownStep};
use crate::{Installation, Locations, Server, ServerError, ServerOptions, guard, removal};

pub use crate::status::Status;

/// Servers as a table of text, or how to create one.
pub fn table(servers: &[Status]) -> String {
    if servers.is_empty() {
        return "no servers; create one: pgmeter server install NAME\n".to_owned();
    }
    let width = servers.iter().map(|status| status.name.len()).max().unwrap_or(0).max("name".len());
    let mut text = format!("{:width$}  {:8}  {:20}  connect\n", "name", "version", "state");
    for status in servers {
        let (name, version) = (&status.name, &status.version);
        text += &format!("{name:width$}  {version:8}  {:20}  {}\n", status.state(), status.conninfo);
    }
    text
}

/// Creates a server with this name and a data directory, without starting it. The name in the options is ignored.
///
/// # Errors
/// The name is taken or invalid; initdb fails.
pub fn install(
    name: &str,
    installation: &Installation,
    options: &ServerOptions,
    locations: &Locations,
) -> Result<Status, ServerError> {
    let options = ServerOptions { name: Some(name.to_owned()), ..options.clone() };
    Server::prepare(installation, &options, locations)?.keep()
}

/// Starts a server and waits until it accepts connections: on its socket, and on TCP with `tcp` or if its settings
/// require it. A running server is not an error.
///
/// # Errors
/// There is no such server; it is running without the requested TCP; the start fails, with the end of its log.
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

/// Stops a server and keeps its data. A stopped server is not an error.
///
/// # Errors
/// There is no such server; it belongs to a living process; it does not stop.
pub fn stop(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let claim = claim(name, locations)?;
    let about = claim.home.read()?.ok_or_else(|| ServerError::NoSuchServer { name: name.to_owned() })?;
    end(&claim, &FAST_SHUTDOWN)?;
    Ok(Status::of(&claim.home, &about, None))
}

/// Stops a server and removes everything of it.
///
/// # Errors
/// There is no such server; it belongs to a living process; it does not stop; something cannot be removed.
pub fn remove(name: &str, locations: &Locations) -> Result<(), ServerError> {
    let claim = claim(name, locations)?;
    if let Ok(Some(about)) = claim.home.read() {
        // If this process is killed from here on, the next sweep continues.
        claim.write(&Description { kept: false, ..about })?;
    }
    end(&claim, &IMMEDIATE_SHUTDOWN)?;
    removal::remove(&claim)
}

/// The state of one server.
///
/// # Errors
/// There is no such server.
pub fn status(name: &str, locations: &Locations) -> Result<Status, ServerError> {
    let home = Home::named(name, locations)?;
    let about = home.read()?.ok_or_else(|| ServerError::NoSuchServer { name: name.to_owned() })?;
    Ok(status_of(&home, &about))
}

/// All servers by name, except those with an unreadable description.
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
