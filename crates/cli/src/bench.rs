//! `pgmeter bench`: what was typed becomes the specification of a run. `init` and `quickstart` find their servers with
//! what is here.

use connect::{Environment, Overrides, Target};
use engine::Limit;
use run::{RunSpec, Runner, TooFewDescriptors};

use crate::arguments::{BenchArguments, ConnectionArguments, ProgressName};
use crate::failure::Failure;
use crate::live::{Live, ProgressStyle};
use crate::logs::LogOptions;
use crate::metrics::MetricsServer;
use crate::options::RunCommand;
use crate::reporting;
use crate::showing::{OwnShowing, Watching};
use crate::signals::Signals;
use crate::terminal::{self, Terminal};

/// The command, as it begins: ten transactions of one client, as in pgbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bench;

impl RunCommand for Bench {
    fn base() -> RunSpec {
        RunSpec::default()
    }
}

pub(crate) fn run(arguments: &BenchArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let spec = arguments.run.spec()?;
    let is_timed = matches!(spec.limit, Limit::Duration(_));
    if spec.max_tries.is_none() && !is_timed && spec.latency_limit.is_none() {
        return Err(Failure::Usage(
            "--max-tries 0 is without limit: set one with a duration (-T) or a latency limit (-L)".to_owned(),
        ));
    }
    let clients = spec.clients;
    arguments.html.as_deref().map(reporting::check_place).transpose()?;
    let runner = runner(arguments, spec)?;
    let connections = u64::from(clients) * runner.targets_in_use() as u64;
    run::provide_descriptors(connections).map_err(|TooFewDescriptors { needed, limit }| {
        let targets = match runner.targets_in_use() {
            0 | 1 => String::new(),
            several => format!(" with {several} targets"),
        };
        Failure::Usage(format!(
            "-c {clients}{targets} needs {needed} open files, and the system allows {limit}: raise it with ulimit -n"
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
    let mut showing = OwnShowing::new(terminal, live, clients, arguments.places.clone(), watching);
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

fn runner(arguments: &BenchArguments, spec: RunSpec) -> Result<Runner, Failure> {
    terminal::never_say(run::secret_values(&spec.variables).into_iter().cloned().collect());
    // The database is never that of `-d`, which may be a whole connection.
    let of_targets = Overrides { dbname: None, ..overrides(&arguments.connection) };
    Ok(Runner::on_with(target(&arguments.connection)?, spec, &of_targets)?)
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
