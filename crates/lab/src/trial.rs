//! One trial: the run that it is, kept like every other, and the line that says how it went.
//! `campaign` decides which trial runs and when, `provision` makes its server and data ready.

use std::time::Duration;

use connect::{Environment, HostOrder, Overrides, Target};
use engine::EventLoopChoice;
use results::{Record, Status, TrialFigures};
use run::{
    Circumstances, Keeper, RunError, RunSpec, Runner, ScriptSpec, Scripts, StorePlaces, Vacuum,
    event_loop_of_environment,
};
use workload::WorkloadName;

use crate::campaign::ExecutionContext;
use crate::configuration::Configuration;
use crate::event::{Event, TrialRecord};
use crate::matrix::Cell;
use crate::network;
use crate::provision::Ready;

/// Without a transaction that ends for so long, a trial fails: the server is silent, or a lock is held elsewhere.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(600);

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
    let ExecutionContext { listener, control, circumstances, tracers } = context;
    let Ready { target, relay } = ready;
    let mut keeper = Keeper::new((*places).clone());
    let circumstances = Circumstances {
        relay_delay: relay.as_ref().map(|relay| relay.network.delay),
        relative: cell.configuration.relative_words(),
        deadline: budget_left.map(|left| left + BUDGET_GRACE),
        silence_limit: Some(SILENCE_LIMIT),
        records: Some(keeper.records()),
        ..circumstances.clone()
    };
    let runner = runner(cell, *seed, target)?.under(circumstances);
    let prepared = runner.prepare(control, &mut |event| listener.tell(Event::Run(event)))?;
    listener.tell(Event::RunBegins(prepared.plan(), cell.configuration.metrics.as_deref()));
    // What passes the relay before it is measured is not counted. A relay that cannot be asked now cannot be asked at the
    // end either, which is told then.
    let forget_what_passed = || drop(relay.as_ref().map(|relay| relay.traffic()));
    forget_what_passed();
    let run = keeper.begin(&prepared)?;
    places.open()?.begin_trial(*trial, run)?;
    // Checks use the relay too, so that it is asked before them.
    let mut traffic = None;
    let finished = prepared.run(control, tracers, &mut |event| {
        match &event {
            run::Event::Second { progress, .. } if progress.warmup => forget_what_passed(),
            run::Event::Checking(_) => traffic = relay.as_ref().map(|relay| relay.traffic()),
            _ => {}
        }
        listener.tell(Event::Run(event));
    });
    listener.tell(Event::RunEnded);
    let run::Finished { mut record, checked, .. } = finished.inspect_err(|error| keeper.break_off(error))?;
    if let Some(relay) = &relay {
        network::add_cost(&mut record, &relay.network, traffic.unwrap_or_else(|| relay.traffic()));
    }
    let finished = finish(keeper.finish(&record)?.run, record)?;
    checked.map(|()| finished)
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
    let mut seen: Vec<(Option<&WorkloadName>, &[ScriptSpec])> = Vec::new();
    for Cell { configuration, .. } in cells.iter().filter(|cell| cell.configuration.steps.is_empty()) {
        let scripts = (configuration.data.workload.as_ref(), configuration.load.scripts.as_slice());
        if !seen.contains(&scripts) {
            let workload = scripts.0.cloned().unwrap_or_default().open()?;
            Scripts::read(scripts.1, &*workload)?;
            seen.push(scripts);
        }
    }
    Ok(())
}

/// The load of a cell on this server.
pub(crate) fn runner(cell: &Cell, seed: u64, target: Target) -> Result<Runner, RunError> {
    let Configuration { data, load, .. } = &cell.configuration;
    let vacuum = data.vacuum && data.workload.is_some();
    let spec = RunSpec {
        // The tables of pgbench are looked at if one of its scripts runs, the user's own in any case.
        workload: data.workload.clone().filter(|name| *name != WorkloadName::default()),
        variables: data.parameters.clone().into_iter().chain(load.variables.clone()).collect(),
        scale: Some(data.scale),
        vacuum: if vacuum { Vacuum::SmallTables } else { Vacuum::Nothing },
        seed: Some(seed),
        event_loop: match load.event_loop {
            EventLoopChoice::Auto => event_loop_of_environment()?,
            named => named,
        },
        ..load.clone()
    };
    Runner::on(with_hosts(&cell.configuration, target)?, spec)
}

/// The target with the hosts that the experiment names instead of those of its `dsn`.
fn with_hosts(configuration: &Configuration, target: Target) -> Result<Target, RunError> {
    let Configuration { hosts, load_balance, .. } = configuration;
    let host_order = match load_balance {
        None => target.host_order,
        Some(false) => HostOrder::Given,
        Some(true) => HostOrder::Random,
    };
    if hosts.is_empty() {
        return Ok(Target { host_order, ..target });
    }
    let port = |port: &Option<u16>| port.or(target.hosts.first().map(|host| host.port)).unwrap_or_default();
    let names: Vec<&str> = hosts.iter().map(|(name, _)| name.as_str()).collect();
    let ports: Vec<String> = hosts.iter().map(|(_, named)| port(named).to_string()).collect();
    // Resolved anew, since the password file may have another password for each host.
    let overrides = Overrides {
        host: Some(names.join(",")),
        port: Some(ports.join(",")),
        user: Some(target.user.clone()),
        dbname: Some(target.database.clone()),
        fallback_application_name: None,
    };
    let named = connect::resolve(None, &overrides, &Environment::of_process())?;
    Ok(Target { hosts: named.hosts, host_order, ..target })
}
