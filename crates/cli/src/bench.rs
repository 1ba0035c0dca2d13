//! `pgmeter bench`: what was typed becomes the specification of a run. `init` and `quickstart` find their servers with
//! what is here.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use connect::{Environment, Overrides, Target};
use engine::{Grace, Limit, Protocol};
use run::{RunSpec, Runner, ScriptSource, ScriptSpec, TargetSpec, Vacuum};

use crate::arguments::{BenchArguments, ConnectionArguments, ProgressName, ProtocolName};
use crate::descriptors::{self, TooFewDescriptors};
use crate::failure::Failure;
use crate::live::{Live, ProgressStyle};
use crate::logs::LogOptions;
use crate::metrics::MetricsServer;
use crate::reporting;
use crate::showing::{OwnShowing, Watching};
use crate::signals::Signals;
use crate::terminal::{self, Terminal};

/// Transactions of each client when nothing was asked for, as in pgbench.
const DEFAULT_TRANSACTIONS: u64 = 10;

pub(crate) fn run(arguments: &BenchArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    if arguments.max_tries == 0 && arguments.duration.is_none() && arguments.latency_limit.is_none() {
        return Err(Failure::Usage(
            "--max-tries 0 is without limit: set one with a duration (-T) or a latency limit (-L)".to_owned(),
        ));
    }
    arguments.html.as_deref().map(reporting::check_place).transpose()?;
    let runner = runner(arguments)?;
    let connections = u64::from(arguments.clients) * runner.targets_in_use() as u64;
    descriptors::provide_for(connections).map_err(|TooFewDescriptors { needed, limit }| {
        let targets = match runner.targets_in_use() {
            0 | 1 => String::new(),
            several => format!(" with {several} targets"),
        };
        Failure::Usage(format!(
            "-c {}{targets} needs {needed} open files, and the system allows {limit}: raise it with ulimit -n",
            arguments.clients
        ))
    })?;
    let metrics = arguments.metrics.as_deref().map(MetricsServer::start).transpose()?;
    if let Some(server) = &metrics {
        terminal.say(format_args!("metrics at http://{}/metrics while the run goes on", server.address()));
    }
    let live = Live::new(terminal, progress_style(arguments.progress, terminal), metrics);
    let watching = Watching {
        logs: arguments.log.then(|| LogOptions {
            prefix: arguments.log_prefix.clone().into_os_string(),
            sampling_rate: arguments.sampling_rate,
            aggregate_interval_s: arguments.aggregate_interval,
            failures_detailed: true,
            writes_last_interval: true,
        }),
        verbose_errors: arguments.verbose_errors,
        commands: arguments.report_per_command,
    };
    let mut showing = OwnShowing::new(terminal, live, arguments.clients, arguments.places.clone(), watching);
    let result = showing.run(runner, signals);
    // An interrupted run has a page too.
    if let Some(path) = &arguments.html {
        let shown: Vec<_> = showing.take_shown().into_iter().collect();
        reporting::write_page(&shown, path, terminal)?;
    }
    result
}

/// Seconds between lines where nobody asked for any and nobody watches.
const UNWATCHED_LINES_S: u32 = 10;

/// A view where somebody watches, otherwise lines.
pub(crate) fn progress_style(asked: Option<ProgressName>, terminal: &Terminal) -> ProgressStyle {
    match asked {
        Some(ProgressName::Plain) => ProgressStyle::Lines(1),
        Some(ProgressName::Every(seconds)) => ProgressStyle::Lines(seconds),
        Some(ProgressName::Nothing) => ProgressStyle::Nothing,
        Some(ProgressName::Live) | None if terminal.can_draw() => ProgressStyle::View,
        Some(ProgressName::Live) => ProgressStyle::Lines(1),
        None if terminal.is_watched() => ProgressStyle::Lines(1),
        None => ProgressStyle::Lines(UNWATCHED_LINES_S),
    }
}

fn runner(arguments: &BenchArguments) -> Result<Runner, Failure> {
    let spec = spec(arguments)?;
    terminal::never_say(run::secret_values(&spec.variables).into_iter().cloned().collect());
    // The database is never that of `-d`, which may be a whole connection.
    let of_targets = Overrides { dbname: None, ..overrides(&arguments.connection) };
    Ok(Runner::on_with(target(&arguments.connection)?, spec, &of_targets)?)
}

fn spec(arguments: &BenchArguments) -> Result<RunSpec, Failure> {
    Ok(RunSpec {
        scripts: scripts(arguments)?,
        variables: definitions(&arguments.variables)?,
        scale: arguments.scale,
        clients: arguments.clients,
        workers: arguments.jobs,
        protocol: arguments.protocol.meaning(),
        limit: limit(arguments),
        warmup: Duration::from_secs_f64(arguments.warmup),
        grace: arguments.grace.map_or(Grace::Automatic, Grace::Fixed),
        until: arguments.until,
        rate_tps: arguments.rate,
        latency_limit: arguments.latency_limit.map(milliseconds),
        max_tries: NonZeroU32::new(arguments.max_tries),
        reconnect: arguments.connect,
        continue_on_error: arguments.continue_on_error,
        exit_on_abort: arguments.exit_on_abort,
        event_loop: arguments.event_loop.event_loop.meaning(),
        vacuum: match (arguments.no_vacuum, arguments.vacuum_all) {
            (true, _) => Vacuum::Nothing,
            (false, false) => Vacuum::SmallTables,
            (false, true) => Vacuum::AllTables,
        },
        observe: arguments.observe.observe.meaning(),
        targets: arguments.targets.iter().map(|text| named_target(text)).collect::<Result<_, _>>()?,
        seed: arguments.random_seed,
    })
}

