//! Runs one command through `/bin/sh`, as a script's `\shell` and `\setshell` ask. It waits for the command's end;
//! what the command means and what its answer must look like is known to `script` and `client`.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::driver::ShellAnswer;

/// The longest line that is read from a command; an integer is shorter.
const LINE_BYTES_MAX: u64 = 4096;

/// Runs `command`; its output goes to our own standard output, unless its first line is to be captured, with the
/// newline at its end: messages repeat it.
pub(super) fn run(command: &[u8], capture: bool) -> io::Result<ShellAnswer> {
    let mut shell = Command::new("/bin/sh");
    // The name that C's `system` gives, which the shell puts in front of its own messages.
    shell.arg0("sh").arg("-c").arg(OsStr::from_bytes(command));
    if !capture {
        return Ok(ShellAnswer { status: shell.status()?.code(), output: Vec::new() });
    }
    let mut child = shell.stdout(Stdio::piped()).spawn()?;
    let mut output = Vec::new();
    let read = child.stdout.take().map_or(Ok(0), |stdout| {
        // Whoever writes more than was asked for finds nobody listening.
        BufReader::new(stdout.take(LINE_BYTES_MAX)).read_until(b'\n', &mut output)
    });
    let status = child.wait()?.code();
    read?;
    Ok(ShellAnswer { status, output })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_the_output_is_captured() {
        let answer = run(b"printf '17\\nmore\\n'; exit 3", true).expect("there is a shell");
        assert_eq!(answer, ShellAnswer { status: Some(3), output: b"17\n".to_vec() });
    }

    #[test]
    fn an_empty_line_is_another_thing_than_no_output() {
        assert_eq!(run(b"echo", true).expect("there is a shell").output, b"\n");
        assert_eq!(run(b"true", true).expect("there is a shell").output, b"");
    }

    #[test]
    fn a_command_that_writes_for_ever_is_not_heard_to_the_end() {
        assert_eq!(run(b"yes", true).expect("there is a shell").output, b"y\n");
    }

    #[test]
    fn a_status_is_given_back() {
        assert_eq!(run(b"exit 7", false).expect("there is a shell").status, Some(7));
        assert_eq!(run(b"kill -9 $$", false).expect("there is a shell").status, None);
    }
}
