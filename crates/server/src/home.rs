//! A server's home: one directory per server in the state directory, with its description, data, socket and log. The
//! holder of its lock is responsible for the server. An unlocked home that is not to be kept was left by a killed
//! process.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::cache::make_open_directories;
use crate::files::{create, lock_within, open_to_append};
use crate::patience::wait_for;
use crate::tablespaces::{self, Tablespace};
use crate::{Locations, ServerError, Setting, trust};

/// Maximum length of a socket's path on all systems (macOS; Linux allows 107 bytes).
const SOCKET_PATH_LIMIT: usize = 103;
/// The socket's name, appended to its directory.
const SOCKET_NAME: &str = "/.s.PGSQL.65535";
/// Parent directory of sockets if the home's path is too long.
const SHORT_DIRECTORY: &str = "/tmp";
const SHORT_PREFIX: &str = "pgm-";
/// Attempts to find an unused generated name.
const NAME_ATTEMPTS: u32 = 1000;
const NAME_LENGTH_LIMIT: usize = 40;
/// Time limit of removing a directory while the server's last processes still write to it.
const REMOVAL_LIMIT: Duration = Duration::from_secs(5);

/// A process that another thread is starting holds copies of our locks until it executes its program.
const FORK_PATIENCE: Duration = Duration::from_millis(100);

/// The version of the description's format.
const SCHEMA: u32 = 1;

/// Files of a home. Files for starting a server are outside the data directory, where the server's user could replace
/// them by links.
pub(crate) const LOG: &str = "log";
pub(crate) const CONFIGURATION: &str = "pgmeter.conf";
/// Host-based authentication.
pub(crate) const HBA_FILE: &str = "pg_hba.conf";
/// User name map: operating system users that may connect as the superuser.
pub(crate) const IDENT_FILE: &str = "pg_ident.conf";
/// The superuser's password, in libpq's format; missing for a server of an earlier version.
pub(crate) const PASSWORD_FILE: &str = "pgpass";
/// Certificate and key of a server with TLS.
pub(crate) const CERTIFICATE: &str = "server.crt";
pub(crate) const KEY: &str = "server.key";
const DESCRIPTION: &str = "server.json";
/// Prefix of the directories of poolers.
pub(crate) const POOLER_PREFIX: &str = "pooler-";

/// Description of a server, by which other processes find, start and stop it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) schema: u32,
    /// Whether it stays when no process is responsible for it.
    pub(crate) kept: bool,
    pub(crate) version: String,
    pub(crate) bin_dir: PathBuf,
    /// Operating system user of the server.
    pub(crate) server_user: String,
    pub(crate) settings: Vec<Setting>,
    /// Port of the last start; 0 before the first.
    pub(crate) port: u16,
    pub(crate) socket_directory: PathBuf,
    /// Those that are ours.
    #[serde(default)]
    pub(crate) tablespaces: Vec<Tablespace>,
    /// Whether it listens on TCP in addition to the socket.
    #[serde(default)]
    pub(crate) tcp: bool,
    /// Whether the extension pg_stat_statements must still be created in its databases.
    #[serde(default)]
    pub(crate) needs_extension: bool,
    /// The server that it follows, if it was made as a standby.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) upstream: Option<Upstream>,
}

/// The server that a standby follows, in the standby's description.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Upstream {
    /// The standby's own name.
    pub(crate) name: String,
    /// `primary_conninfo`; may contain a password.
    pub(crate) conninfo: String,
    /// Time limit of the standby's start.
    pub(crate) limit: Duration,
}

/// Without `primary_conninfo`, because of its password.
impl fmt::Debug for Upstream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, conninfo: _, limit } = self;
        formatter.debug_struct("Upstream").field("name", name).field("limit", limit).finish_non_exhaustive()
    }
}

impl Description {
    pub(crate) fn new(
        version: String,
        bin_dir: PathBuf,
        server_user: String,
        settings: Vec<Setting>,
    ) -> Description {
        let (socket_directory, tablespaces) = (PathBuf::new(), Vec::new());
        Description {
            schema: SCHEMA,
            kept: false,
            version,
            bin_dir,
            server_user,
            settings,
            port: 0,
            socket_directory,
            tablespaces,
            tcp: false,
            needs_extension: false,
            upstream: None,
        }
    }
}

