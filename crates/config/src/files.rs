//! Files named in a TOML file: they must be in its directory or below, also after resolving symbolic links. Used by
//! readers of experiments and workloads.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::document::{Complaint, Node, nearest};
use crate::inputs::open_regular;

/// Location of the files named in a TOML file.
#[derive(Clone, Copy, Debug)]
pub enum Folder<'a> {
    /// On disk, in this directory or below.
    Disk(&'a Path),
    /// Anywhere on disk: the user typed the names, which are relative to the working directory.
    Typed,
    /// In a store: names of files with their texts.
    Stored(&'a BTreeMap<String, String>),
}

impl<'a> From<&'a Path> for Folder<'a> {
    fn from(path: &'a Path) -> Self {
        Folder::Disk(path)
    }
}

impl Folder<'_> {
    /// The path for a name.
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

    /// The path of the file named by `node`; `owner` describes the directory in messages, such as `the experiment`.
    ///
    /// # Errors
    /// If it does not exist, or the path or a symbolic link leads out of the directory.
    pub fn file(self, node: &Node, owner: &str) -> Result<PathBuf, Complaint> {
        let name = node.text()?;
        let missing = |path: &Path| {
            if let Ok(found) = path.symlink_metadata() {
                let what = if found.is_symlink() { "a link to no regular file" } else { "no regular file" };
                return Complaint::at(
                    node.place,
                    format!("{} is {what}; name a regular file", path.display()),
                );
            }
            let hint = similar_file(path).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            let what = format!("there is no file {name} (looked for at {}){hint}", path.display());
            Complaint::at(node.place, what)
        };
        let path = self.path(name);
        let folder = match self {
            Folder::Disk(folder) => folder,
            Folder::Typed => return if path.is_file() { Ok(path) } else { Err(missing(&path)) },
            Folder::Stored(files) => {
                // `./a.sql` is stored as `a.sql`.
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
        // A link may lead anywhere; a copy of the directory would not contain its target.
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

/// The name in the directory of a missing file that is most similar to its name, if one is similar.
pub fn similar_file(missing: &Path) -> Option<String> {
    /// Enough for a directory that a person keeps.
    const ENTRIES_MAX: usize = 10_000;
    let name = missing.file_name()?.to_str()?;
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = fs::read_dir(folder).ok()?.take(ENTRIES_MAX).flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    nearest(name, &known).map(str::to_owned)
}

/// The text of a file of at most `length_max` bytes.
///
/// # Errors
/// If it cannot be read, is not a regular file, is longer, or is not UTF-8.
pub fn text_of(path: &Path, length_max: u64) -> io::Result<String> {
    String::from_utf8(bytes_of(path, length_max)?).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

/// The content of a regular file.
///
/// # Errors
/// As [`open_regular`]; it is longer.
pub fn bytes_of(path: &Path, length_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(length_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > length_max {
        return Err(io::Error::other(format!("it is longer than {length_max} bytes")));
    }
    Ok(bytes)
}
