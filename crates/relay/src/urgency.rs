//! A network does not wait for a core. Where the system allows it (root, or CAP_SYS_NICE, or a limit for it: ulimit -r),
//! the relay's thread becomes a real-time one of the lowest priority, sched(7): it runs as soon as it has something to do,
//! whoever else was running. Otherwise it asks for nice −20, and else waits like everybody. What it waits is
//! counted (`Statistics::waited`).

/// For the calling thread, which must wait for something all the time but moments.
#[cfg(target_os = "linux")]
pub(crate) fn go_first() {
    const LEAST_NICE: i32 = -20;
    if ring::become_real_time().is_err() {
        // setpriority(2) on Linux is for one thread alone.
        let _ = rustix::process::setpriority_process(None, LEAST_NICE);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn go_first() {}