/// The directory of one server.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(crate) name: String,
    pub(crate) directory: PathBuf,
}

/// A home for which this process is responsible, until it is dropped. Files are opened close-on-exec, so the server
/// does not inherit the lock.
#[derive(Debug)]
pub(crate) struct LockedHome {
    pub(crate) home: Home,
    _lock: File,
}

impl Home {
    /// The home of that name, whether it exists or not.
    pub(crate) fn named(name: &str, locations: &Locations) -> Result<Home, ServerError> {
        let well_formed = name.len() <= NAME_LENGTH_LIMIT
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !well_formed {
            return Err(ServerError::BadName { name: name.to_owned() });
        }
        Ok(Home { name: name.to_owned(), directory: homes(locations).join(name) })
    }

    /// All homes, by name.
    pub(crate) fn all(locations: &Locations) -> Result<Vec<Home>, ServerError> {
        let directory = homes(locations);
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(ServerError::io("read the directory", &directory)(source)),
        };
        let mut found: Vec<Home> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| Home::named(entry.file_name().to_str()?, locations).ok())
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    pub(crate) fn exists(&self) -> bool {
        self.directory.is_dir()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The directories of poolers.
    pub(crate) fn pooler_directories(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let is_pooler = |entry: &fs::DirEntry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir())
                && entry.file_name().to_str().is_some_and(|name| name.starts_with(POOLER_PREFIX))
        };
        entries.filter(is_pooler).map(|entry| entry.path()).collect()
    }

    /// The description; `None` if the home's creator was killed before writing it.
    pub(crate) fn read(&self) -> Result<Option<Description>, ServerError> {
        let text = match fs::read_to_string(self.file(DESCRIPTION)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(ServerError::io("read", &self.file(DESCRIPTION))(source)),
        };
        let wrong = |reason| ServerError::BadDescription { name: self.name.clone(), reason };
        let description: Description =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if description.schema > SCHEMA {
            return Err(wrong(format!("a newer pgmeter wrote it, in format {}", description.schema)));
        }
        Ok(Some(description))
    }

    /// Takes responsibility for the home, if no other process has it.
    pub(crate) fn claim(&self) -> Result<LockedHome, ServerError> {
        let path = self.directory.join("owner.lock");
        let lock = open_to_append(&path).map_err(ServerError::io("open", &path))?;
        match lock_within(&lock, FORK_PATIENCE, || ()) {
            Ok(true) => Ok(LockedHome { home: self.clone(), _lock: lock }),
            Ok(false) => Err(ServerError::InUse { name: self.name.clone() }),
            Err(source) => Err(ServerError::io("lock", &path)(source)),
        }
    }
}

