//! The operating system user that runs a server. PostgreSQL refuses to run as root, so root runs it as another user:
//! this module finds that user, runs programs as it, and finds directories that it cannot enter.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Dir, Gid, Mode, OFlags, Uid, fchown, fstat, open};

use crate::ServerError;

/// Where users are looked up.
const PASSWD: &str = "/etc/passwd";

const ROOT: &str = "root";

/// Users that root selects by default, in this order.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// Group of a user without an entry in the file: that of nobody on most systems.
const NO_GROUP: u32 = 65534;

/// Environment variables that PostgreSQL's programs would obey, or that may contain a password.
const REMOVED_VARIABLES: [&str; 15] = [
    "PGDATA",
    "PGPORT",
    "PGHOST",
    "PGHOSTADDR",
    "PGUSER",
    "PGDATABASE",
    "PGOPTIONS",
    "PGPASSWORD",
    "PGPASSFILE",
    "PGSERVICE",
    "PGSERVICEFILE",
    "PG_COLOR",
    "PG_GRANDPARENT_PID",
    "LANGUAGE",
    "LC_MESSAGES",
];

/// The user that runs a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// Its name, or its user ID if it has no name here.
    pub(crate) name: String,
    uid: u32,
    gid: u32,
    /// Whether this process (root) has to switch to it.
    change: bool,
}

impl Account {
    /// The user of this process; as root the given user, otherwise an unprivileged one.
    pub(crate) fn choose(named: Option<&str>) -> Result<Account, ServerError> {
        let passwd = fs::read_to_string(PASSWD).unwrap_or_default();
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Account::choose_from(&passwd, own, named)
    }

    /// As root: the user with this ID; an unprivileged one if that is root.
    pub(crate) fn of_owner(uid: u32) -> Result<Account, ServerError> {
        if uid == 0 {
            return Account::choose(None);
        }
        let passwd = fs::read_to_string(PASSWD).unwrap_or_default();
        let gid = entries(&passwd).find(|entry| entry.uid == uid).map_or(NO_GROUP, |entry| entry.gid);
        Ok(Account { name: uid.to_string(), uid, gid, change: true })
    }

    fn choose_from(passwd: &str, own: (u32, u32), named: Option<&str>) -> Result<Account, ServerError> {
        let (uid, gid) = own;
        if uid != 0 {
            let name = entries(passwd)
                .find(|entry| entry.uid == uid)
                .map_or_else(|| uid.to_string(), |entry| entry.name.to_owned());
            return match named {
                Some(other) if other != name => {
                    Err(ServerError::NotRoot { own: name, named: other.to_owned() })
                }
                _ => Ok(Account { name, uid, gid, change: false }),
            };
        }
        let entry = match named {
            Some(name) => entries(passwd)
                .find(|entry| entry.name == name)
                .ok_or_else(|| ServerError::NoSuchUser { name: name.to_owned() })?,
            None => UNPRIVILEGED
                .iter()
                .find_map(|name| entries(passwd).find(|entry| entry.name == *name))
                .ok_or(ServerError::NoUnprivilegedUser)?,
        };
        if entry.uid == 0 {
            return Err(ServerError::UserIsRoot { name: entry.name.to_owned() });
        }
        Ok(Account { name: entry.name.to_owned(), uid: entry.uid, gid: entry.gid, change: true })
    }

