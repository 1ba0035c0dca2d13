//! Copies of a stopped server's files, and the way back: the data of a benchmark as they were loaded, down to the last
//! block. Also copies of a running server that is in backup mode, for a standby. Bytes are read and written, never
//! shared between two files, so that the disk sees what a load would have written. Everything goes through open
//! directories and no link is followed: root copies files that another user can exchange meanwhile. Used by `running`,
//! which stops and starts the server around it, and by `standby`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RawMode, Stat, Uid, chownat, fchmod, fchown, fstat,
    mkdirat, openat, readlinkat, statat, symlinkat,
};

use crate::ServerError;
use crate::account::Account;
use crate::home::{Description, Home};

/// Read and written at once: as much as PostgreSQL itself copies a database with, times four.
const CHUNK_BYTES: usize = 1 << 20;
/// A data directory is five deep; each level holds two descriptors open.
const DEPTH_LIMIT: u32 = 32;

/// A directory of the server's and its place in a copy.
struct Part {
    original: PathBuf,
    copy: PathBuf,
}

/// What makes up a server's data: its directory and those of its tablespaces.
fn parts(home: &Home, about: &Description, copy: &Path) -> Vec<Part> {
    let tablespaces = about.tablespaces.iter().enumerate();
    let of_tablespace = |(number, tablespace): (usize, &crate::tablespaces::Tablespace)| Part {
        original: tablespace.directory.clone(),
        copy: copy.join(format!("tablespace-{number}")),
    };
    let data = Part { original: home.data(), copy: copy.join("data") };
    std::iter::once(data).chain(tablespaces.map(of_tablespace)).collect()
}

fn place(home: &Home, number: usize) -> PathBuf {
    home.directory.join(format!("copy-{number}"))
}

/// Copies everything; one that is there already is made anew.
pub(crate) fn keep(
    home: &Home,
    about: &Description,
    account: &Account,
    number: usize,
) -> Result<(), ServerError> {
    let copy = place(home, number);
    remove(&copy)?;
    mkdirat(CWD, &copy, CLOSED)
        .map_err(io::Error::from)
        .map_err(ServerError::io("create the directory", &copy))?;
    for Part { original, copy } in parts(home, about, &copy) {
        copy_tree(&original, &copy, account.other_uid())?;
    }
    Ok(())
}

/// Copies a running server, which must be in backup mode, to the home of another one with the same tablespaces in the
/// same order. WAL and everything that belongs to the running server alone is left out.
pub(crate) fn copy_running(
    from: (&Home, &Description),
    to: (&Home, &Description),
    account: &Account,
) -> Result<(), ServerError> {
    let tablespaces = from.1.tablespaces.iter().zip(&to.1.tablespaces);
    let moved: Vec<(PathBuf, PathBuf)> =
        tablespaces.map(|(old, new)| (old.directory.clone(), new.directory.clone())).collect();
    let data = (from.0.data(), to.0.data());
    for (original, copy) in std::iter::once(&data).chain(&moved) {
        remove(copy)?;
        let running = Some(Running { root: original.clone(), moved: &moved });
        let written = copy_walk(original, copy, account.other_uid(), running)?;
        flush(&written).map_err(ServerError::io("flush", copy))?;
    }
    Ok(())
}

/// A running server whose files are copied: files may vanish meanwhile.
struct Running<'a> {
    root: PathBuf,
    /// Directories of its tablespaces, and those of the copy.
    moved: &'a [(PathBuf, PathBuf)],
}

/// Files of the data directory that describe the running server or its own recovery.
const LEFT_OUT: [&str; 12] = [
    "postmaster.pid",
    "postmaster.opts",
    "current_logfiles",
    "backup_label",
    "backup_label.old",
    "tablespace_map",
    "tablespace_map.old",
    "recovery.conf",
    "recovery.done",
    "recovery.signal",
    "standby.signal",
    "promote",
];
/// Directories whose content a standby makes itself: see "Making a Base Backup Using the Low Level API" in
/// PostgreSQL's manual. It receives WAL from its upstream server.
const LEFT_EMPTY: [&str; 9] = [
    "pg_wal",
    "pg_xlog",
    "pg_replslot",
    "pg_dynshmem",
    "pg_notify",
    "pg_serial",
    "pg_snapshots",
    "pg_stat_tmp",
    "pg_subtrans",
];

/// Whether a file or directory, relative to the data directory, is left out of the copy of a running server.
fn is_left_out(relative: &Path) -> bool {
    let mut parts = relative.iter().map(|part| part.to_string_lossy());
    let Some(first) = parts.next() else { return false };
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    if relative == Path::new(&*first) {
        return LEFT_OUT.contains(&&*first) || first.starts_with("pgsql_tmp");
    }
    // Without the history of a timeline, a standby would not know from which one its own comes.
    let is_history = name.ends_with(".history");
    (LEFT_EMPTY.contains(&&*first) && !is_history) || name.starts_with("pgsql_tmp")
}