impl LockedHome {
    /// Creates a home with this or a generated name, locked from the start.
    pub(crate) fn new(name: Option<&str>, locations: &Locations) -> Result<LockedHome, ServerError> {
        let _all = AllHomes::lock(locations)?;
        let create = |home: &Home| {
            let made = fs::create_dir(&home.directory);
            // Independent of the umask. As root, the server's user needs to pass through the directory, and can read
            // only its own files.
            let mode = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
            made.and_then(|()| fs::set_permissions(&home.directory, fs::Permissions::from_mode(mode)))
        };
        let made_up = |attempt| format!("temporary-{}-{attempt}", std::process::id());
        for attempt in 1..=NAME_ATTEMPTS {
            let home = Home::named(&name.map_or_else(|| made_up(attempt), str::to_owned), locations)?;
            match (create(&home), name) {
                (Ok(()), _) => return home.claim(),
                (Err(error), _) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(state_failure(locations, error));
                }
                (Err(_), Some(name)) => return Err(ServerError::NameTaken { name: name.to_owned() }),
                (Err(_), None) => {}
            }
        }
        Err(state_failure(locations, io::Error::from(io::ErrorKind::AlreadyExists)))
    }

    /// Writes the description atomically.
    pub(crate) fn write(&self, description: &Description) -> Result<(), ServerError> {
        let path = self.home.file(DESCRIPTION);
        let failure = || ServerError::io("write", &path);
        let text = serde_json::to_string_pretty(description).map_err(|error| failure()(error.into()))?;
        let new = path.with_extension("new");
        // A killed process may have left this file.
        remove_file(&new)?;
        // Settings may contain a password.
        create(&new, 0o600, &text)?;
        fs::rename(&new, &path).map_err(failure())
    }

    /// Creates the directory of the server's socket: in the home, or elsewhere if the path is too long.
    pub(crate) fn make_socket_directory(&self, account: &Account) -> Result<PathBuf, ServerError> {
        let beside = self.home.directory.join("socket");
        let directory = if beside.as_os_str().len() + SOCKET_NAME.len() <= SOCKET_PATH_LIMIT {
            let made = fs::DirBuilder::new().mode(0o700).create(&beside);
            made.map_err(ServerError::io("create the directory", &beside))?;
            beside
        } else {
            let base = Path::new(SHORT_DIRECTORY);
            let closed = fs::Permissions::from_mode(0o700);
            let made = tempfile::Builder::new().prefix(SHORT_PREFIX).permissions(closed).tempdir_in(base);
            made.map_err(ServerError::io("create a directory in", base))?.keep()
        };
        account.give_directory(&directory)?;
        Ok(directory)
    }

    /// Removes all files of the server, which must not be running. The lock is removed last.
    pub(crate) fn remove(&self) -> Result<(), ServerError> {
        // Without a readable description, the location of an external socket directory is unknown.
        if let Ok(Some(description)) = self.home.read() {
            remove_short_directory(&description.socket_directory)?;
            description.tablespaces.iter().try_for_each(tablespaces::remove_directory)?;
        }
        remove_tree(&self.home.directory)
    }
}

/// Removes a file; a missing file is not an error.
pub(crate) fn remove_file(path: &Path) -> Result<(), ServerError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ServerError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes only directories that pgmeter created, because the description may have been modified.
fn remove_short_directory(directory: &Path) -> Result<(), ServerError> {
    let ours = directory.parent() == Some(Path::new(SHORT_DIRECTORY))
        && directory.file_name().is_some_and(|name| name.as_bytes().starts_with(SHORT_PREFIX.as_bytes()));
    if ours { remove_tree(directory) } else { Ok(()) }
}

