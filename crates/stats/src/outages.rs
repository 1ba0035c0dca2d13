//! The failover meter: lost connections, the attempts to replace them, and how long nothing was written. Each worker
//! notes its clients' losses in an [`OutageLog`]; [`Outages`] combines the logs. Pure; docs/failures.md explains the
//! figures.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Distribution, Ending, Gap, Sample, Timestamp};

mod encoded;

/// The result of one attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The session is ready.
    Connected,
    /// Nothing listens at the address.
    Refused,
    /// No answer in time.
    TimedOut,
    /// The host or network cannot be reached.
    Unreachable,
    /// The server closed the connection during start-up, without a message.
    Closed,
    /// The server is starting up, in recovery or shutting down (57P03).
    StartingUp,
    /// The server is shutting down (57P01, 57P02).
    ShuttingDown,
    /// No connection slot is free (53300).
    TooManyConnections,
    /// The session is read-only, which `target_session_attrs` does not allow.
    ReadOnly,
    /// A standby or a primary where `target_session_attrs` wants the other.
    WrongHost,
    /// The server refused the role, the password or the database (classes 28 and 3D).
    Rejected,
    /// Any other error.
    Other,
}

impl AttemptOutcome {
    /// As in the record.
    pub const fn name(self) -> &'static str {
        match self {
            AttemptOutcome::Connected => "connected",
            AttemptOutcome::Refused => "refused",
            AttemptOutcome::TimedOut => "timed_out",
            AttemptOutcome::Unreachable => "unreachable",
            AttemptOutcome::Closed => "closed",
            AttemptOutcome::StartingUp => "starting_up",
            AttemptOutcome::ShuttingDown => "shutting_down",
            AttemptOutcome::TooManyConnections => "too_many_connections",
            AttemptOutcome::ReadOnly => "read_only",
            AttemptOutcome::WrongHost => "wrong_host",
            AttemptOutcome::Rejected => "rejected",
            AttemptOutcome::Other => "other",
        }
    }

    /// All of them.
    pub const ALL: [AttemptOutcome; 12] = [
        AttemptOutcome::Connected,
        AttemptOutcome::Refused,
        AttemptOutcome::TimedOut,
        AttemptOutcome::Unreachable,
        AttemptOutcome::Closed,
        AttemptOutcome::StartingUp,
        AttemptOutcome::ShuttingDown,
        AttemptOutcome::TooManyConnections,
        AttemptOutcome::ReadOnly,
        AttemptOutcome::WrongHost,
        AttemptOutcome::Rejected,
        AttemptOutcome::Other,
    ];
}

/// Attempts by outcome, and the first and the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    counts: [u64; AttemptOutcome::ALL.len()],
    /// The first attempt.
    pub first: Option<(Timestamp, AttemptOutcome)>,
    /// The last attempt.
    pub last: Option<(Timestamp, AttemptOutcome)>,
}

impl Attempts {
    fn add(&mut self, outcome: AttemptOutcome, at: Timestamp) {
        self.counts[outcome as usize] += 1;
        self.first.get_or_insert((at, outcome));
        self.last = Some((at, outcome));
    }

    fn merge(&mut self, other: &Attempts) {
        let Attempts { counts, first, last } = other;
        self.counts.iter_mut().zip(counts).for_each(|(ours, theirs)| *ours += theirs);
        self.first = self.first.into_iter().chain(*first).min();
        self.last = self.last.into_iter().chain(*last).max();
    }

    /// Number of attempts with this outcome.
    pub fn count(&self, outcome: AttemptOutcome) -> u64 {
        self.counts[outcome as usize]
    }

    /// Number of all attempts.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// How a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossCause {
    /// The server sent an error with this SQLSTATE, and closed the connection.
    SqlState([u8; 5]),
    /// The server closed the connection without a message.
    Closed,
    /// The connection was reset.
    Reset,
    /// No reply within the client's time limit.
    NoResponse,
    /// Another error of the network or of TLS.
    Network,
}

/// A client without its connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientOutage {
    /// Number of the client.
    pub client: u64,
    /// End of its last succeeded transaction.
    pub last_success: Option<Timestamp>,
    /// When it found its connection lost.
    pub lost: Timestamp,
    /// How.
    pub cause: LossCause,
    /// Its attempts to connect.
    pub attempts: Attempts,
    /// When it was connected again for the first time.
    pub connected: Option<Timestamp>,
    /// End of its first succeeded transaction that only read.
    pub first_read: Option<Timestamp>,
    /// End of its first succeeded transaction that wrote.
    pub first_write: Option<Timestamp>,
}

impl ClientOutage {
    /// End of its first succeeded transaction.
    pub fn first_success(&self) -> Option<Timestamp> {
        self.first_read.into_iter().chain(self.first_write).min()
    }

