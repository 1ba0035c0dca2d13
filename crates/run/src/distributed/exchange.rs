//! The exchange between the ranks of a job: one thread in each process. It completes a round with the other ranks,
//! passes on their messages, and waits for the next round. All ranks make the same steps in the same order, because
//! rank 0's message of a round determines the following ones.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{EndDecisions, Inbox, RankMessage, SharedEnd};
use ranks::{Job, Offset, RanksError, Start};
use results::Host;

use super::message::{self, Assembly, Directive, FromFirst, Introduction, Pace, Report};
use super::order::Order;
use super::timing::now;

/// Time limit of each wait of rank 0 for the other ranks.
pub(super) const PATIENCE: Duration = Duration::from_secs(6);
/// The first round waits for the process manager to start all ranks, over ssh for example.
pub(super) const START_PATIENCE: Duration = Duration::from_secs(60);
/// The others wait longer, so that rank 0 ends the job and stores why.
const PATIENCE_OF_OTHERS: Duration = Duration::from_secs(8);
/// Time that the other ranks wait for rank 0 to end the job, if rank 0 is not the cause of the failure.
pub(super) const END_BY_RANK_0: Duration = Duration::from_secs(3);
/// Time between two rounds while something begins or ends, and while nothing happens.
const HURRY: Duration = Duration::from_millis(10);
const IDLE: Duration = Duration::from_millis(500);
/// After a run, rounds continue at short intervals for this time, because the next trial or block may follow at once.
const QUICK_AFTER_RUN: Duration = Duration::from_secs(2);
/// Rounds during a run begin this long after its seconds, when the workers have handed over their intervals.
const AFTER_SECOND: Duration = Duration::from_millis(50);
/// Barriers by which the clocks are compared before each run.
const BARRIERS: usize = 40;
/// Time between the agreement on the common start and that moment.
const START_AHEAD: Duration = Duration::from_millis(100);

/// The connection of one process to the other ranks, shared by the exchange's thread and the others.
pub(crate) struct Exchange {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(crate) struct State {
    /// To send in the next round.
    directives: Vec<Directive>,
    reports: Vec<Report>,
    /// The rest of a message whose first parts were sent.
    sending: Vec<u8>,
    /// On rank 0: parts of a message of another rank are missing.
    is_incomplete: bool,
    /// Other ranks that have introduced themselves.
    introduced: Vec<bool>,
    /// The latest run.
    pub(crate) run: Option<Run>,
    last_run: u64,
    /// An order that is not being executed yet.
    order: Option<(u64, Order)>,
    /// The thread has ended.
    has_ended: bool,
    /// Why the exchange ended early.
    pub(crate) failure: Option<Failure>,
    /// How the thread leaves the job at its end.
    leave: Option<Leave>,
    /// When a run was last active.
    active_at: Option<Instant>,
}

/// One distributed run, as a rank sees it.
pub(crate) struct Run {
    pub(crate) number: u64,
    /// Number of ranks that take part.
    pub(crate) machines: usize,
    /// The decisions about the end: on rank 0 those of its engine, on the others those that arrived.
    pub(crate) end: Arc<SharedEnd>,
    sent: EndDecisions,
    /// When the run ends as planned, since its start.
    pub(crate) planned: Option<Duration>,
    /// The common start with the offsets of the clocks, once agreed.
    pub(crate) start: Option<(Start, Vec<Offset>)>,
    pub(crate) is_cancelled: bool,
    /// On rank 0: the other ranks.
    pub(crate) others: Vec<OtherRank>,
    /// On rank 0: for messages to the engine, once it is ready.
    pub(crate) inbox: Option<Inbox>,
}

/// What rank 0 knows of another rank during a run.
#[derive(Default)]
pub(crate) struct OtherRank {
    /// Its host; it is ready.
    pub(crate) host: Option<Host>,
    /// Why it cannot run its part.
    pub(crate) refusal: Option<String>,
    /// It has sent its outcome.
    pub(crate) is_done: bool,
    /// It has nothing more to do.
    pub(crate) is_idle: bool,
    /// How long after the common start it began.
    pub(crate) late: Duration,
}

/// Why the exchange ended early.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The ranks that are the cause, as far as it is known.
    pub(crate) ranks: Vec<usize>,
    pub(crate) reason: String,
}

#[derive(Clone, Copy)]
pub(crate) enum Leave {
    /// This process ends, and the others with it.
    Abort(u8),
    /// This process ends by itself.
    Alone,
}

