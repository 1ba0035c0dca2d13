//! Replaces the lost connections of a worker's clients: which client tries which host when, by the plan's policy. `run`
//! ends the transactions and continues the clients; the failover meter (`stats::OutageLog`) gets each event here.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::Duration;

use connect::SessionAttributes;
use sockets::Timers;
use stats::{AttemptOutcome, LossCause, OutageLog, Sample, Timestamp};
use wire::{SqlState, StartupError};

use super::sessions::Sessions;
use super::slot::Out;
use crate::client::READ_ONLY;
use crate::driver::Driver;
use crate::error::ConnectReason;
use crate::load::Load;
use crate::plan;

/// Longest time between two checks for replies that are overdue.
pub(super) const RESPONSE_CHECK: Duration = Duration::from_millis(100);
/// Pause before the next attempt if the server's queue of new connections is full.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(2);

/// The clients of a worker that connect again.
pub(super) struct ReconnectingClients<'p> {
    plan: &'p plan::Reconnecting,
    load: &'p Load<'p>,
    /// This worker's share of the clients, and of a limit of attempts.
    share: f64,
    /// Clients in a pause.
    pauses: Timers<usize>,
    /// Clients whose pause is over, in the order of their attempts.
    waiting: VecDeque<usize>,
    /// No attempt is made earlier.
    next_attempt: Timestamp,
    /// Attempts in progress, in the order of their start: client and link.
    begun: VecDeque<(Timestamp, usize, usize)>,
    /// Number of clients with lost connections.
    out: usize,
    /// The first successful attempt since all clients were connected.
    first_success: Option<Timestamp>,
    pub(super) log: OutageLog,
}

impl<'p> ReconnectingClients<'p> {
    /// `None`: clients without connection are aborted.
    pub(super) fn new(load: &'p Load<'p>, clients: usize, start: Timestamp) -> Option<Box<Self>> {
        let plan = load.plan.reconnecting.as_ref()?;
        Some(Box::new(Self {
            plan,
            load,
            share: clients as f64 / load.plan.clients.max(1) as f64,
            pauses: Timers::default(),
            waiting: VecDeque::new(),
            next_attempt: Timestamp::ZERO,
            begun: VecDeque::new(),
            out: 0,
            first_success: None,
            log: OutageLog::new(clients, start),
        }))
    }

    /// A transaction has ended.
    #[inline]
    pub(super) fn ended(&mut self, slot: usize, sample: &Sample) {
        // Without a script that writes, each success counts.
        let writes = self.load.writes[sample.script] || !self.load.any_writes;
        self.log.ended(slot, sample, writes);
    }

    /// The client in this slot has lost the connection of a link.
    pub(super) fn begin<D: Driver>(
        &mut self,
        sessions: &mut Sessions<'p, D>,
        slot: usize,
        link: usize,
        now: Timestamp,
    ) {
        let links = self.load.links.len();
        let own = &mut sessions.slots[slot];
        if let Some(out) = &mut own.out {
            out.lost[link] = true;
            return;
        }
        let target = self.load.reconnect_target(self.load.links[link]);
        let hosts = target.map_or(1, |target| target.order.len().max(1));
        let first = match target {
            Some(target) if target.is_random && hosts > 1 => own.client.pause_draws.range(hosts as u64 - 1),
            _ => 0,
        };
        let mut lost = vec![false; links];
        lost[link] = true;
        let first = usize::try_from(first).unwrap_or(0);
        own.out = Some(Box::new(Out { lost, attempt: None, tried: 0, round: 1, first }));
        self.out += 1;
        self.pause(sessions, slot, now);
    }

    /// The client tries again after its pause.
    fn pause<D: Driver>(&mut self, sessions: &mut Sessions<'p, D>, slot: usize, now: Timestamp) {
        let own = &mut sessions.slots[slot];
        let Some(out) = &own.out else { return };
        // A round tries all hosts without a pause, as one connection of libpq does.
        let pause = match out.tried {
            0 => self.plan.policy.pause(out.round, own.client.pause_draws.next_f64()),
            _ => Duration::ZERO,
        };
        self.pauses.set(now + pause, slot);
    }