/// Puts everything back where it was, and waits until it is on the disk: otherwise it would be written in the middle
/// of what is measured next.
pub(crate) fn restore_copy(
    home: &Home,
    about: &Description,
    account: &Account,
    number: usize,
) -> Result<(), ServerError> {
    for Part { original, copy } in parts(home, about, &place(home, number)) {
        remove(&original)?;
        let written = copy_tree(&copy, &original, account.other_uid())?;
        flush(&written).map_err(ServerError::io("flush", &original))?;
    }
    Ok(())
}

/// Follows no links, wherever they are put meanwhile: the standard library sees to that.
fn remove(directory: &Path) -> Result<(), ServerError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ServerError::io("remove", directory)(error)),
        _ => Ok(()),
    }
}

/// For directories that are being filled: closed to everybody else, until they get their owners.
const CLOSED: Mode = Mode::RWXU;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(SAFELY);
/// No link is followed, no pipe waited for, nothing is passed on to other programs.
const SAFELY: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Copies a directory with owners and permissions, and returns the copy. With `owner`, everything must be that user's.
fn copy_tree(from: &Path, to: &Path, owner: Option<u32>) -> Result<OwnedFd, ServerError> {
    copy_walk(from, to, owner, None)
}

fn copy_walk(
    from: &Path,
    to: &Path,
    owner: Option<u32>,
    running: Option<Running<'_>>,
) -> Result<OwnedFd, ServerError> {
    let source = openat(CWD, from, DIRECTORY, Mode::empty()).map_err(io::Error::from);
    let source = source.map_err(ServerError::io("copy", from))?;
    let mut walk = Walk { owner, running, path: from.to_owned(), depth: 0, chunk: vec![0; CHUNK_BYTES] };
    let copied = walk.copy_into(&source, CWD, to.as_os_str());
    copied.map_err(ServerError::io("copy", &walk.path))
}

/// Where a copy is, for what it says if it fails.
struct Walk<'a> {
    owner: Option<u32>,
    running: Option<Running<'a>>,
    path: PathBuf,
    depth: u32,
    chunk: Vec<u8>,
}

impl Walk<'_> {
    /// Makes a directory and copies everything into it.
    fn copy_into(&mut self, from: &OwnedFd, parent: BorrowedFd, name: &OsStr) -> io::Result<OwnedFd> {
        let about = self.checked(fstat(from)?)?;
        mkdirat(parent, name, CLOSED)?;
        let to = openat(parent, name, DIRECTORY, Mode::empty())?;
        if fstat(&to)?.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::other("another process has replaced its copy"));
        }
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                self.path.push(name);
                match self.copy_entry(from.as_fd(), to.as_fd(), name) {
                    // A running server removes files; if they mattered, WAL says so too.
                    Err(error) if error.kind() == ErrorKind::NotFound && self.running.is_some() => {}
                    other => other?,
                }
                self.path.pop();
            }
        }
        adopt(to.as_fd(), &about)?;
        Ok(to)
    }

    fn copy_entry(&mut self, from: BorrowedFd, to: BorrowedFd, name: &OsStr) -> io::Result<()> {
        let running = self.running.as_ref();
        if running.is_some_and(|it| self.path.strip_prefix(&it.root).is_ok_and(is_left_out)) {
            return Ok(());
        }
        let about = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Symlink => {
                symlinkat(self.link(from, name)?, to, name)?;
                let (uid, gid) = owners(&about);
                Ok(chownat(to, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
            }
            FileType::RegularFile => self.copy_file(from, to, name),
            FileType::Directory => {
                self.depth += 1;
                if self.depth > DEPTH_LIMIT {
                    return Err(io::Error::other("directories are nested too deeply"));
                }
                let copied = openat(from, name, DIRECTORY, Mode::empty())
                    .map_err(io::Error::from)
                    .and_then(|source| self.copy_into(&source, to, name));
                self.depth -= 1;
                copied.map(drop)
            }
            // A socket or a pipe is of a process, and there is none.
            _ => Ok(()),
        }
    }

    /// Where a link of the copy leads: as in the original, but a tablespace of a running server is copied too.
    fn link(&self, from: BorrowedFd, name: &OsStr) -> io::Result<PathBuf> {
        let target = PathBuf::from(OsStr::from_bytes(readlinkat(from, name, Vec::new())?.to_bytes()));
        let Some(running) = &self.running else { return Ok(target) };
        let moved = running.moved.iter().find(|(old, _)| *old == target);
        moved.map(|(_, new)| new.clone()).ok_or_else(|| {
            let place = target.display();
            io::Error::other(format!("it leads to {place}, a directory that pgmeter did not create"))
        })
    }

    /// Not `fs::copy`, which may let the two files share their blocks where the file system can: what is written first
    /// then costs more than it would have.
    fn copy_file(&mut self, from: BorrowedFd, to: BorrowedFd, name: &OsStr) -> io::Result<()> {
        let source = openat(from, name, OFlags::RDONLY | SAFELY, Mode::empty())?;
        // What was opened may be another file than the one that was looked at.
        let about = self.checked(fstat(&source)?)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("another process has replaced it"));
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | SAFELY;
        let copy = openat(to, name, flags, Mode::RUSR | Mode::WUSR)?;
        copy_bytes(&mut File::from(source), &mut File::from(copy.try_clone()?), &mut self.chunk)?;
        adopt(copy.as_fd(), &about)
    }

    /// A file of somebody else, to which the server's user has made a link, is none of the server's.
    fn checked(&self, about: Stat) -> io::Result<Stat> {
        match self.owner {
            Some(owner) if about.st_uid != owner => {
                Err(io::Error::other(format!("it belongs to user {}, not to the server's", about.st_uid)))
            }
            _ => Ok(about),
        }
    }
}

