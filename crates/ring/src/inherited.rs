//! An open descriptor that the process inherited from its parent, as a value that owns it. Here because taking ownership
//! of a number needs `unsafe`. Used by `ranks`: a process manager names its descriptor in an environment variable. Also
//! whether standard output was open at the start of the process, which only code that runs before `main` can see.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The variables by which a process manager (PMI-1) tells a process about its descriptor. Children do not have the
/// descriptor, so they must not get the variables.
pub const INHERITED_VARIABLES: [&str; 6] =
    ["PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMI_ID", "PMI_JOBID"];

/// Descriptors that were taken: each has one owner.
static TAKEN: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// Whether the process was started without a standard output.
static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the C library before Rust's runtime, which opens closed standard streams on /dev/null.
// SAFETY: the section holds addresses of functions that the C library calls once, before `main` and other threads; the
// function takes no arguments, and ignores those that some C libraries pass.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

extern "C" fn look_at_stdout() {
    // SAFETY: F_GETFD reads the flags of any number and touches no memory; a number that is not open is an error.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
    STDOUT_WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// Whether the process has the standard output that it was started with.
///
/// # Errors
/// The process was started with standard output closed (`>&-` in a shell): what is printed is lost.
pub fn check_stdout() -> io::Result<()> {
    match STDOUT_WAS_CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::from_raw_os_error(libc::EBADF)),
        false => Ok(()),
    }
}

/// Takes ownership of an inherited descriptor and sets its flag close-on-exec, so that children do not get it.
///
/// # Errors
/// - it is one of the three standard streams, is not open, or was taken before;
/// - it is marked close-on-exec. Such a descriptor cannot be inherited: this process opened it, and it has an owner.
pub fn take_inherited(descriptor: RawFd) -> io::Result<OwnedFd> {
    if (0..=libc::STDERR_FILENO).contains(&descriptor) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a standard stream"));
    }
    // A list of numbers is whole even if a thread panicked beside it.
    let mut taken = TAKEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if taken.contains(&descriptor) {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it was taken before"));
    }
    // SAFETY: F_GETFD reads the flags of any number and touches no memory; a number that is not open is an error.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    if flags & libc::FD_CLOEXEC != 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "this process opened it and did not inherit it",
        ));
    }
    // SAFETY: F_SETFD sets a flag of a descriptor that is open, and touches no memory.
    if unsafe { libc::fcntl(descriptor, libc::F_SETFD, flags | libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    taken.push(descriptor);
    // SAFETY: the descriptor is open. Nothing else in this process owns it: it was inherited, because whatever Rust's
    // library opens is close-on-exec; it is no standard stream; and `TAKEN` hands each number out once.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::os::unix::net::UnixStream;

    use super::*;

    /// The flags of a descriptor of this process, as the kernel shows them; proc_pid_fdinfo(5).
    fn is_close_on_exec(descriptor: RawFd) -> bool {
        let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap();
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:")).unwrap().trim();
        u32::from_str_radix(flags, 8).unwrap() & 0o2_000_000 != 0
    }

    /// A descriptor as a parent would hand it over: open, owned by nothing, not close-on-exec.
    fn inherited() -> (RawFd, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let descriptor = rustix::io::dup(&ours).unwrap();
        (descriptor.into_raw_fd(), theirs)
    }

    #[test]
    fn an_inherited_descriptor_is_taken_once_and_no_child_gets_it() {
        let (descriptor, peer) = inherited();
        assert!(!is_close_on_exec(descriptor));
        let owned = take_inherited(descriptor).unwrap();
        assert_eq!(owned.as_raw_fd(), descriptor);
        assert!(is_close_on_exec(descriptor));
        rustix::io::write(&owned, b"x").unwrap();
        let mut byte = [0];
        io::Read::read_exact(&mut &peer, &mut byte).unwrap();
        assert_eq!(take_inherited(descriptor).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn other_numbers_are_refused() {
        let own = UnixStream::pair().unwrap().0;
        let kind = |descriptor| take_inherited(descriptor).unwrap_err().kind();
        assert_eq!(kind(own.as_raw_fd()), io::ErrorKind::InvalidInput);
        assert_eq!(kind(1), io::ErrorKind::InvalidInput);
        for not_open in [-1, 1_000_000] {
            assert_eq!(take_inherited(not_open).unwrap_err().raw_os_error(), Some(libc::EBADF));
        }
    }
}
