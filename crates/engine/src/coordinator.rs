//! Collects the results of a process's workers and, on rank 0, the messages of the other ranks, until all are done.
//! `run` starts the workers and calls it; `conclusion` makes the outcome.

use std::time::Duration;

use stats::{Interval, Timestamp};

use crate::abort::{AbortCause, AbortedClient};
use crate::conclusion::conclude;
use crate::error::EngineError;
use crate::load::Load;
use crate::merging::Merging;
use crate::outcome::{Outcome, Progress};
use crate::peers::RankMessage;
use crate::rank_outcome::{Lost, RankOutcome, cancel_running};
use crate::stopping::Stop;
use crate::timeline::Timeline;
use crate::worker::WorkerOutcome;

/// State of a run.
pub(crate) struct Coordinator<'a> {
    load: &'a Load<'a>,
    stop: &'a Stop<'a>,
    timeline: Timeline,
    connect_time: Duration,
    merging: Merging<'a>,
    /// Outcomes of this process's workers.
    outcomes: Vec<Option<WorkerOutcome>>,
    /// Workers that are not done.
    working: usize,
    lost: Lost,
    /// Outcomes of the ranks from 1 on; only rank 0 receives them.
    ranks: Vec<Option<RankOutcome>>,
    failure: Option<EngineError>,
}

impl<'a> Coordinator<'a> {
    pub(crate) fn new(
        load: &'a Load<'a>,
        stop: &'a Stop<'a>,
        timeline: Timeline,
        connect_time: Duration,
        observer: &'a mut dyn FnMut(&Progress<'_>),
    ) -> Self {
        let workers = load.workers.len();
        let part = load.plan.part;
        let others = if part.rank == 0 { part.ranks - 1 } else { 0 };
        Self {
            load,
            stop,
            timeline,
            connect_time,
            merging: Merging::new(workers, others, load.plan, timeline, observer, stop),
            outcomes: (0..workers).map(|_| None).collect(),
            working: workers,
            lost: Lost::default(),
            ranks: (0..others).map(|_| None).collect(),
            failure: None,
        }
    }

    /// Whether the coordinator needs no further message.
    pub(crate) fn is_over(&self) -> bool {
        self.working == 0 && (self.failure.is_some() || self.ranks.iter().all(Option::is_some))
    }

    /// A worker has completed an interval; returns an empty one for reuse.
    pub(crate) fn take_interval(
        &mut self,
        worker: usize,
        interval: Interval,
        warmup: bool,
    ) -> Option<Interval> {
        self.merging.take(worker, interval, warmup)
    }

    /// A worker is done.
    pub(crate) fn take_outcome(
        &mut self,
        worker: usize,
        result: Result<WorkerOutcome, EngineError>,
        now: Timestamp,
    ) {
        self.working -= 1;
        self.merging.close(worker);
        match result {
            Ok(outcome) => self.outcomes[worker] = Some(outcome),
            Err(EngineError::Panicked { worker, reason }) => {
                self.lost.clients.extend(clients_of_lost(self.load, worker, &reason));
                self.lost.at = now;
                if self.load.plan.exit_on_abort {
                    self.stop.ask();
                }
            }
            // The others have been asked to end too.
            Err(error) => self.failure = self.failure.take().or(Some(error)),
        }
    }

    /// A message of another rank. An invalid message ends the run, as does a failed rank.
    pub(crate) fn take_message(&mut self, rank: usize, message: RankMessage) {
        if self.failure.is_some() {
            return;
        }
        if let Err(reason) = self.try_take_message(rank, message) {
            self.fail(rank, reason);
        }
    }

    fn try_take_message(&mut self, rank: usize, message: RankMessage) -> Result<(), String> {
        let own = rank.checked_sub(1).filter(|index| *index < self.ranks.len());
        let Some(index) = own else {
            let ranks = self.ranks.len() + 1;
            return Err(format!("a message came from it, but this process has {ranks} ranks to serve"));
        };
        if self.ranks[index].is_some() {
            return Err("it sent a message after its outcome".to_owned());
        }
        match message {
            RankMessage::Interval(interval) => self.merging.take_encoded(index, &interval),
            RankMessage::Done(Err(reason)) => Err(reason),
            RankMessage::Done(Ok(outcome)) => {
                outcome.check(self.load, rank, self.merging.counts_of_rank(index))?;
                let outcome = outcome.moved(Timestamp::ZERO, self.timeline.start);
                self.merging.close_rank(index);
                if outcome.by_user || self.load.plan.exit_on_abort && !outcome.aborted.is_empty() {
                    self.stop.ask();
                }
                self.ranks[index] = Some(outcome);
                Ok(())
            }
        }
    }

    /// A rank failed, or will send no further message.
    fn fail(&mut self, rank: usize, reason: String) {
        self.failure = Some(EngineError::Rank { rank, reason: reason.into() });
        self.stop.ask();
    }

    /// No message will arrive any more.
    pub(crate) fn close(&mut self) {
        if let Some(index) = self.ranks.iter().position(Option::is_none).filter(|_| self.failure.is_none()) {
            self.fail(index + 1, "its messages ended before its outcome".to_owned());
        }
    }

    /// The outcome of this process's workers, on its clock.
    fn into_own(self) -> Result<(Timeline, RankOutcome, Vec<RankOutcome>, Merging<'a>), EngineError> {
        let Self { load, stop, timeline, connect_time, mut merging, outcomes, lost, ranks, failure, .. } =
            self;
        let outcomes: Vec<_> = outcomes.into_iter().flatten().collect();
        if let Some(error) = failure {
            cancel_running(load.plan, &outcomes);
            return Err(error);
        }
        let measured = merging.take_own();
        let own = RankOutcome::new(load, &timeline, connect_time, stop, outcomes, lost, measured);
        Ok((timeline, own, ranks.into_iter().flatten().collect(), merging))
    }

    /// The outcome of the run, on rank 0.
    pub(crate) fn into_outcome(self) -> Result<Outcome, EngineError> {
        let (load, stop) = (self.load, self.stop);
        let (timeline, own, mut ranks, merging) = self.into_own()?;
        ranks.insert(0, own);
        Ok(conclude(load, timeline, stop, ranks, merging))
    }

    /// The outcome of this rank for rank 0, with times relative to the start.
    pub(crate) fn into_rank_outcome(self) -> Result<RankOutcome, EngineError> {
        let (timeline, own, ..) = self.into_own()?;
        Ok(own.moved(timeline.start, Timestamp::ZERO))
    }
}

/// Aborts all clients of a worker that panicked.
fn clients_of_lost(load: &Load<'_>, worker: usize, reason: &str) -> impl Iterator<Item = AbortedClient> {
    let cause = AbortCause::WorkerLost { worker, reason: reason.into() };
    let clients = load.workers[worker].clients;
    clients.iter().map(move |client| AbortedClient { client, place: None, cause: cause.clone() })
}
