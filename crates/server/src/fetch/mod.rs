//! Downloads the server programs of one version into the cache: finds the newest matching release, downloads its
//! archive, verifies it, unpacks it. Called by `installation` if the programs are not available locally. `archives` uses
//! the client for other files.
//! docs/decisions/0002-embedded-servers.md gives the reasons for these crates.

mod client;
mod repository;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use client::{Client, Failure, Network, Request};
use repository::{Missing, Release, Repository};

use crate::cache::{Cache, FetchProgress, Locked, platform};
use crate::{Checksum, ServerError, Wanted, digests};

/// Downloads the newest matching version into the cache and returns its directory of programs.
pub(crate) fn fetch(
    wanted: &Wanted,
    cache: &Cache,
    checksum: Option<&Checksum>,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<PathBuf, ServerError> {
    let locked = cache.lock(progress)?;
    if let Some(bin) = cache.verified(wanted, checksum).into_iter().next() {
        // Another process downloaded it while this one waited.
        return Ok(bin);
    }
    let failure = |missing: Missing| explain(wanted, cache, missing);
    progress(FetchProgress::Locating { wanted: wanted.to_string() });
    let repository = Repository::maven_central().map_err(|reason| failure(reason.into()))?;
    let release = repository.newest(wanted).map_err(failure)?;
    if let Some(bin) = cache.verified(&Wanted::exactly(&release.version), checksum).into_iter().next() {
        return Ok(bin);
    }
    let archive = download(&repository, &release, progress).map_err(failure)?;
    let bin = keep(&locked, &release, &archive, checksum, progress)?;
    progress(FetchProgress::Done { version: release.version.to_string() });
    Ok(bin)
}

/// The bytes of a release's archive. They stay in memory (8 to 15 MB), so that an interrupted download leaves nothing
/// behind.
fn download(
    repository: &Repository,
    release: &Release,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<Vec<u8>, Missing> {
    let what = name_of(release);
    let mut report = |bytes, total| {
        progress(FetchProgress::Downloading { what: what.clone(), bytes, total });
    };
    report(0, None);
    repository.archive(release, &mut report)
}

/// Unpacks an archive into the cache after verifying it.
fn keep(
    locked: &Locked<'_>,
    release: &Release,
    archive: &[u8],
    checksum: Option<&Checksum>,
    progress: &mut dyn FnMut(FetchProgress),
) -> Result<PathBuf, ServerError> {
    checksum.map_or(Ok(()), |checksum| checksum.check(&release.number, archive))?;
    digests::check(&release.number, &platform(), archive)?;
    progress(FetchProgress::Unpacking { what: name_of(release) });
    locked.unpack(&release.version, archive)
}

/// The name of a release in progress.
fn name_of(release: &Release) -> String {
    format!("PostgreSQL {}", release.version)
}

/// The bytes of any file, or why it cannot be downloaded.
pub(crate) fn fetch_file(
    url: &str,
    limit_bytes: u64,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Vec<u8>, String> {
    let host = url.split("://").nth(1).unwrap_or(url).split(['/', ':']).next().unwrap_or_default();
    let request = Request { url, limit_bytes, limit: None };
    let bytes =
        Network::from_environment(host).and_then(|network| Client::new(network).get(&request, progress));
    bytes.map_err(|failure| failure.to_string())
}

fn explain(wanted: &Wanted, cache: &Cache, missing: Missing) -> ServerError {
    let reason = match missing {
        Missing::NoRelease => {
            return ServerError::NoSuchArchive { wanted: wanted.to_string(), platform: platform() };
        }
        Missing::Damaged => {
            let reason = "its checksum is not the one published for it".to_owned();
            return ServerError::ArchiveDamaged { version: wanted.to_string(), reason };
        }
        Missing::NotFetched(failure @ (Failure::Silent(_) | Failure::NotAsked(_))) => failure.to_string(),
        Missing::NotFetched(failure) => {
            format!("the archive of programs on the network cannot be reached ({failure})")
        }
    };
    ServerError::NotFetched { wanted: wanted.to_string(), cache: cache.directory().into(), reason }
}
