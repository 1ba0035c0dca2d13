//! What Linux says of the server's processes and of the host, where the server is on this host: `/proc`.
//! The texts are understood here by pure functions; the few that open files are at the end.
//!
//! Manual: proc_pid_stat(5), proc_pid_io(5), proc_stat(5).

use std::fs;

/// Ticks of the kernel's accounting in a second; Linux shows user space 100 on every platform (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time and true reads and writes of a process, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    /// Of its children that have ended.
    pub(crate) children_user_s: f64,
    pub(crate) children_system_s: f64,
    /// `None` where the kernel does not count it.
    pub(crate) scheduled: Option<Scheduled>,
    /// `None` where we may not look.
    pub(crate) read_bytes: Option<f64>,
    pub(crate) written_bytes: Option<f64>,
}

/// What the scheduler counts of a process, to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scheduled {
    /// On a processor, in user space and in the kernel.
    pub(crate) cpu_s: f64,
    /// Ready to run, waiting for a processor.
    pub(crate) run_delay_s: f64,
}

impl Usage {
    /// CPU time, as exactly as it is known.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.scheduled.map_or(self.user_s + self.system_s, |scheduled| scheduled.cpu_s)
    }
}

/// Who a process is: a number used again has another beginning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) parent: u32,
    /// Ticks since the system started.
    pub(crate) started_ticks: u64,
    pub(crate) usage: Usage,
}

/// Understands `/proc/PID/stat`.
fn process(stat: &str) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    // The fields are numbered from 1 in the manual; the first behind the name is the third.
    let fields: Vec<_> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let seconds = |number| field(number).map(|ticks| whole(ticks) / TICKS_PER_SECOND);
    Some(Process {
        name,
        parent: u32::try_from(field(4)?).ok()?,
        started_ticks: field(22)?,
        usage: Usage {
            user_s: seconds(14)?,
            system_s: seconds(15)?,
            children_user_s: seconds(16)?,
            children_system_s: seconds(17)?,
            scheduled: None,
            read_bytes: None,
            written_bytes: None,
        },
    })
}

/// One number of `/proc/PID/io`.
fn io_number(text: &str, name: &str) -> Option<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    value.trim().parse().ok()
}

/// Times of all processors together, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostTimes {
    all: f64,
    idle: f64,
    iowait: f64,
    steal: f64,
}

/// Shares of the processors' time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HostShares {
    /// Neither idle, nor waiting for a disk, nor taken by another guest.
    pub(crate) busy: f64,
    pub(crate) iowait: f64,
    pub(crate) steal: f64,
}

/// Understands the first line of `/proc/stat`: user nice system idle iowait irq softirq steal; guests' time is in
/// user's already.
fn host_times(stat: &str) -> Option<HostTimes> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().take(8).filter_map(|text| text.parse().ok()).collect();
    let [_, _, _, idle, iowait, _, _, steal] = ticks.as_slice() else { return None };
    Some(HostTimes { all: ticks.iter().sum(), idle: *idle, iowait: *iowait, steal: *steal })
}

