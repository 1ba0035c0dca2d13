//! Files that a TOML file names: they lie in its folder or below it, also behind symbolic links. Reads nothing outside;
//! called by readers of experiments and workloads.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::document::{Complaint, Node};

/// The path of a file that `node` names, in `folder` or below it; `owner` is what messages call the folder's owner, such
/// as `the experiment`.
///
/// # Errors
/// If it is not there, or the path or a symbolic link leads out of the folder.
pub fn beside(node: &Node, folder: &Path, owner: &str) -> Result<PathBuf, Complaint> {
    let name = node.text()?;
    let relative = Path::new(name);
    let stays = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays {
        return Err(node.expected(&format!("a file in {owner}'s folder")));
    }
    let path = folder.join(relative);
    if !path.is_file() {
        let what = format!("there is no file {name} (looked for at {})", path.display());
        return Err(Complaint::at(node.place, what));
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
        Err(node.expected(&format!("a file in {owner}'s folder, not a link out of it")))
    }
}

/// The text of a file of at most `length_max` bytes.
///
/// # Errors
/// If it cannot be read, is no plain file, is longer, or is not UTF-8.
pub fn text_of(path: &Path, length_max: u64) -> io::Result<String> {
    let about = fs::metadata(path)?;
    if !about.is_file() || about.len() > length_max {
        return Err(io::Error::other(format!("it is not a file of at most {length_max} bytes")));
    }
    fs::read_to_string(path)
}
