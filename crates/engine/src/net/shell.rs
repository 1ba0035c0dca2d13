//! Runs a command with `/bin/sh` for `\shell` and `\setshell`, and waits until it ends or the run is over. `script`
//! and `client` parse the command and its output.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::driver::ShellAnswer;
use crate::worker::STOP_CHECK;

/// Maximum length of a line read from a command; an integer is shorter.
const LINE_BYTES_MAX: u64 = 4096;

/// Runs `command`. Its output goes to our standard output, unless its first line is captured; the line includes the
/// newline, because messages repeat it. With `is_over` the command runs in its own process group, which is killed
/// when the function returns true; there is no result then.
pub(super) fn run(
    command: &[u8],
    capture: bool,
    is_over: Option<impl Fn() -> bool>,
) -> io::Result<Option<ShellAnswer>> {
    let mut shell = Command::new("/bin/sh");
    // The name that C's `system` uses, which the shell prefixes to its messages.
    shell.arg0("sh").arg("-c").arg(OsStr::from_bytes(command));
    #[cfg(target_os = "linux")]
    ring::INHERITED_VARIABLES.iter().for_each(|name| {
        shell.env_remove(name);
    });
    if capture {
        shell.stdout(Stdio::piped());
    }
    let Some(is_over) = is_over else { return wait(shell.spawn()?).map(Some) };
    if is_over() {
        return Ok(None);
    }
    let mut child = shell.process_group(0).spawn()?;
    let answer = wait_until(&mut child, &is_over);
    if !matches!(answer, Ok(Some(_))) {
        // It may have ended just now.
        let _ = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .map(|pid| kill_process_group(pid, Signal::KILL));
        child.wait()?;
    }
    answer
}

fn wait(mut child: Child) -> io::Result<ShellAnswer> {
    let mut output = Vec::new();
    let read = child.stdout.take().map_or(Ok(0), |stdout| {
        // If a command writes more than one line, it gets SIGPIPE.
        BufReader::new(stdout.take(LINE_BYTES_MAX)).read_until(b'\n', &mut output)
    });
    let status = child.wait()?.code();
    read?;
    Ok(ShellAnswer { status, output })
}

fn wait_until(child: &mut Child, is_over: &impl Fn() -> bool) -> io::Result<Option<ShellAnswer>> {
    let output = match child.stdout.take() {
        None => Some(Vec::new()),
        Some(stdout) => first_line(stdout, is_over)?,
    };
    let Some(output) = output else { return Ok(None) };
    // Kernels without pidfd are polled.
    let ended = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = ended.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(ShellAnswer { status: status.code(), output }));
        }
        match &ended {
            Some(ended) if !is_ready(ended.as_fd(), is_over)? => return Ok(None),
            None if is_over() => return Ok(None),
            None => thread::sleep(STOP_CHECK / 100),
            Some(_) => {}
        }
    }
}

/// The first line with its newline; `None` if the run ended first.
fn first_line(mut stdout: ChildStdout, is_over: &impl Fn() -> bool) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut piece = [0; 256];
    while (line.len() as u64) < LINE_BYTES_MAX {
        if !is_ready(stdout.as_fd(), is_over)? {
            return Ok(None);
        }
        let length = stdout.read(&mut piece)?;
        line.extend_from_slice(&piece[..length]);
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            line.truncate(end + 1);
            break;
        }
        if length == 0 {
            break;
        }
    }
    line.truncate(usize::try_from(LINE_BYTES_MAX).unwrap_or(usize::MAX));
    Ok(Some(line))
}

/// Waits until a descriptor is readable; false if the run ended first.
fn is_ready(descriptor: BorrowedFd<'_>, is_over: &impl Fn() -> bool) -> io::Result<bool> {
    let look = Timespec { tv_sec: 0, tv_nsec: i64::from(STOP_CHECK.subsec_nanos()) };
    loop {
        match poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&look)) {
            Ok(1..) => return Ok(true),
            Err(error) if error != rustix::io::Errno::INTR => return Err(error.into()),
            _ if is_over() => return Ok(false),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &[u8], capture: bool) -> ShellAnswer {
        let waited = run(command, capture, None::<fn() -> bool>).expect("there is a shell");
        let limited = run(command, capture, Some(|| false)).expect("there is a shell");
        assert_eq!(waited, limited);
        waited.expect("it was waited for")
    }

    #[test]
    fn a_command_that_never_ends_is_killed_with_all_that_it_has_started() {
        for (command, capture) in [
            ("sleep 1000 | cat; true", false),
            ("sleep 1000; true", true),
            ("echo 1; sleep 1000 & wait", true),
            ("while true; do printf x; sleep 1000; done", true),
        ] {
            let looks = std::cell::Cell::new(0);
            let is_over = || looks.replace(looks.get() + 1) > 2;
            let answer = run(command.as_bytes(), capture, Some(is_over)).expect("there is a shell");
            assert_eq!(answer, None, "{command}");
        }
        let answer = run(b"true", false, Some(|| true)).expect("there is a shell");
        assert_eq!(answer, None, "it is not begun");
    }

    #[test]
    fn the_first_line_of_the_output_is_captured() {
        let answer = check(b"printf '17\\nmore\\n'; exit 3", true);
        assert_eq!(answer, ShellAnswer { status: Some(3), output: b"17\n".to_vec() });
    }

    #[test]
    fn an_empty_line_is_another_thing_than_no_output() {
        assert_eq!(check(b"echo", true).output, b"\n");
        assert_eq!(check(b"true", true).output, b"");
    }

    #[test]
    fn a_command_that_writes_for_ever_is_not_heard_to_the_end() {
        assert_eq!(check(b"yes", true).output, b"y\n");
    }

    #[test]
    fn a_status_is_given_back() {
        assert_eq!(check(b"exit 7", false).status, Some(7));
        assert_eq!(check(b"kill -9 $$", false).status, None);
    }
}