    /// No further attempts; true if there were clients with lost connections.
    pub(super) fn stop(&mut self) -> bool {
        self.pauses = Timers::default();
        self.waiting.clear();
        self.begun.clear();
        std::mem::take(&mut self.out) > 0
    }

    /// When [`ReconnectingClients::attempt_due`] has something to do.
    pub(super) fn next_at(&self) -> Option<Timestamp> {
        let attempt = self.waiting.front().map(|_| self.next_attempt);
        let timeout = self.begun.front().map(|(since, ..)| *since + self.plan.attempt_timeout);
        self.pauses.earliest().into_iter().chain(attempt).chain(timeout).min()
    }

    /// Begins the attempts that are due, and ends those that have taken too long.
    pub(super) fn attempt_due<D: Driver>(&mut self, sessions: &mut Sessions<'p, D>, now: Timestamp) {
        while let Some((since, slot, link)) = self.begun.front().copied()
            && now >= since + self.plan.attempt_timeout
        {
            self.failed(sessions, slot, link, AttemptOutcome::TimedOut, now);
        }
        // Clients whose attempt fails at once pause again; those without a pause wait for the next call.
        let due: Vec<usize> = std::iter::from_fn(|| self.pauses.pop_due(now)).map(|(_, slot)| slot).collect();
        self.waiting.extend(due);
        for _ in 0..self.waiting.len() {
            let Some(slot) = self.next(now) else { return };
            self.attempt(sessions, slot, now);
        }
    }

    /// The next client that may connect now.
    fn next(&mut self, now: Timestamp) -> Option<usize> {
        let connected_for = self.first_success.map(|first| now.since(first));
        if let Some(spacing) = self.plan.policy.spacing(connected_for) {
            if now < self.next_attempt {
                return None;
            }
            let spacing = spacing.div_f64(self.share.max(f64::MIN_POSITIVE));
            let planned = self.next_attempt + spacing;
            self.next_attempt = if planned < now { now + spacing } else { planned };
        }
        self.waiting.pop_front()
    }

    /// Begins an attempt at the client's next host.
    fn attempt<D: Driver>(&mut self, sessions: &mut Sessions<'p, D>, slot: usize, now: Timestamp) {
        let own = &mut sessions.slots[slot];
        let Some(out) = own.out.as_mut().filter(|out| own.active && out.attempt.is_none()) else { return };
        let Some(link) = out.lost.iter().position(|lost| *lost) else { return };
        let target = self.load.links[link];
        let (host, session) = match self.load.reconnect_target(target) {
            Some(target) if !target.order.is_empty() => {
                let host = target.order[(out.first + out.tried) % target.order.len()];
                (host, wanted(target.session, out.round))
            }
            _ => (out.tried % self.load.plan.targets[target].hosts.len(), SessionAttributes::Any),
        };
        out.attempt = Some(link);
        let host = own.client.set_host(link, (host, session), self.load);
        let connection = self.load.connection(slot, link);
        match sessions.driver.connect(connection, &host.address, &host.transport) {
            Ok(()) => self.begun.push_back((now, slot, link)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                out.attempt = None;
                self.pauses.set(now + QUEUE_FULL_WAIT, slot);
            }
            Err(error) => self.failed(sessions, slot, link, transport_outcome(&error), now),
        }
    }

