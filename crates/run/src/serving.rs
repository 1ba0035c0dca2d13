//! The conditions for the end of commands that serve others until they are stopped. Used by the null server and the
//! relay.

use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// Limit of lines that were read but not answered; further input waits.
const LINES_WAITING_MAX: usize = 64;
/// Limit of the length of a line.
const LINE_LENGTH_MAX: u64 = 4096;
/// Interval of checks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// Returns when standard input is closed, `stop` is set, or `goes_on` returns false. Calls `line` for each line of
/// input.
///
/// # Errors
/// Standard input cannot be read, or no thread can be started.
pub fn wait_for_end(
    stop: &AtomicBool,
    goes_on: impl Fn() -> bool,
    mut line: impl FnMut(&str),
) -> io::Result<()> {
    let (from_stdin, lines) = mpsc::sync_channel(LINES_WAITING_MAX);
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // The receiver is gone if the process is exiting.
        let read = read_lines(&mut io::stdin().lock(), |line| from_stdin.send(Ok(line)).is_ok());
        let _ = read.is_err_and(|error| from_stdin.send(Err(error)).is_ok());
    })?;
    while goes_on() && !stop.load(Ordering::Relaxed) {
        match lines.recv_timeout(LOOK) {
            Ok(Ok(text)) => line(&text),
            Ok(Err(error)) => return Err(error),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    Ok(())
}

/// Reads until the end of input, or until the receiver is gone. Longer lines are divided.
fn read_lines(from: &mut dyn BufRead, mut line: impl FnMut(String) -> bool) -> io::Result<()> {
    loop {
        let mut bytes = Vec::new();
        let count = from.take(LINE_LENGTH_MAX).read_until(b'\n', &mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        if count == 0 || !line(text.trim_end().to_owned()) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_up_to_the_end_whatever_stands_in_them() {
        let mut lines = Vec::new();
        let mut text = &b"one\n\n\xff\r\nno end"[..];
        read_lines(&mut text, |line| {
            lines.push(line);
            true
        })
        .expect("bytes can be read");
        assert_eq!(lines, ["one", "", "\u{fffd}", "no end"]);
    }

    #[test]
    fn a_long_line_is_divided() {
        let mut lengths = Vec::new();
        read_lines(&mut [b'x'; 5000].as_slice(), |line| {
            lengths.push(line.len());
            true
        })
        .expect("bytes can be read");
        assert_eq!(lengths, [4096, 904]);
    }
}
