//! Opening of files that users name. A named pipe or device blocks the program in the system call that opens it, so that a
//! signal cannot end it; such files are refused unless a shell made them. All crates that read named files use this.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Paths of open descriptors: a shell gives them to read from other programs, as in `-f <(generate)`.
const DESCRIPTORS: [&str; 3] = ["/dev/fd", "/proc/self/fd", "/dev/stdin"];

/// Opens a regular file, or a descriptor that the caller's shell made.
///
/// # Errors
/// It cannot be opened, or is a pipe, a device or a directory.
pub fn open_input(path: &Path) -> io::Result<File> {
    let is_descriptor = DESCRIPTORS.iter().any(|descriptors| path.starts_with(descriptors));
    if is_descriptor || path == Path::new("/dev/null") { File::open(path) } else { open_regular(path) }
}

/// Opens a regular file, and never waits for another process.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty())?);
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !about.is_file() {
        let reason = "it is not a regular file, but a pipe or a device; copy its content to a file first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_and_devices_are_refused_at_once() {
        let folder = tempfile::tempdir().expect("a directory");
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).expect("a pipe");
        let refused = open_input(&pipe).expect_err("a pipe").to_string();
        assert!(refused.starts_with("it is not a regular file"), "{refused}");
        assert!(open_input(Path::new("/dev/tty0")).is_err() && open_input(Path::new("/dev/zero")).is_err());
        assert_eq!(open_input(folder.path()).expect_err("a folder").kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn files_and_descriptors_are_opened() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        std::fs::write(&path, "text").expect("our file");
        assert!(open_input(&path).is_ok() && open_input(Path::new("/dev/null")).is_ok());
        let (reader, _writer) = io::pipe().expect("a pipe");
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&reader);
        assert!(open_input(Path::new(&format!("/dev/fd/{descriptor}"))).is_ok());
    }
}
