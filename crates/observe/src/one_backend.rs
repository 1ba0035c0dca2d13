//! CPU time and disk reads of one backend on this host, for statements that are measured one by one.
//! `observer` samples whole runs.

use std::time::Duration;

use crate::processes::{self, Process};

/// The backend of a session.
#[derive(Debug)]
pub struct Backend {
    pid: u32,
    started_ticks: u64,
    /// The postmaster.
    parent: u32,
}

/// CPU time since the start of a backend, in the kernel's ticks of 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackendCpu {
    /// User time.
    pub user: Duration,
    /// System time.
    pub system: Duration,
}

impl Backend {
    /// The backend of a new session, by its PID; `None` if the server is on another host, or in another PID namespace.
    pub fn of(pid: u32) -> Option<Backend> {
        processes::young_server(pid).map(|process| Backend {
            pid,
            started_ticks: process.started_ticks,
            parent: process.parent,
        })
    }

    /// Its CPU time; `None` after it has exited.
    pub fn cpu(&self) -> Option<BackendCpu> {
        let is_it = |process: &Process| process.started_ticks == self.started_ticks;
        let usage = processes::look_at(self.pid).filter(is_it)?.usage;
        cpu(usage.user_s, usage.system_s)
    }

    /// CPU time of all processes of the server that have exited. Between the start and the end of a statement, it grows
    /// by the CPU time of the statement's parallel workers, which exit before the statement ends; and by that of other
    /// sessions and autovacuum workers that end meanwhile.
    pub fn ended_siblings(&self) -> Option<BackendCpu> {
        let postmaster = processes::look_at(self.parent).filter(|it| it.name.starts_with("postgres"))?;
        cpu(postmaster.usage.children_user_s, postmaster.usage.children_system_s)
    }

    /// Bytes that the backend, all processes of the server that have exited, and these I/O workers have read from disks.
    /// `None` without permission, or if one of them has exited. Between the start and the end of a statement, it grows by
    /// the reads of the statement and of its parallel workers, with the same limits as [`Backend::ended_siblings`].
    pub fn read_bytes(&self, io_workers: &[u32]) -> Option<f64> {
        self.cpu()?;
        let processes = [self.pid, self.parent].into_iter().chain(io_workers.iter().copied());
        processes.map(read_bytes).sum()
    }
}

/// Bytes that this process of the server has read from disks since its start; with those of its exited children for the
/// postmaster. `None` without permission, or if there is no such process any more.
fn read_bytes(pid: u32) -> Option<f64> {
    processes::look_at(pid).filter(|it| it.name.starts_with("postgres"))?.usage.read_bytes
}

fn cpu(user_s: f64, system_s: f64) -> Option<BackendCpu> {
    let time = |seconds| Duration::try_from_secs_f64(seconds).ok();
    Some(BackendCpu { user: time(user_s)?, system: time(system_s)? })
}

impl BackendCpu {
    /// CPU time since `earlier`.
    pub fn since(&self, earlier: &BackendCpu) -> BackendCpu {
        BackendCpu {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_servers_process_is_one() {
        assert!(Backend::of(std::process::id()).is_none(), "this is a test");
        let here = processes::look_at(std::process::id()).unwrap();
        let own = Backend { pid: std::process::id(), started_ticks: here.started_ticks, parent: here.parent };
        let cpu = own.cpu().unwrap();
        assert_eq!(cpu.since(&cpu), BackendCpu { user: Duration::ZERO, system: Duration::ZERO });
        let other = Backend { started_ticks: here.started_ticks + 1, ..own };
        assert_eq!(other.cpu(), None, "the number was given to another process");
    }
}
