//! `pgmeter quickstart`: starts an embedded server, loads it, runs workloads, and removes everything. `server` and
//! `run` do the work.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ::lab::{Listener, ServerHost, obtain, sweep, warn_without_statements};
use clap::{Arg, Args};
use connect::{Environment, Overrides};
use engine::Limit;
use report::Subject;
use results::{Annotation, Record};
use run::options::RunOption;
use run::{RunSpec, Runner, ScriptSource, ScriptSpec, StorePlaces};
use server::{Locations, Server, ServerOptions};
use stats::Scale;
use workload::{InitOptions, Script, Workload};

use crate::arguments::{AnnotationArguments, InstallationArguments, StoreArguments};
use crate::failure::Failure;
use crate::init::{self, LoadView};
use crate::listener::listening;
use crate::options::{self, RunCommand, RunOptions};
use crate::output::Output;
use crate::progress::ProgressStyle;
use crate::run_output::{self, OutputOptions};
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct QuickstartArguments {
    #[command(flatten)]
    installation: InstallationArguments,
    /// Connect over TCP (127.0.0.1, with a random password) instead of the Unix socket
    #[arg(long)]
    tcp: bool,
    /// Scale factor; for tpcb one unit is 100,000 accounts (about 15 MB) [default: 10, or that of the workload]
    #[arg(short, long, value_name = "N")]
    scale: Option<Scale>,
    #[command(flatten)]
    run: RunOptions<Quickstart>,
    #[command(flatten)]
    places: StoreArguments,
    #[command(flatten)]
    annotation: AnnotationArguments,
    /// Write a self-contained HTML page with charts that shows the workloads side by side
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Keep the server running afterwards, and print how to connect
    #[arg(long)]
    keep: bool,
}

/// The command's base specification.
#[derive(Clone, Copy, Debug)]
struct Quickstart;

impl RunCommand for Quickstart {
    const OPTIONS: &'static [&'static str] = &[
        "workload",
        "clients",
        "workers",
        "duration",
        "warmup",
        "grace",
        "protocol",
        "event_loop",
        "observe",
        "seed",
    ];

    fn base() -> RunSpec {
        RunSpec {
            clients: 8,
            limit: Limit::Duration(Duration::from_secs(10)),
            warmup: Duration::from_secs(2),
            ..RunSpec::default()
        }
    }

    fn adapted(option: &RunOption, argument: Arg) -> Arg {
        let argument = argument.help_heading(None);
        match option.name {
            "duration" | "warmup" => {
                let text = format!("{}, for each mix of scripts", option.help);
                argument.help(options::help(option, &text, &Self::base()))
            }
            _ => argument,
        }
    }
}

/// Connections in addition to the clients: control sessions, and some for the user.
const CONNECTIONS_BESIDE_CLIENTS: u32 = 20;

pub(crate) fn run(
    arguments: &QuickstartArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let annotation = arguments.annotation.annotation()?;
    let page = arguments.html.as_deref().map(Output::page).transpose()?;
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    let places = arguments.places.places()?;
    let measured = listening(terminal, places.clone(), Output::default(), |listener| {
        let keeping = Keeping { places: &places, annotation };
        measure_on_server(arguments, keeping, &locations, listener, terminal, signals)
    })?;
    page.map_or(Ok(()), |page| page.write(Subject::Runs(&measured), terminal))
}

