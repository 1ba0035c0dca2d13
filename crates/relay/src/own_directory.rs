//! A private directory for the relay's Unix socket, which other users of the system cannot
//! enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use sockets::Endpoint as Address;

use crate::error::RelayError;

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub struct OwnDirectory(PathBuf);

impl OwnDirectory {
    /// Creates the directory of this socket.
    ///
    /// # Errors
    /// The address is not a Unix socket, or the directory cannot be created.
    pub fn create(socket: &Address) -> Result<Self, RelayError> {
        let Address::Unix(path) = socket else {
            return Err(RelayError::Config("--own-directory is for Unix sockets".to_owned()));
        };
        let directory = path.parent().unwrap_or(path).to_owned();
        let failed =
            |error: io::Error| RelayError::Config(format!("cannot create {}: {error}", directory.display()));
        DirBuilder::new().mode(0o700).create(&directory).map_err(failed)?;
        Ok(Self(directory))
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        // The socket is already removed; files of other programs stay.
        let _ = fs::remove_dir(&self.0);
    }
}
