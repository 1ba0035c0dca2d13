//! The outcome of one rank, from the outcomes of its workers. Rank 0 combines those of all ranks (`conclusion`). The
//! outcomes of other ranks arrive as text from another process and are checked here.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stats::{COUNT_MAX, Counts, OutageLog, ScriptStats, Timestamp};

use crate::abort::AbortedClient;
use crate::driver::EventLoop;
use crate::errors::ErrorTable;
use crate::load::Load;
use crate::outcome::{Exceeded, RankFigures, Reconnects};
use crate::part::Part;
use crate::plan::Plan;
use crate::renewals::SessionRenewals;
use crate::stopping::{Stop, cancel_all};
use crate::timeline::Timeline;
use crate::worker::WorkerOutcome;

/// The outcome of one rank. The fields are private to the engine but for the figures; it is made by [`crate::run_rank`]
/// for rank 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RankOutcome {
    /// The figures of the rank as a load generator.
    pub figures: RankFigures,
    /// When its last client was done.
    pub(crate) finished: Timestamp,
    /// Whether it was stopped before all its clients were done.
    pub(crate) interrupted: bool,
    /// Whether the user of this process asked for that.
    pub(crate) by_user: bool,
    /// Number of clients whose transactions were cancelled, and the limit that they exceeded.
    pub(crate) cut_off: usize,
    pub(crate) exceeded: Option<Exceeded>,
    /// The first worker with an aborted client.
    pub(crate) failed_worker: Option<usize>,
    pub(crate) aborted: Vec<AbortedClient>,
    pub(crate) outages: Vec<OutageLog>,
    /// Renewed sessions of its clients; `None` without a population.
    #[serde(default)]
    pub(crate) renewals: Option<SessionRenewals>,
    pub(crate) errors: ErrorTable,
    pub(crate) warmup_transactions: u64,
    pub(crate) uncancelled: usize,
}

/// Clients whose worker panicked.
#[derive(Default)]
pub(crate) struct Lost {
    pub(crate) clients: Vec<AbortedClient>,
    /// Time of the last such panic.
    pub(crate) at: Timestamp,
}

/// Cancels the running statements; returns how many could not be cancelled.
pub(crate) fn cancel_running(plan: &Plan, outcomes: &[WorkerOutcome]) -> usize {
    cancel_all(plan, outcomes.iter().flat_map(|outcome| &outcome.to_cancel))
}

/// The event loop of several workers or ranks: io_uring only if all of them used it.
pub(crate) fn worst_event_loop<'e>(mut loops: impl Iterator<Item = &'e EventLoop> + Clone) -> EventLoop {
    let worst = loops.clone().find(|event_loop| **event_loop != EventLoop::IoUring);
    worst.or_else(|| loops.next()).cloned().unwrap_or(EventLoop::Other)
}

/// The sum of renewals; `None` without any.
pub(crate) fn merged<'a>(all: impl Iterator<Item = &'a SessionRenewals>) -> Option<SessionRenewals> {
    all.fold(None, |sum, more| match sum {
        None => Some(more.clone()),
        Some(mut sum) => {
            sum.merge(more);
            Some(sum)
        }
    })
}

