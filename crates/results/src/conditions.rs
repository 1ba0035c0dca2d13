//! Conditions of the client's host that affect speed: clocks, CPUs, virtualization, other programs. Read from `/proc`
//! and `/sys` by `cli` before and after a run; values that cannot be read are `None`.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ProcessStat;
use crate::system_files::read;

/// Conditions that affect the speed of pgmeter's host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// CPU frequency governor, such as `performance`; different ones are joined by `, `.
    pub governor: Option<String>,
    /// The kernel's clock source, such as `tsc`.
    pub clock_source: Option<String>,
    /// Hypervisor, such as `KVM`; `null` if there is none or it is unknown.
    pub virtualisation: Option<String>,
    /// Container runtime of pgmeter, such as `docker`; `null` if there is none or it is unknown.
    pub container: Option<String>,
    /// Load average over the minute before the run.
    pub load_average_1m: Option<f64>,
    /// CPU use during the run; `null` if unknown.
    pub processors: Option<ProcessorShares>,
}

/// CPU use of a host over a period, summed over all CPUs; shares from 0 to 1.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorShares {
    /// Share in which CPUs were busy, with any program.
    pub busy: f64,
    /// Share used by pgmeter.
    pub own: f64,
    /// Share stolen by the hypervisor.
    pub stolen: f64,
}

impl Conditions {
    /// Reads the conditions; the caller fills in `processors` at the end of the run.
    pub fn detect() -> Conditions {
        Conditions {
            governor: governors(Path::new("/sys/devices/system/cpu/cpufreq")),
            clock_source: word("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            virtualisation: virtualisation(),
            container: container(),
            load_average_1m: load_average(&read("/proc/loadavg")),
            processors: None,
        }
    }
}

/// The CPU counters at one moment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    busy_ticks: u64,
    idle_ticks: u64,
    iowait_ticks: u64,
    stolen_ticks: u64,
    own_ticks: u64,
}

impl ProcessorTimes {
    /// The current counters; `None` if the system does not provide them.
    pub fn now() -> Option<ProcessorTimes> {
        ProcessorTimes::of(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    /// Parses `stat` as in proc_stat(5), and `own` as in proc_pid_stat(5); both have the same ticks.
    fn of(stat: &str, own: &str) -> Option<ProcessorTimes> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, stolen, ..] = *ticks.as_slice() else {
            return None;
        };
        let own = ProcessStat::parse(own)?;
        Some(ProcessorTimes {
            busy_ticks: user + nice + system + irq + softirq,
            idle_ticks: idle,
            iowait_ticks: iowait,
            stolen_ticks: stolen,
            own_ticks: own.user_ticks + own.system_ticks,
        })
    }

    /// CPU use from `self` to `later`; `None` for a period without ticks.
    pub fn until(&self, later: &ProcessorTimes) -> Option<ProcessorShares> {
        Some(ProcessorShares {
            busy: self.share(later, |times| times.busy_ticks)?,
            own: self.share(later, |times| times.own_ticks)?,
            stolen: self.share(later, |times| times.stolen_ticks)?,
        })
    }

    /// Share of the same period in which CPUs were idle while a process waited for a disk.
    pub fn iowait_until(&self, later: &ProcessorTimes) -> Option<f64> {
        self.share(later, |times| times.iowait_ticks)
    }

    /// The kernel's counter of iowait can decrease; a decrease counts as zero.
    fn share(&self, later: &ProcessorTimes, of: fn(&ProcessorTimes) -> u64) -> Option<f64> {
        let grown = |of: fn(&ProcessorTimes) -> u64| of(later).saturating_sub(of(self));
        let not_busy = grown(|times| times.idle_ticks) + grown(|times| times.iowait_ticks);
        let all = grown(|times| times.busy_ticks) + grown(|times| times.stolen_ticks) + not_busy;
        (all > 0).then(|| (grown(of) as f64 / all as f64).min(1.0))
    }
}

/// The content of a one-word file.
fn word(path: impl AsRef<Path>) -> Option<String> {
    Some(read(path).trim().to_owned()).filter(|word| !word.is_empty())
}

/// Governors of all CPU groups, in alphabetical order.
fn governors(directory: &Path) -> Option<String> {
    let policies = fs::read_dir(directory).ok()?.flatten();
    let mut found: Vec<String> =
        policies.filter_map(|policy| word(policy.path().join("scaling_governor"))).collect();
    found.sort();
    found.dedup();
    Some(found.join(", ")).filter(|names| !names.is_empty())
}

/// Hypervisors: the names in their firmware tables, and common names.
const HYPERVISORS: [(&str, &str); 10] = [
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Virtual Machine", "Hyper-V"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Parallels", "Parallels"),
    ("OpenStack", "OpenStack"),
    ("HVM domU", "Xen"),
    ("KVM", "KVM"),
    ("QEMU", "KVM"),
];

