//! Copies of a stopped server's files, and the way back: the data of a benchmark as they were loaded, down to the last
//! block. Bytes are read and written, never shared between two files, so that the disk sees what a load would have
//! written. Used by `running`, which stops and starts the server around it.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::ServerError;
use crate::home::{Description, Home};

/// Read and written at once: as much as PostgreSQL itself copies a database with, times four.
const CHUNK_BYTES: usize = 1 << 20;

/// What makes up a server's data: its directory and those of its tablespaces, each with its place in a copy.
fn parts(home: &Home, about: &Description, copy: &Path) -> Vec<(PathBuf, PathBuf)> {
    let tablespaces = about.tablespaces.iter().enumerate();
    let of_tablespace = |(number, tablespace): (usize, &crate::tablespaces::Tablespace)| {
        (tablespace.directory.clone(), copy.join(format!("tablespace-{number}")))
    };
    std::iter::once((home.data(), copy.join("data"))).chain(tablespaces.map(of_tablespace)).collect()
}

fn place(home: &Home, number: usize) -> PathBuf {
    home.directory.join(format!("copy-{number}"))
}

/// Copies everything; one that is there already is made anew.
pub(crate) fn keep(home: &Home, about: &Description, number: usize) -> Result<(), ServerError> {
    let copy = place(home, number);
    remove(&copy)?;
    fs::create_dir(&copy).map_err(ServerError::io("create the directory", &copy))?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).map_err(ServerError::io("close", &copy))?;
    parts(home, about, &copy).iter().try_for_each(|(original, copy)| copy_tree(original, copy))
}

/// Puts everything back where it was, and waits until it is on the disk: otherwise it would be written in the middle
/// of what is measured next.
pub(crate) fn bring_back(home: &Home, about: &Description, number: usize) -> Result<(), ServerError> {
    let copy = place(home, number);
    for (original, copy) in parts(home, about, &copy) {
        remove(&original)?;
        copy_tree(&copy, &original)?;
        flush(&original)?;
    }
    Ok(())
}

fn remove(directory: &Path) -> Result<(), ServerError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(ServerError::io("remove", directory)(error)),
        _ => Ok(()),
    }
}

/// With owners and permissions.
fn copy_tree(from: &Path, to: &Path) -> Result<(), ServerError> {
    let about = fs::symlink_metadata(from).map_err(ServerError::io("copy", from))?;
    let failed = || ServerError::io("write", to);
    if about.is_symlink() {
        let target = fs::read_link(from).map_err(ServerError::io("copy", from))?;
        return symlink(target, to).map_err(failed());
    }
    if about.is_file() {
        copy_file(from, to).map_err(ServerError::io("copy", from))?;
    } else if about.is_dir() {
        fs::create_dir(to).map_err(failed())?;
        for entry in fs::read_dir(from).map_err(ServerError::io("read the directory", from))? {
            let entry = entry.map_err(ServerError::io("read the directory", from))?;
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else {
        // A socket or a pipe is of a process, and there is none.
        return Ok(());
    }
    adopt(to, &about).map_err(failed())
}

fn adopt(path: &Path, original: &Metadata) -> io::Result<()> {
    let own = fs::symlink_metadata(path)?;
    if (own.uid(), own.gid()) != (original.uid(), original.gid()) {
        chown(path, Some(original.uid()), Some(original.gid()))?;
    }
    fs::set_permissions(path, original.permissions())
}

/// Not `fs::copy`, which may let the two files share their blocks where the file system can: what is written first then
/// costs more than it would have.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut to) = (File::open(from)?, File::options().write(true).create_new(true).open(to)?);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&chunk[..count])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(target_os = "linux")]
fn flush(directory: &Path) -> Result<(), ServerError> {
    let opened = File::open(directory);
    let flushed = opened.and_then(|directory| Ok(rustix::fs::syncfs(directory)?));
    flushed.map_err(ServerError::io("flush", directory))
}

#[cfg(not(target_os = "linux"))]
fn flush(_directory: &Path) -> Result<(), ServerError> {
    rustix::fs::sync();
    Ok(())
}

#[cfg(test)]
mod tests {
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
        copy_tree(&from, &to).unwrap();
        assert!(fs::read(to.join("file")).unwrap() == bytes && to.join("empty").is_dir());
        assert_eq!(fs::metadata(to.join("file")).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("/somewhere"));
        assert!(copy_tree(&from, &to).unwrap_err().to_string().contains("write"));
        flush(&to).unwrap();
        remove(&to).unwrap();
        remove(&to).unwrap();
        assert!(!to.exists());
    }
}
