//! Files of reports: their place is tried before a run, and they are written whole or not at all. Called by `cli`, which
//! tells the user.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub use config::create_output;

/// Not as a file: where a shell has redirected it, a file of that name would replace the link in `/dev`.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || path == Path::new("/dev/stdout")
}

/// Whether a file can be written there.
///
/// # Errors
/// It is a directory, or no file can be created beside it.
pub fn check_place(path: &Path) -> io::Result<()> {
    config::refuse_planted_links(path)?;
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let draft = draft(path);
    File::create_new(&draft).and_then(|_| fs::remove_file(&draft))
}

/// Writes beside the file and renames, so that nobody finds half a page.
///
/// # Errors
/// It cannot be written; then the old file remains.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    config::refuse_planted_links(path)?;
    if path.exists() && !path.is_file() {
        // A pipe or a device, such as /dev/stdout, cannot be replaced.
        return config::open_special_output(path)?.write_all(content);
    }
    let draft = draft(path);
    // Never through a link or into a file that somebody else put there.
    let mut file = File::create_new(&draft)?;
    let written = file.write_all(content).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // If it cannot be removed either, the first error is the one to tell.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// Fills a directory, which is created if it is missing: `write` puts files into an empty one, and they are moved. What has
/// their names is replaced.
///
/// # Errors
/// A file cannot be written.
pub fn fill_directory(directory: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    config::refuse_planted_links(&directory.join("pages"))?;
    fs::create_dir_all(directory)?;
    let draft = draft(&directory.join("pages"));
    fs::DirBuilder::new().mode(0o700).create(&draft)?;
    let filled = write(&draft).and_then(|()| {
        fs::read_dir(&draft)?.try_for_each(|entry| {
            let entry = entry?;
            fs::rename(entry.path(), directory.join(entry.file_name()))
        })
    });
    // The first error is the one to tell.
    let removed = fs::remove_dir_all(&draft);
    filled.and(removed)
}

fn draft(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_tried_without_a_trace_and_a_file_is_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let page = directory.path().join("page.html");
        check_place(&page).unwrap();
        assert!(fs::read_dir(directory.path()).unwrap().next().is_none(), "something was left behind");
        assert_eq!(check_place(directory.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        check_place(Path::new("/dev/null")).unwrap();
        assert!(check_place(&page.join("below")).is_err());
        for content in ["old", "new"] {
            replace(&page, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&page).unwrap(), content);
        }
        assert!(replace(directory.path(), b"").is_err(), "it is a directory");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "a draft was left behind");
    }
}