impl Failure {
    fn of(error: &RanksError) -> Failure {
        let ranks = match error {
            RanksError::Silent { ranks, .. } => ranks.clone(),
            RanksError::Message { rank, .. } | RanksError::Clocks { rank } => vec![*rank],
            _ => Vec::new(),
        };
        Failure { ranks, reason: error.to_string() }
    }

    /// In the first round, silent ranks have not been there yet.
    fn before_the_start(error: &RanksError) -> Failure {
        let failure = Failure::of(error);
        let reason = format!("{}; it has not started, or runs another command", failure.reason);
        if failure.ranks.is_empty() { failure } else { Failure { reason, ..failure } }
    }

    /// Whether rank 0 may still end the job.
    pub(super) fn leaves_rank_0(&self) -> bool {
        !self.ranks.is_empty() && !self.ranks.contains(&0)
    }

    fn of_rank(rank: usize, reason: String) -> Failure {
        Failure { ranks: vec![rank], reason: format!("rank {rank} {reason}") }
    }
}

impl Run {
    pub(crate) fn new(number: u64, machines: usize) -> Run {
        let others = (1..machines).map(|_| OtherRank::default()).collect();
        Run {
            number,
            machines,
            end: Arc::default(),
            sent: EndDecisions::default(),
            planned: None,
            start: None,
            is_cancelled: false,
            others,
            inbox: None,
        }
    }

    /// The pace of the rounds, by rank 0.
    fn pace(&self, now: Instant) -> Pace {
        let Some((start, _)) = &self.start else { return Pace::Hurry };
        let decided = self.end.decisions().end_ns.map(Duration::from_nanos);
        let end = self.planned.into_iter().chain(decided).min();
        let is_over = end.is_some_and(|end| now + AFTER_SECOND >= start.at + end);
        let is_ending = is_over || self.is_cancelled || self.others.iter().any(|other| other.is_done);
        if is_ending { Pace::Hurry } else { Pace::Seconds }
    }
}

impl Exchange {
    pub(crate) fn new(rank: usize, size: usize) -> Arc<Exchange> {
        let state = State { introduced: vec![false; size], ..State::default() };
        Arc::new(Exchange { rank, size, state: Mutex::new(state), changed: Condvar::new() })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes all that wait for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_all();
        result
    }