    /// Whether it has succeeded since.
    fn is_over(&self) -> bool {
        self.first_read.is_some() || self.first_write.is_some()
    }
}

/// A transaction that ended during an outage or was due in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Affected {
    scheduled: Timestamp,
    finished: Timestamp,
    ending: Ending,
}

/// Number of outages of clients of one worker that are kept; further ones are only counted.
pub const CLIENT_OUTAGES_MAX: usize = 20_000;
/// Number of transactions of one worker that are kept because they were due in an outage.
pub const AFFECTED_MAX: usize = 250_000;
/// Shortest gap between two writes that is kept at first.
const WRITE_GAP_MIN: Duration = Duration::from_millis(10);
/// Number of gaps between writes that a worker keeps; with more, the shorter half of the scale is dropped.
const WRITE_GAPS_MAX: usize = 50_000;
/// Outages of clients that are less than this apart belong together.
const TOGETHER: Duration = Duration::from_secs(1);

/// What one worker notes.
#[derive(Clone, Debug)]
pub struct OutageLog {
    slots: Vec<Slot>,
    outages: Vec<ClientOutage>,
    /// Losses beyond [`CLIENT_OUTAGES_MAX`].
    more_losses: u64,
    /// All attempts.
    attempts: Attempts,
    /// All losses by cause.
    causes: BTreeMap<LossCause, u64>,
    /// Clients without a connection.
    out: usize,
    /// No transaction has written since a connection was lost.
    awaits_write: bool,
    /// When the last of them was connected again, or when a client wrote after that.
    settled: Timestamp,
    affected: Vec<Affected>,
    more_affected: u64,
    writes: WriteGaps,
}

/// State of one client.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    last_success: Option<Timestamp>,
    /// Index of its outage, until it has succeeded again in reading and in writing.
    outage: Option<usize>,
    is_out: bool,
}

/// Gaps between writes.
#[derive(Clone, Debug)]
struct WriteGaps {
    last: Timestamp,
    shortest: Duration,
    gaps: Vec<Gap>,
}

impl WriteGaps {
    fn write(&mut self, now: Timestamp) {
        let gap = Gap { start: span(self.last), end: span(now) };
        self.last = self.last.max(now);
        if gap.length() < self.shortest {
            return;
        }
        self.gaps.push(gap);
        if self.gaps.len() > WRITE_GAPS_MAX {
            self.shortest *= 2;
            let shortest = self.shortest;
            self.gaps.retain(|gap| gap.length() >= shortest);
        }
    }
}

/// A time since the epoch.
fn span(at: Timestamp) -> Duration {
    at.since(Timestamp::ZERO)
}

impl OutageLog {
    /// The log of a worker with this number of clients, which start at `start`.
    pub fn new(clients: usize, start: Timestamp) -> OutageLog {
        OutageLog {
            slots: vec![Slot::default(); clients],
            outages: Vec::new(),
            more_losses: 0,
            attempts: Attempts::default(),
            causes: BTreeMap::new(),
            out: 0,
            awaits_write: false,
            settled: Timestamp::ZERO,
            affected: Vec::new(),
            more_affected: 0,
            writes: WriteGaps { last: start, shortest: WRITE_GAP_MIN, gaps: Vec::new() },
        }
    }

    /// A transaction of the client in this slot has ended; `writes`: its script writes.
    #[inline]
    pub fn ended(&mut self, slot: usize, sample: &Sample, writes: bool) {
        if sample.ending == Ending::Succeeded {
            let own = &mut self.slots[slot];
            own.last_success = Some(sample.finished);
            if writes {
                self.writes.write(sample.finished);
                // A pooler or a server that waits for a standby accepts connections long before it writes.
                if self.out == 0 && std::mem::take(&mut self.awaits_write) {
                    self.settled = self.settled.max(sample.finished);
                }
            }
            if let Some(outage) = own.outage {
                self.succeeded_again(slot, outage, writes, sample.finished);
            }
        }
        if self.out > 0 || self.awaits_write || sample.scheduled <= self.settled {
            self.affect(sample);
        }
    }

    #[cold]
    fn succeeded_again(&mut self, slot: usize, outage: usize, writes: bool, now: Timestamp) {
        let outage = &mut self.outages[outage];
        let first = if writes { &mut outage.first_write } else { &mut outage.first_read };
        first.get_or_insert(now);
        if outage.first_read.is_some() && outage.first_write.is_some() {
            self.slots[slot].outage = None;
        }
    }

