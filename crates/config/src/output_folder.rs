//! Folders that output is written to. As root, the way to a folder must not lead through a link of another user, who could have
//! planted it to have files of others replaced. The way is opened part by part, and the folder is used through its open
//! descriptor, so a link that is exchanged meanwhile is not followed either. Used by all writers of files that users name.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat};
use rustix::io::Errno;

/// Links on a way, as the kernel has it.
const LINKS_MAX: usize = 40;
/// A folder or link as such, without its content.
const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Permissions with which others may write to a folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A folder that files are written to.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    /// As root: the folder that `path` leads to.
    directory: Option<OwnedFd>,
}

impl OutputFolder {
    /// An existing folder.
    ///
    /// # Errors
    /// It does not exist, or the way to it leads through a link of another user.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(path, false)
    }

    /// The same; creates it and the folders on the way to it if they are missing.
    ///
    /// # Errors
    /// It cannot be created, or the way to it leads through a link of another user.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::of(path, true)
    }

    /// A folder below this one, which is created if it is missing. No link of another user is followed to it either.
    ///
    /// # Errors
    /// As for [`OutputFolder::create`].
    pub fn folder(&self, below: &Path) -> io::Result<Self> {
        let path = self.path.join(below);
        let Some(directory) = &self.directory else { return Self::create(&path) };
        let start = openat(directory, ".", HANDLE, Mode::empty())?;
        Ok(Self::new(walk(start, below, true)?, &path))
    }

    /// The folder of a file, which must exist, and the name of the file.
    ///
    /// # Errors
    /// As for [`OutputFolder::open`], or the path is that of a folder.
    pub fn of_file(path: &Path) -> io::Result<(Self, &OsStr)> {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        Ok((Self::open(path.parent().unwrap_or(Path::new("")))?, name))
    }

    /// Refuses a link in this folder that another user could have put there.
    ///
    /// # Errors
    /// There is one.
    pub fn refuse_planted_link(&self, name: &OsStr) -> io::Result<()> {
        let place = self.path.join(name);
        match rustix::fs::lstat(&place) {
            Ok(found) if !is_followed(&place) => Err(planted(Path::new(name), found.st_uid)),
            _ => Ok(()),
        }
    }

    fn of(path: &Path, creates: bool) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        if !rustix::process::geteuid().is_root() {
            if creates {
                fs::create_dir_all(path)?;
            }
            return Ok(Self { path: path.to_owned(), directory: None });
        }
        Ok(Self::new(walk(openat(CWD, ".", HANDLE, Mode::empty())?, path, creates)?, path))
    }

    /// A folder that was found at `path`.
    fn new(directory: OwnedFd, path: &Path) -> Self {
        let place = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        // In a root directory without /proc, only the way itself has been looked at.
        if place.exists() {
            Self { path: place, directory: Some(directory) }
        } else {
            Self { path: path.to_owned(), directory: None }
        }
    }

    /// A path of the folder that leads to no other one as long as this value exists.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether only root can put links into a folder, or replace those of root: nobody else has it, and others may not write
/// to it or are restricted to what they own.
fn is_roots(folder: &Stat) -> bool {
    let is_sticky = folder.st_mode & Mode::SVTX.bits() != 0;
    folder.st_uid == 0 && (folder.st_mode & WRITABLE_BY_OTHERS == 0 || is_sticky)
}

/// Whether an existing entry of a folder of output may be followed if it is a link.
pub(crate) fn is_followed(entry: &Path) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let Ok(found) = rustix::fs::lstat(entry) else { return false };
    let folder = entry.parent().and_then(|folder| rustix::fs::stat(folder).ok());
    let is_link = FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
    !is_link || found.st_uid == 0 && folder.is_some_and(|folder| is_roots(&folder))
}

/// Opens the folder at the end of a way from `here`.
fn walk(mut here: OwnedFd, path: &Path, creates: bool) -> io::Result<OwnedFd> {
    let mut parts: VecDeque<OsString> = parts_of(path);
    // For messages.
    let mut way = PathBuf::new();
    let mut links = 0;
    while let Some(part) = parts.pop_front() {
        let found = match openat(&here, &part, HANDLE, Mode::empty()) {
            Err(Errno::NOENT) if creates => match mkdirat(&here, &part, Mode::from_raw_mode(0o777)) {
                Err(Errno::EXIST) | Ok(()) => openat(&here, &part, HANDLE, Mode::empty())?,
                Err(error) => return Err(error.into()),
            },
            found => found?,
        };
        let about = fstat(&found)?;
        match FileType::from_raw_mode(about.st_mode) {
            FileType::Directory => {
                way.push(&part);
                here = found;
            }
            FileType::Symlink => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                if about.st_uid != 0 {
                    return Err(planted(&way.join(&part), about.st_uid));
                }
                let target = OsString::from_vec(readlinkat(&found, "", Vec::new())?.into_bytes());
                for part in parts_of(Path::new(&target)).into_iter().rev() {
                    parts.push_front(part);
                }
            }
            _ => return Err(io::ErrorKind::NotADirectory.into()),
        }
    }
    Ok(here)
}

