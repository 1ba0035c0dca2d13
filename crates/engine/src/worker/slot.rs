//! A client of a worker with the worker's state for it: its next transaction, its timer, the connections that it has lost.
//! `sessions` has all of a worker.

use script::Random;
use stats::Timestamp;

use super::member::Member;
use crate::arrivals::Arrival;
use crate::client::Client;

/// A client and the worker's state for it.
pub(super) struct ClientSlot {
    pub(super) client: Client,
    /// The transaction to start when its timer fires or when it is connected.
    pub(super) next: Option<ScheduledTransaction>,
    /// The selected script, kept while arrivals are skipped.
    pub(super) kept_script: Option<usize>,
    /// It is done because no arrival was left; it takes a returned one.
    pub(super) lacks_arrival: bool,
    /// The current timer; other timers of this client are obsolete.
    pub(super) timer: Option<Timestamp>,
    /// Start of waiting for the connection of its next transaction.
    pub(super) connecting_since: Option<Timestamp>,
    /// The connections that it has lost and makes again; `connecting_since` is set, too.
    pub(super) out: Option<Box<Out>>,
    /// It is free and waits for the end of a pause.
    pub(super) is_held: bool,
    /// It has no work in this stage, or thinks, and has a timer for the end of that.
    pub(super) is_resting: bool,
    /// It has thought and starts its next transaction.
    pub(super) has_thought: bool,
    pub(super) think_draws: Random,
    /// What it does beside transactions; `None` without a population.
    pub(super) member: Option<Box<Member>>,
    /// Number of transactions that count towards a limit per client.
    pub(super) transactions: u64,
    /// Number of transactions passed to the tracer.
    pub(super) shown: u64,
    /// Its transaction was scheduled in the warm-up.
    pub(super) warmup: bool,
    pub(super) active: bool,
}

impl ClientSlot {
    pub(super) fn new(client: Client, think_draws: Random) -> Self {
        Self {
            client,
            next: None,
            kept_script: None,
            lacks_arrival: false,
            timer: None,
            connecting_since: None,
            out: None,
            is_held: false,
            is_resting: false,
            has_thought: false,
            think_draws,
            member: None,
            transactions: 0,
            shown: 0,
            warmup: false,
            active: false,
        }
    }
}

/// A transaction to run.
#[derive(Clone, Debug)]
pub(super) struct ScheduledTransaction {
    pub(super) script: usize,
    pub(super) arrival: Arrival,
    /// Its own random stream, if it does not use the client's.
    pub(super) draws: Option<Random>,
}

/// Lost connections of one client.
pub(super) struct Out {
    /// For each link, whether its connection is lost.
    pub(super) lost: Vec<bool>,
    /// The link of the attempt in progress.
    pub(super) attempt: Option<usize>,
    /// Hosts that were tried in this round, and the number of the round, from 1.
    pub(super) tried: usize,
    pub(super) round: u32,
    /// The first host of each round, in the order of the target.
    pub(super) first: usize,
}
