//! Identity of a run's process, which distinguishes killed from running processes. Process IDs are reused, so the
//! identity includes the start time in ticks since boot.

use std::fs;

use rusqlite::Row;

use crate::ProcessStat;

/// A process and its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) hostname: String,
    /// Differs after each boot.
    pub(super) boot_id: Option<String>,
    /// Process IDs are local to a container.
    pub(super) pid_namespace: Option<String>,
    pub(super) pid: Option<i64>,
    pub(super) pid_started_ticks: Option<i64>,
}

impl Process {
    /// The current process.
    pub(super) fn own() -> Process {
        let pid = i64::from(std::process::id());
        Process {
            hostname: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            boot_id: fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .ok()
                .map(|id| id.trim().to_owned()),
            pid_namespace: fs::read_link("/proc/self/ns/pid")
                .ok()
                .map(|link| link.to_string_lossy().into_owned()),
            pid: Some(pid),
            pid_started_ticks: started_ticks(pid),
        }
    }

    /// From five columns of a row: hostname, boot_id, pid_namespace, pid, pid_started_ticks.
    pub(super) fn read(row: &Row<'_>, first_column: usize) -> rusqlite::Result<Process> {
        Ok(Process {
            hostname: row.get(first_column)?,
            boot_id: row.get(first_column + 1)?,
            pid_namespace: row.get(first_column + 2)?,
            pid: row.get(first_column + 3)?,
            pid_started_ticks: row.get(first_column + 4)?,
        })
    }

    /// Whether the process is known to run, as seen by `observer`. For some processes, such as those of other hosts,
    /// neither this nor the opposite is known.
    pub(super) fn runs(&self, observer: &Process) -> bool {
        let is_here = (&self.hostname, &self.boot_id, &self.pid_namespace)
            == (&observer.hostname, &observer.boot_id, &observer.pid_namespace);
        let started = || self.pid.and_then(started_ticks);
        is_here && self.pid_started_ticks.is_some() && started() == self.pid_started_ticks
    }

    /// Whether the process is known to have ended, as seen by `observer`.
    pub(super) fn is_gone(&self, observer: &Process) -> bool {
        if self.hostname != observer.hostname {
            return false;
        }
        if let (Some(then), Some(now)) = (&self.boot_id, &observer.boot_id)
            && then != now
        {
            return true;
        }
        if self.pid_namespace != observer.pid_namespace {
            return false;
        }
        match (self.pid, self.pid_started_ticks) {
            (Some(pid), Some(started)) => started_ticks(pid) != Some(started),
            _ => false,
        }
    }
}

/// `None` for a process that has ended, also if its parent has not asked for its exit status.
fn started_ticks(pid: i64) -> Option<i64> {
    let process = ProcessStat::read(u32::try_from(pid).ok()?).filter(|process| !process.has_ended)?;
    i64::try_from(process.started_ticks).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_one_that_began_at_another_moment_is_gone() {
        let own = Process::own();
        assert!(!own.is_gone(&own) && own.runs(&own));
        let earlier =
            Process { pid_started_ticks: own.pid_started_ticks.map(|ticks| ticks - 1), ..own.clone() };
        assert!(earlier.is_gone(&own) && !earlier.runs(&own));
        let before_the_start = Process { boot_id: Some("another".to_owned()), ..own.clone() };
        assert!(before_the_start.is_gone(&own));
    }

    #[test]
    fn a_killed_process_is_gone_before_its_parent_asks_for_its_exit_status() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stat = loop {
            let stat = ProcessStat::read(child.id()).unwrap();
            if stat.has_ended {
                break stat;
            }
        };
        let own = Process::own();
        let killed = Process {
            pid: Some(i64::from(child.id())),
            pid_started_ticks: i64::try_from(stat.started_ticks).ok(),
            ..own.clone()
        };
        assert!(killed.is_gone(&own) && !killed.runs(&own));
        child.wait().unwrap();
    }

    #[test]
    fn of_another_host_or_container_nothing_is_known() {
        let own = Process::own();
        let elsewhere =
            Process { hostname: "elsewhere".to_owned(), boot_id: Some("another".to_owned()), ..own.clone() };
        let contained =
            Process { pid_namespace: Some("pid:[1]".to_owned()), pid_started_ticks: Some(0), ..own.clone() };
        assert!(!elsewhere.is_gone(&own) && !contained.is_gone(&own));
        assert!(!elsewhere.runs(&own) && !contained.runs(&own));
    }
}
