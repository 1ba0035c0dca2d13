//! One trial: a run that is stored like any other, and a line with its result. `campaign` selects the trial,
//! `provision` prepares its server and data.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use connect::{Environment, HostOrder, Overrides, SqlState, Target};
use engine::{EventLoopChoice, Tracer, WorkerIntro};
use experiment::{Cell, Configuration};
use results::{Record, Status, TrialFigures};
use run::{
    Circumstances, Control, FaultSite, Keeper, RunError, RunRequest, RunSpec, RunToCheck, Runner, ScriptSpec,
    Scripts, StorePlaces, Vacuum, check_run, event_loop_of_environment,
};
use stats::Scale;
use workload::WorkloadName;

use crate::event::{Event, Listener, TrialRecord};
use crate::provision::Ready;
use crate::relays;
use crate::repeating_failure::aborted_by_repeated;
use crate::running_pooler::RunningPooler;
use crate::staleness::StalenessProbe;

/// A trial fails if no transaction ends for this long: the server does not respond, or another session holds a lock.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(600);

/// A trial that began within the time budget may exceed it by this much.
pub(super) const BUDGET_GRACE: Duration = Duration::from_secs(10);

/// Extra time after the run's own limit, for the work before and after it.
pub(super) const RUN_MARGIN: Duration = Duration::from_secs(15);

/// A completed trial.
pub(super) struct Finished {
    /// Number of its run; a trial of steps has none.
    pub(super) run: Option<i64>,
    /// Figures of a trial of load.
    pub(super) figures: Option<TrialFigures>,
    /// The complete record.
    pub(super) record: TrialRecord,
}

/// The caller's part of an execution: listener, control, and circumstances of its runs.
#[derive(Clone)]
pub struct ExecutionContext<'a> {
    /// Receives the events.
    pub listener: Listener<'a>,
    /// Stops the execution.
    pub control: &'a Control,
    /// Circumstances of all runs, such as the password prompt.
    pub circumstances: Circumstances,
    /// Creates the tracer of each worker.
    pub tracers: &'a dyn Fn(WorkerIntro) -> Box<dyn Tracer>,
}

/// Inputs of a trial in addition to its cell and server.
pub(super) struct OfTrial<'a> {
    /// Number of the experiment in the store.
    pub(super) trial: i64,
    pub(super) seed: u64,
    pub(super) places: &'a StorePlaces,
    /// The rest of the time budget.
    pub(super) budget_left: Option<Duration>,
    pub(super) context: &'a ExecutionContext<'a>,
}

/// Runs one trial of a cell, and stores it as `bench` stores a run, linked to the trial.
pub(super) fn run(cell: &Cell, ready: Ready, of_trial: &OfTrial<'_>) -> Result<Finished, RunError> {
    let OfTrial { trial, seed, places, budget_left, context } = of_trial;
    let ExecutionContext { listener, control, circumstances, tracers } = context;
    let Ready { target, mut pooler, relay, standbys, site } = ready;
    let mut keeper = Keeper::new((*places).clone());
    let circumstances = Circumstances {
        relay_delay: relay.as_ref().map(|relay| relay.network.delay),
        relative: cell.configuration.relative_words(),
        deadline: budget_left.map(|left| left + BUDGET_GRACE),
        silence_limit: Some(SILENCE_LIMIT),
        records: Some(keeper.records()),
        ..circumstances.clone()
    };
    let (primary, others) = (target.clone(), standbys.clone());
    let request = RunRequest {
        site: site.map(|site| -> Arc<dyn FaultSite> { site }),
        pooler: pooler.as_ref().map(|pooler| pooler.in_use.clone()),
        ..request(cell, *seed, target, standbys)?
    };
    let prepared = Runner::new(request)?
        .under(circumstances)
        .prepare(control, &mut |event| listener.tell(Event::Run(event)));
    let is_in_place = cell.configuration.server.in_place;
    let prepared = prepared.map_err(|error| with_advice(error, is_in_place, YOUR_TABLES))?;
    listener.tell(Event::RunBegins(prepared.plan(), cell.configuration.metrics.as_deref()));
    let probes = cell.configuration.staleness.then(|| StalenessProbe::start(&primary, &others, control));
    let probe = probes.transpose()?;
    // Traffic before the measurement does not count. A relay that cannot be asked now fails again at the end, which
    // is reported then.
    let forget_what_passed = || {
        drop(relay.as_ref().map(|relay| relay.traffic()));
        probe.iter().for_each(StalenessProbe::forget);
    };
    forget_what_passed();
    let run = keeper.begin(&prepared)?;
    places.open()?.begin_trial(*trial, run)?;
    // Checks use the relay too, so its statistics are read before them.
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
    let death = pooler.as_mut().and_then(RunningPooler::death);
    let because = |error: RunError| match &death {
        Some(death) => RunError::Aborted(format!("{error}; {death}")),
        None => error,
    };
    let finished = finished.inspect_err(|error| keeper.break_off(error)).map_err(because);
    let run::Finished { mut record, checked, .. } = finished?;
    if let Some(probe) = probe {
        probe.finish(record.observation.get_or_insert_default());
    }
    if let Some(relay) = &relay {
        relays::add_cost(&mut record, &relay.network, traffic.unwrap_or_else(|| relay.traffic()));
    }
    let finished = finish(keeper.finish(&record)?.run, record, is_in_place).map_err(because)?;
    checked.map(|()| finished)
}

