//! Embedded PostgreSQL servers with progress messages: finding or downloading programs, and removing servers that
//! killed processes left behind. `server` does the work; `quickstart` and `pgmeter server` use this module too.

use std::path::Path;

use run::RunError;
use server::{Checksum, FetchProgress, Installation, Instrumentation, Locations, Origin, Server, Swept};

use crate::event::{Event, Listener};

/// Whether a server counts statements and measures I/O times.
pub fn instrumentation(is_off: bool) -> Instrumentation {
    if is_off { Instrumentation::Off } else { Instrumentation::On }
}

/// Warns if a server cannot count statements although it should.
pub fn warn_without_statements(server: &Server, is_off: bool, listener: Listener<'_>) {
    if !is_off && !server.counts_statements() {
        listener.warn(
            "this server does not load pg_stat_statements: its programs come without it, or shared_preload_libraries is \
             set to something else; statements are not counted",
        );
    }
}

/// Removes servers that killed processes left behind.
pub fn sweep(locations: &Locations, listener: Listener<'_>) {
    for Swept { name, failure, .. } in server::sweep(locations) {
        match failure {
            None => {
                listener.say(format_args!("removed server {name}, which a killed process had left behind"))
            }
            Some(reason) => {
                listener.warn(format_args!("cannot remove the abandoned server {name}: {reason}"))
            }
        }
    }
}

/// Selection of PostgreSQL programs.
#[derive(Clone, Copy)]
pub struct Programs<'a> {
    /// Version.
    pub version: &'a str,
    /// Directory of installed programs, instead of a version.
    pub bin_dir: Option<&'a Path>,
    /// Expected checksum of the archive.
    pub checksum: Option<&'a Checksum>,
}

/// Finds or downloads the programs of PostgreSQL.
///
/// # Errors
/// The programs are missing and cannot be downloaded.
pub fn obtain(
    programs: Programs<'_>,
    locations: &Locations,
    listener: Listener<'_>,
) -> Result<Installation, RunError> {
    let mut fetched = false;
    let Programs { version, bin_dir, checksum } = programs;
    let mut told = |progress: FetchProgress| {
        fetched |= matches!(progress, FetchProgress::Done { .. });
        listener.tell(Event::Fetch(progress));
    };
    let installation = match checksum {
        Some(checksum) => server::obtain_verified(version, checksum, locations, &mut told),
        None => server::obtain(version, bin_dir, locations, &mut told),
    };
    listener.tell(Event::Idle);
    let installation = installation?;
    let origin = match installation.origin {
        Origin::Named => "as asked for",
        Origin::Embedded if fetched => "embedded, fetched now",
        Origin::Embedded => "embedded, from the cache",
        Origin::Installed => "installed on this machine",
    };
    listener.say(format_args!(
        "PostgreSQL {} ({origin}): {}",
        installation.version,
        installation.bin_dir.display()
    ));
    Ok(installation)
}
