//! Files of reports: their destination is tested before a run, and they are written whole or not at all. Called by
//! `cli`, which tells the user.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use config::OutputFolder;

pub use config::{check_output as check_place, create_output_of as create_of, replace_output as replace};

/// Not as a file: where a shell has redirected it, a file of that name would replace the link in `/dev`.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || path == Path::new("/dev/stdout")
}

/// Fills a directory, which is created if it is missing: `write` puts files into an empty one, and they are moved. What has
/// their names is replaced.
///
/// # Errors
/// A file cannot be written.
pub fn fill_directory(directory: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = OutputFolder::create(directory)?;
    let draft = folder.path().join(format!("pages.{}.part", std::process::id()));
    fs::DirBuilder::new().mode(0o700).create(&draft)?;
    let filled = write(&draft).and_then(|()| {
        fs::read_dir(&draft)?.try_for_each(|entry| {
            let entry = entry?;
            fs::rename(entry.path(), folder.path().join(entry.file_name()))
        })
    });
    // The first error is the one to tell.
    let removed = fs::remove_dir_all(&draft);
    filled.and(removed)
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
