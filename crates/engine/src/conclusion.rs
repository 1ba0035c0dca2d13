//! Combines the outcomes of all ranks of a run; a process alone is the case of one rank. Called by `run` on rank 0, when
//! all ranks are done.

use std::time::Duration;

use stats::Outages;

use crate::errors::ErrorTable;
use crate::load::Load;
use crate::merging::Merging;
use crate::outcome::{CutOff, End, Outcome, Reconnects};
use crate::plan::Compatibility;
use crate::rank_outcome::{RankOutcome, merged, worst_event_loop};
use crate::stopping::Stop;
use crate::timeline::Timeline;

/// How the run of these ranks ended.
fn end_of(load: &Load<'_>, ranks: &[RankOutcome], aborted: usize) -> End {
    let plan = load.plan;
    let mut workers = 0;
    let failed_worker = ranks.iter().find_map(|rank| {
        let before = workers;
        workers += rank.figures.workers;
        rank.failed_worker.map(|worker| before.saturating_add(worker))
    });
    let exceeded = ranks.iter().find_map(|rank| rank.exceeded);
    if ranks.iter().any(|rank| rank.by_user) {
        End::Interrupted
    } else if let Some(worker) = failed_worker.filter(|_| plan.exit_on_abort) {
        End::AbortedOnError { worker }
    } else if aborted == plan.clients {
        End::AllClientsAborted
    } else if let Some(exceeded) = exceeded {
        let clients = ranks.iter().map(|rank| rank.cut_off).sum();
        End::CutOff(CutOff { clients, of: plan.clients, exceeded })
    } else {
        End::Complete
    }
}

/// Combines the outcomes of all ranks, on this process's clock, in the order of the ranks.
// Long because: it sums each field of the outcome.
pub(crate) fn conclude(
    load: &Load<'_>,
    timeline: Timeline,
    stop: &Stop<'_>,
    ranks: Vec<RankOutcome>,
    merging: Merging<'_>,
) -> Outcome {
    let plan = load.plan;
    let finished = ranks.iter().map(|rank| rank.finished).max().unwrap_or(timeline.start);
    let timeline =
        stop.early_end(timeline.start, finished).and_then(|end| timeline.ending_at(end)).unwrap_or(timeline);
    let end = end_of(load, &ranks, ranks.iter().map(|rank| rank.aborted.len()).sum());
    // With a rate, the last transaction may end before the window.
    let keeps_end = end == End::Complete && plan.compatibility == Compatibility::Pgmeter;
    let measured_until = timeline.end.filter(|_| keeps_end).map_or(finished, |planned| planned.max(finished));
    // pgbench divides by the time until the last transaction.
    let planned = timeline.end.filter(|_| plan.compatibility == Compatibility::Pgmeter);
    let window_end = planned.map_or(measured_until, |planned| measured_until.min(planned));
    let (duration, tail) = (window_end.since(timeline.measure), measured_until.since(window_end));
    let (summary, gaps) = merging.finish(duration, tail, finished, timeline.end);
    let event_loop = worst_event_loop(ranks.iter().map(|rank| &rank.figures.event_loop));
    let mut outcome = Outcome {
        end,
        summary,
        gaps,
        connect_time: Duration::ZERO,
        elapsed: finished.since(timeline.start),
        reconnects: Reconnects::default(),
        outages: None,
        renewals: merged(ranks.iter().filter_map(|rank| rank.renewals.as_ref())),
        commands: load.command_table(),
        errors: ErrorTable::default(),
        warmup_transactions: 0,
        client_cpu: Duration::ZERO,
        health: Vec::new(),
        aborted: Vec::new(),
        uncancelled: 0,
        workers: 0,
        event_loop,
        default_seed: load.default_seed,
        ranks: Vec::new(),
    };
    let mut logs = Vec::new();
    for rank in ranks {
        let RankOutcome {
            figures,
            finished: _,
            interrupted: _,
            by_user: _,
            cut_off: _,
            exceeded: _,
            failed_worker: _,
            aborted,
            outages,
            renewals: _,
            errors,
            warmup_transactions,
            uncancelled,
        } = rank;
        outcome.connect_time = outcome.connect_time.max(figures.connect_time);
        outcome.reconnects = outcome.reconnects.and(figures.reconnects);
        logs.extend(outages);
        outcome.commands.merge(&figures.commands);
        outcome.errors.merge(errors);
        outcome.warmup_transactions += warmup_transactions;
        outcome.client_cpu = outcome.client_cpu.saturating_add(figures.client_cpu);
        outcome.aborted.extend(aborted);
        outcome.uncancelled += uncancelled;
        if plan.part.is_distributed() {
            let health = figures.health.iter().cloned();
            let before = outcome.workers;
            outcome.health.extend(health.map(|mut health| {
                health.worker = health.worker.saturating_add(before);
                health
            }));
            outcome.workers += figures.workers;
            outcome.ranks.push(figures);
        } else {
            outcome.workers = figures.workers;
            outcome.health = figures.health;
        }
    }
    outcome.aborted.sort_by_key(|aborted| aborted.client);
    outcome.errors.conclude(outcome.summary.total.counts.failed);
    outcome.outages =
        plan.reconnecting.is_some().then(|| Outages::new(logs, load.any_writes, measured_until));
    outcome
}
