//! The programs of one PostgreSQL: a directory with `initdb` and `postgres`, its version, and where it came from.

use std::path::{Path, PathBuf};

use crate::{FetchProgress, Locations, ServerError, Version};

/// Programs that can be started.
#[derive(Clone, Debug)]
pub struct Installation {
    /// The directory with `initdb` and `postgres`.
    pub bin_dir: PathBuf,
    /// What `postgres --version` says.
    pub version: Version,
    /// How it was found.
    pub origin: Origin,
}

/// How an installation was found.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user named its directory.
    Named,
    /// It is one of our cache's, fetched now or earlier.
    Embedded,
    /// It was already on this machine.
    Installed,
}

/// Finds the programs of `wanted` ("18", "9.6", "16.4"): in `bin_dir` where one is given (whatever version it has),
/// else in the cache, else installed on this machine, else by fetching the newest that fits.
///
/// # Errors
/// A `bin_dir` without the programs; nothing found and nothing to be fetched; a cache that cannot be written.
pub fn obtain(
    wanted: &str,
    bin_dir: Option<&Path>,
    locations: &Locations,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Installation, ServerError> {
    let _ = (bin_dir, locations, progress);
    Err(ServerError::NoSuchVersion { text: wanted.to_owned() })
}

/// Asks for the newest version that fits and fetches it where the cache does not have it yet.
///
/// # Errors
/// As [`obtain`].
pub fn update(
    wanted: &str,
    locations: &Locations,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Installation, ServerError> {
    let _ = (locations, progress);
    Err(ServerError::NoSuchVersion { text: wanted.to_owned() })
}
