//! What the record says about a plan: the same facts in the words of `results`.
//! Nothing is measured or decided here; called by the runner, before and after the run.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;

use connect::{Address, Target};
use engine::{Limit, Protocol};
use results::{CommandSummary, SafeText};
use script::Program;
use stats::CommandTable;

use crate::runner::{Places, Runner};
use crate::scripts::ScriptText;
use crate::secrets::recorded_variables;

const MICROS_PER_SECOND: f64 = 1e6;

/// The plan as it is recorded; workers are corrected once it is known how many there were.
pub(crate) fn plan(runner: &Runner, places: &Places, further: &[Places], scale: u32) -> results::Plan {
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
    variables.entry("scale".to_owned()).or_insert_with(|| scale.to_string());
    results::Plan {
        workload: runner.needs_tables().then(|| runner.workload.name().to_owned()),
        scripts: scripts.collect(),
        clients: spec.clients,
        workers: spec.workers,
        protocol: match spec.protocol {
            Protocol::Simple => results::Protocol::Simple,
            Protocol::Extended => results::Protocol::Extended,
            Protocol::Prepared => results::Protocol::Prepared,
        },
        limit: match spec.limit {
            Limit::Duration(duration) => results::Limit::Duration(duration.as_secs_f64()),
            Limit::TransactionsPerClient(count) => results::Limit::TransactionsPerClient(count),
        },
        warmup_s: spec.warmup.as_secs_f64(),
        until: spec.until,
        rate_tps: spec.rate_tps,
        latency_limit_us: spec.latency_limit.map(|limit| limit.as_secs_f64() * MICROS_PER_SECOND),
        max_tries: spec.max_tries.map(NonZeroU32::get),
        reconnect: spec.reconnect,
        continue_on_error: spec.continue_on_error,
        seed: runner.seed,
        connection: connection(&runner.target, places),
        targets: targets.collect(),
        variables,
        command_line: runner.circumstances.command_line.clone(),
    }
}

/// The rows that a script's transactions compete for, as its text or its workload says.
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

/// The single commands of each script with what they took.
pub(crate) fn commands(plan: &engine::Plan, table: &CommandTable) -> Vec<Vec<CommandSummary>> {
    let of_script = |(index, script): (usize, &engine::ScriptPlan)| {
        let commands = script.program.commands().iter().zip(table.of_script(index));
        commands.map(|(command, stats)| CommandSummary::of(&command.display, command.line, stats)).collect()
    };
    plan.scripts.iter().enumerate().map(of_script).collect()
}

/// What was found out about the tables.
pub(crate) fn tables(tables: &workload::Tables) -> results::Tables {
    let method = tables.partitioning.map(|(method, _)| match method {
        workload::PartitionMethod::Range => results::PartitionMethod::Range,
        workload::PartitionMethod::Hash => results::PartitionMethod::Hash,
    });
    results::Tables {
        scale: tables.scale,
        partition_method: method,
        partitions: Some(tables.partitioning.map_or(0, |(_, partitions)| partitions)),
    }
}

/// What connecting for each transaction took.
pub(crate) fn connecting(reconnects: &engine::Reconnects) -> results::Connecting {
    results::Connecting { connects: reconnects.count, total_s: reconnects.time.as_secs_f64() }
}

/// Where clients go; of several places all hosts, as in a connection string, and the first one's port.
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

/// Where one session went.
#[must_use]
pub fn connection_to(target: &Target, address: &Address) -> results::Connection {
    results::Connection {
        host: SafeText::from(host(address)),
        port: target.host_of(address).port,
        user: SafeText::from(target.user.clone()),
        database: SafeText::from(target.database.clone()),
    }
}

/// The host of an address as libpq names it: a name, or the socket's directory.
#[must_use]
pub fn host(address: &Address) -> String {
    match address {
        Address::Unix(path) => path.parent().unwrap_or(path).display().to_string(),
        Address::Tcp { host, .. } => host.clone(),
    }
}

/// A seed that nobody chose. The hasher's keys come from the system's random numbers.
#[must_use]
pub fn fresh_seed() -> u64 {
    RandomState::new().hash_one("pgmeter")
}
