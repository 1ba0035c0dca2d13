//! The memory of this machine or container: total and available. Used for a server's shared buffers, and to decide
//! whether several servers can run at the same time.

use std::fs;

/// Files with a container's limit and usage, in version 2 and version 1 of control groups.
const GROUPS: [[&str; 3]; 2] = [
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"],
    [
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ],
];

/// Memory that this machine or container may use, in bytes; `None` if unknown.
pub(crate) fn memory() -> Option<u64> {
    let limits = GROUPS.iter().filter_map(|[limit, ..]| number(&read(limit)));
    limits.chain(kilobytes(&read("/proc/meminfo"), "MemTotal:")).min()
}

/// Available memory in bytes; the page cache can be reclaimed and counts as free.
pub fn available_memory() -> Option<u64> {
    let of_group = |[limit, used, stat]: &[&str; 3]| left_of_group(&read(limit), &read(used), &read(stat));
    let limits = GROUPS.iter().filter_map(of_group);
    limits.chain(kilobytes(&read("/proc/meminfo"), "MemAvailable:")).min()
}

/// The limit minus the usage without the page cache; shared memory is part of the cache but cannot be reclaimed.
fn left_of_group(limit: &str, used: &str, stat: &str) -> Option<u64> {
    let of_stat = |names: [&str; 2]| {
        let lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter(|(name, _)| names.contains(name))
            .filter_map(|(_, value)| number(value))
            .max()
            .unwrap_or(0)
    };
    let cached = of_stat(["file", "total_cache"]).saturating_sub(of_stat(["shmem", "total_shmem"]));
    Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cached)))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// `max` means no limit.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    number(line.trim().strip_suffix("kB")?)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory_is_read_in_kilobytes() {
        let meminfo = "MemTotal:       24684092 kB\nMemFree: 1 kB\nMemAvailable: 7 kB\n";
        assert_eq!(kilobytes(meminfo, "MemTotal:"), Some(24_684_092 * 1024));
        assert_eq!(kilobytes(meminfo, "MemAvailable:"), Some(7 * 1024));
        assert_eq!(kilobytes("nothing\n", "MemTotal:"), None);
        assert!(available_memory() <= memory(), "what is left is no more than what there is");
    }

    #[test]
    fn a_container_can_give_up_cached_files_but_not_shared_memory() {
        let stat = "anon 300\nfile 500\nshmem 100\n";
        assert_eq!(left_of_group("1000\n", "800\n", stat), Some(1000 - (800 - 400)));
        let first_version = "cache 1\ntotal_cache 500\ntotal_shmem 100\n";
        assert_eq!(left_of_group("1000", "800", first_version), Some(600));
        assert_eq!(left_of_group("max\n", "800\n", stat), None);
        assert_eq!(left_of_group("1000", "1200", ""), Some(0));
    }
}