fn owners(about: &Stat) -> (Uid, Gid) {
    (Uid::from_raw(about.st_uid), Gid::from_raw(about.st_gid))
}

/// Owners first: changing them takes some permissions away.
fn adopt(copy: BorrowedFd, original: &Stat) -> io::Result<()> {
    let own = fstat(copy)?;
    if (own.st_uid, own.st_gid) != (original.st_uid, original.st_gid) {
        let (uid, gid) = owners(original);
        fchown(copy, Some(uid), Some(gid))?;
    }
    Ok(fchmod(copy, Mode::from_raw_mode(PERMISSIONS & original.st_mode))?)
}

/// Of a file's mode; no bit that lets a program change its user.
const PERMISSIONS: RawMode = 0o777;

fn copy_bytes(from: &mut File, to: &mut File, chunk: &mut [u8]) -> io::Result<()> {
    loop {
        match from.read(chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&chunk[..count])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(target_os = "linux")]
fn flush(directory: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(directory)?)
}

#[cfg(not(target_os = "linux"))]
fn flush(_directory: &OwnedFd) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_tree_is_copied_with_its_links_and_permissions_and_not_over_another() {
        let base = tempfile::tempdir().unwrap();
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir_all(from.join("empty")).unwrap();
        let bytes: Vec<u8> = (0..CHUNK_BYTES + 77).map(|at| u8::try_from(at % 251).unwrap()).collect();
        fs::write(from.join("file"), &bytes).unwrap();
        fs::set_permissions(from.join("file"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink("/somewhere", from.join("link")).unwrap();
        let copied = copy_tree(&from, &to, None).unwrap();
        flush(&copied).unwrap();
        assert!(fs::read(to.join("file")).unwrap() == bytes && to.join("empty").is_dir());
        assert_eq!(fs::metadata(to.join("file")).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("/somewhere"));
        assert!(copy_tree(&from, &to, None).unwrap_err().to_string().contains("exists"));
        remove(&to).unwrap();
        remove(&to).unwrap();
        assert!(!to.exists());
    }

    #[test]
    fn the_copy_of_a_running_server_has_its_tables_and_nothing_of_the_server_itself() {
        for left_out in [
            "postmaster.pid",
            "standby.signal",
            "backup_label",
            "pg_wal/000000010000000000000001",
            "pg_xlog/archive_status",
            "pg_replslot/one",
            "pg_stat_tmp/global.stat",
            "pgsql_tmp",
            "base/pgsql_tmp/pgsql_tmp12.0",
        ] {
            assert!(is_left_out(Path::new(left_out)), "{left_out}");
        }
        for copied in [
            "pg_wal",
            "pg_wal/00000002.history",
            "base/1/1259",
            "base/1/postmaster.pid",
            "global/pg_control",
            "pg_xact/0000",
            "pg_tblspc/16384",
            "postgresql.conf",
        ] {
            assert!(!is_left_out(Path::new(copied)), "{copied}");
        }
    }

    #[test]
    fn a_tablespace_of_a_running_server_is_moved_and_one_of_unknown_origin_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let (from, to) = (base.path().join("from"), base.path().join("to"));
        fs::create_dir_all(from.join("pg_tblspc")).unwrap();
        symlink("/old", from.join("pg_tblspc/1")).unwrap();
        let moved = [(PathBuf::from("/old"), PathBuf::from("/new"))];
        let running = |moved| Some(Running { root: from.clone(), moved });
        drop(copy_walk(&from, &to, None, running(&moved)).unwrap());
        assert_eq!(fs::read_link(to.join("pg_tblspc/1")).unwrap(), Path::new("/new"));
        remove(&to).unwrap();
        let error = copy_walk(&from, &to, None, running(&[])).unwrap_err().to_string();
        assert!(error.contains("pg_tblspc/1") && error.contains("/old"), "{error}");
    }
}
