//! Determines which users could modify a path: owners and writers of the path and of all its parent directories, links
//! included. As root, pgmeter executes no program and keeps no server at a path that another user could modify. Used by
//! `installation`, `locations`, `home` and `cache`.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::ServerError;

/// Maximum number of links in a path, as in the kernel.
const LINKS_MAX: u32 = 40;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const ROOT: u32 = 0;

/// A place in a path that a user other than root may modify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changeable {
    /// The place.
    pub place: PathBuf,
    /// Its owner.
    pub uid: u32,
    /// Its permission bits.
    pub mode: u32,
}

/// The first place at which a user other than root could modify the target of this absolute path. Missing parts count
/// as not modifiable.
///
/// # Errors
/// The path cannot be followed.
pub fn changeable(path: &Path) -> io::Result<Option<Changeable>> {
    let mut left: VecDeque<OsString> = parts(path).collect();
    let mut place = PathBuf::from("/");
    let mut links = 0;
    let mut is_sticky = match examine(&place, &fs::metadata(&place)?, false) {
        Ok(is_sticky) => is_sticky,
        Err(found) => return Ok(Some(found)),
    };
    while let Some(part) = left.pop_front() {
        if part == ".." {
            place.pop();
            is_sticky = fs::metadata(&place)?.mode() & STICKY != 0;
            continue;
        }
        let next = place.join(&part);
        let about = match fs::symlink_metadata(&next) {
            Ok(about) => about,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if about.is_symlink() {
            links += 1;
            if links > LINKS_MAX {
                return Err(io::Error::other("it has too many symbolic links"));
            }
            // In a sticky directory, the owner of a link can replace it.
            if is_sticky && about.uid() != ROOT {
                return Ok(Some(Changeable { place: next, uid: about.uid(), mode: about.mode() }));
            }
            let target = fs::read_link(&next)?;
            if target.is_absolute() {
                place = PathBuf::from("/");
            }
            parts(&target).rev().for_each(|part| left.push_front(part));
            continue;
        }
        match examine(&next, &about, left.is_empty()) {
            Ok(next_is_sticky) => is_sticky = next_is_sticky,
            Err(found) => return Ok(Some(found)),
        }
        place = next;
    }
    Ok(None)
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect::<Vec<_>>()
        .into_iter()
}

/// Whether the directory is sticky, as /tmp, so that only owners modify its entries; an error if other users may modify
/// it. The last place of a path must not allow other users to add entries either.
fn examine(place: &Path, about: &Metadata, is_last: bool) -> Result<bool, Changeable> {
    let is_sticky = about.is_dir() && about.mode() & STICKY != 0;
    let others =
        about.mode() & OTHERS_WRITE != 0 || (about.mode() & GROUP_WRITES != 0 && about.gid() != ROOT);
    if about.uid() != ROOT || (others && (!is_sticky || is_last)) {
        return Err(Changeable { place: place.to_owned(), uid: about.uid(), mode: about.mode() });
    }
    Ok(is_sticky)
}

/// As root: checks that no other user can modify this directory. `variable`: the environment variable that selects
/// another one.
///
/// # Errors
/// Another user can modify it, or the path cannot be followed.
pub fn check_directory(path: &Path, variable: &'static str) -> Result<(), ServerError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    match changeable(path).map_err(ServerError::io("follow", path))? {
        None => Ok(()),
        Some(Changeable { place, uid, mode }) => {
            Err(ServerError::OthersCanChange { path: path.to_owned(), place, uid, mode, variable })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    /// `None`, which is said, where this process is not root or temporary files are another user's.
    #[allow(clippy::print_stderr)]
    fn directory() -> Option<tempfile::TempDir> {
        let base = tempfile::tempdir().unwrap();
        if !rustix::process::geteuid().is_root() || changeable(base.path()).unwrap().is_some() {
            eprintln!("NOT TESTED: what others could change is a question of root's");
            return None;
        }
        Some(base)
    }

    fn check(path: &Path, expected: Option<(&Path, u32)>) {
        let found = changeable(path).unwrap().map(|Changeable { place, uid, .. }| (place, uid));
        let expected = expected.map(|(place, uid)| (place.to_owned(), uid));
        assert_eq!(found, expected, "{}", path.display());
    }

    #[test]
    fn what_only_root_can_change_is_found_behind_all_links() {
        let Some(base) = directory() else { return };
        let inner = base.path().join("inner");
        fs::create_dir_all(inner.join("bin")).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        check(&inner.join("bin"), None);
        check(&inner.join("bin/not/there"), None);
        symlink("inner/../inner/bin", base.path().join("link")).unwrap();
        check(&base.path().join("link"), None);

        mode(&inner, 0o777);
        for path in [inner.join("bin"), base.path().join("link"), base.path().join("link/not/there")] {
            check(&path, Some((&inner, 0)));
        }
        mode(&inner, 0o775);
        check(&inner.join("bin"), None);
        chown(&inner, Some(0), Some(4711)).unwrap();
        check(&inner.join("bin"), Some((&inner, 0)));
        mode(&inner, 0o755);
        chown(&inner, Some(4711), Some(0)).unwrap();
        check(&inner.join("bin"), Some((&inner, 4711)));
    }

    #[test]
    fn in_a_sticky_directory_each_owner_can_change_its_own() {
        let Some(base) = directory() else { return };
        let sticky = base.path().join("sticky");
        fs::create_dir_all(sticky.join("mine")).unwrap();
        fs::set_permissions(&sticky, Permissions::from_mode(0o1777)).unwrap();
        check(&sticky.join("mine"), None);
        check(&sticky, Some((&sticky, 0)));
        symlink("mine", sticky.join("link")).unwrap();
        check(&sticky.join("link"), None);
        std::os::unix::fs::lchown(sticky.join("link"), Some(4711), None).unwrap();
        check(&sticky.join("link"), Some((&sticky.join("link"), 4711)));
    }

    #[test]
    fn a_loop_of_links_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        symlink("b", base.path().join("a")).unwrap();
        symlink("a", base.path().join("b")).unwrap();
        let found = changeable(&base.path().join("a"));
        assert!(found.is_err() || found.unwrap().is_some());
    }
}