    /// A transaction that was never started has ended.
    pub fn affect(&mut self, sample: &Sample) {
        if self.settled == Timestamp::ZERO && self.out == 0 {
            return;
        }
        let Sample { scheduled, finished, ending, .. } = *sample;
        if self.affected.len() < AFFECTED_MAX {
            self.affected.push(Affected { scheduled, finished, ending });
        } else {
            self.more_affected += 1;
        }
    }

    /// The client in this slot has lost its connection.
    pub fn lost(&mut self, slot: usize, client: u64, cause: LossCause, now: Timestamp) {
        *self.causes.entry(cause).or_default() += 1;
        self.awaits_write = true;
        let own = &mut self.slots[slot];
        if !std::mem::replace(&mut own.is_out, true) {
            self.out += 1;
        }
        // A connection that is lost again before a transaction has succeeded belongs to the same outage.
        if own.outage.is_some_and(|outage| !self.outages[outage].is_over()) {
            return;
        }
        if self.outages.len() >= CLIENT_OUTAGES_MAX {
            self.more_losses += 1;
            own.outage = None;
            return;
        }
        own.outage = Some(self.outages.len());
        self.outages.push(ClientOutage {
            client,
            last_success: own.last_success,
            lost: now,
            cause,
            attempts: Attempts::default(),
            connected: None,
            first_read: None,
            first_write: None,
        });
    }

    /// An attempt to connect the client in this slot has ended.
    pub fn attempted(&mut self, slot: usize, outcome: AttemptOutcome, now: Timestamp) {
        self.attempts.add(outcome, now);
        let Slot { outage, is_out, .. } = self.slots[slot];
        if let Some(outage) = outage.filter(|_| is_out) {
            self.outages[outage].attempts.add(outcome, now);
        }
    }

    /// The client in this slot has all its connections again.
    pub fn connected(&mut self, slot: usize, now: Timestamp) {
        let own = &mut self.slots[slot];
        if std::mem::replace(&mut own.is_out, false) {
            self.out -= 1;
            self.settled = self.settled.max(now);
        }
        if let Some(outage) = own.outage {
            self.outages[outage].connected.get_or_insert(now);
        }
    }
}

/// Lost connections of a run, combined from the logs of its workers.
#[derive(Clone, Debug, Default)]
pub struct Outages {
    /// Losses by cause.
    pub causes: BTreeMap<LossCause, u64>,
    /// All attempts to connect.
    pub attempts: Attempts,
    /// Losses that are in no outage below, because there were too many.
    pub more_losses: u64,
    /// Transactions that were due in outages, but are not among their arrivals, because there were too many.
    pub more_affected: u64,
    /// Whether the windows are without writes; otherwise no script writes, and they are without a success.
    pub of_writes: bool,
    /// In the order of time.
    pub outages: Vec<Outage>,
}

/// Outages of clients that belong together.
#[derive(Clone, Debug)]
pub struct Outage {
    /// When the first client found its connection lost.
    pub first_error: Timestamp,
    /// When the first client was connected again.
    pub first_connect: Option<Timestamp>,
    /// When the last client was connected again; `None` if one never was.
    pub last_connect: Option<Timestamp>,
    /// End of the first succeeded transaction of these clients that only read.
    pub first_read: Option<Timestamp>,
    /// The same of those that wrote.
    pub first_write: Option<Timestamp>,
    /// The longest time without a successful write of any client: from the end of the last one to that of the next, or
    /// to the end of the run. `None` if other clients went on writing.
    pub window: Option<(Timestamp, Timestamp)>,
    /// Whether the window ended with a write.
    pub is_window_over: bool,
    /// Transactions that were due in the window, by their endings.
    pub arrivals: Arrivals,
    /// For each client the time from its last success, or the loss, to its next one.
    pub out: Distribution,
    /// Clients that were never connected again, or never succeeded again.
    pub never: u64,
    /// Attempts of all clients.
    pub attempts: Attempts,
    /// Each client, in the order of the losses.
    pub clients: Vec<ClientOutage>,
}

/// Transactions that were due in a window.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// How many ended as: succeeded, failed, skipped, unfinished, unknown.
    pub endings: [u64; 5],
    /// Response times of the succeeded ones.
    pub response: Distribution,
}

