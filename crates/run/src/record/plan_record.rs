//! Converts a plan into the types of `results`.
//! Called by the runner, before and after the run.

use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use connect::quote::connection_value;
use connect::{Address, Target};
use results::{CommandSummary, SafeText};
use script::Program;
use stats::CommandTable;
use stats::Scale;
use workload::{PerMinute, WorkloadName};

use crate::execution::checks::Rules;
use crate::execution::load_watch::Watch;
use crate::plan::places::Places;
use crate::plan::runner::Runner;
use crate::spec::scripts::ScriptText;
use crate::spec::secrets::recorded_variables;
use crate::spec::{ActionSpec, RunSpec, ScriptSource, ScriptSpec, TargetSpec};

const MICROS_PER_SECOND: f64 = 1e6;

/// The recorded plan; the number of workers is corrected later, when it is known.
pub(crate) fn plan(runner: &Runner, places: &Places, further: &[Places], scale: Scale) -> results::Plan {
    let spec = &runner.spec;
    let scripts = runner.scripts.iter().map(|(text, program)| {
        let script = results::Script {
            name: text.name.clone(),
            description: text.description.clone(),
            builtin: text.builtin,
            target: program.target().map(str::to_owned),
            text: String::new(),
            sha256: None,
            masked: false,
            weight: text.weight,
            contention: contention(text, program),
        };
        script.with_text(&text.text, &encoding::decode(&text.text))
    });
    let targets = runner.targets.iter().zip(further).map(|((name, target), places)| results::Target {
        name: name.clone(),
        connection: connection(target, places),
    });
    let mut variables = recorded_variables(&spec.variables);
    if runner.needs_tables() || spec.scale.is_some() || runner.uses_scale() {
        variables.entry("scale".to_owned()).or_insert_with(|| scale.to_string());
    }
    results::Plan {
        workload: runner.needs_tables().then(|| runner.workload.name().to_owned()),
        notice: runner.workload.notice().filter(|_| runner.needs_tables()).map(SafeText::from),
        per_minute: per_minute(runner),
        standard: Rules::new(runner).map(|rules| SafeText::from(rules.standard())),
        scripts: scripts.collect(),
        clients: spec.clients,
        workers: spec.workers,
        machines: spec.machines.unwrap_or(1),
        protocol: spec.protocol,
        result_format: spec.result_format,
        parse_results: spec.parse_results,
        limit: spec.limit,
        warmup_s: spec.warmup.as_secs_f64(),
        until: spec.until,
        goals: spec.goals.clone(),
        stop_on_miss: spec.stop_on_miss,
        rate_tps: spec.mean_rate_tps(),
        curve: spec.curve.clone(),
        arrivals: spec.arrivals,
        stages: spec.stages.clone(),
        think: spec.think,
        population: spec.population.clone(),
        latency_limit_us: spec.latency_limit.map(|limit| limit.as_secs_f64() * MICROS_PER_SECOND),
        max_tries: spec.max_tries.map(NonZeroU32::get),
        reconnect: spec.reconnect,
        on_disconnect: spec.on_disconnect,
        reconnect_policy: (!spec.on_disconnect.is_abort()).then_some(spec.reconnect_policy),
        response_timeout_s: spec.response_timeout.map(|limit| limit.as_secs_f64()),
        continue_on_error: spec.continue_on_error,
        seed: runner.seed,
        connection: connection(runner.client_target(), places),
        targets: targets.collect(),
        actions: spec.actions.iter().map(results::Action::from).collect(),
        watch: Watch::new(spec, runner.surface).map(|watch| watch.recorded()),
        variables,
        relative: runner.circumstances.relative.clone(),
        command_line: runner.circumstances.command_line.clone(),
    }
}

/// The specification of a recorded run. Options that a plan does not contain have their defaults, and masked texts
/// stay masked. A plan does not contain the directory of a user's workload, so its scripts become texts.
impl From<&results::Plan> for RunSpec {
    fn from(plan: &results::Plan) -> Self {
        let script = |script: &results::Script| {
            let (name, text) = (script.name.clone(), script.text.clone());
            let source = if script.builtin {
                ScriptSource::OfWorkload(name)
            } else {
                ScriptSource::Text { name, text }
            };
            ScriptSpec { source, weight: script.weight }
        };
        let target = |target: &results::Target| {
            let results::Connection { host, port, user, database } = &target.connection;
            let [host, user, database] = [host, user, database].map(|text| connection_value(text.as_str()));
            let connection = format!("host={host} port={port} user={user} dbname={database}");
            TargetSpec { name: target.name.clone(), connection }
        };
        let workload = plan.workload.as_deref();
        let (watch, default) = (plan.watch.as_ref(), Self::default());
        Self {
            workload: workload.and_then(|name| WorkloadName::find(name, Path::new("")).ok()),
            scripts: plan.scripts.iter().map(script).collect(),
            variables: plan.variables.clone(),
            scale: plan.variables.get("scale").and_then(|scale| scale.parse().ok()),
            clients: plan.clients,
            workers: plan.workers,
            machines: (plan.machines > 1).then_some(plan.machines),
            protocol: plan.protocol,
            result_format: plan.result_format,
            parse_results: plan.parse_results,
            limit: plan.limit,
            warmup: Duration::try_from_secs_f64(plan.warmup_s).unwrap_or_default(),
            until: plan.until,
            goals: plan.goals.clone(),
            stop_on_miss: plan.stop_on_miss,
            rate_tps: plan.rate_tps.filter(|_| plan.rate_curve().is_none()),
            curve: plan.curve.clone(),
            arrivals: plan.arrivals,
            stages: plan.stages.clone(),
            think: plan.think,
            population: plan.population.clone(),
            latency_limit: plan
                .latency_limit_us
                .and_then(|limit| Duration::try_from_secs_f64(limit / MICROS_PER_SECOND).ok()),
            max_tries: plan.max_tries.and_then(NonZeroU32::new),
            reconnect: plan.reconnect,
            on_disconnect: plan.on_disconnect,
            reconnect_policy: plan.reconnect_policy.unwrap_or_default(),
            response_timeout: plan
                .response_timeout_s
                .and_then(|limit| Duration::try_from_secs_f64(limit).ok()),
            continue_on_error: plan.continue_on_error,
            targets: plan.targets.iter().map(target).collect(),
            actions: plan.actions.iter().map(ActionSpec::from).collect(),
            max_lag: watch.and_then(|watch| Duration::try_from_secs_f64(watch.max_lag_s?).ok()),
            max_waiting_locks: watch.and_then(|watch| watch.max_waiting_locks),
            pause_when: watch.and_then(|watch| watch.pause_when.clone().map(String::from)),
            stop_when: watch.and_then(|watch| watch.stop_when.clone().map(String::from)),
            max_pause: watch.map_or(default.max_pause, |watch| {
                Duration::try_from_secs_f64(watch.max_pause_s).unwrap_or(default.max_pause)
            }),
            seed: Some(plan.seed),
            ..default
        }
    }
}

