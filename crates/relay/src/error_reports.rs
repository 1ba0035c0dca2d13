//! What goes wrong with single connections and has a cause that whoever started the relay should know: sentences on
//! their way out of its thread. The same one is not said for each of a thousand clients. Written by the service, read
//! through the relay.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use rustix::io::Errno;
use stats::Timestamp;

use sockets::Endpoint as Address;

/// So often the same is said at most.
const SILENCE: Duration = Duration::from_secs(10);
/// So many sentences wait to be read; more would say the same again.
const WAITING_MAX: usize = 64;

/// What can go wrong with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalCause {
    /// The system has no descriptor left for a socket.
    Descriptors,
    /// Nobody lets the relay in at the server's place.
    Unreachable,
}

/// See the module.
pub(crate) struct ErrorReports {
    to: SyncSender<String>,
    /// When each was said last.
    reported: [Option<Timestamp>; 2],
    /// How often it came since, in silence.
    suppressed: [u64; 2],
}

impl ErrorReports {
    pub(crate) fn new() -> (Self, Receiver<String>) {
        let (to, from) = mpsc::sync_channel(WAITING_MAX);
        (Self { to, reported: [None; 2], suppressed: [0; 2] }, from)
    }

    /// A client had to be turned away, with so many connections open.
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
        // If nobody reads them, there are enough.
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