impl HostTimes {
    /// What became of the time since `earlier`. The kernel's count of iowait may go back; that is none.
    pub(crate) fn since(&self, earlier: &HostTimes) -> Option<HostShares> {
        let all = self.all - earlier.all;
        let share = |now: f64, then: f64| ((now - then) / all).clamp(0.0, 1.0);
        (all > 0.0).then(|| {
            let (idle, iowait) = (share(self.idle, earlier.idle), share(self.iowait, earlier.iowait));
            let steal = share(self.steal, earlier.steal);
            HostShares { busy: (1.0 - idle - iowait - steal).max(0.0), iowait, steal }
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "ticks since a start are far below 2⁵³")]
fn whole(ticks: u64) -> f64 {
    ticks as f64
}

/// Looks at a process.
pub(crate) fn look_at(pid: u32) -> Option<Process> {
    let mut process = process(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    process.usage.scheduled = look_at_schedule(pid);
    if let Ok(io) = fs::read_to_string(format!("/proc/{pid}/io")) {
        process.usage.read_bytes = io_number(&io, "read_bytes");
        process.usage.written_bytes = io_number(&io, "write_bytes");
    }
    Some(process)
}

/// A process that began when our session did is our session's; the kernel's clock ticks in hundredths of a second.
const AGE_MAX_S: f64 = 60.0;

/// The process of that number, if it is a server's and has just begun: then the server is on this host.
pub(crate) fn young_server(pid: u32) -> Option<Process> {
    look_at(pid).filter(|process| {
        let is_young = age_s(process).is_some_and(|age| (-1.0..AGE_MAX_S).contains(&age));
        is_young && process.name.starts_with("postgres")
    })
}

/// Looks at the host.
pub(crate) fn look_at_host() -> Option<HostTimes> {
    host_times(&fs::read_to_string("/proc/stat").ok()?)
}

/// Seconds since this process number was given to somebody.
pub(crate) fn age_s(process: &Process) -> Option<f64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Some(uptime - whole(process.started_ticks) / TICKS_PER_SECOND)
}

/// Understands `/proc/PID/schedstat`: time on a processor, run delay, turns; all are 0 where the kernel does not count.
/// Source: the kernel's Documentation/scheduler/sched-stats.rst.
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

/// CPU time of a process to the nanosecond, which does not tell user from system.
pub fn cpu_s(pid: u32) -> Option<f64> {
    look_at_schedule(pid).map(|scheduled| scheduled.cpu_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_understood_whatever_its_name_holds() {
        let stat = "42 (post) gres (x) S 7 42 42 0 -1 4194624 9 0 0 0 150 25 1000 200 20 0 1 0 8812 1 1 1";
        let process = process(stat).unwrap();
        assert_eq!(
            (process.name.as_str(), process.parent, process.started_ticks),
            ("post) gres (x", 7, 8812)
        );
        let Usage { user_s, system_s, children_user_s, children_system_s, .. } = process.usage;
        assert_eq!((user_s, system_s, children_user_s, children_system_s), (1.5, 0.25, 10.0, 2.0));
    }

    #[test]
    fn a_schedule_is_understood_where_the_kernel_counts() {
        let expected = Scheduled { cpu_s: 1.5, run_delay_s: 0.25 };
        assert_eq!(schedule("1500000000 250000000 77\n"), Some(expected));
        for nothing in ["0 0 0\n", "", "1500000000", "x y z"] {
            assert_eq!(schedule(nothing), None);
        }
    }

    #[test]
    fn what_is_cut_short_is_nobody() {
        for stat in ["", "42", "42 (x", "42 (x) S 7"] {
            assert_eq!(process(stat), None);
        }
    }

    #[test]
    fn bytes_really_read_are_not_those_asked_for() {
        let io = "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 8192\n";
        assert_eq!((io_number(io, "read_bytes"), io_number(io, "write_bytes")), (Some(4096.0), Some(8192.0)));
        assert_eq!(io_number("", "read_bytes"), None);
    }

    #[test]
    fn a_hosts_time_is_shared_out() {
        let earlier = host_times("cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 1 1\n").unwrap();
        let later = host_times("cpu  30 0 20 25 15 0 0 10 0 0\n").unwrap();
        let HostShares { busy, iowait, steal } = later.since(&earlier).unwrap();
        assert!((busy - 0.5).abs() < 1e-9 && (iowait - 0.15).abs() < 1e-9 && (steal - 0.1).abs() < 1e-9);
        assert_eq!(later.since(&later), None);
        assert_eq!(host_times("cpu  1 2"), None);
    }

    #[test]
    fn this_process_is_there() {
        let own = look_at(std::process::id()).unwrap();
        assert!(own.usage.user_s >= 0.0 && age_s(&own).is_some_and(|age| age >= 0.0));
    }
}