    /// A command to run as this user, in a directory that the user can enter, with messages in English.
    pub(crate) fn command(&self, program: &Path, directory: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(directory).env("LC_ALL", "C");
        for variable in REMOVED_VARIABLES {
            command.env_remove(variable);
        }
        if self.change {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Gives the user an open file that this process has created. Changes the file, not its path, which may refer to
    /// another file by now.
    pub(crate) fn give(&self, file: impl AsFd, path: &Path) -> Result<(), ServerError> {
        if !self.change {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let given = fchown(file, Some(uid), Some(gid)).map_err(io::Error::from);
        given.map_err(ServerError::io("give the server's user", path))
    }

    /// Gives the user a directory that this process has just created with mode 0700. If anything else has replaced it
    /// (a link, a directory of another user, one with files), this is refused.
    pub(crate) fn give_directory(&self, path: &Path) -> Result<(), ServerError> {
        if !self.change {
            return Ok(());
        }
        let failed = || ServerError::io("give the server's user", path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty()).map_err(io::Error::from).map_err(failed())?;
        if !is_new_directory(&directory).map_err(io::Error::from).map_err(failed())? {
            let replaced = io::Error::other("another process has replaced it");
            return Err(failed()(replaced));
        }
        self.give(&directory, path)
    }

    /// ID of the user whose files root handles; `None` if this process handles its own files.
    pub(crate) fn other_uid(&self) -> Option<u32> {
        self.change.then_some(self.uid)
    }

    /// Operating system users that may connect as the server's superuser: the one that runs it, root, and this
    /// process's.
    pub(crate) fn administrators(&self) -> Vec<String> {
        let passwd = fs::read_to_string(PASSWD).unwrap_or_default();
        let mut names = vec![ROOT.to_owned(), self.name.clone()];
        // A user of a directory service is not in the file, but the server knows its name.
        let own = rustix::process::geteuid().as_raw();
        if !entries(&passwd).any(|entry| entry.uid == own)
            && let Ok(answer) = Command::new("id").arg("-un").output()
            && answer.status.success()
        {
            names.push(String::from_utf8_lossy(&answer.stdout).trim().to_owned());
        }
        names.dedup();
        names
    }

    /// The first directory on the way to `path` (which exists) that the user cannot enter, if any.
    pub(crate) fn barrier(&self, path: &Path) -> Option<PathBuf> {
        let path = path.canonicalize().ok()?;
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        way.into_iter()
            .find(|step| fs::metadata(step).is_ok_and(|about| !self.may_pass(&about)))
            .map(Into::into)
    }

    /// By the mode bits alone; as in the kernel, the first matching class of the user decides.
    fn may_pass(&self, about: &fs::Metadata) -> bool {
        let shift = if about.uid() == self.uid {
            6
        } else if about.gid() == self.gid {
            3
        } else {
            0
        };
        about.mode() >> shift & 1 == 1
    }
}

/// Whether it belongs to this process, is closed to others, and is empty.
fn is_new_directory(directory: impl AsFd) -> rustix::io::Result<bool> {
    let about = fstat(&directory)?;
    let own = about.st_uid == rustix::process::geteuid().as_raw() && about.st_mode & 0o777 == 0o700;
    let mut entries = Dir::read_from(&directory)?;
    let is_empty = entries.all(|entry| {
        entry.is_ok_and(|entry| [b".".as_slice(), b".."].contains(&entry.file_name().to_bytes()))
    });
    Ok(own && is_empty)
}

struct Entry<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

/// The entries of a passwd(5) file: `name:password:uid:gid:…`; invalid lines are skipped.
fn entries(passwd: &str) -> impl Iterator<Item = Entry<'_>> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(Entry { name, uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const SYSTEM: &str = "root:x:0:0:root:/root:/bin/bash\n# comment\n\nbroken:x\n\
                          nobody:x:65534:65533::/:/bin/false\nann:x:1000:1000:Ann,,,:/home/ann:/bin/sh\n\
                          toor:x:0:0::/root:/bin/sh\n";

    fn choose(passwd: &str, uid: u32, named: Option<&str>) -> Result<Account, String> {
        Account::choose_from(passwd, (uid, uid), named).map_err(|error| error.to_string())
    }

    #[test]
    fn root_takes_postgres_else_nobody_else_whom_it_is_told() {
        let nobody = choose(SYSTEM, 0, None).unwrap();
        assert_eq!((nobody.name.as_str(), nobody.uid, nobody.gid), ("nobody", 65534, 65533));
        let with_postgres = format!("{SYSTEM}postgres:x:26:27:::\n");
        assert_eq!(choose(&with_postgres, 0, None).unwrap().name, "postgres");
        assert_eq!(choose(&with_postgres, 0, Some("ann")).unwrap().uid, 1000);
    }

    #[test]
    fn an_ordinary_user_runs_the_server_itself_and_nobody_else() {
        assert_eq!(
            choose(SYSTEM, 1000, None).unwrap(),
            Account { name: "ann".to_owned(), uid: 1000, gid: 1000, change: false }
        );
        assert_eq!(choose(SYSTEM, 1000, Some("ann")).unwrap().name, "ann");
        assert_eq!(choose(SYSTEM, 4711, None).unwrap().name, "4711");
        let error = choose(SYSTEM, 1000, Some("nobody")).unwrap_err();
        assert!(error.contains("ann") && error.contains("nobody"), "{error}");
    }

    #[test]
    fn users_that_cannot_run_a_server_are_refused_by_name() {
        assert!(choose(SYSTEM, 0, Some("eve")).unwrap_err().contains("eve"));
        assert!(choose(SYSTEM, 0, Some("toor")).unwrap_err().contains("toor"));
        assert!(choose("", 0, None).unwrap_err().contains("--server-user"));
    }

    #[test]
    fn the_first_closed_directory_on_the_way_is_the_barrier() {
        let base = tempfile::tempdir().unwrap();
        let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        open(base.path(), 0o755);
        let closed = base.path().join("closed");
        let inner = closed.join("inner");
        fs::create_dir_all(&inner).unwrap();
        open(&inner, 0o755);
        let stranger = Account { name: "stranger".to_owned(), uid: 4711, gid: 4711, change: true };
        open(&closed, 0o755);
        assert_eq!(stranger.barrier(&inner), None);
        open(&closed, 0o700);
        assert_eq!(stranger.barrier(&inner), Some(closed.canonicalize().unwrap()));
    }
}
