//! Child processes: run to their end and say what they printed and used, or run beside others until dropped.
//! CPU time is that of all children waited for, in microseconds, so that only one is measured at a time.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// How often the memory of a running process is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What a program did that has ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub(super) stdout: String,
    /// From its start to its end.
    pub(super) wall_s: f64,
    /// User and system time of all its threads.
    pub(super) cpu_s: f64,
}

/// Runs a program; an error with what it said if it failed.
pub(super) fn run(command: &mut Command) -> Result<Ended, String> {
    let (cpu_before, started) = (children_cpu_s()?, Instant::now());
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{command:?}: {error}"))?;
    let (wall_s, cpu_s) = (started.elapsed().as_secs_f64(), children_cpu_s()? - cpu_before);
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(Ended { stdout: String::from_utf8_lossy(&output.stdout).into_owned(), wall_s, cpu_s })
}

/// Runs a program; the most memory it had (resident, in KiB).
pub(super) fn run_for_memory(command: &mut Command) -> Result<f64, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut most: f64 = 0.0;
    loop {
        // It may be gone between two looks.
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        most = most.max(resident_kib(&status).unwrap_or(0.0));
        match child.try_wait().map_err(|error| format!("{command:?}: {error}"))? {
            None => std::thread::sleep(LOOK),
            Some(status) if status.success() => return Ok(most),
            Some(status) => return Err(format!("{command:?} failed: {status}")),
        }
    }
}

/// The most that a process had so far, from proc(5)'s status.
fn resident_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// A process that serves until it is dropped: its standard input is closed then.
pub(super) struct Serving {
    child: Child,
    /// The first line that it printed.
    pub(super) said: String,
}

impl Serving {
    /// Starts it and waits for its first line.
    pub(super) fn start(command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{command:?}: {error}"))?;
        let mut said = String::new();
        let read = child.stdout.take().map(|stdout| BufReader::new(stdout).read_line(&mut said));
        let serving = Self { child, said: said.trim().to_owned() };
        match read {
            Some(Ok(count)) if count > 0 => Ok(serving),
            _ => Err(format!("{command:?} said nothing and ended")),
        }
    }
}

impl Serving {
    /// CPU seconds of all its threads so far, as far as they still run: proc(5)'s `schedstat` begins with
    /// nanoseconds on a processor.
    pub(super) fn cpu_s(&self) -> Option<f64> {
        const NANOS_PER_SECOND: f64 = 1e9;
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).ok()?;
        let nanos = tasks.flatten().map(|task| {
            let schedstat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            schedstat.split(' ').next()?.parse::<f64>().ok()
        });
        nanos.sum::<Option<f64>>().map(|nanos| nanos / NANOS_PER_SECOND)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself; one that cannot be waited for has ended.
        let _ = self.child.wait();
    }
}

/// CPU seconds of all children that have ended and were waited for.
fn children_cpu_s() -> Result<f64, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| format!("getrusage: {error}"))?;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

fn seconds(time: TimeVal) -> f64 {
    const MICROS_PER_SECOND: f64 = 1e6;
    #[allow(clippy::cast_precision_loss, reason = "seconds of a process are few")]
    let (seconds, micros) = (time.tv_sec() as f64, time.tv_usec() as f64);
    seconds + micros / MICROS_PER_SECOND
}

/// What a program says about its version; nothing if it says nothing.
pub(super) fn version(program: &Path) -> String {
    run(Command::new(program).arg("--version"))
        .map(|ended| ended.stdout.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_a_status_file() {
        let status = "Name:\tpgmeter\nVmHWM:\t   12345 kB\nVmRSS:\t   12000 kB\n";
        assert_eq!(resident_kib(status), Some(12_345.0));
        assert_eq!(resident_kib("Name:\tgone\n"), None);
    }

    #[test]
    fn a_program_that_fails_is_an_error_with_its_words() {
        let failed = run(Command::new("sh").args(["-c", "echo words >&2; exit 3"]));
        assert!(failed.is_err_and(|text| text.contains("words")));
    }

    #[test]
    fn what_a_program_used_is_its_own_cpu_time() {
        let busy = run(Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]));
        assert!(busy.is_ok_and(|ended| ended.cpu_s > 0.0 && ended.wall_s > 0.0));
    }

    #[test]
    fn a_server_ends_with_its_standard_input() {
        let serving = Serving::start(Command::new("sh").args(["-c", "echo here; cat"])).expect("a line");
        assert_eq!(serving.said, "here");
        drop(serving);
    }
}
