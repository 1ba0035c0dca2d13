//! The cache of downloaded programs: one directory per version, which is complete when it exists. Processes share it:
//! a lock allows one download at a time, and a rename publishes the finished directory. `fetch` downloads.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::digests::sum_of;
use crate::files::lock_within;
use crate::unpack::unpack;
use crate::{Checksum, ServerError, Version, Wanted, trust};

/// Required space for unpacked programs, with the archive in memory; measured 56 to 60 MB.
const UNPACKED_MEGABYTES: u64 = 70;
/// How long to wait for another process's download: 15 MB over a very slow line.
const BUSY_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Prefix of directories being unpacked.
const UNFINISHED: &str = ".unpacking-";

/// File next to the programs with the SHA-256 checksum of their archive.
const SUM_FILE: &str = "archive.sha256";

/// Progress of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchProgress {
    /// Another process is downloading into the same cache; this one waits for it.
    Waiting,
    /// Looking up the available versions.
    Locating {
        /// The requested version.
        wanted: String,
    },
    /// Downloading an archive.
    Downloading {
        /// What it is: `PostgreSQL 18.6`, or the name of a file.
        what: String,
        /// Bytes so far.
        bytes: u64,
        /// Total bytes, if the server reports them.
        total: Option<u64>,
    },
    /// Verified; unpacking into the cache.
    Unpacking {
        /// As in `Downloading`.
        what: String,
    },
    /// The programs are in the cache.
    Done {
        /// The downloaded version.
        version: String,
    },
}

impl fmt::Display for FetchProgress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchProgress::Waiting => {
                out.write_str("waiting for another pgmeter process to finish downloading")
            }
            FetchProgress::Locating { wanted } => write!(out, "looking up the newest PostgreSQL {wanted}"),
            FetchProgress::Downloading { what, .. } => write!(out, "downloading {what}"),
            FetchProgress::Unpacking { what } => write!(out, "unpacking {what}"),
            FetchProgress::Done { version } => write!(out, "PostgreSQL {version} is in the cache"),
        }
    }
}

/// The cache; its directory may not exist yet.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
}

/// Exclusive access to the cache, until dropped.
pub(crate) struct Locked<'a> {
    cache: &'a Cache,
    _lock: File,
}

impl Cache {
    /// The cache of programs.
    pub(crate) fn new(cache_dir: &Path) -> Cache {
        Cache { directory: cache_dir.join("postgresql") }
    }

    /// The cache of the archives that workloads need.
    pub(crate) fn of_workloads(cache_dir: &Path) -> Cache {
        Cache { directory: cache_dir.join("workloads") }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The same for programs from an archive with this checksum.
    pub(crate) fn verified(&self, wanted: &Wanted, checksum: Option<&Checksum>) -> Vec<PathBuf> {
        let has_sum = |bin: &PathBuf| {
            let sum = bin.parent().map(|tree| fs::read_to_string(tree.join(SUM_FILE)).unwrap_or_default());
            checksum.is_none_or(|checksum| sum.is_some_and(|sum| checksum.is(&sum)))
        };
        self.fitting(wanted).into_iter().filter(has_sum).collect()
    }

    /// The directories of matching programs, newest first.
    pub(crate) fn fitting(&self, wanted: &Wanted) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut found: Vec<(Version, PathBuf)> = entries
            .filter_map(|entry| Some((version_of(entry.file_name().to_str()?)?, entry.path())))
            .filter(|(version, path)| wanted.fits(version) && path.join("bin/postgres").is_file())
            .collect();
        found.sort_by_key(|(version, _)| std::cmp::Reverse(version.minor()));
        found.into_iter().map(|(_, path)| path.join("bin")).collect()
    }

    /// Creates the cache if it is missing, and waits until no other process is changing it.
    pub(crate) fn lock(&self, progress: &mut dyn FnMut(FetchProgress)) -> Result<Locked<'_>, ServerError> {
        let unwritable = |source| ServerError::CacheNotWritable { path: self.directory.clone(), source };
        make_open_directories(&self.directory).map_err(unwritable)?;
        // Another user may have created the directory meanwhile.
        trust::check_directory(&self.directory, "PGMETER_CACHE_DIR")?;
        let path = self.directory.join(".lock");
        let lock = File::options().create(true).append(true).open(&path).map_err(unwritable)?;
        let mut said = false;
        let waiting = || {
            if !std::mem::replace(&mut said, true) {
                progress(FetchProgress::Waiting);
            }
        };
        if !lock_within(&lock, BUSY_LIMIT, waiting).map_err(unwritable)? {
            let minutes = BUSY_LIMIT.as_secs() / 60;
            return Err(ServerError::CacheBusy { path: self.directory.clone(), minutes });
        }
        let locked = Locked { cache: self, _lock: lock };
        locked.remove_unfinished();
        Ok(locked)
    }
}

