//! Processes of a server: finds the postmaster of a data directory and stops it. A process ID alone is never trusted,
//! because it may have been reused: a process belongs to the server only if it is a `postgres` whose working
//! directory is the data directory.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::ServerError;
use crate::files::read_small;
use crate::home::Home;
use crate::patience::wait_for;

/// A signal and the time before the next one is sent.
pub(crate) struct ShutdownStep {
    signal: Signal,
    limit: Duration,
}

/// For a server whose data are kept: "fast" with its checkpoint, then "immediate", after which the next start
/// recovers, then SIGKILL for the postmaster, whose children notice.
pub(crate) const FAST_SHUTDOWN: [ShutdownStep; 3] = [
    ShutdownStep { signal: Signal::INT, limit: Duration::from_secs(60) },
    ShutdownStep { signal: Signal::QUIT, limit: Duration::from_secs(10) },
    ShutdownStep { signal: Signal::KILL, limit: Duration::from_secs(10) },
];

/// For a server whose data are removed: a checkpoint of discarded data would be a waste of time.
pub(crate) const IMMEDIATE_SHUTDOWN: [ShutdownStep; 2] = [
    // After five seconds the server itself kills remaining processes.
    ShutdownStep { signal: Signal::QUIT, limit: Duration::from_secs(6) },
    ShutdownStep { signal: Signal::KILL, limit: Duration::from_secs(10) },
];

/// For a pooler: it closes its connections at once.
pub(crate) const POOLER_SHUTDOWN: [ShutdownStep; 2] = [
    ShutdownStep { signal: Signal::TERM, limit: Duration::from_secs(3) },
    ShutdownStep { signal: Signal::KILL, limit: Duration::from_secs(10) },
];

/// The same for versions in which SIGTERM waits for clients.
pub(crate) const POOLER_SHUTDOWN_SINCE_QUIT: [ShutdownStep; 2] = [
    ShutdownStep { signal: Signal::QUIT, limit: Duration::from_secs(3) },
    ShutdownStep { signal: Signal::KILL, limit: Duration::from_secs(10) },
];

/// The programs whose processes belong to a server; a process of the first runs in the data directory, of the second in
/// the directory of a pooler.
#[derive(Copy, Clone)]
enum OwnProgram {
    Postgres,
    Pooler,
}

impl OwnProgram {
    fn is(self, name: &str) -> bool {
        match self {
            OwnProgram::Postgres => name == "postgres",
            OwnProgram::Pooler => name.starts_with(crate::pooler::PROGRAM_NAME),
        }
    }
}

/// Continues stopped processes (SIGSTOP) of a data directory, so that they can receive signals.
pub(crate) fn continue_stopped(data: &Path) {
    let Ok(data) = data.canonicalize() else { return };
    let handles = all_processes().into_iter().filter_map(|pid| Some((pid, Handle::open(pid)?)));
    handles
        .filter(|(pid, _)| belongs_to(*pid, OwnProgram::Postgres, &data))
        .for_each(|(_, handle)| handle.send(Signal::CONT));
}

/// Stops all processes of a data directory, also those that are started meanwhile; the postmaster is stopped before.
pub(crate) fn stop_all(data: &Path) {
    let Ok(data) = data.canonicalize() else { return };
    let mut stopped = Vec::new();
    loop {
        let before = stopped.len();
        for pid in all_processes() {
            if !stopped.contains(&pid) && send_to_one(&data, pid, Signal::STOP) {
                stopped.push(pid);
            }
        }
        if stopped.len() == before {
            return;
        }
    }
}

/// Kills one process of a data directory; false if it is none.
pub(crate) fn kill_one(data: &Path, pid: i32) -> bool {
    let (Ok(data), Some(pid)) = (data.canonicalize(), Pid::from_raw(pid.max(0))) else { return false };
    send_to_one(&data, pid, Signal::KILL)
}

