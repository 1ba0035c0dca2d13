//! Opening of files that users name. A named pipe or device blocks the program in the system call that opens it, so that a
//! signal cannot end it; such files are refused unless a shell made them. A signal ends the reading of the others. All crates
//! that read named files use this.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

/// Paths of open descriptors: a shell gives them to read from other programs, as in `-f <(generate)`.
const DESCRIPTORS: [&str; 3] = ["/dev/fd", "/proc/self/fd", "/dev/stdin"];

/// Whether the user asked the program to stop.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Interval in which a wait looks for that.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The wait for the content of a pipe was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a signal interrupted the wait for its content")]
pub struct InputInterrupted;

impl InputInterrupted {
    /// Whether it is the cause of an error.
    pub fn is_cause(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|cause| cause.is::<Self>())
    }
}

/// Ends all waits for the content of pipes in this process.
pub fn interrupt_inputs() {
    IS_INTERRUPTED.store(true, Ordering::Relaxed);
}

/// A file or pipe that was opened for reading.
#[derive(Debug)]
pub struct Input(File);

impl Input {
    /// Kind and length.
    ///
    /// # Errors
    /// The system refuses to tell.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }
}

impl Read for Input {
    /// Also fails after [`interrupt_inputs`], if it would have to wait for another process.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A signal before or during the wait may leave nothing behind but the flag.
        while let Ok(0) | Err(Errno::INTR) = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&LOOK)) {
            if IS_INTERRUPTED.load(Ordering::Relaxed) {
                // `ErrorKind::Interrupted` would make the caller try again.
                return Err(io::Error::other(InputInterrupted));
            }
        }
        self.0.read(buffer)
    }
}

/// Standard input.
///
/// # Errors
/// There are too many open files.
pub fn open_stdin() -> io::Result<Input> {
    Ok(Input(io::stdin().as_fd().try_clone_to_owned()?.into()))
}

/// Opens a regular file, or a descriptor that the caller's shell made.
///
/// # Errors
/// It cannot be opened, or is a pipe, a device or a directory.
pub fn open_input(path: &Path) -> io::Result<Input> {
    let is_descriptor = DESCRIPTORS.iter().any(|descriptors| path.starts_with(descriptors));
    let is_meant = is_descriptor || path == Path::new("/dev/null");
    if is_meant { File::open(path).map(Input) } else { open_regular(path) }
}

/// Opens a regular file, and never waits for another process.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<Input> {
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
    Ok(Input(file))
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