fn finish(run: i64, record: Record, is_in_place: bool) -> Result<Finished, RunError> {
    match &record.status {
        Status::Complete if record.everything_failed() => Err(RunError::Aborted(
            "no transaction succeeded; the errors are in the report of the run".to_owned(),
        )),
        Status::Complete => {
            let us = record.summary.response_of_all_us();
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
        Status::Interrupted => {
            Err(RunError::Interrupted(Cow::Borrowed("interrupted; the trial was not completed")))
        }
        Status::Failed { reason } if aborted_by_repeated(&record) => {
            let hint = if is_in_place || !lacks_table(&record) { "" } else { YOUR_TABLES };
            Err(RunError::Usage(format!("{reason}{hint}")))
        }
        Status::Failed { reason } => Err(RunError::Aborted(reason.as_str().to_owned())),
    }
}

/// Added to the reason if a script needs other tables than those of the trial.
const YOUR_TABLES: &str = "; trials run in a database of their own: in_place = true runs them on the tables of your database, \
    and workload or data_setup load tables of yours";

/// The error of a script that needs other tables than those of pgmeter's own database, with what to do.
pub(crate) fn with_advice(error: RunError, is_in_place: bool, advice: &str) -> RunError {
    match error {
        RunError::Statement(error) if error.sqlstate == SqlState::UNDEFINED_TABLE && !is_in_place => {
            RunError::Statement(error.with_advice(advice))
        }
        other => other,
    }
}

fn lacks_table(record: &Record) -> bool {
    let undefined = SqlState::UNDEFINED_TABLE.to_string();
    let mut kinds = record.summary.errors.iter().flat_map(|errors| &errors.kinds);
    kinds.any(|kind| kind.sqlstate == undefined)
}

/// Whether the scripts of all cells can be parsed.
pub(crate) fn check(cells: &[Cell]) -> Result<(), RunError> {
    type Source<'a> = (Option<&'a WorkloadName>, &'a [ScriptSpec]);
    let mut known: Vec<(Source<'_>, Scripts, BTreeMap<String, String>)> = Vec::new();
    for Cell { configuration, .. } in cells.iter().filter(|cell| cell.configuration.is_load()) {
        let Configuration { data, load, surface, pooler, .. } = configuration;
        let source = (data.workload.as_ref(), load.scripts.as_slice());
        let at = known.iter().position(|(other, ..)| *other == source);
        let (_, scripts, parameters) = match at {
            Some(at) => &known[at],
            None => {
                let workload = source.0.cloned().unwrap_or_default().open()?;
                known.push((source, Scripts::read(source.1, &*workload)?, workload.parameters().clone()));
                &known[known.len() - 1]
            }
        };
        let given = [parameters, &data.parameters, &load.variables];
        let variables = given.into_iter().flat_map(BTreeMap::clone).collect();
        check_run(&RunToCheck {
            spec: &RunSpec { variables, ..load.clone() },
            surface: *surface,
            scripts: Some(scripts),
            pooling: pooler.mode,
            place: None,
        })?;
    }
    Ok(())
}

/// The load of a cell on this server and its standbys.
pub(crate) fn request(
    cell: &Cell,
    seed: u64,
    target: Target,
    standbys: Vec<(String, Target)>,
) -> Result<RunRequest, RunError> {
    let Configuration { server, data, load, surface, .. } = &cell.configuration;
    let vacuum = data.vacuum && data.workload.is_some();
    let spec = RunSpec {
        // pgbench's tables are examined if one of its scripts runs, those of a user's workload in any case.
        workload: data.workload.clone().filter(|name| *name != WorkloadName::default()),
        variables: data.parameters.clone().into_iter().chain(load.variables.clone()).collect(),
        // In place, and without a workload, the scale is that of the tables.
        scale: Some(data.scale).filter(|scale| {
            *scale != Scale::ONE || !server.in_place && (data.workload.is_some() || data.scale_is_set)
        }),
        vacuum: if vacuum { Vacuum::SmallTables } else { Vacuum::Nothing },
        seed: Some(seed),
        event_loop: match load.event_loop {
            EventLoopChoice::Auto => event_loop_of_environment()?,
            named => named,
        },
        ..load.clone()
    };
    let target = with_hosts(&cell.configuration, target)?;
    Ok(RunRequest { surface: *surface, others: standbys, ..RunRequest::on(target, spec) })
}

/// The target with the experiment's hosts instead of those of its `dsn`.
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
    // Resolved again, because the password file may have another password for each host.
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
