//! Server processes in Linux's `/proc`, if the server is on this host. Pure functions parse the texts; the few that
//! open files are at the end.
//!
//! Manual: proc_pid_stat(5), proc_pid_io(5).

use std::fs;

use results::ProcessStat;

/// Ticks per second of the kernel's accounting; user space sees 100 on every platform (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;
/// Resolution of user and system time.
pub(crate) const TICK_S: f64 = 1.0 / TICKS_PER_SECOND;

/// CPU time and physical reads and writes of a process since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    /// CPU time of its exited children.
    pub(crate) children_user_s: f64,
    pub(crate) children_system_s: f64,
    /// `None` if the kernel does not count it.
    pub(crate) scheduled: Option<Scheduled>,
    /// `None` without permission.
    pub(crate) read_bytes: Option<f64>,
    pub(crate) written_bytes: Option<f64>,
}

/// The scheduler's counts of a process, with a resolution of a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scheduled {
    /// Time on a CPU, user and system.
    pub(crate) cpu_s: f64,
    /// Time ready to run, waiting for a CPU.
    pub(crate) run_delay_s: f64,
}

impl Usage {
    /// CPU time, in the best available resolution.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.scheduled.map_or(self.user_s + self.system_s, |scheduled| scheduled.cpu_s)
    }
}

/// Identity of a process: a reused PID has another start time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// Ticks since the system started.
    pub(crate) started_ticks: u64,
    pub(crate) usage: Usage,
}

/// One value of `/proc/PID/io`.
fn io_number(text: &str, name: &str) -> Option<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().parse().ok()
}

fn whole(ticks: u64) -> f64 {
    ticks as f64
}

/// Reads a process.
pub(crate) fn look_at(pid: u32) -> Option<Process> {
    let process = look_without_io(pid)?;
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let (read_bytes, written_bytes) = (io_number(&io, "read_bytes"), io_number(&io, "write_bytes"));
    Some(Process { usage: Usage { read_bytes, written_bytes, ..process.usage }, ..process })
}

/// Reads a process without its I/O.
pub(crate) fn look_without_io(pid: u32) -> Option<Process> {
    let stat = ProcessStat::read(pid)?;
    let seconds = |ticks| whole(ticks) / TICKS_PER_SECOND;
    let usage = Usage {
        user_s: seconds(stat.user_ticks),
        system_s: seconds(stat.system_ticks),
        children_user_s: seconds(stat.children_user_ticks),
        children_system_s: seconds(stat.children_system_ticks),
        scheduled: look_at_schedule(pid),
        ..Usage::default()
    };
    Some(Process { name: stat.name, parent: stat.parent, started_ticks: stat.started_ticks, usage })
}

/// Maximum age of a backend after connecting.
const AGE_MAX_S: f64 = 60.0;

/// The process with this PID if it is a new server process, so that the server is on this host.
pub(crate) fn young_server(pid: u32) -> Option<Process> {
    look_at(pid).filter(|process| {
        let is_young = age_s(process).is_some_and(|age| (-1.0..AGE_MAX_S).contains(&age));
        is_young && process.name.starts_with("postgres")
    })
}

/// Whether the server process of a new session is on this host, in the same PID namespace.
pub fn is_server_here(process_id: u32) -> bool {
    young_server(process_id).is_some()
}

/// Age of the process in seconds.
pub(crate) fn age_s(process: &Process) -> Option<f64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Some(uptime - whole(process.started_ticks) / TICKS_PER_SECOND)
}

/// Parses `/proc/PID/schedstat`: time on a CPU, run delay, time slices; all are 0 if the kernel does not count. Source:
/// the kernel's Documentation/scheduler/sched-stats.rst.
fn schedule(text: &str) -> Option<Scheduled> {
    const NANOS_PER_SECOND: f64 = 1e9;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (cpu, delay) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let scheduled = Scheduled { cpu_s: cpu / NANOS_PER_SECOND, run_delay_s: delay / NANOS_PER_SECOND };
    (cpu > 0.0).then_some(scheduled)
}

fn look_at_schedule(pid: u32) -> Option<Scheduled> {
    schedule(&fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?)
}

/// CPU time of a process, user and system together, with a resolution of a nanosecond.
pub fn cpu_s(pid: u32) -> Option<f64> {
    look_at_schedule(pid).map(|scheduled| scheduled.cpu_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_understood_where_the_kernel_counts() {
        let expected = Scheduled { cpu_s: 1.5, run_delay_s: 0.25 };
        assert_eq!(schedule("1500000000 250000000 77\n"), Some(expected));
        for nothing in ["0 0 0\n", "", "1500000000", "x y z"] {
            assert_eq!(schedule(nothing), None);
        }
    }

    #[test]
    fn bytes_really_read_are_not_those_asked_for() {
        let io = "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 8192\n";
        assert_eq!((io_number(io, "read_bytes"), io_number(io, "write_bytes")), (Some(4096.0), Some(8192.0)));
        assert_eq!(io_number("", "read_bytes"), None);
    }

    #[test]
    fn this_process_is_there() {
        let own = look_at(std::process::id()).unwrap();
        assert!(own.usage.user_s >= 0.0 && age_s(&own).is_some_and(|age| age >= 0.0));
    }
}