impl RankOutcome {
    /// Combines the outcomes of this process's workers in the order of their numbers, on its clock. `total`: the
    /// rank's transactions, if the run is distributed.
    pub(crate) fn new(
        load: &Load<'_>,
        timeline: &Timeline,
        connect_time: Duration,
        stop: &Stop<'_>,
        outcomes: Vec<WorkerOutcome>,
        lost: Lost,
        total: ScriptStats,
    ) -> Self {
        let plan = load.plan;
        let finished = outcomes.iter().map(|outcome| outcome.finished).max();
        let finished = finished.unwrap_or(timeline.start).max(lost.at);
        let event_loop = worst_event_loop(outcomes.iter().map(|outcome| &outcome.event_loop));
        let uncancelled = cancel_running(plan, &outcomes);
        let reconnects =
            outcomes.iter().fold(Reconnects::default(), |sum, outcome| sum.and(outcome.reconnects));
        let renewals = merged(outcomes.iter().filter_map(|outcome| outcome.renewals.as_ref()));
        let interrupted = outcomes.iter().any(|outcome| outcome.interrupted);
        let exceeded = outcomes.iter().find_map(|outcome| outcome.exceeded);
        let cut_off = outcomes.iter().map(|outcome| outcome.cut_off).sum();
        let failed_worker = outcomes.iter().position(|outcome| !outcome.aborted.is_empty());
        let warmup_transactions = outcomes.iter().map(|outcome| outcome.warmup_transactions).sum();
        let mut commands = load.command_table();
        outcomes.iter().for_each(|outcome| commands.merge(&outcome.commands));
        let (mut errors, mut health) = (ErrorTable::default(), Vec::with_capacity(outcomes.len()));
        let mut outages = Vec::new();
        let mut aborted: Vec<_> = outcomes
            .into_iter()
            .flat_map(|outcome| {
                health.push(outcome.health);
                errors.merge(outcome.errors);
                outages.extend(outcome.outages);
                outcome.aborted
            })
            .collect();
        aborted.extend(lost.clients);
        aborted.sort_by_key(|aborted| aborted.client);
        Self {
            figures: RankFigures {
                rank: plan.part.rank,
                clients: plan.part.clients(plan.clients),
                workers: load.workers.len(),
                total,
                client_cpu: health.iter().map(|worker| Duration::from_nanos(worker.cpu_ns)).sum(),
                health,
                commands,
                reconnects,
                event_loop,
                connect_time,
            },
            finished,
            interrupted,
            by_user: interrupted && stop.is_asked_by_user(),
            cut_off,
            exceeded,
            failed_worker,
            aborted,
            outages,
            renewals,
            errors,
            warmup_transactions,
            uncancelled,
        }
    }

    /// The same outcome on a clock that shows `to` when this one shows `from`.
    pub(crate) fn moved(self, from: Timestamp, to: Timestamp) -> Self {
        let outages = self.outages.into_iter().map(|log| log.moved(from, to)).collect();
        Self { finished: self.finished.moved(from, to), outages, ..self }
    }

    /// Checks an outcome that `rank` of this run has sent, whose intervals had `counts`. The error says what is wrong.
    pub(crate) fn check(&self, load: &Load<'_>, rank: usize, counts: &Counts) -> Result<(), String> {
        let plan = load.plan;
        let part = Part { rank, ..plan.part };
        let RankFigures { clients, workers, health, commands, reconnects, total, .. } = &self.figures;
        let is_of_rank = |client: usize| client < plan.clients && client % part.ranks == rank;
        let mut aborted: Vec<_> = self.aborted.iter().map(|aborted| aborted.client).collect();
        let number = aborted.len();
        aborted.sort_unstable();
        aborted.dedup();
        let of_outages = self.outages.iter().flat_map(OutageLog::clients);
        let in_outages = of_outages.map(|client| usize::try_from(client).unwrap_or(usize::MAX));
        let is_command = |script: usize, command: usize| {
            let script = plan.scripts.get(script);
            script.is_some_and(|script| command < script.program.commands().len())
        };
        let mut places = self.aborted.iter().filter_map(|aborted| aborted.place.as_ref());
        let refuse = |what: &str| Err(format!("its outcome is inconsistent: {what}"));
        if self.figures.rank != rank || *clients != part.clients(plan.clients) {
            return refuse("it is of another rank, or of other clients");
        }
        if *workers == 0 || workers > clients || health.len() > *workers || self.outages.len() > *workers {
            return refuse("it has more workers than clients");
        }
        if total.counts != *counts {
            return refuse("its transactions are not those of its intervals");
        }
        if number != aborted.len() || !aborted.into_iter().chain(in_outages).all(is_of_rank) {
            return refuse("it names clients of other ranks, or twice");
        }
        if self.cut_off > *clients || self.uncancelled > *clients || self.warmup_transactions > COUNT_MAX {
            return refuse("it has more cancelled transactions than clients");
        }
        if reconnects.count > COUNT_MAX || reconnects.time.as_secs() > COUNT_MAX {
            return refuse("it has more connections than are possible");
        }
        let storms = plan.population.storms.len();
        if self.renewals.as_ref().is_some_and(|renewals| !renewals.is_plausible(*clients, storms)) {
            return refuse("it has more renewed sessions than are possible");
        }
        if !load.command_table().can_merge(commands)
            || !places.all(|place| is_command(place.script, place.command))
            || !self.errors.kinds().iter().all(|kind| is_command(kind.script, kind.command))
        {
            return refuse("its scripts have other commands");
        }
        if !self.errors.is_plausible(counts.failed) {
            return refuse("more transactions had an error than failed");
        }
        Ok(())
    }
}