/// A time longer than any run is as good as one that never passes.
fn milliseconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number / MILLIS_PER_SECOND).unwrap_or(Duration::MAX)
}

const MILLIS_PER_SECOND: f64 = 1000.0;

/// Splits `NAME=CONNECTION`. What the connection leaves open comes from `-h`, `-p` and `-U`, then from the PG* variables.
fn named_target(text: &str) -> Result<TargetSpec, Failure> {
    match text.split_once('=') {
        // A URI without a name may hold a password: nothing of it is shown.
        Some((name, connection)) if is_target_name(name) && !connection.is_empty() => {
            Ok(TargetSpec { name: name.to_owned(), connection: connection.to_owned() })
        }
        _ => Err(Failure::Usage(
            "--target: expected NAME=CONNECTION with a name of letters, digits, \"_\", \"-\" and \".\", such as \
             --target replica=postgresql://host/db"
                .to_owned(),
        )),
    }
}

fn is_target_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c))
}

/// Where to connect, from options and environment.
pub(crate) fn target(arguments: &ConnectionArguments) -> Result<Target, Failure> {
    let overrides = overrides(arguments);
    Ok(connect::resolve(arguments.connection.as_deref(), &overrides, &Environment::of_process())?)
}

fn overrides(arguments: &ConnectionArguments) -> Overrides {
    Overrides {
        host: arguments.host.clone(),
        port: arguments.port.clone(),
        user: arguments.username.clone(),
        dbname: arguments.dbname.clone(),
        fallback_application_name: None,
    }
}

fn limit(arguments: &BenchArguments) -> Limit {
    match arguments.duration {
        Some(seconds) => Limit::Duration(Duration::from_secs_f64(seconds)),
        None => Limit::TransactionsPerClient(arguments.transactions.unwrap_or(DEFAULT_TRANSACTIONS)),
    }
}

impl ProtocolName {
    pub(crate) fn meaning(self) -> Protocol {
        match self {
            Self::Simple => Protocol::Simple,
            Self::Extended => Protocol::Extended,
            Self::Prepared => Protocol::Prepared,
        }
    }
}

/// The scripts asked for, in the order: built-in ones, then files. TPC-B-like if none was named.
fn scripts(arguments: &BenchArguments) -> Result<Vec<ScriptSpec>, Failure> {
    let builtin = |name: &str| ScriptSource::Builtin(name.to_owned());
    let mut scripts = Vec::new();
    for name in &arguments.builtins {
        let (name, weight) = weighted(name)?;
        scripts.push(ScriptSpec { source: builtin(name), weight });
    }
    if arguments.skip_some_updates {
        scripts.push(ScriptSpec::new(builtin("simple-update")));
    }
    if arguments.select_only {
        scripts.push(ScriptSpec::new(builtin("select-only")));
    }
    for file in &arguments.files {
        let (path, weight) = weighted(file)?;
        scripts.push(ScriptSpec { source: ScriptSource::File(path.into()), weight });
    }
    Ok(if scripts.is_empty() { RunSpec::default().scripts } else { scripts })
}

/// Splits `NAME@WEIGHT` at the last `@`.
pub(crate) fn weighted(text: &str) -> Result<(&str, u32), Failure> {
    let Some((name, weight)) = text.rsplit_once('@') else { return Ok((text, 1)) };
    match weight.parse::<i64>() {
        Ok(number) => match u32::try_from(number).ok().filter(|weight| *weight <= i32::MAX.cast_unsigned()) {
            Some(weight) => Ok((name, weight)),
            None => Err(Failure::Usage(format!(
                "weight specification out of range (0 .. {}): {number}",
                i32::MAX
            ))),
        },
        Err(_) => Err(Failure::Usage(format!(
            "invalid weight specification: @{weight} (a file name that contains @ needs a weight after it)"
        ))),
    }
}

/// Splits `NAME=VALUE`.
fn definitions(texts: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    texts.iter().map(|text| definition(text)).collect()
}

fn definition(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            if script::Symbols::is_valid_name(name) {
                Ok((name.to_owned(), value.to_owned()))
            } else {
                Err(Failure::Usage(format!("option -D: invalid variable name: \"{name}\"")))
            }
        }
        // What stands there may be a secret.
        Some(_) => Err(Failure::Usage(
            "invalid variable definition: no name before \"=\", or no value after it; expected -D name=value"
                .to_owned(),
        )),
        None => Err(Failure::Usage(
            "invalid variable definition: there is no \"=\" in it; expected -D name=value".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence<T: std::fmt::Debug>(result: Result<T, Failure>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn a_weight_follows_the_last_at_sign() {
        assert_eq!(weighted("a.sql").unwrap(), ("a.sql", 1));
        assert_eq!(weighted("a@b.sql@3").unwrap(), ("a@b.sql", 3));
        assert!(sentence(weighted("a@b.sql")).starts_with("invalid weight specification: @b.sql"));
        assert_eq!(sentence(weighted("a@-1")), "weight specification out of range (0 .. 2147483647): -1");
    }

    #[test]
    fn a_definition_has_a_name_and_a_value() {
        assert_eq!(definition("a=b=c").unwrap(), ("a".to_owned(), "b=c".to_owned()));
        assert!(sentence(definition("a=")).starts_with("invalid variable definition"));
        assert_eq!(sentence(definition("1a=2")), "option -D: invalid variable name: \"1a\"");
    }
}
