//! Trials that are searches: each finds the highest rate that keeps the goals of its cell. The record is stored with the
//! trial. An answer without an interval is an answer too.

use experiment::{Cell, SearchSpec};
use results::Status;
use run::{Circumstances, OUT_OF_TIME, RunError, RunSpec, StorePlaces};

use crate::event::TrialRecord;
use crate::provision::Ready;
use crate::search::{Loads, SearchOptions, SearchRun, ServerLoads, goals, record};
use crate::trial::{self, ExecutionContext, Finished};

/// Runs one trial of a cell; `of_trial` is its number in the store and its seed.
pub(crate) fn run(
    cell: &Cell,
    spec: SearchSpec,
    ready: Ready,
    (trial, seed, places): (i64, u64, &StorePlaces),
    context: &ExecutionContext<'_>,
) -> Result<Finished, RunError> {
    let ExecutionContext { listener, control, circumstances, .. } = context;
    let (listener, configuration) = (*listener, &cell.configuration);
    let options = SearchOptions {
        budget_s: spec.budget.as_secs_f64(),
        width: spec.width,
        max_rate_tps: spec.max_rate_tps,
        clients: configuration.given_clients(),
        seed,
        expected_tps: None,
        // Repeats show how the rate varies; a broken confirmation would leave no interval.
        confirms: false,
    };
    let Ready { target, relay, pooler: _pooler, standbys, .. } = ready;
    let request = trial::request(cell, seed, target.clone(), standbys)?;
    let target = request.target.unwrap_or(target);
    let load = RunSpec { rate_tps: None, until: None, ..request.spec };
    let goals = goals(&load)?;
    let circumstances = Circumstances {
        relay_delay: relay.as_ref().map(|relay| relay.network.delay),
        relative: configuration.relative_words(),
        ..circumstances.clone()
    };
    let by = (places, &circumstances);
    let mut loads = ServerLoads::new(load, target, &options, goals.clone(), by, listener, control)?;
    let mut run = SearchRun::new(&options, goals, loads.clients_max());
    let searched = loop {
        match run.step(&mut loads, listener) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(failure) => break Err(failure),
        }
    };
    let is_out_of_time = control.is_out_of_time();
    if !is_out_of_time {
        control.check()?;
    }
    let reason = match searched {
        Ok(()) => None,
        Err(failure) if run.is_empty() => return Err(failure),
        Err(_) if is_out_of_time => Some(OUT_OF_TIME.to_owned()),
        Err(failure) => Some(failure.to_string()),
    };
    let status = match &reason {
        None => Status::Complete,
        Some(reason) => Status::Failed { reason: reason.as_str().into() },
    };
    let about = loads.about().ok_or_else(|| RunError::Usage("no load has ended".to_owned()))?;
    let record = record(&run, about, circumstances.annotation, status, loads.passed_s());
    places.open()?.end_search(trial, &record, reason.as_deref())?;
    match reason {
        None => Ok(Finished { run: None, figures: None, record: TrialRecord::Search(Box::new(record)) }),
        Some(reason) => Err(RunError::Aborted(reason)),
    }
}