impl Arrivals {
    fn add(&mut self, affected: &Affected) {
        let at = match affected.ending {
            Ending::Succeeded => 0,
            Ending::Failed(_) => 1,
            Ending::Skipped => 2,
            Ending::Unfinished => 3,
            Ending::Unknown => 4,
        };
        self.endings[at] += 1;
        if affected.ending == Ending::Succeeded {
            self.response.record(affected.finished.since(affected.scheduled));
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.endings.iter().sum()
    }
}

impl Outages {
    /// Combines the workers' logs of a run that ended at `end`. `of_writes`: some script writes.
    pub fn new(logs: Vec<OutageLog>, of_writes: bool, end: Timestamp) -> Outages {
        let mut all = Outages { of_writes, ..Outages::default() };
        let (mut clients, mut affected, mut gaps) = (Vec::new(), Vec::new(), None);
        for log in logs {
            let OutageLog {
                outages,
                more_losses,
                attempts,
                causes,
                affected: of_log,
                more_affected,
                mut writes,
                ..
            } = log;
            causes.into_iter().for_each(|(cause, number)| *all.causes.entry(cause).or_default() += number);
            all.attempts.merge(&attempts);
            all.more_losses += more_losses;
            all.more_affected += more_affected;
            clients.extend(outages);
            affected.extend(of_log);
            let last = Gap { start: span(writes.last), end: span(end) };
            writes.gaps.extend((last.length() >= WRITE_GAP_MIN).then_some(last));
            gaps =
                Some(gaps.map_or_else(|| writes.gaps.clone(), |gaps: Vec<Gap>| common(&gaps, &writes.gaps)));
        }
        clients.sort_by_key(|client: &ClientOutage| (client.lost, client.client));
        let gaps = gaps.unwrap_or_default();
        all.outages = together(clients, end)
            .into_iter()
            .map(|clients| Outage::new(clients, &gaps, &affected, end))
            .collect();
        all
    }

    /// Whether a connection was lost.
    pub fn is_empty(&self) -> bool {
        self.causes.is_empty()
    }

    /// Number of lost connections.
    pub fn losses(&self) -> u64 {
        self.causes.values().sum()
    }
}

/// The parts of gaps that are in both lists, each in the order of time.
fn common(ours: &[Gap], theirs: &[Gap]) -> Vec<Gap> {
    let (mut at, mut found) = (0, Vec::new());
    for gap in ours {
        while theirs.get(at).is_some_and(|their| their.end <= gap.start) {
            at += 1;
        }
        for their in theirs[at..].iter().take_while(|their| their.start < gap.end) {
            found.push(Gap { start: gap.start.max(their.start), end: gap.end.min(their.end) });
        }
    }
    found
}

/// Groups outages of clients, which are in the order of the losses, that overlap or follow each other closely.
fn together(clients: Vec<ClientOutage>, end: Timestamp) -> Vec<Vec<ClientOutage>> {
    let (mut groups, mut until): (Vec<Vec<ClientOutage>>, _) = (Vec::new(), Timestamp::ZERO);
    for client in clients {
        let own_end = client.first_success().or(client.connected).unwrap_or(end);
        match groups.last_mut().filter(|_| client.lost <= until + TOGETHER) {
            Some(group) => {
                until = until.max(own_end);
                group.push(client);
            }
            None => {
                until = own_end;
                groups.push(vec![client]);
            }
        }
    }
    groups
}

impl Outage {
    fn new(clients: Vec<ClientOutage>, gaps: &[Gap], affected: &[Affected], end: Timestamp) -> Outage {
        let of_all = |figure: fn(&ClientOutage) -> Option<Timestamp>| clients.iter().filter_map(figure);
        let first_error = clients.iter().map(|client| client.lost).min().unwrap_or_default();
        let last =
            clients.iter().map(|client| client.first_success().or(client.connected).unwrap_or(end)).max();
        let overlapping = gaps
            .iter()
            .filter(|gap| gap.end >= span(first_error) && gap.start < span(last.unwrap_or(first_error)));
        let at = |time: Duration| Timestamp::ZERO + time;
        let window = overlapping.max_by_key(|gap| gap.length()).map(|gap| (at(gap.start), at(gap.end)));
        let (mut out, mut attempts, mut arrivals) =
            (Distribution::new(), Attempts::default(), Arrivals::default());
        for client in &clients {
            attempts.merge(&client.attempts);
            if let Some(success) = client.first_success() {
                out.record(success.since(client.last_success.unwrap_or(client.lost)));
            }
        }
        if let Some((from, until)) = window {
            affected
                .iter()
                .filter(|affected| from < affected.scheduled && affected.scheduled <= until)
                .for_each(|affected| arrivals.add(affected));
        }
        Outage {
            first_error,
            first_connect: of_all(|client| client.connected).min(),
            last_connect: clients
                .iter()
                .map(|client| client.connected)
                .collect::<Option<Vec<_>>>()
                .and_then(|connected| connected.into_iter().max()),
            first_read: of_all(|client| client.first_read).min(),
            first_write: of_all(|client| client.first_write).min(),
            window,
            is_window_over: window.is_some_and(|(_, until)| until < end),
            arrivals,
            never: clients.iter().filter(|client| !client.is_over()).count() as u64,
            out,
            attempts,
            clients,
        }
    }
}

#[cfg(test)]
mod tests;
