//! A PostgreSQL server in virtual time: all that it is, as data. [`FakeServer::driver`] makes of it a driver
//! for the engine, in which a minute passes as fast as the machine can count and one seed always gives the
//! same run.

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

/// A server and the network in front of it. [`FakeServer::default`] is one without faults.
#[derive(Clone, Debug)]
pub struct FakeServer {
    /// Every random draw comes from here: service times and the cuts between pieces.
    pub seed: u64,
    /// How long bytes travel, in each direction; not zero.
    pub network_delay: Duration,
    /// How long the server works on a statement. Connections do not wait for each other.
    pub service: Service,
    /// How answers arrive.
    pub pieces: Pieces,
    /// How much of what clients send their sockets take at once.
    pub sends: Sends,
    /// What a `SELECT` returns.
    pub rows: Rows,
    /// Asked for in clear text, if there is one.
    pub password: Option<String>,
    /// Times in which nothing gets done.
    pub stalls: Vec<Stall>,
    /// Faults of single connections or of all.
    pub faults: Vec<Fault>,
    /// Whether it can be reached.
    pub reach: Reach,
    /// What each look at the clock costs, so that a client that never waits does not stop the time; not zero.
    pub tick: Duration,
    /// How much later than asked the clients' side wakes when nothing has come that would wake it.
    pub wakes_late_by: Duration,
    /// What commands of the shell answer; they are run on the clients' side.
    pub shell: fn(&[u8]) -> std::io::Result<ShellAnswer>,
    /// How long such a command takes.
    pub shell_time: Duration,
    /// A run that lasts longer in virtual time hangs: waiting beyond it is an error.
    pub patience: Duration,
}

/// How long the server works on a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Always as long.
    Fixed(Duration),
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
}

/// How the bytes of an answer arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// In one piece.
    Whole,
    /// Cut into pieces of 1 to `longest` bytes, each arriving `gap` after the one before.
    Random {
        /// In bytes.
        longest: u64,
        /// Zero: all pieces arrive at the same moment, but as separate reads.
        gap: Duration,
    },
}

/// What the clients' sockets take of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sends {
    /// All of it.
    Whole,
    /// 1 to `longest` bytes; the rest waits in front of the socket, which takes as many again after each `gap`, but
    /// nothing while the server is busy with a statement and does not read.
    Short {
        /// In bytes.
        longest: u64,
        /// The shortest time between two pieces.
        gap: Duration,
    },
}

/// A time in which the server gets nothing done: answers due in it come at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// From here on.
    pub from: Timestamp,
    /// Until here.
    pub until: Timestamp,
}

/// Whether a connection comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Yes.
    Open,
    /// The first so many attempts find the server's queue full.
    Busy(u32),
    /// The attempt fails at once, as with a Unix socket that is not there.
    RefusedAtOnce(ErrorKind),
    /// The attempt fails after a while, as with a TCP port where nobody listens.
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
    /// The driver through which the engine meets this server, at the beginning of time.
    ///
    /// # Panics
    /// If the network delay or the tick is zero: time would stand still.
    pub fn driver(self) -> FakeDriver {
        assert!(!self.network_delay.is_zero(), "bytes that take no time to travel stop the virtual clock");
        assert!(!self.tick.is_zero(), "looks at the clock that take no time stop the virtual clock");
        FakeDriver::new(self)
    }

    /// When work that would be done at `due` is done.
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
    /// Draws the time for one statement.
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
    /// Cuts an answer up.
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
