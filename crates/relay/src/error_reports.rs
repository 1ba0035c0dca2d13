//! Messages about failed connections for the caller of the relay, limited in frequency, so that a thousand clients do
//! not cause a thousand equal messages. The service writes them; the caller reads them through the relay.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use rustix::io::Errno;
use stats::Timestamp;

use sockets::Endpoint as Address;

/// Minimum time between equal messages.
const SILENCE: Duration = Duration::from_secs(10);
/// Limit of unread messages; further ones would repeat them.
const WAITING_MAX: usize = 64;

/// Causes of failed connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalCause {
    /// No file descriptor is left for a socket.
    Descriptors,
    /// The server cannot be reached.
    Unreachable,
}

/// Frequency limiter and channel of the messages.
pub(crate) struct ErrorReports {
    to: SyncSender<String>,
    /// Time of the last message, by cause.
    reported: [Option<Timestamp>; 2],
    /// Number of messages omitted since then, by cause.
    suppressed: [u64; 2],
}

impl ErrorReports {
    pub(crate) fn new() -> (Self, Receiver<String>) {
        let (to, from) = mpsc::sync_channel(WAITING_MAX);
        (Self { to, reported: [None; 2], suppressed: [0; 2] }, from)
    }

    /// Reports that a client was refused, with `open` connections.
    pub(crate) fn client_refused(&mut self, error: &io::Error, server: &Address, open: u64, now: Timestamp) {
        let trouble = RefusalCause::of(error);
        let at = trouble as usize;
        if self.reported[at].is_some_and(|said| now.since(said) < SILENCE) {
            self.suppressed[at] += 1;
            return;
        }
        self.reported[at] = Some(now);
        let more = match std::mem::take(&mut self.suppressed[at]) {
            0 => String::new(),
            more => format!(" ({more} more since the last message)"),
        };
        let sentence = match trouble {
            RefusalCause::Descriptors => format!(
                "the relay has no file descriptors left ({open} connections are open) and rejects \
                 clients{more}: each connection needs two; raise the limit (ulimit -n) or use fewer clients"
            ),
            RefusalCause::Unreachable => format!(
                "the relay cannot reach the server at {server} ({error}) and rejects clients{more}: check that \
                 the server is running and accepts connections"
            ),
        };
        // A full channel has enough unread messages.
        let _ = self.to.try_send(sentence);
    }
}

impl RefusalCause {
    fn of(error: &io::Error) -> Self {
        match Errno::from_io_error(error) {
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Self::Descriptors,
            _ => Self::Unreachable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once_in_a_while_and_then_with_its_number() {
        let (mut reports, said) = ErrorReports::new();
        let server = Address::Unix("/tmp/server".into());
        let mut refuse_client = |errno: Errno, s: u64| {
            let now = Timestamp::from_nanos(s * 1_000_000_000);
            reports.client_refused(&errno.into(), &server, 7, now);
            said.try_iter().collect::<String>()
        };
        let first = refuse_client(Errno::CONNREFUSED, 1);
        assert!(first.contains("/tmp/server") && first.contains("refused"), "{first}");
        assert_eq!(refuse_client(Errno::CONNREFUSED, 2), "");
        assert!(refuse_client(Errno::MFILE, 3).contains("no file descriptors left (7 connections"));
        assert!(refuse_client(Errno::NOENT, 12).contains("(1 more since"));
    }
}