    /// Waits for a change, at most for this time; returns the state.
    pub(crate) fn wait<'s>(&'s self, state: MutexGuard<'s, State>, limit: Duration) -> MutexGuard<'s, State> {
        self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until the state fulfils a condition, at most for this time.
    pub(crate) fn wait_until(&self, limit: Duration, is_fulfilled: impl Fn(&State) -> bool) {
        let until = now().checked_add(limit);
        let mut state = self.state();
        while !is_fulfilled(&state) {
            let left = until.map_or(PATIENCE, |until| until.saturating_duration_since(now()));
            if left.is_zero() {
                return;
            }
            state = self.wait(state, left);
        }
    }

    /// The function of the thread.
    pub(crate) fn run(&self, mut job: Job) {
        if self.rank > 0 {
            self.change(|state| state.reports.push(Report::Here(Introduction::of_process())));
        }
        let ended = self.rounds(&mut job);
        if let Err(failure) = ended {
            self.change(|state| state.fail(failure));
            let mut state = self.state();
            while state.leave.is_none() {
                state = self.wait(state, PATIENCE);
            }
            if let Some(Leave::Abort(status)) = state.leave {
                drop(state);
                // An error means that the process manager has ended, and the other processes with it.
                let _ = job.abort(status);
            }
        } else {
            // As above.
            let _ = job.finalize();
        }
        self.change(|state| state.has_ended = true);
    }

    fn rounds(&self, job: &mut Job) -> Result<(), Failure> {
        let patience = if self.rank == 0 { PATIENCE } else { PATIENCE_OF_OTHERS };
        job.set_patience(START_PATIENCE + patience);
        let mut is_first = true;
        let mut assemblies: Vec<Assembly> = (0..self.size).map(|_| Assembly::default()).collect();
        loop {
            let own = self.outgoing();
            let round = job.round(&own).map_err(|error| match is_first {
                true => Failure::before_the_start(&error),
                false => Failure::of(&error),
            })?;
            if std::mem::take(&mut is_first) {
                job.set_patience(patience);
            }
            let unreadable = |rank: usize| {
                move |problem: String| {
                    Failure::of_rank(rank, format!("sent a message that cannot be read: {problem}"))
                }
            };
            let mut first = None;
            for (rank, (part, assembly)) in round.messages.iter().zip(&mut assemblies).enumerate() {
                let Some(bytes) = assembly.add(part).map_err(unreadable(rank))? else { continue };
                if rank == 0 {
                    first = Some(message::decode::<FromFirst>(&bytes).map_err(unreadable(rank))?);
                } else {
                    let reports: Vec<Report> = message::decode(&bytes).map_err(unreadable(rank))?;
                    reports.into_iter().try_for_each(|report| self.take(rank, report))?;
                }
            }
            self.state().is_incomplete = assemblies.iter().any(Assembly::is_incomplete);
            // Further parts of rank 0's message follow at once.
            let FromFirst { pace, directives } =
                first.unwrap_or(FromFirst { pace: Pace::Hurry, directives: Vec::new() });
            if self.execute(job, directives)? {
                return Ok(());
            }
            self.wait_for_next(pace);
        }
    }

    /// Executes the directives of rank 0; returns whether the job is over.
    fn execute(&self, job: &mut Job, directives: Vec<Directive>) -> Result<bool, Failure> {
        let mut is_over = false;
        for directive in directives {
            match directive {
                Directive::Start { run } => self.agree_on_start(job, run)?,
                Directive::Quit => is_over = true,
                _ if self.rank == 0 => {}
                directive => self.obey(directive),
            }
        }
        Ok(is_over)
    }

    /// What this rank sends in the next round: the next part of its message.
    fn outgoing(&self) -> Vec<u8> {
        let mut state = self.state();
        if state.sending.is_empty() {
            state.sending = self.next_message(&mut state);
        }
        message::next_part(&mut state.sending)
    }

    fn next_message(&self, state: &mut State) -> Vec<u8> {
        if self.rank > 0 {
            return message::encode_reports(&mut state.reports);
        }
        let now = now();
        let mut directives = std::mem::take(&mut state.directives);
        let active_at = state.active_at;
        let rests = active_at.is_none_or(|at| now.duration_since(at) > QUICK_AFTER_RUN);
        let pace = match &mut state.run {
            Some(run) => {
                let decisions = run.end.decisions();
                if decisions != run.sent {
                    run.sent = decisions;
                    directives.push(Directive::End { run: run.number, decisions });
                }
                if state.is_incomplete { Pace::Hurry } else { run.pace(now) }
            }
            None if rests => Pace::Idle,
            None => Pace::Hurry,
        };
        message::encode(&FromFirst { pace, directives })
    }

    /// All ranks do this in the same round.
    fn agree_on_start(&self, job: &mut Job, number: u64) -> Result<(), Failure> {
        let failed = |error: RanksError| Failure::of(&error);
        let offsets = job.measure_offsets(BARRIERS).map_err(failed)?;
        let start = job.common_start(START_AHEAD).map_err(failed)?;
        self.change(|state| {
            if let Some(run) = state.run.as_mut().filter(|run| run.number == number) {
                run.start = Some((start, offsets));
            }
        });
        Ok(())
    }

    /// On rank 0: a report of another rank.
    fn take(&self, rank: usize, report: Report) -> Result<(), Failure> {
        let unasked = || {
            Failure::of_rank(
                rank,
                "sent a report of a run that it is not part of; this is an error of pgmeter".to_owned(),
            )
        };
        self.change(|state| {
            if let Report::Here(introduction) = &report {
                state.introduced[rank] = true;
                let difference = introduction.difference(&Introduction::of_process());
                return difference.map_or(Ok(()), |difference| Err(Failure::of_rank(rank, difference)));
            }
            // Late reports of a cancelled run are ignored.
            let Some(run) = state.run.as_mut().filter(|run| run.number == report.run()) else {
                return Ok(());
            };
            let other = run.others.get_mut(rank - 1).ok_or_else(unasked)?;
            match report {
                Report::Here(_) => {}
                Report::Ready { host, .. } => other.host = Some(*host),
                Report::Began { late_ns, .. } => other.late = Duration::from_nanos(late_ns),
                Report::Idle { .. } => other.is_idle = true,
                Report::Of { message, .. } => {
                    other.is_done |= matches!(*message, RankMessage::Done(_));
                    match (&run.inbox, *message) {
                        (Some(inbox), message) => inbox.deliver(rank, message),
                        (None, RankMessage::Done(Err(reason))) => other.refusal = Some(reason),
                        (None, _) => return Err(unasked()),
                    }
                }
            }
            Ok(())
        })
    }

    /// On another rank: executes a directive of rank 0.
    fn obey(&self, directive: Directive) {
        self.change(|state| match directive {
            Directive::Prepare { run, order } => {
                state.run = Some(Run::new(run, order.machines()));
                state.order = Some((run, *order));
            }
            Directive::End { run, decisions } => {
                state.run_of(run).into_iter().for_each(|run| run.end.apply(&decisions));
            }
            Directive::Cancel { run } => state.run_of(run).into_iter().for_each(|run| {
                run.is_cancelled = true;
                run.end.apply(&EndDecisions { stop: true, ..EndDecisions::default() });
            }),
            Directive::Start { .. } | Directive::Quit => {}
        });
    }

    /// Waits until the next round. On rank 0, a new directive ends the wait.
    fn wait_for_next(&self, pace: Pace) {
        let begun = now();
        let state = self.state();
        let start = state.run.as_ref().and_then(|run| run.start.as_ref()).map(|(start, _)| start.at);
        let length = match (pace, start) {
            (Pace::Seconds, Some(start)) => {
                let passed = begun.saturating_duration_since(start);
                let next = Duration::from_secs(passed.as_secs()) + AFTER_SECOND;
                let next = if next > passed { next } else { next + Duration::from_secs(1) };
                next.checked_sub(passed).unwrap_or(HURRY)
            }
            (Pace::Hurry, _) | (Pace::Seconds, None) => HURRY,
            (Pace::Idle, _) => IDLE,
        };
        let until = begun + length;
        let mut state = state;
        while let Some(left) = until.checked_duration_since(now()).filter(|left| !left.is_zero()) {
            if !state.directives.is_empty() {
                return;
            }
            state = self.wait(state, left);
        }
    }
}

impl State {
    fn fail(&mut self, failure: Failure) {
        if let Some(run) = &mut self.run {
            // This process stops its own part.
            run.end.apply(&EndDecisions { stop: true, ..EndDecisions::default() });
            if let Some(inbox) = &run.inbox {
                let rank =
                    failure.ranks.iter().copied().find(|rank| *rank > 0 && *rank < run.machines).unwrap_or(1);
                inbox.deliver(rank, RankMessage::Done(Err(failure.reason.clone())));
            }
        }
        self.failure = Some(failure);
    }

