//! The sudden end of a server: all its processes are killed, and it has no chance to start others meanwhile. Knows nothing
//! of disks; `rounds` cuts the power between the two steps.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, pidfd_send_signal, waitpid,
};

/// How long a killed process may take to end; it may be writing.
const END_LIMIT_SECONDS: i64 = 60;

/// A server that cannot start processes any more.
#[derive(Debug)]
pub struct Doomed {
    /// The postmaster and its children.
    processes: Vec<OwnedFd>,
}

impl Doomed {
    /// Stops the postmaster, a child of this process, and finds its children, which run on.
    ///
    /// # Errors
    /// It has already ended.
    pub fn hold(postmaster: u32) -> io::Result<Doomed> {
        let pid = i32::try_from(postmaster).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other(format!("{postmaster} is not a process ID")))?;
        let own = pidfd_open(pid, PidfdFlags::empty())?;
        kill_process(pid, Signal::STOP)?;
        let stopped = waitpid(Some(pid), WaitOptions::UNTRACED)?;
        if !stopped.is_some_and(|(_, status)| status.stopped()) {
            return Err(io::Error::other("the server ended before the power was cut"));
        }
        let mut processes = vec![own];
        // Its children keep their IDs even if they end, since it does not wait for them.
        for child in children(pid)? {
            processes.push(pidfd_open(child, PidfdFlags::empty())?);
        }
        Ok(Doomed { processes })
    }

    /// Kills all of them and waits until they have ended.
    ///
    /// # Errors
    /// One does not end.
    pub fn kill(self) -> io::Result<()> {
        for process in &self.processes {
            // Fails if it has ended.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        for process in &self.processes {
            let limit = Timespec { tv_sec: END_LIMIT_SECONDS, tv_nsec: 0 };
            let ended = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit))?;
            if ended == 0 {
                let reason = format!("a killed process of the server runs on after {END_LIMIT_SECONDS} s");
                return Err(io::Error::other(reason));
            }
        }
        Ok(())
    }
}

fn children(parent: Pid) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        // Others may end meanwhile.
        let Some((pid, stat)) = pid.zip(fs::read_to_string(entry.path().join("stat")).ok()) else { continue };
        if parent_in(&stat) == Some(parent) {
            found.push(pid);
        }
    }
    Ok(found)
}

/// The parent's ID in `/proc/PID/stat`: `PID (name) state parent …`; the name may contain spaces and brackets.
fn parent_in(stat: &str) -> Option<Pid> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    Pid::from_raw(after_name.split(' ').nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("12 (postgres) S 7 12 12 0"), Pid::from_raw(7));
        assert_eq!(parent_in("12 (a) S 3 (b) R 7 12"), Pid::from_raw(7));
        assert_eq!(parent_in(""), None);
    }

    #[test]
    fn a_process_and_its_children_are_killed() {
        let mut shell = Command::new("sh").args(["-c", "sleep 600 & sleep 600 & wait"]).spawn().unwrap();
        let pid = Pid::from_child(&shell);
        while children(pid).unwrap().len() < 2 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let doomed = Doomed::hold(shell.id()).unwrap();
        assert_eq!(doomed.processes.len(), 3);
        doomed.kill().unwrap();
        assert!(!shell.wait().unwrap().success());
        let again = Doomed::hold(shell.id());
        assert!(again.is_err());
    }
}
