//! File systems in memory for the files of tests. Creating a server writes about a thousand small files, which takes most
//! of its time on a disk. They are mounted in a mount namespace of their own, so that they end with the last process in it,
//! even if `xtask` is killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Tells the program that it is in the namespace.
const IN_NAMESPACE: &str = "PGMETER_CI_MOUNTS";
/// Below this much available memory, files stay on the disk: the tests write several gigabytes.
const MIN_AVAILABLE_KIB: u64 = 12 << 20;
/// Limits the mistakes of a test, not the tests.
const SIZE: &str = "size=60%,mode=0755";

/// Starts this program again in a mount namespace, if that is possible and has not been done; otherwise returns.
pub fn enter_namespace(arguments: &[&str]) {
    if may_mount() || available_kib() < MIN_AVAILABLE_KIB {
        return;
    }
    let is_allowed = quiet(Command::new("unshare").args(["--mount", "true"]));
    if let (true, Ok(program)) = (is_allowed, std::env::current_exe()) {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]).arg(program).arg("ci").args(arguments);
        // It returns only if it fails; then the files stay on the disk.
        let _ = command.env(IN_NAMESPACE, "private").exec();
    }
}

/// Whether this process is in a namespace of its own.
pub fn may_mount() -> bool {
    std::env::var_os(IN_NAMESPACE).is_some()
}

/// Mounts an empty file system at a folder; false if this machine does not permit it.
pub fn mount(folder: &Path) -> io::Result<bool> {
    let status =
        Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "pgmeter-ci"]).arg(folder).status()?;
    Ok(status.success())
}

/// Unmounts what was mounted at a folder; open files stay until they are closed.
pub fn unmount(folder: &Path) {
    quiet(Command::new("umount").arg("--lazy").arg(folder));
}

fn quiet(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn available_kib() -> u64 {
    available_in(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default())
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
