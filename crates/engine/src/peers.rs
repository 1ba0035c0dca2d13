//! The messages to the coordinator of a run, and the interface between the engines of a distributed run: the messages of
//! the other ranks to rank 0, and the common start. The caller sends these between the processes. Rank 0 treats each
//! other rank as a further worker.

use std::sync::mpsc::Sender;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use stats::{EncodedInterval, Interval, Timestamp};

use crate::error::EngineError;
use crate::outcome::Progress;
use crate::rank_outcome::RankOutcome;
use crate::worker::WorkerOutcome;

/// A message of another rank to rank 0. All times are relative to the start of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankMessage {
    /// A completed second; each rank sends all of its seconds in order.
    Interval(EncodedInterval),
    /// The end of the rank's part: its outcome, or the reason why it has none. It is the last message.
    Done(Result<Box<RankOutcome>, String>),
}

impl RankMessage {
    /// The message about a second that the observer of [`crate::run_rank`] receives.
    pub fn interval(progress: &Progress<'_>) -> Self {
        let end_ns = progress.interval.end.as_nanos();
        let origin = end_ns.saturating_sub(u64::try_from(progress.elapsed.as_nanos()).unwrap_or(u64::MAX));
        Self::Interval(EncodedInterval::new(progress.interval, Timestamp::from_nanos(origin)))
    }
}

/// A message to the coordinator.
pub(crate) enum Message {
    Worker(usize, WorkerMessage),
    Rank(usize, RankMessage),
}

/// A message from a worker.
pub(crate) enum WorkerMessage {
    Connected,
    Interval(Interval, bool),
    Done(Result<Box<WorkerOutcome>, EngineError>),
}

/// Delivers the messages of the other ranks to the engine of rank 0, from any thread. Messages after the end of the
/// run are ignored. A rank that can no longer be reached is reported by `RankMessage::Done(Err(reason))`.
#[derive(Clone)]
pub struct Inbox {
    pub(crate) messages: Sender<Message>,
}

impl Inbox {
    /// Delivers a message of this rank.
    pub fn deliver(&self, rank: usize, message: RankMessage) {
        // Delivery fails only after the end of the engine.
        let _ = self.messages.send(Message::Rank(rank, message));
    }
}

/// The other ranks of a run.
pub trait Peers {
    /// All clients of this rank are connected. Waits until those of all ranks are, then until the common start of the
    /// run, and returns that moment, which is shortly in the past. `inbox` is for the messages of the other ranks to
    /// rank 0; on the others it is not used.
    ///
    /// # Errors
    /// The run does not begin; usually [`EngineError::Rank`], or [`EngineError::InterruptedBeforeStart`].
    fn start(&mut self, inbox: Inbox) -> Result<Instant, EngineError>;
}