impl Locked<'_> {
    /// Removes what a process left that was killed while unpacking; the lock ensures that none is unpacking now.
    fn remove_unfinished(&self) {
        for entry in fs::read_dir(&self.cache.directory).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                // A remainder does no harm, and the next download tries again.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Unpacks a verified archive. Returns the directory of programs.
    pub(crate) fn unpack(&self, version: &Version, archive: &[u8]) -> Result<PathBuf, ServerError> {
        let place = self.publish(&name_of(version), |tree| {
            unpack(archive, tree).map_err(|error| self.damage(version, error))?;
            for program in ["bin/initdb", "bin/postgres"] {
                if !tree.join(program).is_file() {
                    return Err(self.damage(version, io::Error::other(format!("it contains no {program}"))));
                }
            }
            fs::write(tree.join(SUM_FILE), sum_of(archive)).map_err(|source| self.failure(source))
        })?;
        Ok(place.join("bin"))
    }

    /// Fills a directory next to its final place and renames it. The old one, if there is one, is incomplete: somebody
    /// removed files from it.
    pub(crate) fn publish(
        &self,
        name: &str,
        fill: impl FnOnce(&Path) -> Result<(), ServerError>,
    ) -> Result<PathBuf, ServerError> {
        let unwritable = |source| self.failure(source);
        let unfinished = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.cache.directory);
        let unfinished = unfinished.map_err(unwritable)?;
        let tree = unfinished.path().join("tree");
        fill(&tree)?;
        open_to_everybody(&tree).map_err(unwritable)?;
        let place = self.cache.directory.join(name);
        if place.exists() {
            fs::remove_dir_all(&place).map_err(unwritable)?;
        }
        fs::rename(&tree, &place).map_err(unwritable)?;
        Ok(place)
    }

    fn failure(&self, source: io::Error) -> ServerError {
        let path = self.cache.directory.clone();
        if source.kind() != io::ErrorKind::StorageFull {
            return ServerError::CacheNotWritable { path, source };
        }
        let (purpose, variable) = ("PostgreSQL's programs", "PGMETER_CACHE_DIR");
        ServerError::DiskFull { path, purpose, megabytes: UNPACKED_MEGABYTES, variable }
    }

    /// An archive that cannot be unpacked is damaged, unless the disk is full.
    fn damage(&self, version: &Version, error: io::Error) -> ServerError {
        if error.kind() == io::ErrorKind::StorageFull {
            return self.failure(error);
        }
        ServerError::ArchiveDamaged { version: version.to_string(), reason: error.to_string() }
    }
}

/// `18.6-linux-x86_64`: home directories may be shared between machines of different types.
fn name_of(version: &Version) -> String {
    format!("{version}-{}", platform())
}

fn version_of(name: &str) -> Option<Version> {
    Version::parse(name.strip_suffix(&platform())?.strip_suffix('-')?)
}

/// The operating system and processor that programs are for.
pub(crate) fn platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

