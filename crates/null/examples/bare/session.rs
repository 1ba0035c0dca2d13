//! A blocking session on a Unix socket,
//! used to prepare a measurement.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use connect::{Address, Environment, Overrides, Target, resolve};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wire::{Decoder, Message, Startup};

/// More than the length of a reply.
const READ_MAX: usize = 8 * 1024;

/// Address of the server, and the start-up message.
pub struct Server {
    path: std::path::PathBuf,
    startup: Vec<u8>,
}

impl Server {
    /// From a connection string with a Unix socket. Raises the limit of open files to the maximum.
    pub fn new(connection: &str) -> Result<Self, String> {
        let environment = Environment::of_process();
        let target = resolve(Some(connection), &Overrides::default(), &environment);
        let target: Target = target.map_err(|error| error.to_string())?;
        let addresses = target.addresses().map_err(|error| error.to_string())?;
        let Some(address @ Address::Unix(path)) = addresses.first() else {
            return Err(format!("\"{connection}\" is not on a Unix socket"));
        };
        let mut startup = Vec::new();
        Startup::new(&target.startup_parameters(target.host_of(address)), &mut startup)
            .map_err(|error| error.to_string())?;
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
            .map_err(|error| format!("open files: {error}"))?;
        Ok(Self { path: path.clone(), startup })
    }

    /// Connects and sends the start-up message, without waiting for the answer.
    pub fn start_connect(&self) -> Result<UnixStream, String> {
        let explain = |error| format!("{}: {error}", self.path.display());
        let mut socket = UnixStream::connect(&self.path).map_err(explain)?;
        socket.write_all(&self.startup).map_err(explain)?;
        Ok(socket)
    }
}

/// Reads until the server is ready; returns the number of bytes.
pub fn wait_for_ready(socket: &mut UnixStream) -> Result<usize, String> {
    let (mut decoder, mut buffer) = (Decoder::new(), [0; READ_MAX]);
    let (mut ready, mut bytes, mut refused) = (false, 0, None);
    while !ready {
        let count = socket.read(&mut buffer).map_err(|error| error.to_string())?;
        if count == 0 {
            return Err(refused.unwrap_or_else(|| "the server has closed the connection".to_owned()));
        }
        bytes += count;
        let heard = &mut |message: Message<'_>| match message {
            Message::ReadyForQuery(_) => ready = true,
            Message::ErrorResponse(_) => refused = Some("the server refuses".to_owned()),
            _ => {}
        };
        decoder.decode(&buffer[..count], heard).map_err(|error| error.to_string())?;
    }
    refused.map_or(Ok(bytes), Err)
}
