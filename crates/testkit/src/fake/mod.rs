//! A simulated PostgreSQL server in virtual time, described as data. [`FakeServer::driver`] makes a driver for the
//! engine. A run in virtual time takes only CPU time, and a seed reproduces it exactly.

mod driver;
mod event_queue;
mod line;
mod log;

use std::io::ErrorKind;
use std::time::Duration;

use engine::ShellAnswer;
use script::Random;
use stats::Timestamp;

pub use driver::FakeDriver;
pub use log::{Entry, Log};

pub use crate::request_log::Received;
pub use crate::session::{Fault, FaultEffect, FaultTrigger, Rows, reply};

/// A server and its network. [`FakeServer::default`] has no faults.
#[derive(Clone, Debug)]
pub struct FakeServer {
    /// Seed of all random numbers: service times and pieces.
    pub seed: u64,
    /// Network delay in each direction; not zero.
    pub network_delay: Duration,
    /// Duration of a statement. Connections are independent.
    pub service: Service,
    /// How responses are divided into pieces.
    pub pieces: Pieces,
    /// How much of a send the clients' sockets accept at once.
    pub sends: Sends,
    /// Result of a `SELECT`.
    pub rows: Rows,
    /// Password, requested in clear text; `None` without authentication.
    pub password: Option<String>,
    /// Periods in which the server is stopped.
    pub stalls: Vec<Stall>,
    /// Faults of one or all connections.
    pub faults: Vec<Fault>,
    /// Periods in which the server is down.
    pub downs: Vec<Down>,
    /// Whether the server can be reached.
    pub reach: Reach,
    /// Virtual time per clock reading, so that time advances without waits; not zero.
    pub tick: Duration,
    /// Lateness of timed wake-ups of the clients.
    pub wakes_late_by: Duration,
    /// Results of shell commands, which run on the client's side.
    pub shell: fn(&[u8]) -> std::io::Result<ShellAnswer>,
    /// Duration of a shell command.
    pub shell_time: Duration,
    /// Limit of virtual time; waiting beyond it is an error, because the run hangs.
    pub patience: Duration,
}

/// Duration of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Constant.
    Fixed(Duration),
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
}

/// How the bytes of a response arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// In one piece.
    Whole,
    /// Divided into pieces of 1 to `longest` bytes, each arriving `gap` after the previous one.
    Random {
        /// In bytes.
        longest: u64,
        /// Zero: all pieces arrive at the same moment, but as separate reads.
        gap: Duration,
    },
}

/// How much of a send the clients' sockets accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// All of it.
    Whole,
    /// 1 to `longest` bytes; the socket accepts another piece after each `gap`, but nothing while the server executes a
    /// statement and does not read.
    Short {
        /// In bytes.
        longest: u64,
        /// Minimum time between two pieces.
        gap: Duration,
    },
}

/// A period in which the server is stopped: responses due in it are sent at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start.
    pub from: Timestamp,
    /// End.
    pub until: Timestamp,
}

/// A period in which the server is down.
#[derive(Clone, Debug)]
pub struct Down {
    /// Start: all sessions end.
    pub from: Timestamp,
    /// End.
    pub until: Timestamp,
    /// How the sessions end.
    pub effect: FaultEffect,
    /// How the server refuses connections in the meantime.
    pub refusal: Refusal,
}

/// How a server that is down refuses a connection.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Nothing listens.
    Refused,
    /// During start-up.
    StartUp(FaultEffect),
}

/// Result of connecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Success.
    Open,
    /// The server's accept queue is full for this number of attempts.
    Busy(u32),
    /// Immediate failure, as with a missing Unix-domain socket.
    RefusedAtOnce(ErrorKind),
    /// Delayed failure, as with a TCP port without a listener.
    RefusedLater(ErrorKind),
}

impl Default for FakeServer {
    fn default() -> Self {
        Self {
            seed: 1,
            network_delay: Duration::from_micros(50),
            service: Service::Fixed(Duration::from_micros(400)),
            pieces: Pieces::Whole,
            sends: Sends::Whole,
            rows: Rows::default(),
            password: None,
            stalls: Vec::new(),
            faults: Vec::new(),
            downs: Vec::new(),
            reach: Reach::Open,
            tick: Duration::from_nanos(100),
            wakes_late_by: Duration::ZERO,
            shell: |_| Ok(ShellAnswer { status: Some(0), output: Vec::new() }),
            shell_time: Duration::from_millis(1),
            patience: Duration::from_secs(3600),
        }
    }
}

impl FakeServer {
    /// The engine's driver for this server, at virtual time zero.
    ///
    /// # Panics
    /// The network delay or the tick is zero, so that time would not advance.
    pub fn driver(self) -> FakeDriver {
        assert!(!self.network_delay.is_zero(), "bytes that take no time to travel stop the virtual clock");
        assert!(!self.tick.is_zero(), "looks at the clock that take no time stop the virtual clock");
        FakeDriver::new(self)
    }

    /// Completion time of work that is due at `due`, after stalls.
    fn after_stalls(&self, mut due: Timestamp) -> Timestamp {
        for stall in &self.stalls {
            if (stall.from..stall.until).contains(&due) {
                due = stall.until;
            }
        }
        due
    }
}

impl Service {
    /// Random duration of a statement.
    #[expect(clippy::cast_precision_loss, reason = "a service time in nanoseconds stays far below 2^53")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
    fn draw(self, random: &mut Random) -> Duration {
        match self {
            Self::Fixed(duration) => duration,
            Self::Exponential(mean) => {
                // Inversion: -ln U is exponential with mean 1 for U uniform in (0, 1].
                let uniform = 1.0 - random.next_f64();
                Duration::from_nanos((-uniform.ln() * mean.as_nanos() as f64) as u64)
            }
        }
    }
}

impl Pieces {
    /// Divides a response into pieces.
    fn cut(self, bytes: Vec<u8>, random: &mut Random) -> Vec<Vec<u8>> {
        let Self::Random { longest, .. } = self else { return vec![bytes] };
        let mut pieces = Vec::new();
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let drawn = 1 + random.range(longest.saturating_sub(1));
            let length = usize::try_from(drawn).map_or(rest.len(), |drawn| drawn.min(rest.len()));
            let (piece, after) = rest.split_at(length);
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces
    }

    fn gap(self) -> Duration {
        match self {
            Self::Whole => Duration::ZERO,
            Self::Random { gap, .. } => gap,
        }
    }
}
