//! How many processors a process may use: its affinity and the CPU quotas of its control groups (cgroups(7); Linux's
//! "Control Group v2", section "CPU"; for version 1 "CFS Bandwidth Control"). From `/proc` and `/sys`; what cannot be
//! read is no limit.

use std::fs;
use std::path::{Path, PathBuf};

/// Where version 2 of control groups is mounted, and its controller of processors in version 1.
const UNIFIED: &str = "/sys/fs/cgroup";
const VERSION_1: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/// Processors that a process may use, a fraction where a quota says so. `None` if the system does not tell.
pub fn cpus_allowed(process_id: u32) -> Option<f64> {
    let process = PathBuf::from(format!("/proc/{process_id}"));
    let status = fs::read_to_string(process.join("status")).ok()?;
    let affinity =
        f64::from(listed(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)?);
    let groups = fs::read_to_string(process.join("cgroup")).unwrap_or_default();
    Some(quotas(&groups).into_iter().fold(affinity, f64::min))
}

/// The processors of a list such as `0-3,8`.
fn listed(list: &str) -> Option<u32> {
    let mut count: u32 = 0;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// The quotas of the control groups that `/proc/…/cgroup` names, and of those around them.
fn quotas(groups: &str) -> Vec<f64> {
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = path.trim_start_matches('/');
        // Of a group outside of this namespace there is nothing to be seen here.
        if path.starts_with("..") {
            continue;
        }
        if controllers.is_empty() {
            let quota = |group: &Path| unified(&fs::read_to_string(group.join("cpu.max")).ok()?);
            found.extend(around(UNIFIED, path).iter().filter_map(|group| quota(group)));
        } else if controllers.split(',').any(|it| it == "cpu") {
            let read = |file: PathBuf| fs::read_to_string(file).ok();
            let quota = |group: &Path| {
                version_1(&read(group.join("cpu.cfs_quota_us"))?, &read(group.join("cpu.cfs_period_us"))?)
            };
            let groups = VERSION_1.iter().flat_map(|root| around(root, path));
            found.extend(groups.filter_map(|group| quota(&group)));
        }
    }
    found
}

/// A control group and those that it is in, up to the root.
fn around(root: &str, path: &str) -> Vec<PathBuf> {
    let root = Path::new(root);
    root.join(path).ancestors().take_while(|group| group.starts_with(root)).map(Path::to_owned).collect()
}

/// `50000 100000` is half a processor, `max 100000` no limit.
fn unified(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    version_1(quota, period)
}

/// A quota of −1 is no limit.
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
    fn this_process_may_use_some_processors() {
        let allowed = cpus_allowed(std::process::id());
        assert!(allowed.is_some_and(|cpus| cpus > 0.0), "{allowed:?}");
    }
}