/// The rows that a script's transactions compete for, as declared in its text or by its workload.
fn contention(text: &ScriptText, program: &Program) -> Option<results::Contention> {
    if let Some((command, rows)) = program.contention() {
        let variable = rows.variable.as_deref().map(str::to_owned);
        return Some(results::Contention {
            command: u32::try_from(command).ok()?,
            factor: rows.factor,
            variable,
        });
    }
    let locking = text.contended?;
    let command = program.commands().iter().position(|command| command.display.starts_with(locking))?;
    let variable = Some("scale".to_owned());
    Some(results::Contention { command: u32::try_from(command).ok()?, factor: 1, variable })
}

/// The workload's script whose transactions per minute are reported, if it is in the load.
fn per_minute(runner: &Runner) -> Option<results::PerMinute> {
    let PerMinute { script, label } = runner.workload.per_minute()?;
    let is_in_load = runner.scripts.iter().any(|(text, _)| text.is_of_workload && text.name == *script);
    is_in_load.then(|| results::PerMinute { script: script.clone(), label: label.as_str().into() })
}

/// The commands of each script with their times.
pub(crate) fn commands(plan: &engine::Plan, table: &CommandTable) -> Vec<Vec<CommandSummary>> {
    let of_script = |(index, script): (usize, &engine::ScriptPlan)| {
        let commands = script.program.commands().iter().zip(table.of_script(index));
        commands.map(|(command, stats)| CommandSummary::of(&command.display, command.line, stats)).collect()
    };
    plan.scripts.iter().enumerate().map(of_script).collect()
}

/// Facts about the tables.
pub(crate) fn tables(tables: &workload::Tables) -> results::Tables {
    results::Tables {
        scale: tables.scale,
        partition_method: tables.partitioning.map(|(method, _)| method),
        partitions: Some(tables.partitioning.map_or(0, |(_, partitions)| partitions)),
    }
}

/// Times of connecting for each transaction.
pub(crate) fn connecting(reconnects: &engine::Reconnects) -> results::Connecting {
    results::Connecting { connects: reconnects.count, total_s: reconnects.time.as_secs_f64() }
}

/// What the population did; `None` without one.
pub(crate) fn population(
    plan: &results::Plan,
    outcome: &engine::Outcome,
    idle: Option<results::IdleInTransaction>,
) -> Option<results::PopulationSummary> {
    if plan.population.is_plain() {
        return None;
    }
    let storm = |(storm, course): (&stats::ReconnectStorm, &engine::StormCourse)| results::StormSummary {
        at_s: storm.at.as_secs_f64(),
        clients: course.clients,
        connected: course.connected,
        lasted_s: course.lasted.as_secs_f64(),
    };
    let renewals = outcome.renewals.as_ref();
    let storms = renewals.map(|renewals| plan.population.storms.iter().zip(&renewals.storms).map(storm));
    Some(results::PopulationSummary {
        renewed_sessions: renewals.map_or(0, |renewals| renewals.connecting.count()),
        failed_renewals: renewals.map_or(0, |renewals| renewals.failed),
        connecting_us: renewals.and_then(|renewals| results::Latency::of(&renewals.connecting)),
        storms: storms.into_iter().flatten().collect(),
        idle_in_transaction: idle,
    })
}

/// The address of the clients; for several addresses all hosts, as in a connection string, and the first port.
fn connection(target: &Target, places: &Places) -> results::Connection {
    let hosts: Vec<_> = places.addresses().map(host).collect();
    let port = places.addresses().next().map_or(0, |address| target.host_of(address).port);
    results::Connection {
        host: SafeText::from(hosts.join(",")),
        port,
        user: SafeText::from(target.user.clone()),
        database: SafeText::from(target.database.clone()),
    }
}

/// The address of one session.
pub fn connection_to(target: &Target, address: &Address) -> results::Connection {
    results::Connection {
        host: SafeText::from(host(address)),
        port: target.host_of(address).port,
        user: SafeText::from(target.user.clone()),
        database: SafeText::from(target.database.clone()),
    }
}

/// The host of an address as libpq names it: a name, or the socket's directory.
pub fn host(address: &Address) -> String {
    match address {
        Address::Unix(path) => path.parent().unwrap_or(path).display().to_string(),
        Address::Tcp { host, .. } => host.clone(),
    }
}
