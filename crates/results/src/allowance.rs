//! Resource limits of a process: CPUs, by affinity and the CPU quotas of its control groups, and memory, by their
//! limits (cgroups(7); Linux's "Control Group v2", sections "CPU" and "Memory"; for version 1 "CFS Bandwidth Control"
//! and "Memory Resource Controller"). Read from `/proc` and `/sys`; unreadable limits are ignored.

use std::fs;
use std::path::{Path, PathBuf};

use crate::system_files::{memory_bytes, read};

/// Mount points of control groups version 2, and of controllers in version 1.
const UNIFIED: &str = "/sys/fs/cgroup";
const VERSION_1_CPU: &[&str] = &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];
const VERSION_1_MEMORY: &[&str] = &["/sys/fs/cgroup/memory"];

/// CPUs available to a process; a fraction if a quota limits them. `None` if unknown.
pub fn cpus_allowed(process_id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process_id}/status")).ok()?;
    let affinity =
        f64::from(listed(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)?);
    let groups = control_groups(&groups_of(process_id), "cpu", VERSION_1_CPU);
    Some(groups.iter().filter_map(|group| quota(group)).fold(affinity, f64::min))
}

/// Bytes of memory available to a process. `None` if unknown.
pub fn memory_allowed(process_id: u32) -> Option<u64> {
    let groups = control_groups(&groups_of(process_id), "memory", VERSION_1_MEMORY);
    let total_bytes = memory_bytes(&read("/proc/meminfo"))?;
    Some(groups.iter().filter_map(|group| memory_limit(group)).fold(total_bytes, u64::min))
}

fn groups_of(process_id: u32) -> String {
    fs::read_to_string(format!("/proc/{process_id}/cgroup")).unwrap_or_default()
}

/// Number of CPUs in a list such as `0-3,8`.
fn listed(list: &str) -> Option<u32> {
    let mut count: u32 = 0;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// The directories of the control groups in `/proc/…/cgroup` for a controller, and of their parents.
fn control_groups(groups: &str, controller: &str, version_1: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_start_matches('/');
        // Groups outside of this namespace are not visible.
        if path.starts_with("..") {
            continue;
        }
        if controllers.is_empty() {
            found.extend(around(UNIFIED, path));
        } else if controllers.split(',').any(|it| it == controller) {
            found.extend(version_1.iter().flat_map(|root| around(root, path)));
        }
    }
    found
}

/// The CPU quota of a control group.
fn quota(group: &Path) -> Option<f64> {
    let read = |file| fs::read_to_string(group.join(file)).ok();
    match read("cpu.max") {
        Some(cpu_max) => unified(&cpu_max),
        None => version_1(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?),
    }
}

/// The memory limit of a control group in bytes; `None` for `max`.
fn memory_limit(group: &Path) -> Option<u64> {
    let mut limits = ["memory.max", "memory.limit_in_bytes"].into_iter();
    limits.find_map(|file| read(group.join(file)).trim().parse().ok())
}

/// A control group and its parents, up to the root.
fn around(root: &str, path: &str) -> Vec<PathBuf> {
    let root = Path::new(root);
    root.join(path).ancestors().take_while(|group| group.starts_with(root)).map(Path::to_owned).collect()
}

/// `50000 100000` means half a CPU, `max 100000` no limit.
fn unified(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    version_1(quota, period)
}

/// A quota of −1 means no limit.
fn version_1(quota_us: &str, period_us: &str) -> Option<f64> {
    let (quota_us, period_us): (f64, f64) = (quota_us.trim().parse().ok()?, period_us.trim().parse().ok()?);
    (quota_us > 0.0 && period_us > 0.0).then(|| quota_us / period_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        assert_eq!(listed("\t0-3,8\n"), Some(5));
        assert_eq!(listed("7"), Some(1));
        assert_eq!([listed(""), listed("3-1"), listed("x"), listed("0-4294967295")], [None; 4]);
    }

    #[test]
    fn quotas_are_shares_of_a_period() {
        assert_eq!(unified("50000 100000\n"), Some(0.5));
        assert_eq!(unified("max 100000"), None);
        assert_eq!(version_1("-1\n", "100000\n"), None);
        assert_eq!(version_1("250000\n", "100000\n"), Some(2.5));
    }

    #[test]
    fn quotas_of_the_groups_around_count_too() {
        let groups = around("/sys/fs/cgroup", "a/b");
        let expected = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        assert_eq!(groups, expected.map(PathBuf::from));
    }

    #[test]
    fn groups_are_those_of_the_controller() {
        let groups = "0::/a\n3:cpu,cpuacct:/b\n4:memory:/c\n5:cpuset:/../d\n";
        let memory = control_groups(groups, "memory", VERSION_1_MEMORY);
        let expected =
            ["/sys/fs/cgroup/a", "/sys/fs/cgroup", "/sys/fs/cgroup/memory/c", "/sys/fs/cgroup/memory"];
        assert_eq!(memory, expected.map(PathBuf::from));
        assert_eq!(control_groups("0::/../a\n", "cpu", VERSION_1_CPU), Vec::<PathBuf>::new());
    }

    #[test]
    fn the_quota_of_a_group_is_in_its_files() {
        let group = tempfile::tempdir().unwrap();
        let write = |file, text| fs::write(group.path().join(file), text).unwrap();
        assert_eq!(quota(group.path()), None);
        write("cpu.cfs_quota_us", "250000\n");
        write("cpu.cfs_period_us", "100000\n");
        assert_eq!(quota(group.path()), Some(2.5));
        write("cpu.max", "max 100000\n");
        assert_eq!(quota(group.path()), None);
    }

    #[test]
    fn a_memory_limit_is_a_number_of_bytes() {
        let group = tempfile::tempdir().unwrap();
        let limit = |file, text| {
            fs::write(group.path().join(file), text).unwrap();
            memory_limit(group.path())
        };
        assert_eq!(memory_limit(group.path()), None);
        assert_eq!(limit("memory.max", "max\n"), None);
        assert_eq!(limit("memory.max", "1048576\n"), Some(1 << 20));
    }

    #[test]
    fn this_process_may_use_some_processors_and_memory() {
        let memory_bytes = memory_allowed(std::process::id());
        assert!(memory_bytes.is_some_and(|bytes| bytes > 0), "{memory_bytes:?}");
        let allowed = cpus_allowed(std::process::id());
        assert!(allowed.is_some_and(|cpus| cpus > 0.0), "{allowed:?}");
    }
}