    /// An attempt has failed, or a connection of a client that is connecting was lost.
    pub(super) fn failed<D: Driver>(
        &mut self,
        sessions: &mut Sessions<'p, D>,
        slot: usize,
        link: usize,
        outcome: AttemptOutcome,
        now: Timestamp,
    ) {
        sessions.context.out.clear();
        sessions.driver.close(self.load.connection(slot, link));
        let Some(out) = &mut sessions.slots[slot].out else { return };
        out.lost[link] = true;
        if out.attempt != Some(link) {
            return;
        }
        out.attempt = None;
        out.tried += 1;
        let target = self.load.links[link];
        let hosts = match self.load.reconnect_target(target) {
            Some(target) if !target.order.is_empty() => target.order.len(),
            _ => self.load.plan.targets[target].hosts.len(),
        };
        if out.tried >= hosts {
            out.tried = 0;
            out.round = out.round.saturating_add(1);
        }
        self.begun.retain(|(_, of, on)| (*of, *on) != (slot, link));
        self.log.attempted(slot, outcome, now);
        self.pause(sessions, slot, now);
    }

    /// An attempt has succeeded. True if the client has all its connections again.
    pub(super) fn succeeded<D: Driver>(
        &mut self,
        sessions: &mut Sessions<'p, D>,
        slot: usize,
        link: usize,
        now: Timestamp,
    ) -> bool {
        self.begun.retain(|(_, of, on)| (*of, *on) != (slot, link));
        self.log.attempted(slot, AttemptOutcome::Connected, now);
        self.first_success.get_or_insert(now);
        let own = &mut sessions.slots[slot];
        let Some(out) = &mut own.out else { return false };
        (out.lost[link], out.attempt) = (false, None);
        if out.lost.contains(&true) {
            (out.tried, out.round) = (0, 1);
            self.pauses.set(now, slot);
            return false;
        }
        own.out = None;
        self.out = self.out.saturating_sub(1);
        if self.out == 0 {
            self.first_success = None;
        }
        self.log.connected(slot, now);
        true
    }
}

/// The required state of a server in this round: `prefer-standby` looks for a standby first, then for any server.
fn wanted(session: SessionAttributes, round: u32) -> SessionAttributes {
    match session {
        SessionAttributes::PreferStandby if round % 2 == 1 => SessionAttributes::Standby,
        SessionAttributes::PreferStandby => SessionAttributes::Any,
        session => session,
    }
}

/// Why a session could not be made anew.
pub(super) fn loss_cause(reason: &ConnectReason) -> LossCause {
    match reason {
        ConnectReason::Startup(StartupError::Server(error)) => LossCause::SqlState(error.sqlstate.bytes()),
        ConnectReason::Closed => LossCause::Closed,
        ConnectReason::TimedOut(_) => LossCause::NoResponse,
        _ => LossCause::Network,
    }
}

/// The outcome of a failed attempt.
pub(super) fn attempt_outcome(reason: &ConnectReason) -> AttemptOutcome {
    match reason {
        ConnectReason::Transport(error) => transport_outcome(error),
        ConnectReason::Closed => AttemptOutcome::Closed,
        ConnectReason::TimedOut(_) => AttemptOutcome::TimedOut,
        ConnectReason::Unsuitable(READ_ONLY) => AttemptOutcome::ReadOnly,
        ConnectReason::Unsuitable(_) => AttemptOutcome::WrongHost,
        ConnectReason::Startup(StartupError::Server(error)) => match error.sqlstate {
            SqlState::CANNOT_CONNECT_NOW => AttemptOutcome::StartingUp,
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN => AttemptOutcome::ShuttingDown,
            SqlState::TOO_MANY_CONNECTIONS => AttemptOutcome::TooManyConnections,
            other if matches!(other.class(), "28" | "3D") => AttemptOutcome::Rejected,
            _ => AttemptOutcome::Other,
        },
        ConnectReason::Setting(_) | ConnectReason::Startup(_) => AttemptOutcome::Other,
    }
}

fn transport_outcome(error: &io::Error) -> AttemptOutcome {
    match error.kind() {
        // A Unix-domain socket whose server is gone, or that does not exist.
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => AttemptOutcome::Refused,
        ErrorKind::TimedOut => AttemptOutcome::TimedOut,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            AttemptOutcome::Unreachable
        }
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => AttemptOutcome::Closed,
        _ => AttemptOutcome::Other,
    }
}
