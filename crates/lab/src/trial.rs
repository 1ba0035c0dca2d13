//! One trial: the run that it is, kept like every other, and the line that says how it went.
//! Which trial, and when, is `campaign`'s affair; on what, `provisioner`'s.

use std::num::NonZeroU32;
use std::time::Duration;

use connect::Target;
use engine::{Grace, Limit, Protocol};
use results::{Record, Status, TrialFigures};
use run::{
    Circumstances, Keeper, RunError, RunSpec, Runner, ScriptSource, ScriptSpec, Scripts, StorePlaces, Vacuum,
    event_loop_of_environment,
};

use crate::campaign::ExecutionContext;
use crate::configuration::{Configuration, Length, ProtocolChoice, ScriptChoice, ScriptName, Workload};
use crate::event::{Event, TrialRecord};
use crate::matrix::Cell;
use crate::network;
use crate::provision::Ready;

/// Without a transaction that ends for so long, a trial fails: the server is silent, or a lock is held elsewhere.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);

/// A trial that began in time and takes longer than was forecast may exceed the time budget by this much.
pub(super) const BUDGET_GRACE: Duration = Duration::from_secs(10);

/// A run ends itself by then, and requests to cancel too: for what comes before and after it.
pub(super) const RUN_MARGIN: Duration = Duration::from_secs(15);

/// A trial that came to its end.
pub(super) struct Finished {
    /// Its run; a trial of steps has none.
    pub(super) run: Option<i64>,
    /// What it found, if it was one of load.
    pub(super) figures: Option<TrialFigures>,
    /// All that it found.
    pub(super) record: TrialRecord,
}

/// What a trial needs beside its cell and its server.
pub(super) struct OfTrial<'a> {
    /// Its number in the store.
    pub(super) trial: i64,
    pub(super) seed: u64,
    pub(super) places: &'a StorePlaces,
    /// What is left of the time budget.
    pub(super) budget_left: Option<Duration>,
    pub(super) context: &'a ExecutionContext<'a>,
}

/// Runs one trial of a cell: kept as `bench` keeps a run, and tied to its trial.
pub(super) fn run(cell: &Cell, ready: Ready, of_trial: &OfTrial<'_>) -> Result<Finished, RunError> {
    let OfTrial { trial, seed, places, budget_left, context } = of_trial;
    let ExecutionContext { listener, control, circumstances, witnesses } = context;
    let Ready { target, relay } = ready;
    let mut keeper = Keeper::new((*places).clone());
    let circumstances = Circumstances {
        relay_delay: relay.as_ref().map(|relay| relay.network.delay),
        deadline: budget_left.map(|left| left + BUDGET_GRACE),
        silence_limit: Some(SILENCE_LIMIT),
        records: Some(keeper.records()),
        ..circumstances.clone()
    };
    let runner = runner(cell, *seed, target)?.under(circumstances);
    let prepared = runner.prepare(control, &mut |event| listener.tell(Event::Run(event)))?;
    listener.tell(Event::RunBegins(prepared.plan()));
    // What passes the relay before it is measured is not counted. A relay that cannot be asked now cannot be asked at the
    // end either, which is told then.
    let forget_what_passed = || drop(relay.as_ref().map(|relay| relay.passed()));
    forget_what_passed();
    let run = keeper.begin(&prepared)?;
    places.open()?.begin_trial(*trial, run)?;
    let finished = prepared.run(control, witnesses, &mut |event| {
        if matches!(&event, run::Event::Second { progress, .. } if progress.warmup) {
            forget_what_passed();
        }
        listener.tell(Event::Run(event));
    });
    listener.tell(Event::RunEnded);
    let mut record = finished.inspect_err(|error| keeper.break_off(error))?.record;
    if let Some(relay) = &relay {
        network::add_cost(&mut record, relay);
    }
    finish(keeper.finish(&record)?.run, record)
}

fn finish(run: i64, record: Record) -> Result<Finished, RunError> {
    match &record.status {
        Status::Complete => {
            let us = record.summary.response_us.as_ref();
            let figures = TrialFigures {
                tps: record.summary.tps,
                p50_us: us.map(|us| us.p50),
                p99_us: us.map(|us| us.p99),
            };
            Ok(Finished {
                run: Some(run),
                figures: Some(figures),
                record: TrialRecord::Load(Box::new(record)),
            })
        }
        Status::Interrupted => Err(RunError::Interrupted("interrupted; the trial was broken off")),
        Status::Failed { reason } => Err(RunError::Aborted(reason.as_str().to_owned())),
    }
}

/// Whether the scripts of all cells can be understood.
pub(crate) fn check(cells: &[Cell]) -> Result<(), RunError> {
    let mut seen: Vec<&[ScriptChoice]> = Vec::new();
    for Cell { configuration, .. } in cells.iter().filter(|cell| cell.configuration.steps.is_empty()) {
        let scripts = configuration.load.scripts.as_slice();
        if !seen.contains(&scripts) {
            Scripts::read(&script_specs(scripts))?;
            seen.push(scripts);
        }
    }
    Ok(())
}

fn script_specs(scripts: &[ScriptChoice]) -> Vec<ScriptSpec> {
    let spec = |choice: &ScriptChoice| ScriptSpec {
        source: match &choice.script {
            ScriptName::Builtin(name) => ScriptSource::Builtin(name.clone()),
            ScriptName::File(path) => ScriptSource::File(path.clone()),
        },
        weight: choice.weight,
    };
    scripts.iter().map(spec).collect()
}

/// The load of a cell on this server.
pub(crate) fn runner(cell: &Cell, seed: u64, target: Target) -> Result<Runner, RunError> {
    let Configuration { data, load, .. } = &cell.configuration;
    let vacuum = data.vacuum && data.workload == Workload::Tpcb;
    let spec = RunSpec {
        scripts: script_specs(&load.scripts),
        variables: load.variables.clone(),
        scale: Some(data.scale),
        clients: load.clients,
        workers: load.threads,
        protocol: match load.protocol {
            ProtocolChoice::Simple => Protocol::Simple,
            ProtocolChoice::Extended => Protocol::Extended,
            ProtocolChoice::Prepared => Protocol::Prepared,
        },
        limit: match load.length {
            Length::Time(time) => Limit::Duration(time),
            Length::Transactions(each) => Limit::TransactionsPerClient(each),
        },
        grace: load.grace.map_or(Grace::Automatic, Grace::Fixed),
        warmup: load.warmup,
        rate_tps: load.rate_tps,
        seed: Some(seed),
        latency_limit: load.latency_limit,
        reconnect: load.reconnect,
        max_tries: NonZeroU32::new(load.max_tries),
        exit_on_abort: true,
        event_loop: event_loop_of_environment()?,
        vacuum: if vacuum { Vacuum::SmallTables } else { Vacuum::Nothing },
        ..RunSpec::default()
    };
    Runner::on(target, spec)
}