fn send_to_one(data: &Path, pid: Pid, signal: Signal) -> bool {
    // Opened before the process is examined: if it ends in between, the signal reaches no other process.
    let Some(handle) = Handle::open(pid) else { return false };
    let is_ours = belongs_to(pid, OwnProgram::Postgres, data);
    if is_ours {
        handle.send(signal);
    }
    is_ours
}

/// Whether no process of a data directory is left.
pub(crate) fn has_ended(data: &Path) -> bool {
    data.canonicalize().is_ok_and(|data| {
        !all_processes().into_iter().any(|pid| belongs_to(pid, OwnProgram::Postgres, &data))
    })
}

/// Sends one signal after the other until the process has ended; false if it never did.
fn end(steps: &[ShutdownStep], send: &mut dyn FnMut(Signal), ended: &mut dyn FnMut() -> bool) -> bool {
    for step in steps {
        if ended() {
            return true;
        }
        send(step.signal);
        if wait_for(step.limit, || ended().then_some(())).is_some() {
            return true;
        }
    }
    false
}

/// Stops a child of this process. Its process ID is not reused until it has been waited for.
pub(crate) fn end_child(child: &mut Child, steps: &[ShutdownStep]) -> bool {
    let pid = Pid::from_child(child);
    let mut send = |signal| {
        // Fails if it has already ended.
        let _ = kill_process(pid, signal);
    };
    end(steps, &mut send, &mut || !matches!(child.try_wait(), Ok(None)))
}

/// The postmaster of a data directory, whether or not it is a child of this process.
#[derive(Debug)]
pub(crate) struct Postmaster {
    pub(crate) pid: Pid,
    data: PathBuf,
    handle: Handle,
}

