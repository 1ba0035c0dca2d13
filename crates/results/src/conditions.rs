//! What else of the client's host bears on how fast things are: clocks, processors, neighbours. Read from `/proc` and
//! `/sys`; what cannot be found out is `None`, never a guess and never an error. Asked by `cli` around a run, never in it.

use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ProcessStat;
use crate::host::read;

/// What bears on the speed of the host that pgmeter ran on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// What chooses the processors' frequency, such as `performance`; several, joined by `, `, if they differ.
    pub governor: Option<String>,
    /// What the kernel reads the time from, such as `tsc`.
    pub clock_source: Option<String>,
    /// What it is a virtual machine of, such as `KVM`; `null` if it is none, or does not tell.
    pub virtualisation: Option<String>,
    /// What pgmeter's container is made by, such as `docker`; `null` if it is in none, or does not tell.
    pub container: Option<String>,
    /// Processes that ran or wanted to, over the minute before the run.
    pub load_average_1m: Option<f64>,
    /// How its processors spent the run; `null` if they could not be seen.
    pub processors: Option<ProcessorShares>,
}

/// How all processors of a host together spent some time; shares are from 0 to 1.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorShares {
    /// They were busy, with whatever it was.
    pub busy: f64,
    /// They were busy with pgmeter.
    pub own: f64,
    /// They were taken away by the hypervisor.
    pub stolen: f64,
}

impl Conditions {
    /// Asks the operating system; `processors` are for the end of the run.
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

/// The counters of the processors at some moment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ProcessorTimes {
    busy_ticks: u64,
    idle_ticks: u64,
    iowait_ticks: u64,
    stolen_ticks: u64,
    own_ticks: u64,
}

impl ProcessorTimes {
    /// As they are now; `None` where the system does not tell.
    pub fn now() -> Option<ProcessorTimes> {
        ProcessorTimes::of(&read("/proc/stat"), &read("/proc/self/stat"))
    }

    /// `stat` as proc_stat(5) has it, of a process as proc_pid_stat(5) has it, both in the same ticks.
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

    /// How the processors spent the time from `self` to `later`; `None` if there was hardly any.
    pub fn until(&self, later: &ProcessorTimes) -> Option<ProcessorShares> {
        Some(ProcessorShares {
            busy: self.share(later, |times| times.busy_ticks)?,
            own: self.share(later, |times| times.own_ticks)?,
            stolen: self.share(later, |times| times.stolen_ticks)?,
        })
    }

    /// The share of the same time in which processors were idle while something waited for a disk.
    pub fn iowait_until(&self, later: &ProcessorTimes) -> Option<f64> {
        self.share(later, |times| times.iowait_ticks)
    }

    /// The kernel's count of iowait may decrease, which counts as no growth.
    fn share(&self, later: &ProcessorTimes, of: fn(&ProcessorTimes) -> u64) -> Option<f64> {
        let grown = |of: fn(&ProcessorTimes) -> u64| of(later).saturating_sub(of(self));
        let not_busy = grown(|times| times.idle_ticks) + grown(|times| times.iowait_ticks);
        let all = grown(|times| times.busy_ticks) + grown(|times| times.stolen_ticks) + not_busy;
        (all > 0).then(|| (grown(of) as f64 / all as f64).min(1.0))
    }
}

/// The content of a file with a single word.
fn word(path: impl AsRef<Path>) -> Option<String> {
    Some(read(path).trim().to_owned()).filter(|word| !word.is_empty())
}

/// Of all groups of processors, in alphabetical order.
fn governors(directory: &Path) -> Option<String> {
    let policies = fs::read_dir(directory).ok()?.flatten();
    let mut found: Vec<String> =
        policies.filter_map(|policy| word(policy.path().join("scaling_governor"))).collect();
    found.sort();
    found.dedup();
    Some(found.join(", ")).filter(|names| !names.is_empty())
}

/// Names that hypervisors give the machines they make, in the firmware's tables, and what people call them.
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

/// A processor that says `hypervisor` is a virtual machine's, whosever it is; without it a name in the firmware's
/// tables is one of a machine that is rented whole.
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

/// As the makers of containers mark them.
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