/// Retries while the last processes of a killed server still write.
fn remove_tree(directory: &Path) -> Result<(), ServerError> {
    let mut failure = None;
    let removed = wait_for(REMOVAL_LIMIT, || match fs::remove_dir_all(directory) {
        Ok(()) => Some(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !directory.exists() => Some(()),
        Err(error) => {
            failure = Some(error);
            None
        }
    });
    match (removed, failure) {
        (None, Some(source)) => Err(ServerError::io("remove", directory)(source)),
        _ => Ok(()),
    }
}

/// Lock on all homes, held while homes are created and while orphans are searched, so that a home under creation is not
/// taken for an orphan.
pub(crate) struct AllHomes {
    _lock: File,
}

impl AllHomes {
    pub(crate) fn lock(locations: &Locations) -> Result<AllHomes, ServerError> {
        let directory = homes(locations);
        let unwritable = |source| state_failure(locations, source);
        make_open_directories(&directory).map_err(unwritable)?;
        // Another user may have created the directory first.
        trust::check_directory(&directory, "PGMETER_STATE_DIR")?;
        let lock = open_to_append(&directory.join(".lock")).map_err(unwritable)?;
        // Held for a few system calls only, so the wait is short.
        lock.lock().map_err(unwritable)?;
        Ok(AllHomes { _lock: lock })
    }
}

pub(crate) fn homes(locations: &Locations) -> PathBuf {
    locations.state_dir.join("servers")
}

fn state_failure(locations: &Locations, source: io::Error) -> ServerError {
    ServerError::StateNotWritable { path: locations.state_dir.clone(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations(base: &Path) -> Locations {
        let (cache_dir, state_dir) = (base.join("cache"), base.join("state"));
        Locations { cache_dir, state_dir, search_path: Vec::new() }
    }

    fn description() -> Description {
        let settings = vec![Setting { name: "fsync".to_owned(), value: "off".to_owned() }];
        Description::new("18.6".to_owned(), PathBuf::from("/bin"), "nobody".to_owned(), settings)
    }

    #[test]
    fn a_description_is_read_as_it_was_written() {
        let base = tempfile::tempdir().unwrap();
        let claim = LockedHome::new(Some("one"), &locations(base.path())).unwrap();
        assert_eq!(claim.home.read().unwrap(), None);
        claim.write(&description()).unwrap();
        assert_eq!(claim.home.read().unwrap(), Some(description()));
    }

    #[test]
    fn a_description_nobody_understands_is_an_error_that_names_the_server() {
        let base = tempfile::tempdir().unwrap();
        let claim = LockedHome::new(Some("one"), &locations(base.path())).unwrap();
        for text in ["", "{", "[]", "{\"schema\": 1}", "\0"] {
            fs::write(claim.home.file(DESCRIPTION), text).unwrap();
            assert!(claim.home.read().unwrap_err().to_string().contains("server one"), "{text}");
        }
        claim.write(&Description { schema: SCHEMA + 1, ..description() }).unwrap();
        assert!(claim.home.read().unwrap_err().to_string().contains("newer pgmeter"));
    }

    #[test]
    fn one_claim_at_a_time() {
        let base = tempfile::tempdir().unwrap();
        let claim = LockedHome::new(None, &locations(base.path())).unwrap();
        let home = claim.home.clone();
        assert!(matches!(home.claim(), Err(ServerError::InUse { .. })));
        drop(claim);
        assert!(home.claim().is_ok());
    }

    #[test]
    fn a_name_is_taken_once_and_made_up_names_differ() {
        let base = tempfile::tempdir().unwrap();
        let locations = locations(base.path());
        let _one = LockedHome::new(Some("one"), &locations).unwrap();
        assert!(matches!(LockedHome::new(Some("one"), &locations), Err(ServerError::NameTaken { .. })));
        let (first, second) =
            (LockedHome::new(None, &locations).unwrap(), LockedHome::new(None, &locations).unwrap());
        assert_ne!(first.home.name, second.home.name);
        assert_eq!(Home::all(&locations).unwrap().len(), 3);
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let long = "a".repeat(NAME_LENGTH_LIMIT + 1);
        for name in ["", ".", "..", "a/b", "/a", ".lock", "a b", "-a", "ä", "a\0", &long] {
            let error = Home::named(name, &locations(base.path())).unwrap_err();
            assert!(matches!(error, ServerError::BadName { .. }), "{name}");
        }
        assert!(Home::named(&long[1..], &locations(base.path())).is_ok());
    }

    #[test]
    fn a_socket_whose_path_would_be_too_long_goes_to_a_short_one() {
        let base = tempfile::tempdir().unwrap();
        let account = Account::choose(None).unwrap();
        let claim = LockedHome::new(Some("one"), &locations(base.path())).unwrap();
        assert_eq!(claim.make_socket_directory(&account).unwrap(), claim.home.directory.join("socket"));

        let deep = base.path().join("d".repeat(60)).join("e".repeat(60));
        let claim = LockedHome::new(Some("one"), &locations(&deep)).unwrap();
        let socket_directory = claim.make_socket_directory(&account).unwrap();
        assert!(socket_directory.as_os_str().len() + SOCKET_NAME.len() <= SOCKET_PATH_LIMIT);
        assert_eq!(fs::metadata(&socket_directory).unwrap().permissions().mode() & 0o777, 0o700);
        claim.write(&Description { socket_directory: socket_directory.clone(), ..description() }).unwrap();
        claim.remove().unwrap();
        assert!(!socket_directory.exists() && !claim.home.exists());
    }

    #[test]
    fn removing_never_follows_a_description_to_other_peoples_files() {
        let base = tempfile::tempdir().unwrap();
        let precious = base.path().join("pgm-precious");
        fs::create_dir(&precious).unwrap();
        let claim = LockedHome::new(Some("one"), &locations(base.path())).unwrap();
        claim.write(&Description { socket_directory: precious.clone(), ..description() }).unwrap();
        claim.remove().unwrap();
        assert!(precious.exists());
    }

    #[test]
    fn without_any_server_there_is_nothing_to_list() {
        let base = tempfile::tempdir().unwrap();
        assert!(Home::all(&locations(base.path())).unwrap().is_empty());
    }
}
