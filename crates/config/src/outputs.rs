//! Creation of files that users name and that grow while they are written. A link or file that another user put there is
//! replaced and never written through. `report`, `results`, `isolation` and others write all files that users name with it.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::output_folder::{OutputFolder, is_followed};

/// Names of drafts that are tried.
const ATTEMPTS_MAX: u32 = 100;

/// A new, empty file in the place of what is there. What exists and is no regular file, such as `/dev/stdout`, is opened for
/// writing instead.
///
/// # Errors
/// The file cannot be created; what was there remains.
pub fn create_output(path: &Path) -> io::Result<File> {
    let (folder, name) = OutputFolder::of_file(path)?;
    let place = folder.path().join(name);
    if is_special(&place)? {
        return open_special_output(&place);
    }
    let (draft, file) = create_draft(&place)?;
    publish(&draft, &place).map(|()| file)
}

/// The same for what is made of a file, which it must not replace.
///
/// # Errors
/// It is this file; otherwise as [`create_output`].
pub fn create_output_of(path: &Path, input: &Option<PathBuf>) -> io::Result<File> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    match input.as_deref().map(identity) {
        Some(Some(input)) if identity(path) == Some(input) && !is_special(path)? => {
            Err(io::Error::other("the rows are made of this file; name another one"))
        }
        _ => create_output(path),
    }
}

/// Writes a whole file beside its place and renames it, so that nobody finds a part of it. What exists and is no regular file is
/// written to, as by [`create_output`].
///
/// # Errors
/// It cannot be written; then what was there remains.
pub fn replace_output(path: &Path, content: &[u8]) -> io::Result<()> {
    let (folder, name) = OutputFolder::of_file(path)?;
    folder.replace(name, content)
}

impl OutputFolder {
    /// As [`replace_output`], for a file in this folder.
    ///
    /// # Errors
    /// It cannot be written; then what was there remains.
    pub fn replace(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        let place = self.path().join(name);
        if is_special(&place)? {
            return open_special_output(&place)?.write_all(content);
        }
        let (draft, mut file) = create_draft(&place)?;
        let written = file.write_all(content).inspect_err(|_| {
            let _ = fs::remove_file(&draft);
        });
        written.and_then(|()| publish(&draft, &place))
    }
}

/// Tries whether [`create_output`] and [`replace_output`] can write a file, without a trace.
///
/// # Errors
/// It is a directory, or no file can be created beside it.
pub fn check_output(path: &Path) -> io::Result<()> {
    let (folder, name) = OutputFolder::of_file(path)?;
    let place = folder.path().join(name);
    if is_special(&place)? {
        return Ok(());
    }
    create_draft(&place).and_then(|(draft, _)| fs::remove_file(draft))
}

/// Whether what is there is written to and not replaced: it exists and is no regular file. A link that another user could have
/// put there is replaced.
fn is_special(place: &Path) -> io::Result<bool> {
    if place.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(is_followed(place) && place.exists() && !place.is_file())
}

/// Gives a draft its name.
fn publish(draft: &Path, place: &Path) -> io::Result<()> {
    fs::rename(draft, place).inspect_err(|_| {
        // The first error is the one to tell.
        let _ = fs::remove_file(draft);
    })
}

/// Opens what exists and is no regular file, such as a device or a pipe, for writing.
///
/// # Errors
/// It cannot be opened, or no process reads the named pipe: opening it would wait without an end.
fn open_special_output(path: &Path) -> io::Result<File> {
    let without_waiting = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().write(true).custom_flags(without_waiting).open(path);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::NXIO.raw_os_error() => io::Error::other(
            "it is a named pipe that no process reads; name a file, or start the reader first",
        ),
        _ => error,
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// A file beside `path` that nobody else has.
fn create_draft(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut attempt = 0;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}-{attempt}.part", std::process::id()));
        let draft = PathBuf::from(name);
        match File::create_new(&draft) {
            Ok(file) => return Ok((draft, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS_MAX => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_link_is_replaced_and_its_target_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a directory");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "precious").expect("our file");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        create_output(&link).and_then(|mut file| file.write_all(b"new")).expect("a file");
        assert_eq!(fs::read_to_string(&target).expect("it is there"), "precious");
        assert_eq!(fs::read_to_string(&link).expect("it is there"), "new");
        assert!(!fs::symlink_metadata(&link).expect("it is there").is_symlink());
        let dangling = folder.path().join("dangling");
        std::os::unix::fs::symlink(folder.path().join("nowhere"), &dangling).expect("a link");
        create_output(&dangling).expect("a file");
        assert!(!folder.path().join("nowhere").exists());
        let names = fs::read_dir(folder.path()).expect("it can be listed").count();
        assert_eq!(names, 3, "no draft remains");
    }

    #[test]
    fn a_named_pipe_that_nobody_reads_is_refused_at_once_and_another_is_written() {
        let folder = tempfile::tempdir().expect("a directory");
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .expect("a pipe");
        let error = create_output(&pipe).expect_err("nobody reads it").to_string();
        assert!(error.contains("named pipe that no process reads"), "{error}");
        let reading =
            OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&pipe);
        let mut reader = reading.expect("it can be read");
        create_output(&pipe).and_then(|mut file| file.write_all(b"new")).expect("it is read");
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        assert_eq!(text, "new");
    }

    #[test]
    fn as_root_no_folder_is_reached_through_a_link_of_another_user() {
        let folder = tempfile::tempdir().expect("a directory");
        let (target, link) = (folder.path().join("target"), folder.path().join("reports"));
        fs::create_dir(&target).expect("a directory");
        std::os::unix::fs::symlink(&target, &link).expect("a link");
        let path = link.join("page.html");
        create_output(&path).expect("our own link leads there");
        if !rustix::process::geteuid().is_root() {
            return;
        }
        std::os::unix::fs::lchown(&link, Some(12_345), None).expect("root can give it away");
        let error = create_output(&path).expect_err("it may be planted").to_string();
        assert!(error.contains("reports is a link of user 12345"), "{error}");
        assert!(create_output(&link).is_err_and(|error| error.kind() == io::ErrorKind::IsADirectory));
    }

    #[test]
    fn devices_are_written_and_directories_are_refused() {
        assert!(create_output(Path::new("/dev/null")).is_ok());
        let folder = tempfile::tempdir().expect("a directory");
        assert_eq!(create_output(folder.path()).expect_err("a folder").kind(), io::ErrorKind::IsADirectory);
    }
}
