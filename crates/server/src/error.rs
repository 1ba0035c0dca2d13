//! What can go wrong with a server, as sentences: what, where, and what to do next.
//! One enum for the crate; `cli` prints it as it is.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A failure to find, fetch, start or stop a server.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the sentence of each variant says what it is and what its fields are")]
pub enum ServerError {
    #[error("interrupted while the server was being started; nothing of it is left")]
    Interrupted,

    #[error(
        "\"{text}\" is no version of PostgreSQL that can be started here; ask for 9.6, 10, 11 … 18, or for an exact one such as 16.4"
    )]
    NoSuchVersion { text: String },

    #[error(
        "no place for files: neither HOME nor the XDG variables name a directory; set HOME, or {variable} to an absolute path"
    )]
    NoHome { variable: &'static str },

    #[error("{variable} is \"{}\", which is no absolute path; give it one that begins with /", path.display())]
    RelativeDirectory { variable: &'static str, path: PathBuf },

    #[error("{} cannot be used as a directory of PostgreSQL's programs: {reason}; give --bin-dir the directory that holds initdb and postgres", path.display())]
    NotAnInstallation { path: PathBuf, reason: String },

    #[error("PostgreSQL {wanted} is neither in the cache ({}) nor installed on this machine, and it could not be fetched: {reason}; try again with a network, or name the programs of a local installation with --bin-dir DIRECTORY", cache.display())]
    NotFetched { wanted: String, cache: PathBuf, reason: String },

    #[error(
        "there is no PostgreSQL {wanted} for {platform} to be fetched; ask for another version, or name the programs of a local installation with --bin-dir DIRECTORY"
    )]
    NoSuchArchive { wanted: String, platform: String },

    #[error(
        "the archive of PostgreSQL {version} arrived damaged: {reason}; nothing of it was kept, so try again, or name the programs of a local installation with --bin-dir DIRECTORY"
    )]
    ArchiveDamaged { version: String, reason: String },

    #[error(
        "the archive of PostgreSQL {version} has the SHA-256 sum {found}, and this pgmeter knows it by {expected}: somebody changed it; nothing of it was kept; ask for another version, or name the programs of a local installation with --bin-dir DIRECTORY"
    )]
    WrongChecksum { version: String, expected: String, found: String },

    #[error(
        "the archive of PostgreSQL {version} has the SHA-256 sum {found}, and --checksum asks for {expected}; nothing of it was kept; ask with --pg-version for the version that the sum belongs to, such as 16.4, or correct the sum"
    )]
    OtherChecksum { version: String, expected: String, found: String },

    #[error("\"{text}\" is no SHA-256 sum; give --checksum 64 hexadecimal digits")]
    NoChecksum { text: String },

    #[error("{} is not to be used by root: a user other than root could change {} (owner: user {uid}); set {variable} to a directory that only root can change, with all directories above it", path.display(), place.display())]
    OthersCanChange { path: PathBuf, place: PathBuf, uid: u32, variable: &'static str },

    #[error("the cache directory {} cannot be written: {source}; set PGMETER_CACHE_DIR to a directory that can, or name the programs of a local installation with --bin-dir DIRECTORY", path.display())]
    CacheNotWritable { path: PathBuf, source: io::Error },

    #[error("another process has been fetching into {} for {minutes} minutes; end it and try again, or set PGMETER_CACHE_DIR to another directory", path.display())]
    CacheBusy { path: PathBuf, minutes: u64 },

    #[error("no space is left on the disk of {}: {purpose} need about {megabytes} MB; free some, or set {variable} to a directory on another disk", path.display())]
    DiskFull { path: PathBuf, purpose: &'static str, megabytes: u64, variable: &'static str },

    #[error("the state directory {} cannot be written: {source}; set PGMETER_STATE_DIR to a directory that can", path.display())]
    StateNotWritable { path: PathBuf, source: io::Error },

    #[error(
        "the server would run as user {named}, but only root can change over to another user and this is {own}; leave --server-user out"
    )]
    NotRoot { own: String, named: String },

    #[error("there is no user {name} in /etc/passwd; give --server-user the name of one that is")]
    NoSuchUser { name: String },

    #[error(
        "PostgreSQL refuses to run as root, and user {name} is root by its number; give --server-user an unprivileged user"
    )]
    UserIsRoot { name: String },

    #[error(
        "PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody to run it; name one with --server-user"
    )]
    NoUnprivilegedUser,

    #[error("user {user}, who runs the server, cannot pass through {} to reach {}; open it (chmod o+x), give --server-user somebody who can, or {way_out}", barrier.display(), path.display())]
    OutOfReach { user: String, path: PathBuf, barrier: PathBuf, way_out: &'static str },

    #[error(
        "\"{name}\" is no name for a server; take letters, digits, '-' and '_', at most 40, beginning with a letter or digit"
    )]
    BadName { name: String },

    #[error(
        "there is already a server named {name}; take another name, or remove it with: pgmeter server stop --remove {name}"
    )]
    NameTaken { name: String },

    #[error("there is no server named {name}; `pgmeter server list` shows those there are")]
    NoSuchServer { name: String },

    #[error("the server {name} is in use by another pgmeter; wait for that one or end it")]
    InUse { name: String },

    #[error(
        "the description of the server {name} cannot be understood ({reason}); remove it with: pgmeter server stop --remove {name}"
    )]
    BadDescription { name: String, reason: String },

    #[error("\"{name}\" cannot be set for a server: {reason}")]
    BadSetting { name: String, reason: &'static str },

    #[error("initdb of PostgreSQL {version} failed{hint}; its last words:\n{reason}")]
    InitdbFailed { version: String, reason: String, hint: String },

    #[error("PostgreSQL {version} did not start{hint}; the end of its log:\n{log}")]
    StartFailed { version: String, hint: String, log: String },

    #[error("PostgreSQL {version} did not accept connections within {seconds} s; the end of its log:\n{log}")]
    StartTooSlow { version: String, seconds: u64, log: String },

    #[error("the server {name} (process {pid}) does not end, not even when killed; look at that process, then remove {}", directory.display())]
    WillNotEnd { name: String, pid: i32, directory: PathBuf },

    #[error("cannot make the tablespace {name}: {reason}")]
    Tablespace { name: String, reason: String },

    #[error("cannot draw a password for the server: {0}")]
    Random(String),

    #[error(
        "the server {name} has no password for TCP, because an earlier pgmeter made it; connect over its Unix socket, or make it anew with: pgmeter server install"
    )]
    NoPassword { name: String },

    #[error(
        "the server {name} is running without TCP; stop it with: pgmeter server stop {name}, then start it with: pgmeter server start --tcp {name}"
    )]
    RunsWithoutTcp { name: String },

    #[error(
        "cannot create the extension pg_stat_statements in the new server: {0}; start it without: --no-instrumentation, or instrumentation = false in an experiment"
    )]
    Extension(String),

    #[error("cannot make a certificate for the server: {0}")]
    Certificate(String),

    #[error("cannot ask the server for its facts: {0}")]
    Facts(String),

    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl ServerError {
    /// For `map_err` after a call on `path`.
    pub(crate) fn io(action: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> ServerError {
        let path = path.to_owned();
        move |source| ServerError::Io { action, path, source }
    }
}
