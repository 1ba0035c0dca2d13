//! The scheduling policy of the calling thread. Here because the system call needs `unsafe`, and no safe crate has it
//! without bringing bindings for Windows.

use std::io;

/// The lowest priority of a real-time thread, sched(7).
const LOWEST_PRIORITY: libc::c_int = 1;

/// Makes the calling thread a real-time one of the lowest priority (SCHED_RR).
///
/// # Errors
/// The system does not allow it: it takes root, CAP_SYS_NICE or a limit for it (`ulimit -r`).
pub fn become_real_time() -> io::Result<()> {
    const CALLING_THREAD: libc::pid_t = 0;
    let priority = LOWEST_PRIORITY;
    // Not the C library's function: musl's fails always.
    // SAFETY: sched_setscheduler(2) takes a thread, a policy and a pointer to `struct sched_param`, which for the kernel is
    // one int. It reads that int while the call lasts, and keeps no pointer.
    let returned = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, CALLING_THREAD, libc::SCHED_RR, &raw const priority)
    };
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Policy and real-time priority of the calling thread: fields 41 and 40 of its stat file, proc(5).
    fn scheduling() -> (String, String) {
        let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name in parentheses may hold spaces.
        let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
        (fields[38].to_owned(), fields[37].to_owned())
    }

    #[test]
    fn a_thread_becomes_a_real_time_one_or_the_refusal_is_told() {
        let ended = std::thread::spawn(|| (become_real_time(), scheduling())).join().unwrap();
        let (real_time, others) = (("2".to_owned(), "1".to_owned()), ("0".to_owned(), "0".to_owned()));
        match ended {
            (Ok(()), found) => assert_eq!(found, real_time),
            (Err(error), found) => {
                assert_eq!((error.kind(), found), (io::ErrorKind::PermissionDenied, others));
            }
        }
        assert_eq!(scheduling().0, "0", "other threads stay as they were");
    }
}