impl Postmaster {
    /// The postmaster given by `postmaster.pid`, if it is one and is running.
    pub(crate) fn of(data: &Path) -> Option<Postmaster> {
        let data = data.canonicalize().ok()?;
        let first = read_small(&data.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok();
        // A single-user server, as run by initdb, writes its process ID with a minus sign.
        let pid = Pid::from_raw(first.filter(|&pid: &i32| pid > 0)?)?;
        // Opened before the process is examined: if it ends in between, signals reach no other process.
        let handle = Handle::open(pid)?;
        let postmaster = Postmaster { pid, data, handle };
        postmaster.runs().then_some(postmaster)
    }

    pub(crate) fn send(&self, signal: Signal) {
        self.handle.send(signal);
    }

    pub(crate) fn runs(&self) -> bool {
        belongs_to(self.pid, OwnProgram::Postgres, &self.data)
    }

    /// The error if it has not ended.
    pub(crate) fn will_not_end(&self, home: &Home) -> ServerError {
        let (name, directory) = (home.name.clone(), home.directory.clone());
        ServerError::WillNotEnd { name, pid: self.pid.as_raw_nonzero().get(), directory }
    }

    /// Stops it step by step; false if it does not end.
    pub(crate) fn end(&self, steps: &[ShutdownStep]) -> bool {
        continue_stopped(&self.data);
        end(steps, &mut |signal| self.handle.send(signal), &mut || !self.runs())
    }
}

/// Stops everything that runs in a data directory that is about to be removed: a starting server, or children of a
/// killed postmaster. They are asked first, because killed processes leave shared memory.
pub(crate) fn end_remaining_processes(data: &Path) {
    end_all(OwnProgram::Postgres, data);
}

/// Stops a pooler that runs in this directory.
pub(crate) fn end_remaining_pooler(directory: &Path) {
    end_all(OwnProgram::Pooler, directory);
}

fn end_all(program: OwnProgram, directory: &Path) {
    let Ok(directory) = directory.canonicalize() else { return };
    for ShutdownStep { signal, limit } in IMMEDIATE_SHUTDOWN {
        let none_left = wait_for(limit, || {
            let handles = all_processes().into_iter().filter_map(|pid| Some((pid, Handle::open(pid)?)));
            let ours: Vec<_> = handles.filter(|(pid, _)| belongs_to(*pid, program, &directory)).collect();
            for (_, handle) in &ours {
                handle.send(signal);
                // A stopped process does not react to other signals.
                handle.send(Signal::CONT);
            }
            ours.is_empty().then_some(())
        });
        if none_left.is_some() {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::OwnProgram;

    /// A process handle that stays valid if the process ID is reused.
    #[derive(Debug)]
    pub(super) struct Handle(OwnedFd);

    impl Handle {
        pub(super) fn open(pid: Pid) -> Option<Handle> {
            pidfd_open(pid, PidfdFlags::empty()).ok().map(Handle)
        }

        pub(super) fn send(&self, signal: Signal) {
            // Fails if the process has already ended.
            let _ = pidfd_send_signal(&self.0, signal);
        }
    }

    /// A process that has ended but was not waited for has no directory any more.
    pub(super) fn belongs_to(pid: Pid, own: OwnProgram, directory: &Path) -> bool {
        let process = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        let program = fs::read_link(process.join("exe")).unwrap_or_default();
        let name = program.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // An upgrade may have replaced the file while it was running.
        own.is(name.strip_suffix(" (deleted)").unwrap_or(name))
            && fs::read_link(process.join("cwd")).is_ok_and(|current| current == directory)
    }

    pub(super) fn all_processes() -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;
    use std::process::Command;

    use rustix::process::{Pid, Signal, kill_process};

    use super::OwnProgram;

    /// On other systems a process has only its ID.
    #[derive(Debug)]
    pub(super) struct Handle(Pid);

    impl Handle {
        pub(super) fn open(pid: Pid) -> Option<Handle> {
            Some(Handle(pid))
        }

        pub(super) fn send(&self, signal: Signal) {
            let _ = kill_process(self.0, signal);
        }
    }

    /// By the command line that pgmeter gave it.
    pub(super) fn belongs_to(pid: Pid, own: OwnProgram, directory: &Path) -> bool {
        let number = pid.as_raw_nonzero().to_string();
        let output = Command::new("ps").args(["-o", "command=", "-p", &number]).output();
        output.is_ok_and(|output| {
            let command = String::from_utf8_lossy(&output.stdout).into_owned();
            let program = command.split_whitespace().next().unwrap_or_default();
            let argument = match own {
                OwnProgram::Postgres => format!("-D {}", directory.display()),
                OwnProgram::Pooler => format!("{}/", directory.display()),
            };
            own.is(program.rsplit('/').next().unwrap_or_default()) && command.contains(&argument)
        })
    }

    pub(super) fn all_processes() -> Vec<Pid> {
        Vec::new()
    }
}

use system::{Handle, all_processes, belongs_to};

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn data_with(pid_file: &str) -> tempfile::TempDir {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("postmaster.pid"), pid_file).unwrap();
        data
    }

    #[test]
    fn a_process_id_that_belongs_to_somebody_else_now_is_no_postmaster() {
        // This process is running, but it is not a postgres and has another working directory.
        let own = format!("{}\n/data\n", std::process::id());
        for text in [own.as_str(), "", "x\n", "-5\n", "0\n", "2147483647\n", "99999999999999\n"] {
            let data = data_with(text);
            assert!(Postmaster::of(data.path()).is_none(), "{text}");
            end_remaining_processes(data.path());
        }
        assert!(Postmaster::of(Path::new("/nowhere")).is_none());
    }

    #[test]
    fn signals_escalate_until_the_process_has_ended() {
        let quick = |signal| ShutdownStep { signal, limit: Duration::from_millis(30) };
        let steps = [quick(Signal::INT), quick(Signal::QUIT), quick(Signal::KILL)];
        let sent = std::cell::RefCell::new(Vec::new());
        let deaf_until = |last| {
            sent.borrow_mut().clear();
            end(&steps, &mut |signal| sent.borrow_mut().push(signal), &mut || {
                sent.borrow().last() == Some(&last)
            })
        };
        assert!(deaf_until(Signal::QUIT));
        assert_eq!(*sent.borrow(), [Signal::INT, Signal::QUIT]);
        assert!(!deaf_until(Signal::HUP));
        assert_eq!(*sent.borrow(), [Signal::INT, Signal::QUIT, Signal::KILL]);
    }
}
