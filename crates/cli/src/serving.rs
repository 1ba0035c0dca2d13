//! The conditions for the end of commands that serve others until they are stopped. Used by the null server and the
//! relay.

use std::io::{self, Read};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::signals::Signals;

/// Limit of lines that were read but not answered; further input waits.
const LINES_WAITING_MAX: usize = 64;
/// Interval of checks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// Returns when standard input is closed, a signal arrives, or `goes_on` returns false. Calls `line` for each line of
/// input, whose content is ignored.
pub(crate) fn wait_for_end(
    signals: &Signals,
    goes_on: impl Fn() -> bool,
    mut line: impl FnMut(),
) -> io::Result<()> {
    let (from_stdin, lines) = mpsc::sync_channel(LINES_WAITING_MAX);
    thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        // The receiver is gone if the process is exiting.
        let read = count_lines(&mut io::stdin().lock(), || from_stdin.send(Ok(())).is_ok());
        let _ = read.is_err_and(|error| from_stdin.send(Err(error)).is_ok());
    })?;
    while goes_on() && !signals.stop().load(Ordering::Relaxed) {
        match lines.recv_timeout(LOOK) {
            Ok(Ok(())) => line(),
            Ok(Err(error)) => return Err(error),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
    Ok(())
}

/// Reads until the end of input, or until the receiver is gone.
fn count_lines(from: &mut dyn Read, mut line: impl FnMut() -> bool) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let count = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let ends = buffer[..count].iter().filter(|byte| **byte == b'\n').count();
        if count == 0 || !(0..ends).all(|_| line()) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_up_to_the_end_whatever_stands_in_them() {
        let mut lines = 0;
        let mut text = &b"one\n\n\xff\nno end"[..];
        count_lines(&mut text, || {
            lines += 1;
            true
        })
        .expect("bytes can be read");
        assert_eq!(lines, 3);
    }
}
