//! Files that this process creates or reads where other users may write too: never through a link, and never with
//! wider permissions than necessary, not even briefly. Used by everything that writes next to a server.

use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};

use crate::ServerError;
use crate::patience::wait_for;

/// Maximum length read from a small file of the server; `postmaster.pid` has about 100 bytes.
const SMALL_BYTES: u64 = 4096;

/// Creates a new file with exactly this mode, regardless of the umask.
pub(crate) fn create(path: &Path, mode: u32, text: &str) -> Result<File, ServerError> {
    let failed = || ServerError::io("write", path);
    // With `create_new`, a link in this place is an error.
    let mut file =
        File::options().write(true).create_new(true).mode(mode & 0o600).open(path).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    file.set_permissions(Permissions::from_mode(mode)).map_err(failed())?;
    Ok(file)
}

/// Opens a file for appending that only this process's user may read; creates it if it is missing.
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).mode(0o600).open(path)
}

/// Locks a file, with a time limit if another process has it; `waiting` is called meanwhile.
pub(crate) fn lock_within(lock: &File, limit: Duration, mut waiting: impl FnMut()) -> io::Result<bool> {
    let locked = wait_for(limit, || match lock.try_lock() {
        Ok(()) => Some(Ok(true)),
        Err(TryLockError::WouldBlock) => {
            waiting();
            None
        }
        Err(TryLockError::Error(error)) => Some(Err(error)),
    });
    locked.unwrap_or(Ok(false))
}

/// The beginning of a small file that another user may have replaced: links are not followed, pipes not waited for.
pub(crate) fn read_small(path: &Path) -> io::Result<String> {
    let file = open_without_links(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = Vec::new();
    file.take(SMALL_BYTES).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A whole file that another user may have replaced, as [`read_small`], unless it is longer than the limit.
pub(crate) fn read_limited_without_links(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_whole(open_without_links(path)?, limit)
}

fn open_without_links(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(open(path, flags, Mode::empty())?))
}

/// A whole regular file, unless it is longer than the limit. Pipes are not waited for.
pub(crate) fn read_limited(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_whole(
        File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?),
        limit,
    )
}

fn read_whole(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_made_with_its_mode_and_never_through_a_link() {
        let base = tempfile::tempdir().unwrap();
        let (file, link) = (base.path().join("file"), base.path().join("link"));
        for mode in [0o600, 0o644] {
            drop(create(&file, mode, "text").unwrap());
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, mode);
            assert_eq!(fs::read_to_string(&file).unwrap(), "text");
            assert!(create(&file, mode, "again").is_err());
            fs::remove_file(&file).unwrap();
        }
        symlink(&file, &link).unwrap();
        assert!(create(&link, 0o600, "text").is_err() && !file.exists());
    }

    #[test]
    fn a_link_a_pipe_and_an_endless_file_are_not_read() {
        let base = tempfile::tempdir().unwrap();
        let (file, link, pipe) =
            (base.path().join("file"), base.path().join("link"), base.path().join("pipe"));
        fs::write(&file, "x".repeat(10_000)).unwrap();
        assert_eq!(read_small(&file).unwrap().len(), 4096);
        symlink(&file, &link).unwrap();
        assert!(read_small(&link).is_err());
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success() && read_small(&pipe).is_err());
        assert!(read_small(Path::new("/dev/zero")).is_err());
    }
}
