//! Shared parts of commands that serve others until they are stopped: the listening address and the conditions for
//! the end. Used by the null server and the relay.

use std::io::{self, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::signals::Signals;

/// Limit of lines that were read but not answered; further input waits.
const LINES_WAITING_MAX: usize = 64;
/// Interval of checks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// A parsed listening address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedPlace {
    /// A path: contains a slash. Made absolute, because a connection string requires it.
    Path(PathBuf),
    /// Host and port.
    Tcp(SocketAddr),
}

impl TypedPlace {
    /// Parses a path if it contains a slash, otherwise host and port.
    pub(crate) fn find(typed: &str) -> io::Result<Self> {
        if typed.contains('/') {
            return std::path::absolute(typed).map(Self::Path);
        }
        let address = typed.to_socket_addrs()?.next();
        address.map(Self::Tcp).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no address"))
    }
}

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
    fn a_slash_makes_a_path() {
        assert!(matches!(TypedPlace::find("/tmp"), Ok(TypedPlace::Path(_))));
        assert!(matches!(TypedPlace::find("./a b"), Ok(TypedPlace::Path(_))));
        assert!(matches!(TypedPlace::find("127.0.0.1:0"), Ok(TypedPlace::Tcp(_))));
        assert!(TypedPlace::find("127.0.0.1").is_err());
    }

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
