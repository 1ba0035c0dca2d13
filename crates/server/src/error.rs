//! Errors of servers as complete sentences with the remedy;
//! `cli` prints them unchanged.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A failure to find, download, start or stop a server.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the sentence of each variant says what it is and what its fields are")]
pub enum ServerError {
    #[error("interrupted during the start of the server; it was removed")]
    Interrupted,

    #[error(
        "\"{text}\" is not a supported version of PostgreSQL; use 9.6, 10, 11 … 18, or an exact version such as \
         16.4"
    )]
    NoSuchVersion { text: String },

    #[error(
        "no directory for files: neither HOME nor the XDG variables are set; set HOME, or set {variable} to an \
         absolute path"
    )]
    NoHome { variable: &'static str },

    #[error("{variable} is \"{}\"; set it to an absolute path", path.display())]
    RelativeDirectory { variable: &'static str, path: PathBuf },

    #[error("{} cannot be used as a directory of PostgreSQL's programs: {reason}; set --bin-dir to the \
             directory that contains initdb and postgres", path.display())]
    NotAnInstallation { path: PathBuf, reason: String },

    #[error("PostgreSQL {wanted} is neither in the cache ({}) nor installed on this machine, and the download \
             failed: {reason}; try again with a network connection, or use a local installation with --bin-dir \
             DIRECTORY", cache.display())]
    NotFetched { wanted: String, cache: PathBuf, reason: String },

    #[error(
        "PostgreSQL {wanted} for {platform} is not available for download; use another version, or a local \
         installation with --bin-dir DIRECTORY"
    )]
    NoSuchArchive { wanted: String, platform: String },

    #[error(
        "the downloaded archive of PostgreSQL {version} is damaged: {reason}; it was discarded; try again, or \
         use a local installation with --bin-dir DIRECTORY"
    )]
    ArchiveDamaged { version: String, reason: String },

    #[error(
        "the archive of PostgreSQL {version} has the SHA-256 checksum {found} instead of {expected}: it has \
         been changed; it was discarded; use another version, or a local installation with --bin-dir DIRECTORY"
    )]
    WrongChecksum { version: String, expected: String, found: String },

    #[error(
        "the archive of PostgreSQL {version} has the SHA-256 checksum {found} instead of {expected}, given by \
         --checksum; it was discarded; set --pg-version to the version of that checksum, such as 16.4, or \
         correct the checksum"
    )]
    OtherChecksum { version: String, expected: String, found: String },

    #[error("there is no archive {file} in {}; put it there: its SHA-256 checksum must be {expected}", folder.display())]
    NoArchive { file: String, folder: PathBuf, expected: String },

    #[error("cannot download {url}: {reason}; try again with a network connection, or put the file at {}: its SHA-256 \
             checksum must be {expected}", place.display())]
    ArchiveNotFetched { url: String, reason: String, place: PathBuf, expected: String },

    #[error(
        "{place} has the SHA-256 checksum {found}, but {expected} was expected: it is damaged or another version; \
             nothing was unpacked"
    )]
    ArchiveDiffers { place: String, found: String, expected: String },

    #[error(
        "cannot unpack {place}: {reason}; an archive of a workload is a .tar, .tar.gz or .tar.xz with files and \
             directories only"
    )]
    ArchiveNotUnpacked { place: String, reason: String },

    #[error("\"{text}\" is not a SHA-256 checksum; --checksum requires 64 hexadecimal digits")]
    NoChecksum { text: String },

    #[error("root must not use {}: {}; {}, or set {variable} to a directory that only root can change, including all its \
             parent directories", path.display(), who_can_change(place, *uid, *mode), how_to_protect(place, *uid))]
    OthersCanChange { path: PathBuf, place: PathBuf, uid: u32, mode: u32, variable: &'static str },

    #[error("the cache directory {} cannot be written: {source}; set PGMETER_CACHE_DIR to a writable \
             directory", path.display())]
    CacheNotWritable { path: PathBuf, source: io::Error },

    #[error("another process has been downloading into {} for {minutes} minutes; stop it and try again, or set \
             PGMETER_CACHE_DIR to another directory", path.display())]
    CacheBusy { path: PathBuf, minutes: u64 },

    #[error("no space is left on the disk of {}: {purpose} need about {megabytes} MB; free some space, or set \
             {variable} to a directory on another disk", path.display())]
    DiskFull { path: PathBuf, purpose: &'static str, megabytes: u64, variable: &'static str },

    #[error("the state directory {} cannot be written: {source}; set PGMETER_STATE_DIR to a writable \
             directory", path.display())]
    StateNotWritable { path: PathBuf, source: io::Error },

    #[error(
        "cannot run the server as user {named}: only root can switch users, and this is user {own}; omit \
         --server-user"
    )]
    NotRoot { own: String, named: String },

    #[error("there is no user {name} in /etc/passwd; set --server-user to an existing user")]
    NoSuchUser { name: String },

    #[error(
        "PostgreSQL refuses to run as root, and user {name} has the user ID of root; set --server-user to an \
         unprivileged user"
    )]
    UserIsRoot { name: String },

    #[error(
        "PostgreSQL refuses to run as root, and neither the user postgres nor the user nobody exists; give a \
         user with --server-user"
    )]
    NoUnprivilegedUser,

    #[error("user {user}, who runs the server, has no access through {} to {}; open the directory (chmod o+x), \
             choose another user with --server-user, or {way_out}", barrier.display(), path.display())]
    OutOfReach { user: String, path: PathBuf, barrier: PathBuf, way_out: &'static str },

    #[error(
        "\"{name}\" is not a valid server name; use at most 40 letters, digits, '-' and '_', beginning with a \
         letter or digit"
    )]
    BadName { name: String },

    #[error(
        "a server named {name} already exists; choose another name, or remove it with: pgmeter server stop \
         --remove {name}"
    )]
    NameTaken { name: String },

    #[error("there is no server named {name}; list the servers with `pgmeter server list`")]
    NoSuchServer { name: String },

    #[error("the server {name} is in use by another pgmeter process; wait for that process or stop it")]
    InUse { name: String },

    #[error(
        "the description of the server {name} is invalid ({reason}); remove the server with: pgmeter server \
         stop --remove {name}"
    )]
    BadDescription { name: String, reason: String },

    #[error("\"{name}\" cannot be set for a server: {reason}")]
    BadSetting { name: String, reason: &'static str },

    #[error("initdb of PostgreSQL {version} failed{hint}; the end of its output:\n{reason}")]
    InitdbFailed { version: String, reason: String, hint: String },

    #[error("PostgreSQL {version} did not start{hint}; the end of its log:\n{log}")]
    StartFailed { version: String, hint: String, log: String },

    #[error("PostgreSQL {version} did not accept connections within {seconds} s; the end of its log:\n{log}")]
    StartTooSlow { version: String, seconds: u64, log: String },

    #[error("the server {name} (process {pid}) did not end, not even when killed; check that process, then \
             remove {}", directory.display())]
    WillNotEnd { name: String, pid: i32, directory: PathBuf },

    #[error(
        "\"{name}\" is not a valid name of a standby; use at most 40 lower-case letters, digits and underscores"
    )]
    BadStandbyName { name: String },

    #[error("cannot make the standby {name}: {reason}")]
    Standby { name: String, reason: String },

    #[error(
        "the standby {name} did not attach to its upstream server within {seconds} s; check the network between \
         them, or allow more time; the end of the standby's log:\n{log}"
    )]
    NotAttached { name: String, seconds: u64, log: String },

    #[error("{server} is not a standby, so it cannot be promoted; promote one of its standbys")]
    NotAStandby { server: String },

    #[error(
        "the standby {name} was still in recovery {seconds} s after it was told to promote, and the request was \
         withdrawn; the end of its log:\n{log}"
    )]
    PromotionTooSlow { name: String, seconds: u64, log: String },

    #[error("the standby {name} ended during its promotion; the end of its log:\n{log}")]
    PromotionFailed { name: String, log: String },

    #[error(
        "the server {server} did not take its new settings within {seconds} s; the end of its log:\n{log}"
    )]
    NotReloaded { server: String, seconds: u64, log: String },

    #[error(
        "{number} of {standbys} synchronous standbys cannot be waited for; choose a number from 1 to the number \
         of standbys"
    )]
    SynchronousNumber { number: usize, standbys: usize },

    #[error(
        "PostgreSQL {version} has no quorum of synchronous standbys (ANY); use version 10 or later, or wait for \
         the first ones"
    )]
    NoQuorum { version: String },

    #[error("the server {name} is not running")]
    NotRunning { name: String },

    #[error("the server {name} did not shut down within {seconds} s")]
    ShutdownTooSlow { name: String, seconds: u64 },

    #[error(
        "cannot start the process that would continue a paused server if pgmeter were killed; it needs /bin/sh and /proc"
    )]
    NoGuard,

    #[error("cannot create the tablespace {name}: {reason}")]
    Tablespace { name: String, reason: String },

    #[error("cannot generate a password for the server: {0}")]
    Random(String),

    #[error(
        "the server {name} has no password for TCP, because an earlier version of pgmeter created it; connect \
         over its Unix socket, or create it again with: pgmeter server install"
    )]
    NoPassword { name: String },

    #[error(
        "the server {name} is running without TCP; stop it with: pgmeter server stop {name}, then start it with: pgmeter server start --tcp {name}"
    )]
    RunsWithoutTcp { name: String },

    #[error(
        "there is no PgBouncer on this machine: install it (Debian and Ubuntu: apt-get install pgbouncer), or name the \
         program with program in [pooler]"
    )]
    NoPooler,

    #[error("{} cannot be used as PgBouncer: {reason}; name the program of a PgBouncer with program in [pooler]", path.display())]
    PoolerUnusable { path: PathBuf, reason: String },

    #[error(
        "PgBouncer {version} does not keep prepared statements in {mode} pooling, where a client's next transaction gets \
         another connection: use protocol = \"simple\" or \"extended\", mode = \"session\", or PgBouncer 1.21 or newer"
    )]
    PoolerLosesStatements { version: String, mode: &'static str },

    #[error("the setting \"{name}\" of PgBouncer cannot be used: {reason}")]
    BadPoolerSetting { name: String, reason: String },

    #[error("PgBouncer {version} did not start; the end of its log:\n{log}")]
    PoolerFailed { version: String, log: String },

    #[error("PgBouncer {version} did not answer within {seconds} s; the end of its log:\n{log}")]
    PoolerTooSlow { version: String, seconds: u64, log: String },

    #[error("PgBouncer (process {pid}) did not end, not even when killed; check that process")]
    PoolerWillNotEnd { pid: u32 },

    #[error(
        "cannot create the extension pg_stat_statements in the new server: {0}; start the server without it: \
         --no-instrumentation, or instrumentation = false in an experiment"
    )]
    Extension(String),

    #[error("cannot create a certificate for the server: {0}")]
    Certificate(String),

    #[error("cannot read the server's version and settings: {0}")]
    Facts(String),

    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl ServerError {
    /// For `map_err` after a call on `path`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ServerError {
        let path = path.to_owned();
        move |source| ServerError::Io { action, path, source }
    }
}

/// Which users can change a place, by its owner or its mode.
fn who_can_change(place: &Path, uid: u32, mode: u32) -> String {
    let place = place.display();
    if uid == 0 {
        format!("users other than root can change {place} (mode {:04o})", mode & 0o7777)
    } else {
        format!("{place} belongs to user {uid}, who can change it")
    }
}

fn how_to_protect(place: &Path, uid: u32) -> String {
    let place = place.display();
    if uid == 0 { format!("run: chmod go-w {place}") } else { format!("run: chown root {place}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_change_a_place_is_told_with_what_ends_it() {
        let told = |uid, mode| {
            let (path, place) = (PathBuf::from("/a/b"), PathBuf::from("/a"));
            ServerError::OthersCanChange { path, place, uid, mode, variable: "V" }.to_string()
        };
        let end = ", or set V to a directory that only root can change, including all its parent directories";
        let of_mode =
            "root must not use /a/b: users other than root can change /a (mode 1777); run: chmod go-w /a";
        assert_eq!(told(0, 0o41777), format!("{of_mode}{end}"));
        let of_owner = "root must not use /a/b: /a belongs to user 7, who can change it; run: chown root /a";
        assert_eq!(told(7, 0o40755), format!("{of_owner}{end}"));
    }
}
