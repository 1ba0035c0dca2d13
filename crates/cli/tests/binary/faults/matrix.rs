//! The fault matrix as data: what each command must do when each fault strikes. One row for each pair, whichever event
//! loop the command runs on. `mod` makes tests of it, `cell` carries a row out.

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGKILL to all processes of the server.
    ServerKilled,
    /// SIGSTOP to all processes of the server, and SIGCONT five seconds later.
    ServerPaused,
    /// SIGSTOP to all processes of the server.
    ServerStopped,
    /// SIGKILL to one backend: the server ends all its sessions and recovers.
    BackendKilled,
    /// Another session locks a table of the load.
    LockHeld,
    /// The file system of the tables is full.
    DiskFull,
    /// The server reads slowly.
    SlowReader,
    /// Connections are reset in the middle of a message of the server.
    Reset,
    /// The server sends what is no message.
    WrongBytes,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    Bench,
    Lab,
    Compare,
    Init,
    Quickstart,
    /// The drop-in, and pgbench itself where it is installed.
    Pgbench,
}

/// How a command must end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    /// With this exit status, one of these texts, separated by `|`, in its output, and this kept.
    Exits(i32, &'static str, Kept),
    /// With a verdict of any kind, this text in its output, and a comparison kept. The sides are alike, so it is mostly
    /// "inconclusive", but not always.
    Judges(&'static str),
    /// Not by itself: SIGINT ends it, without an exit status.
    Hangs,
    /// The fault cannot strike this command, for this reason.
    NotApplicable(&'static str),
}

/// What is stored afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Neither a record nor a comparison.
    Nothing,
    /// Records of complete runs alone.
    Complete,
    /// A record that is marked as failed; an experiment's trial is marked too.
    Failed,
    /// A comparison.
    Comparison,
}

/// One row.
pub(crate) struct Row {
    pub(crate) fault: Fault,
    pub(crate) tried: Tried,
    pub(crate) ending: Ending,
    /// Seconds from the fault to the end, as docs/ending.md has it for the options of this test; what has no fault to
    /// wait for counts from its beginning.
    pub(crate) limit_s: u64,
}

const fn row(fault: Fault, tried: Tried, limit_s: u64, ending: Ending) -> Row {
    Row { fault, tried, ending, limit_s }
}

use Ending::{Exits, Hangs, Judges, NotApplicable};
use Fault::{
    BackendKilled, DiskFull, LockHeld, Reset, ServerKilled, ServerPaused, ServerStopped, SlowReader,
    WrongBytes,
};
use Kept::{Complete, Failed, Nothing};
use Tried::{Bench, Compare, Init, Lab, Pgbench, Quickstart};

const OWN_SERVER: Ending = NotApplicable("own-server");

/// The server's last words, or none.
const LOST: &str = "the server closed the connection|the connection to the server was lost";

/// Runs take 3 s, with a grace period of 1 s; comparisons have a budget of 10 s.
pub(crate) const MATRIX: [Row; 54] = [
    row(ServerKilled, Bench, 14, Exits(2, LOST, Failed)),
    row(ServerKilled, Lab, 14, Exits(2, "the trial failed", Failed)),
    row(ServerKilled, Compare, 20, Exits(2, LOST, Nothing)),
    row(ServerKilled, Init, 80, Exits(1, "reconnecting", Nothing)),
    row(ServerKilled, Quickstart, 14, Exits(2, LOST, Failed)),
    row(ServerKilled, Pgbench, 5, Exits(2, "aborted in command", Nothing)),
    row(ServerPaused, Bench, 18, Exits(0, "completed no transaction for", Complete)),
    row(ServerPaused, Lab, 18, Exits(0, "tps", Complete)),
    row(ServerPaused, Compare, 30, Judges("stored as comparison")),
    row(ServerPaused, Init, 120, Exits(0, "loaded scale", Nothing)),
    row(ServerPaused, Quickstart, 30, Exits(0, "tps", Complete)),
    row(ServerPaused, Pgbench, 18, Exits(0, "tps = ", Nothing)),
    row(ServerStopped, Bench, 14, Exits(2, "still running 1 s after the end of the run", Failed)),
    row(ServerStopped, Lab, 24, Exits(2, "still running 1 s after the end of the run", Failed)),
    row(ServerStopped, Compare, 30, Exits(2, "still running", Nothing)),
    row(ServerStopped, Init, 12, Exits(1, "the server did not answer within 2 s", Nothing)),
    row(ServerStopped, Quickstart, 24, Exits(2, "still running 1 s after the end of the run", Failed)),
    row(ServerStopped, Pgbench, 10, Hangs),
    row(BackendKilled, Bench, 14, Exits(2, LOST, Failed)),
    row(BackendKilled, Lab, 14, Exits(2, "the trial failed", Failed)),
    row(BackendKilled, Compare, 30, Judges("is repeated once")),
    row(BackendKilled, Init, 60, Exits(0, "reconnecting", Nothing)),
    row(BackendKilled, Quickstart, 14, Exits(2, LOST, Failed)),
    row(BackendKilled, Pgbench, 5, Exits(2, "aborted in command", Nothing)),
    row(LockHeld, Bench, 14, Exits(2, "still running 1 s after the end of the run", Failed)),
    row(LockHeld, Lab, 14, Exits(2, "still running 1 s after the end of the run", Failed)),
    row(LockHeld, Compare, 30, Exits(2, "still running", Nothing)),
    row(LockHeld, Init, 12, Exits(1, "a lock that is held by", Nothing)),
    row(LockHeld, Quickstart, 24, Exits(2, "still running 1 s after the end of the run", Failed)),
    row(LockHeld, Pgbench, 10, Hangs),
    row(DiskFull, Bench, 14, Exits(2, "No space left on device", Failed)),
    row(DiskFull, Lab, 14, Exits(2, "No space left on device", Failed)),
    row(DiskFull, Compare, 20, Exits(2, "No space left on device", Nothing)),
    row(DiskFull, Init, 60, Exits(1, "No space left on device", Nothing)),
    row(DiskFull, Quickstart, 90, Exits(1, "No space left on device", Nothing)),
    row(DiskFull, Pgbench, 10, Exits(2, "No space left on device", Nothing)),
    row(SlowReader, Bench, 14, Exits(0, "tps", Complete)),
    row(SlowReader, Lab, 14, Exits(0, "tps", Complete)),
    row(SlowReader, Compare, 30, Judges("stored as comparison")),
    row(SlowReader, Init, 60, Exits(0, "loaded scale", Nothing)),
    row(SlowReader, Quickstart, 0, OWN_SERVER),
    row(SlowReader, Pgbench, 14, Exits(0, "tps = ", Nothing)),
    row(Reset, Bench, 14, Exits(2, "Connection reset by peer", Failed)),
    row(Reset, Lab, 14, Exits(2, "Connection reset by peer", Failed)),
    row(Reset, Compare, 30, Judges("is repeated once")),
    row(Reset, Init, 60, Exits(0, "reconnecting", Nothing)),
    row(Reset, Quickstart, 0, OWN_SERVER),
    row(Reset, Pgbench, 5, Exits(2, "perhaps the backend died while processing", Nothing)),
    row(WrongBytes, Bench, 14, Exits(2, "violated PostgreSQL's protocol", Failed)),
    row(WrongBytes, Lab, 14, Exits(2, "violated PostgreSQL's protocol", Failed)),
    row(WrongBytes, Compare, 30, Judges("is repeated once")),
    row(WrongBytes, Init, 60, Exits(0, "reconnecting", Nothing)),
    row(WrongBytes, Quickstart, 0, OWN_SERVER),
    row(WrongBytes, Pgbench, 5, Exits(2, "lost synchronization with server", Nothing)),
];

impl Fault {
    /// As it is chosen and shown.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ServerKilled => "server-killed",
            ServerPaused => "server-paused",
            ServerStopped => "server-stopped",
            BackendKilled => "backend-killed",
            LockHeld => "lock-held",
            DiskFull => "disk-full",
            SlowReader => "slow-reader",
            Reset => "reset",
            WrongBytes => "wrong-bytes",
        }
    }
}

impl Tried {
    /// As it is chosen and shown.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Bench => "bench",
            Lab => "lab",
            Compare => "compare",
            Init => "init",
            Quickstart => "quickstart",
            Pgbench => "pgbench",
        }
    }

    /// How it can wait for sockets; `original` is pgbench itself.
    pub(crate) fn event_loops(self) -> &'static [&'static str] {
        match self {
            Bench | Lab | Compare | Quickstart => &["io_uring", "epoll"],
            Init => &["no-loop"],
            Pgbench => &["io_uring", "epoll", "original"],
        }
    }
}
