//! File systems in memory for the files of tests. Creating a server writes about a thousand small files, which takes most
//! of its time on a disk. They are mounted in a mount namespace of their own, so that they end with the last process in it,
//! even if `xtask` is killed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The name of the file systems in the list of mounts.
const NAME: &str = "pgmeter-ci";
/// Tells the program that it is in the namespace.
const IN_NAMESPACE: &str = "PGMETER_CI_MOUNTS";
/// Below this much available memory, files stay on the disk: the tests write several gigabytes.
const MIN_AVAILABLE_KIB: u64 = 12 << 20;
/// Limits the mistakes of a test, not the tests.
const OPTIONS: [&str; 4] = ["-t", "tmpfs", "-o", "size=60%,mode=0755"];
/// Limits of the memory of a container, in bytes; `max` is none.
const CONTAINER_LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// Starts this program again in a mount namespace, if that is possible and has not been done; otherwise returns.
pub fn enter_namespace(arguments: &[&str]) {
    if may_mount() || available_kib() < MIN_AVAILABLE_KIB {
        return;
    }
    // One that ends at once, with a file system over the folder of temporary files.
    let tried = succeeds(in_namespace("mount").args(OPTIONS).arg(NAME).arg(std::env::temp_dir()));
    if let (true, Ok(program)) = (tried, std::env::current_exe()) {
        // It returns only if it fails; then the files stay on the disk.
        let _ = in_namespace(program).arg("ci").args(arguments).env(IN_NAMESPACE, "private").exec();
    }
}

fn in_namespace(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(program);
    command
}

/// Whether this process is in a namespace of its own, in which it can mount.
pub fn may_mount() -> bool {
    std::env::var_os(IN_NAMESPACE).is_some()
}

/// Mounts an empty file system at a folder.
pub fn mount(folder: &Path) -> io::Result<()> {
    let status = Command::new("mount").args(OPTIONS).arg(NAME).arg(folder).status()?;
    let failed = || io::Error::other(format!("mount at {} failed: {status}", folder.display()));
    status.success().then_some(()).ok_or_else(failed)
}

/// Unmounts what was mounted at a folder; open files stay until they are closed.
pub fn unmount(folder: &Path) {
    succeeds(Command::new("umount").arg("--lazy").arg(folder));
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Memory that is available, at most the limit of a container.
fn available_kib() -> u64 {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let limits = CONTAINER_LIMITS.iter().filter_map(|path| text(path).trim().parse::<u64>().ok());
    limits.map(|bytes| bytes / 1024).fold(available_in(&text("/proc/meminfo")), u64::min)
}

fn available_in(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_read_from_the_kernels_file() {
        assert_eq!(available_in("MemTotal:  10 kB\nMemAvailable:   24684096 kB\n"), 24_684_096);
        assert_eq!(available_in("MemTotal:  10 kB\n"), 0);
    }
}
