//! A server that runs and that this process answers for.

use std::path::Path;

use crate::{Installation, Locations, ServerError, Setting};

/// How a server is to be started.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Its name; made up where none is given.
    pub name: Option<String>,
    /// Settings of `postgresql.conf` over ours, in order; the last of a name counts.
    pub settings: Vec<(String, String)>,
    /// As root: the user that runs the server; else `postgres` if there is one, else `nobody`.
    pub server_user: Option<String>,
    /// Whether it goes on after this process, until somebody stops it by name.
    pub keep: bool,
}

/// A running server. Dropping it stops it and, unless it is kept, removes everything it had.
#[derive(Debug)]
pub struct Server {
    settings: Vec<Setting>,
}

impl Server {
    /// Makes a data directory, starts the server and waits until it accepts connections.
    ///
    /// # Errors
    /// Whatever keeps it from starting, with the last lines of its log.
    pub fn start(
        installation: &Installation,
        options: &ServerOptions,
        locations: &Locations,
    ) -> Result<Server, ServerError> {
        let _ = (installation, options, locations);
        Err(ServerError::NoSuchVersion { text: String::new() })
    }

    /// How to connect over its Unix socket, as the superuser `postgres`, to the database `postgres`.
    pub fn conninfo(&self) -> String {
        String::new()
    }

    /// How to connect over TCP from this machine.
    pub fn conninfo_tcp(&self) -> String {
        String::new()
    }

    /// Its name, for `server stop NAME`.
    pub fn name(&self) -> &str {
        ""
    }

    /// Its TCP port, also the number in the socket's name.
    pub fn port(&self) -> u16 {
        0
    }

    /// The directory of its Unix socket.
    pub fn socket_directory(&self) -> &Path {
        Path::new("")
    }

    /// Every setting that is not PostgreSQL's default, the user's included.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The last lines of its log.
    pub fn log_tail(&self) -> String {
        String::new()
    }

    /// Lets go of it: it goes on under its name after this process, until `named::stop`.
    ///
    /// # Errors
    /// Its description cannot be written.
    pub fn keep(self) -> Result<crate::named::Status, ServerError> {
        Err(ServerError::NoSuchVersion { text: String::new() })
    }

    /// Stops it and leaves its data where they are if it is kept. Again is no error.
    ///
    /// # Errors
    /// It does not end, even when killed.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        Ok(())
    }

    /// Stops it and removes everything it had. Again is no error.
    ///
    /// # Errors
    /// It does not end, even when killed; something cannot be removed.
    pub fn stop_and_remove(&mut self) -> Result<(), ServerError> {
        Ok(())
    }
}