fn measure_on_server(
    arguments: &QuickstartArguments,
    keeping: Keeping<'_>,
    locations: &Locations,
    listener: Listener<'_>,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<Vec<(String, Record)>, Failure> {
    let mut spec = arguments.run.spec()?;
    let host = || Ok(ServerHost::of_process());
    let relative = arguments.run.set_clients_per_core(&mut spec, host, terminal)?;
    let spec = RunSpec { workload: Some(spec.workload.clone().unwrap_or_default()), ..spec };
    let workload = spec.workload.clone().unwrap_or_default().open()?;
    let options = arguments.installation.server_options()?;
    sweep(locations, listener);
    let installation =
        signals.leave_at_once(|| obtain(arguments.installation.programs(), locations, listener))?;
    signals.check()?;

    let busy = listener.busy(format_args!("starting PostgreSQL {} …", installation.version));
    let mut options = ServerOptions { tcp: arguments.tcp, stop: Some(signals.shared_stop()), ..options };
    let connections = spec.clients.saturating_add(CONNECTIONS_BESIDE_CLIENTS);
    options.settings.insert(0, ("max_connections".to_owned(), connections.to_string()));
    let mut server = Server::start(&installation, &options, locations)?;
    drop(busy);
    warn_without_statements(&server, arguments.installation.no_instrumentation, listener);
    let scale = arguments.scale.or(workload.default_scale()).unwrap_or(SCALE.into());
    let setup = Setup { keeping, scale, relative };
    let result = measure(&setup, &spec, &*workload, &server, terminal, signals);
    if arguments.keep && result.is_ok() {
        let status = server.keep()?;
        let conninfo = status.conninfo_tcp.as_ref().unwrap_or(&status.conninfo);
        terminal.say(format_args!("server kept. Connect: psql \"{conninfo}\""));
        terminal.say(format_args!("Stop and remove it: pgmeter server stop --remove {}", status.name));
        return result;
    }
    let stopped = server.stop_and_remove();
    let measured = result?;
    stopped?;
    Ok(measured)
}

/// The scale of a workload that has no default of its own.
const SCALE: u32 = 10;

/// Where the runs are stored, and as what.
struct Keeping<'a> {
    places: &'a StorePlaces,
    annotation: Annotation,
}

/// The parts of the command that are not in the specification of its runs.
struct Setup<'a> {
    keeping: Keeping<'a>,
    scale: Scale,
    /// Options given relative to the server's host, by name.
    relative: BTreeMap<String, String>,
}

/// Loads the workload and runs its scripts on a running server.
fn measure(
    setup: &Setup<'_>,
    spec: &RunSpec,
    workload: &dyn Workload,
    server: &Server,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<Vec<(String, Record)>, Failure> {
    let environment = Environment::of_process().only_control_timeout();
    let conninfo = server.conninfo_tcp().unwrap_or_else(|| server.conninfo());
    let own_conninfo = server.conninfo_tcp_guarded().unwrap_or_else(|| server.conninfo());
    let target = connect::resolve(Some(&own_conninfo), &Overrides::default(), &environment)?;
    terminal.say(format_args!("PostgreSQL is running: psql \"{conninfo}\""));
    let mut session = signals.connect(&target)?;
    let options = InitOptions { scale: setup.scale, jobs: run::loading_sessions(), ..InitOptions::default() };
    let view = LoadView::new(terminal);
    let loaded = init::load(workload, &target, &mut session, &options, view, signals);
    // After an interrupted load, the message about loading again would be wrong: the server is removed.
    signals.check()?;
    loaded?;
    drop(session);
    let mut measured = Vec::new();
    for mix in workload.quickstart() {
        signals.check()?;
        terminal.say(format_args!("\n{}", heading(&mix, spec)));
        // A single script needs no weight.
        let script = |script: &&Script| ScriptSpec {
            source: ScriptSource::OfWorkload(script.name.clone().into_owned()),
            weight: if mix.len() == 1 { 1 } else { script.weight },
        };
        let scripts = mix.iter().map(script).collect();
        let runner = Runner::on(target.clone(), RunSpec { scripts, ..spec.clone() })?;
        let output = OutputOptions {
            progress: ProgressStyle::choose(None, terminal),
            metrics: None,
            logs: None,
            verbose_errors: false,
            commands: false,
            prints_summary: true,
            places: setup.keeping.places.clone(),
            annotation: setup.keeping.annotation.clone(),
            relative: setup.relative.clone(),
        };
        run_output::run(runner, output, &mut measured, terminal, signals)?;
    }
    Ok(measured)
}

fn heading(mix: &[&Script], spec: &RunSpec) -> String {
    let name = mix.iter().map(|script| &*script.name).collect::<Vec<_>>().join(" and ");
    let noun = if spec.clients == 1 { "client" } else { "clients" };
    let measured = match spec.limit {
        Limit::Duration(time) => format!("{} s", time.as_secs_f64()),
        Limit::TransactionsPerClient(each) => format!("{each} transactions per client"),
    };
    format!(
        "running {name}: {} {noun}, {measured} after a warm-up of {} s",
        spec.clients,
        spec.warmup.as_secs_f64()
    )
}