/// Creates directories that the server's user can enter, regardless of this process's umask; existing ones are
/// unchanged.
pub(crate) fn make_open_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_open_directories(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes everything below readable for all users, and executable where the owner may execute.
fn open_to_everybody(path: &Path) -> io::Result<()> {
    let about = fs::symlink_metadata(path)?;
    if about.is_symlink() {
        return Ok(());
    }
    let mode = about.permissions().mode() & 0o7777;
    let executable = if about.is_dir() || mode & 0o100 != 0 { 0o111 } else { 0 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o444 | executable))?;
    if about.is_dir() {
        for entry in fs::read_dir(path)? {
            open_to_everybody(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache_with(versions: &[&str]) -> (tempfile::TempDir, Cache) {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::new(base.path());
        for version in versions {
            let bin = cache.directory.join(name_of(&Version::parse(version).unwrap())).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("postgres"), "").unwrap();
        }
        (base, cache)
    }

    fn names(cache: &Cache, wanted: &str) -> Vec<String> {
        let found = cache.fitting(&Wanted::parse(wanted).unwrap());
        let name = |bin: PathBuf| bin.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        found.into_iter().map(|bin| name(bin).replace(&format!("-{}", platform()), "")).collect()
    }

    #[test]
    fn the_newest_that_fits_comes_first() {
        let (_base, cache) = cache_with(&["18.6", "18.10", "18.9", "9.6.24", "16.4"]);
        assert_eq!(names(&cache, "18"), ["18.10", "18.9", "18.6"]);
        assert_eq!(names(&cache, "18.9"), ["18.9"]);
        assert_eq!(names(&cache, "9.6"), ["9.6.24"]);
        assert!(names(&cache, "17").is_empty());
    }

    #[test]
    fn programs_for_another_machine_and_incomplete_ones_are_passed_over() {
        let (_base, cache) = cache_with(&["18.6"]);
        fs::remove_file(cache.directory.join(name_of(&Version::parse("18.6").unwrap())).join("bin/postgres"))
            .unwrap();
        fs::create_dir_all(cache.directory.join("18.7-plan9-pdp11/bin")).unwrap();
        fs::write(cache.directory.join("18.7-plan9-pdp11/bin/postgres"), "").unwrap();
        assert!(names(&cache, "18").is_empty());
    }

    #[test]
    fn what_a_killed_process_was_unpacking_is_removed_by_the_next() {
        let (_base, cache) = cache_with(&["18.6"]);
        let unfinished = cache.directory.join(".unpacking-x1/tree/bin");
        fs::create_dir_all(&unfinished).unwrap();
        fs::write(unfinished.join("postgres"), "half").unwrap();
        drop(cache.lock(&mut |_| {}).unwrap());
        assert!(!cache.directory.join(".unpacking-x1").exists());
        assert_eq!(names(&cache, "18"), ["18.6"]);
    }

    #[test]
    fn a_damaged_archive_leaves_nothing_and_says_so() {
        let (_base, cache) = cache_with(&[]);
        let locked = cache.lock(&mut |_| {}).unwrap();
        let error = locked.unpack(&Version::parse("18.6").unwrap(), b"PK\x03\x04 cut off").unwrap_err();
        assert!(error.to_string().contains("18.6 is damaged"), "{error}");
        drop(locked);
        let left: Vec<_> = fs::read_dir(&cache.directory).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, [".lock"]);
    }

    #[test]
    fn programs_count_as_verified_by_the_sum_of_their_archive() {
        let (_base, cache) = cache_with(&["18.6", "18.5"]);
        let tree = cache.directory.join(name_of(&Version::parse("18.5").unwrap()));
        fs::write(tree.join(SUM_FILE), sum_of(b"abc")).unwrap();
        let (wanted, sum) = (Wanted::parse("18").unwrap(), sum_of(b"abc").parse().unwrap());
        assert_eq!(cache.verified(&wanted, Some(&sum)), [tree.join("bin")]);
        assert_eq!(cache.verified(&wanted, None).len(), 2);
        assert!(cache.verified(&wanted, Some(&sum_of(b"x").parse().unwrap())).is_empty());
    }

    #[test]
    fn a_cache_that_cannot_be_made_names_the_variable_to_set() {
        let base = tempfile::tempdir().unwrap();
        let file = base.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::new(&file).lock(&mut |_| {}).map(drop).unwrap_err().to_string();
        assert!(error.contains("set PGMETER_CACHE_DIR"), "{error}");
    }

    #[test]
    fn unpacked_files_are_open_to_the_servers_user() {
        let base = tempfile::tempdir().unwrap();
        let tree = base.path().join("tree");
        fs::create_dir_all(tree.join("bin")).unwrap();
        for (name, mode) in [("bin/postgres", 0o700), ("postgres.bki", 0o600)] {
            fs::write(tree.join(name), "").unwrap();
            fs::set_permissions(tree.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(tree.join("bin"), fs::Permissions::from_mode(0o700)).unwrap();
        open_to_everybody(&tree).unwrap();
        let mode = |name: &str| fs::metadata(tree.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("bin"), mode("bin/postgres"), mode("postgres.bki")), (0o755, 0o755, 0o644));
    }
}