fn virtualisation() -> Option<String> {
    let firmware = ["sys_vendor", "product_name", "board_vendor"]
        .map(|name| read(Path::new("/sys/class/dmi/id").join(name)))
        .join(" ");
    let kind = word("/sys/hypervisor/type");
    hypervisor(&firmware, kind.as_deref(), &read("/proc/cpuinfo"))
}

/// The CPU flag `hypervisor` identifies a virtual machine. Without it, a hypervisor's name in the firmware tables
/// belongs to a bare-metal instance.
fn hypervisor(firmware: &str, kind: Option<&str>, cpuinfo: &str) -> Option<String> {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"));
    let is_x86 = flags.is_some_and(|line| line.starts_with("flags"));
    let has_flag = flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"));
    if is_x86 && !has_flag {
        return None;
    }
    let named = HYPERVISORS.iter().find(|(name, _)| firmware.contains(name)).map(|(_, called)| *called);
    let named = named.or(kind.filter(|kind| *kind == "xen").map(|_| "Xen"));
    named.map(str::to_owned).or_else(|| has_flag.then(|| "unknown hypervisor".to_owned()))
}

/// Detects container runtimes by their marker files and variables.
fn container() -> Option<String> {
    let marks = [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")];
    let marked = marks.iter().find(|(path, _)| Path::new(path).exists()).map(|(_, name)| (*name).to_owned());
    marked.or_else(|| container_in(&read("/proc/1/cgroup")).map(str::to_owned))
}

fn container_in(cgroup: &str) -> Option<&'static str> {
    let makers = [("kubepods", "kubernetes"), ("docker", "docker"), ("lxc", "lxc")];
    makers.into_iter().find(|(mark, _)| cgroup.contains(mark)).map(|(_, name)| name)
}

fn load_average(loadavg: &str) -> Option<f64> {
    loadavg.split_whitespace().next()?.parse().ok().filter(|load: &f64| *load >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_apart_by_what_they_did() {
        let stat = |user: u64, idle: u64, stolen: u64| {
            format!("cpu  {user} 0 100 {idle} 5 0 0 {stolen} 0 0\ncpu0 1 2 3\n")
        };
        let own = |user: u64| format!("7 (a ) b) S 1 7 7 0 -1 4194304 1 0 0 0 {user} 10 0 0 20 0 1 0 5 6 7");
        let before = ProcessorTimes::of(&stat(1_000, 9_000, 0), &own(50)).unwrap();
        let after = ProcessorTimes::of(&stat(1_600, 9_200, 200), &own(350)).unwrap();
        let shares = before.until(&after).unwrap();
        assert_eq!((shares.busy, shares.own, shares.stolen), (0.6, 0.3, 0.2));
        assert_eq!(before.iowait_until(&after), Some(0.0));
        assert_eq!(before.until(&before), None);
        assert_eq!(ProcessorTimes::of("cpu 1 2 3", &own(1)), None);
        assert_eq!(ProcessorTimes::of(&stat(1, 1, 1), "7 (a S"), None);
    }

    #[test]
    fn this_host_tells_how_its_processors_spent_their_time() {
        assert!(ProcessorTimes::now().is_some());
    }

    #[test]
    fn a_virtual_machine_is_known_by_its_processor_and_named_by_its_firmware() {
        let check = |firmware: &str, cpuinfo: &str, expected: Option<&str>| {
            assert_eq!(hypervisor(firmware, None, cpuinfo).as_deref(), expected, "{firmware}");
        };
        check("QEMU Standard PC", "flags\t: fpu hypervisor avx", Some("KVM"));
        check("Amazon EC2 m7i.large", "flags\t: hypervisor", Some("Amazon EC2"));
        check("Amazon EC2 m7i.metal-24xl", "flags\t: fpu", None);
        check("Amazon EC2 m7g.large", "Features\t: fp asimd", Some("Amazon EC2"));
        check("", "flags\t: hypervisor", Some("unknown hypervisor"));
        check("Dell Inc. PowerEdge", "flags\t: fpu", None);
        assert_eq!(hypervisor("", Some("xen"), "Features : fp").as_deref(), Some("Xen"));
    }

    #[test]
    fn all_governors_in_use_are_named() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(governors(dir.path()), None);
        for (policy, governor) in
            [("policy0", "powersave\n"), ("policy1", "performance\n"), ("policy2", "powersave\n")]
        {
            fs::create_dir(dir.path().join(policy)).unwrap();
            fs::write(dir.path().join(policy).join("scaling_governor"), governor).unwrap();
        }
        assert_eq!(governors(dir.path()).as_deref(), Some("performance, powersave"));
    }

    #[test]
    fn load_and_containers_are_read_from_what_the_kernel_writes() {
        assert_eq!(load_average("0.52 0.58 0.59 1/467 12345\n"), Some(0.52));
        assert_eq!(load_average(""), None);
        assert_eq!(container_in("0::/kubepods/besteffort/pod1"), Some("kubernetes"));
        assert_eq!(container_in("0::/init.scope"), None);
    }
}
