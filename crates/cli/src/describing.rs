//! What the record says about a job: the same facts in the words of `results`.
//! Nothing is measured or decided here; called by `job`, before and after the run.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;

use connect::{Address, Target};
use engine::{Limit, Protocol};
use results::{CommandSummary, SafeText};
use script::Program;
use stats::CommandTable;

use crate::job::{Job, Way};
use crate::mix::ScriptText;

const MICROS_PER_SECOND: f64 = 1e6;

/// The plan as it is recorded. Workers and seed are set once they are known.
pub(crate) fn plan(job: &Job, way: &Way, ways: &[Way]) -> results::Plan {
    results::Plan {
        scripts: job
            .mix
            .texts
            .iter()
            .zip(&job.mix.programs)
            .map(|(text, program)| {
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
            })
            .collect(),
        clients: job.clients,
        workers: job.workers,
        protocol: match job.protocol {
            Protocol::Simple => results::Protocol::Simple,
            Protocol::Extended => results::Protocol::Extended,
            Protocol::Prepared => results::Protocol::Prepared,
        },
        limit: match job.limit {
            Limit::Duration(duration) => results::Limit::Duration(duration.as_secs_f64()),
            Limit::TransactionsPerClient(count) => results::Limit::TransactionsPerClient(count),
        },
        warmup_s: job.warmup_s,
        until: job.until,
        rate_tps: job.rate_per_s,
        latency_limit_us: job.latency_limit.map(|limit| limit.as_secs_f64() * MICROS_PER_SECOND),
        max_tries: job.max_tries.map(NonZeroU32::get),
        reconnect: job.reconnect,
        continue_on_error: job.continue_on_error,
        seed: job.seed.unwrap_or_default(),
        connection: connection(&job.target, way),
        targets: job
            .targets
            .iter()
            .zip(ways)
            .map(|((name, target), way)| results::Target {
                name: name.clone(),
                connection: connection(target, way),
            })
            .collect(),
        variables: variables(job.variables.iter().map(|(name, value)| (name, value))),
        command_line: None,
    }
}

/// The rows that a script's transactions compete for, as the script says or as is known of a built-in one.
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

/// Variables as they are recorded.
pub(crate) fn variables<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> BTreeMap<String, String> {
    variables.into_iter().map(variable).collect()
}

/// A variable as it is recorded: without what is secret by its name, and without passwords in what it holds.
fn variable((name, value): (&String, &String)) -> (String, String) {
    (name.clone(), SafeText::named(name, value).as_str().to_owned())
}

/// Shorter values are found everywhere, in figures too, and hide nothing.
const SECRET_LENGTH_MIN: usize = 6;

/// The values of variables that are secret by their names, the longest first: another may be a part of it.
pub(crate) fn secret_values<'a>(
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Vec<&'a String> {
    let is_secret = |(name, value): &(&String, &String)| {
        value.len() >= SECRET_LENGTH_MIN && SafeText::named(name, value) == SafeText::masked()
    };
    let mut values: Vec<&String> = variables.into_iter().filter(is_secret).map(|(_, value)| value).collect();
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values
}

/// A text that may quote values of variables, as an error of the server does, without those that are secret.
pub(crate) fn without_secret_values<'a>(
    text: &str,
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> String {
    secret_values(variables).into_iter().fold(text.to_owned(), |text, value| hide(&text, value))
}

/// A text without a secret value, in whatever case it stands there: a server folds names to lower case.
pub(crate) fn hide(text: &str, value: &str) -> String {
    let (lower, value) = (text.to_ascii_lowercase(), value.to_ascii_lowercase());
    let (mut out, mut shown) = (String::with_capacity(text.len()), 0);
    for (place, found) in lower.match_indices(&value) {
        out.push_str(&text[shown..place]);
        out.push_str(SafeText::masked().as_str());
        shown = place + found.len();
    }
    out + &text[shown..]
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
        scale: Some(tables.scale),
        partition_method: method,
        partitions: Some(tables.partitioning.map_or(0, |(_, partitions)| partitions)),
    }
}

/// What connecting for each transaction took.
pub(crate) fn connecting(reconnects: &engine::Reconnects) -> results::Connecting {
    results::Connecting { connects: reconnects.count, total_s: reconnects.time.as_secs_f64() }
}

/// Where clients go; of several places all hosts, as in a connection string, and the first one's port.
fn connection(target: &Target, way: &Way) -> results::Connection {
    let hosts: Vec<_> = way.addresses().map(host).collect();
    let port = way.addresses().next().map_or(0, |address| target.host_of(address).port);
    results::Connection {
        host: SafeText::from(hosts.join(",")),
        port,
        user: SafeText::from(target.user.clone()),
        database: SafeText::from(target.database.clone()),
    }
}

/// Where one session went.
pub(crate) fn connection_to(target: &Target, address: &Address) -> results::Connection {
    results::Connection {
        host: SafeText::from(host(address)),
        port: target.host_of(address).port,
        user: SafeText::from(target.user.clone()),
        database: SafeText::from(target.database.clone()),
    }
}

/// The host of an address as libpq names it: a name, or the socket's directory.
pub(crate) fn host(address: &Address) -> String {
    match address {
        Address::Unix(path) => path.parent().unwrap_or(path).display().to_string(),
        Address::Tcp { host, .. } => host.clone(),
    }
}

/// The server's account of itself.
pub(crate) fn server(facts: &server::Facts) -> results::ServerFacts {
    let build = facts.build.as_ref();
    results::ServerFacts {
        version: facts.version.clone(),
        server_version_num: facts.version_num,
        non_default_settings: settings(&facts.settings),
        main_settings: settings(&facts.main_settings),
        extensions: facts.extensions.iter().cloned().collect(),
        debug_assertions: Some(facts.debug_assertions),
        build: results::BuildFingerprint {
            configure: build.map(|build| build.configure.clone()),
            cflags: build.map(|build| build.cflags.clone()),
            version: facts.version_text.clone(),
        },
    }
}

fn settings(settings: &[server::Setting]) -> results::Settings {
    settings.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect()
}

/// A seed that nobody chose. The hasher's keys come from the system's random numbers.
pub(crate) fn fresh_seed() -> u64 {
    RandomState::new().hash_one("pgmeter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_in_variables_is_not_recorded() {
        let recorded = |name: &str, value: &str| variable((&name.to_owned(), &value.to_owned())).1;
        assert_eq!(recorded("scale", "10"), "10");
        assert_eq!(recorded("api_Token", "abc"), "***");
        assert_eq!(recorded("dsn", "postgresql://u:abc@h/d"), "postgresql://u:***@h/d");
    }
}
