//! `pgmeter quickstart`: from nothing to a measured run, and nothing left behind.
//! The server is `server`'s, the run is `run`'s.

use std::time::Duration;

use ::lab::{Listener, Programs, instrumentation, obtain, sweep, warn_without_statements};
use clap::Arg;
use connect::{Environment, Overrides};
use engine::Limit;
use run::options::RunOption;
use run::{RunSpec, Runner, ScriptSource, ScriptSpec};
use server::{Locations, Server, ServerOptions};
use workload::{InitOptions, Script, Workload};

use crate::arguments::QuickstartArguments;
use crate::bench::progress_style;
use crate::failure::Failure;
use crate::init::{self, Noise};
use crate::listener::listening;
use crate::live::Live;
use crate::options::{self, RunCommand};
use crate::reporting;
use crate::showing::{OwnShowing, Watching};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// The command, as it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quickstart;

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

/// Connections beside the clients: control sessions, and some for the user who looks on.
const CONNECTIONS_BESIDE_CLIENTS: u32 = 20;

pub(crate) fn run(
    arguments: &QuickstartArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    arguments.html.as_deref().map(reporting::check_place).transpose()?;
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    let places = arguments.places.places();
    listening(terminal, places, |listener| {
        measure_on_server(arguments, &locations, listener, terminal, signals)
    })
}

fn measure_on_server(
    arguments: &QuickstartArguments,
    locations: &Locations,
    listener: Listener<'_>,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let spec = arguments.run.spec()?;
    let spec = RunSpec { workload: Some(spec.workload.clone().unwrap_or_default()), ..spec };
    let workload = spec.workload.clone().unwrap_or_default().open()?;
    sweep(locations, listener);
    let programs = Programs {
        version: &arguments.pg_version,
        bin_dir: arguments.bin_dir.as_deref(),
        checksum: arguments.checksum.as_ref(),
    };
    let installation = signals.leave_at_once(|| obtain(programs, locations, listener))?;
    signals.check()?;

    let busy = listener.busy(format_args!("starting PostgreSQL {} …", installation.version));
    let options =
        ServerOptions { stop: Some(signals.shared_stop()), ..server_options(arguments, spec.clients)? };
    let mut server = Server::start(&installation, &options, locations)?;
    drop(busy);
    warn_without_statements(&server, arguments.no_instrumentation, listener);
    let result = measure(arguments, &spec, &*workload, &server, terminal, signals);
    if arguments.keep && result.is_ok() {
        let status = server.keep()?;
        let conninfo = status.conninfo_tcp.as_ref().unwrap_or(&status.conninfo);
        terminal.say(format_args!("server kept. Connect: psql \"{conninfo}\""));
        terminal.say(format_args!("Stop and remove it: pgmeter server stop --remove {}", status.name));
        return Ok(());
    }
    let stopped = server.stop_and_remove();
    result?;
    Ok(stopped?)
}

/// Loads the workload and runs its scripts on a running server.
fn measure(
    arguments: &QuickstartArguments,
    spec: &RunSpec,
    workload: &dyn Workload,
    server: &Server,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let environment = Environment::of_process().only_control_timeout();
    let conninfo = server.conninfo_tcp().unwrap_or_else(|| server.conninfo());
    let own_conninfo = server.conninfo_tcp_guarded().unwrap_or_else(|| server.conninfo());
    let target = connect::resolve(Some(&own_conninfo), &Overrides::default(), &environment)?;
    terminal.say(format_args!("PostgreSQL is running: psql \"{conninfo}\""));
    let mut session = signals.connect(&target)?;
    let options =
        InitOptions { scale: arguments.scale, jobs: run::loading_sessions(), ..InitOptions::default() };
    let loaded = init::load(workload, &target, &mut session, &options, Noise::Bars, terminal, signals);
    // An interrupted load of a server that goes away needs no advice on how to load it again.
    signals.check()?;
    loaded?;
    drop(session);
    let mut shown = Vec::new();
    for mix in workload.quickstart() {
        signals.check()?;
        terminal.say(format_args!("\n{}", heading(&mix, spec)));
        let live = Live::new(terminal, progress_style(None, terminal), None);
        let mut showing =
            OwnShowing::new(terminal, live, spec.clients, arguments.places.clone(), Watching::default());
        // A script that runs by itself needs no weight.
        let script = |script: &&Script| ScriptSpec {
            source: ScriptSource::OfWorkload(script.name.clone().into_owned()),
            weight: if mix.len() == 1 { 1 } else { script.weight },
        };
        let scripts = mix.iter().map(script).collect();
        let runner = Runner::on(target.clone(), RunSpec { scripts, ..spec.clone() })?;
        showing.run(runner, signals)?;
        shown.extend(showing.take_shown());
    }
    match &arguments.html {
        Some(path) => reporting::write_page(&shown, path, terminal),
        None => Ok(()),
    }
}

fn heading(mix: &[&Script], spec: &RunSpec) -> String {
    let name = mix.iter().map(|script| &*script.name).collect::<Vec<_>>().join(" and ");
    let noun = if spec.clients == 1 { "client" } else { "clients" };
    let measured = match spec.limit {
        Limit::Duration(time) => format!("{} s", time.as_secs_f64()),
        Limit::TransactionsPerClient(each) => format!("{each} transactions of each client"),
    };
    format!(
        "running {name}: {} {noun}, {measured} after a warm-up of {} s",
        spec.clients,
        spec.warmup.as_secs_f64()
    )
}

fn server_options(arguments: &QuickstartArguments, clients: u32) -> Result<ServerOptions, Failure> {
    let mut settings = settings(&arguments.settings)?;
    let connections = clients.saturating_add(CONNECTIONS_BESIDE_CLIENTS);
    settings.insert(0, ("max_connections".to_owned(), connections.to_string()));
    let server_user = arguments.server_user.clone();
    let instrumentation = instrumentation(arguments.no_instrumentation);
    Ok(ServerOptions {
        settings,
        server_user,
        tcp: arguments.tcp,
        instrumentation,
        ..ServerOptions::default()
    })
}

/// Splits `NAME=VALUE`.
pub(crate) fn settings(texts: &[String]) -> Result<Vec<(String, String)>, Failure> {
    texts
        .iter()
        .map(|text| match text.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(Failure::Usage(format!(
                "--set {text}: expected NAME=VALUE, such as --set shared_buffers=1GB"
            ))),
        })
        .collect()
}