/// The parts of a path; the first one of an absolute path is the root.
fn parts_of(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| -> OsString { OsStr::to_owned(part.as_os_str()) };
    path.components().map(name).collect()
}

fn planted(link: &Path, user: u32) -> io::Error {
    io::Error::other(format!(
        "{} is a link of user {user}, who could have planted it; name the folder that it leads to",
        link.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};

    use super::*;
    use crate::{create_output, replace_output};

    /// `nobody` on Debian; any user that is not root will do.
    const NOBODY: u32 = 65_534;

    #[test]
    fn folders_are_created_and_paths_with_links_of_the_user_lead_to_them() {
        let folder = tempfile::tempdir().expect("a directory");
        let here = folder.path();
        OutputFolder::create(&here.join("a/b")).expect("they can be created");
        symlink("b", here.join("a/relative")).expect("a link");
        symlink(here.join("a"), here.join("absolute")).expect("a link");
        for way in ["a/b", "a/relative", "absolute/b", "absolute/relative/../b", "a/./b"] {
            let found = OutputFolder::open(&here.join(way)).expect(way);
            fs::write(found.path().join("file"), way).expect("it can be written");
            assert_eq!(fs::read_to_string(here.join("a/b/file")).expect("it is there"), way);
        }
        symlink("loop", here.join("loop")).expect("a link");
        assert!(OutputFolder::create(&here.join("loop/c")).is_err());
        fs::write(here.join("file"), "").expect("a file");
        assert!(OutputFolder::create(&here.join("file/c")).is_err());
    }

    /// As root in a folder like `/tmp`.
    #[test]
    fn no_link_of_another_user_is_followed_in_a_folder_that_all_users_write_to() {
        let folder = tempfile::tempdir().expect("a directory");
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let shared = folder.path().join("shared");
        let precious = folder.path().join("precious");
        fs::create_dir(&precious).expect("a directory");
        fs::create_dir(&shared).expect("a directory");
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).expect("ours");
        let link = shared.join("link");
        symlink(&precious, &link).expect("a link");
        lchown(&link, Some(NOBODY), None).expect("root can give it away");
        for way in [link.join("new"), link.clone()] {
            let error = OutputFolder::create(&way).expect_err("it may be planted").to_string();
            assert!(error.contains("shared/link is a link of user 65534"), "{error}");
        }
        create_output(&link.join("file")).expect_err("it may be planted");
        replace_output(&link.join("file"), b"new").expect_err("it may be planted");
        assert_eq!(fs::read_dir(&precious).expect("ours").count(), 0);
        // The last part is replaced, also where it leads to something else than a file.
        let device = shared.join("device");
        symlink("/dev/null", &device).expect("a link");
        lchown(&device, Some(NOBODY), None).expect("root can give it away");
        replace_output(&device, b"new").expect("a file");
        assert_eq!(fs::read_to_string(&device).expect("a file"), "new");
    }

    /// Between the look at a folder and the writing, another user exchanges it for a link.
    #[test]
    fn a_folder_that_is_exchanged_for_a_link_is_not_left() {
        let folder = tempfile::tempdir().expect("a directory");
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (theirs, precious) = (folder.path().join("theirs"), folder.path().join("precious"));
        fs::create_dir(&precious).expect("a directory");
        let opened = OutputFolder::create(&theirs).expect("a folder");
        fs::rename(&theirs, folder.path().join("moved")).expect("it can be moved");
        symlink(&precious, &theirs).expect("a link");
        lchown(&theirs, Some(NOBODY), None).expect("root can give it away");
        opened.replace(OsStr::new("file"), b"new").expect("it can be written");
        opened.folder(Path::new("a/b")).expect("it can be created");
        assert_eq!(fs::read_dir(&precious).expect("ours").count(), 0);
        assert!(folder.path().join("moved/a/b").is_dir());
        assert_eq!(fs::read_to_string(folder.path().join("moved/file")).expect("it is there"), "new");
    }
}