    fn run_of(&mut self, number: u64) -> Option<&mut Run> {
        self.run.as_mut().filter(|run| run.number == number)
    }

    /// On rank 0: all ranks are told to prepare their part.
    pub(crate) fn begin(&mut self, order: Order) -> u64 {
        self.last_run += 1;
        let number = self.last_run;
        self.run = Some(Run::new(number, order.machines()));
        self.directives.push(Directive::Prepare { run: number, order: Box::new(order) });
        number
    }

    pub(crate) fn tell(&mut self, directive: Directive) {
        self.directives.push(directive);
    }

    pub(crate) fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// On rank 0: the run is over.
    pub(crate) fn end_run(&mut self) -> Option<Run> {
        self.active_at = Some(now());
        self.run.take()
    }

    /// On another rank: the next order, once it has arrived.
    pub(crate) fn take_order(&mut self) -> Option<(u64, Order)> {
        self.order.take()
    }

    pub(crate) fn leave(&mut self, how: Leave) {
        self.leave = Some(how);
    }

    /// Whether the job is over for this process.
    pub(crate) fn is_over(&self) -> bool {
        self.has_ended
    }

    /// On rank 0: whether all ranks have introduced themselves, or the exchange has failed.
    pub(crate) fn all_introduced(&self) -> bool {
        self.failure.is_some() || self.introduced.iter().skip(1).all(|introduced| *introduced)
    }

    /// On rank 0: whether the other ranks have nothing more to do, or the exchange has failed.
    pub(crate) fn others_are_idle(&self) -> bool {
        let others = self.run.iter().flat_map(|run| &run.others);
        self.failure.is_some() || others.into_iter().all(|other| other.is_idle)
    }
}

impl Report {
    /// Number of the run; 0 for none.
    fn run(&self) -> u64 {
        match self {
            Report::Here(_) => 0,
            Report::Ready { run, .. }
            | Report::Began { run, .. }
            | Report::Of { run, .. }
            | Report::Idle { run } => *run,
        }
    }
}
