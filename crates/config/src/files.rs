//! Files that a TOML file names: they lie in its folder or below it, also behind symbolic links. Reads nothing outside;
//! called by readers of experiments and workloads.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::document::{Complaint, Node};

/// Where the files are that a TOML file names.
#[derive(Clone, Copy, Debug)]
pub enum Folder<'a> {
    /// On disk: in this folder or below it.
    Disk(&'a Path),
    /// Anywhere on disk: names were typed, and count from the working directory.
    Typed,
    /// Nowhere on disk: names of files with their texts, as a store keeps them.
    Stored(&'a BTreeMap<String, String>),
}

impl<'a> From<&'a Path> for Folder<'a> {
    fn from(path: &'a Path) -> Self {
        Folder::Disk(path)
    }
}

impl Folder<'_> {
    /// The path that a name stands for.
    #[must_use]
    pub fn path(self, name: &str) -> PathBuf {
        match self {
            Folder::Disk(folder) => folder.join(name),
            Folder::Stored(_) => name.into(),
            Folder::Typed => {
                let found = fs::canonicalize(name).or_else(|_| std::path::absolute(name));
                found.unwrap_or_else(|_| name.into())
            }
        }
    }

    /// The path of a file that `node` names; `owner` is what messages call the folder's owner, such as `the experiment`.
    ///
    /// # Errors
    /// If it is not there, or the path or a symbolic link leads out of the folder.
    pub fn file(self, node: &Node, owner: &str) -> Result<PathBuf, Complaint> {
        let name = node.text()?;
        let missing = |path: &Path| {
            let what = format!("there is no file {name} (looked for at {})", path.display());
            Complaint::at(node.place, what)
        };
        let path = self.path(name);
        let folder = match self {
            Folder::Disk(folder) => folder,
            Folder::Typed => return if path.is_file() { Ok(path) } else { Err(missing(&path)) },
            Folder::Stored(files) => {
                // `./a.sql` is kept as `a.sql`.
                let parts = |path: &'_ Path| -> Vec<_> {
                    let named = path.components().filter(|part| *part != Component::CurDir);
                    named.map(|part| part.as_os_str().to_owned()).collect()
                };
                let is_it = |known: &&String| parts(Path::new(known.as_str())) == parts(&path);
                return files.keys().find(is_it).map(PathBuf::from).ok_or_else(|| missing(&path));
            }
        };
        let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(name).components().all(stays) {
            return Err(node.expected(&format!("a file in {owner}'s directory")));
        }
        if !path.is_file() {
            return Err(missing(&path));
        }
        // A link may lead anywhere; a copy of the folder would not have its target.
        let home = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let is_inside = match (path.canonicalize(), home.canonicalize()) {
            (Ok(real), Ok(home)) => real.starts_with(home),
            _ => false,
        };
        if is_inside {
            Ok(path)
        } else {
            Err(node.expected(&format!("a file in {owner}'s directory, not a link to a file outside of it")))
        }
    }
}

/// The text of a file of at most `length_max` bytes.
///
/// # Errors
/// If it cannot be read, is no plain file, is longer, or is not UTF-8.
pub fn text_of(path: &Path, length_max: u64) -> io::Result<String> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > length_max {
        return Err(io::Error::other(format!("it is not a regular file of at most {length_max} bytes")));
    }
    fs::read_to_string(path)
}
