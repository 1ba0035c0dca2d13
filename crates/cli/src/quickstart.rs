//! `pgmeter quickstart`: from nothing to a measured run, and nothing left behind.
//! The server is `server`'s, the run is `job`'s; what `pgmeter server` shares with it is here too.

use std::num::NonZeroU32;
use std::time::Duration;

use connect::{Environment, Overrides, Target};
use engine::{Compatibility, Grace, Limit};
use server::{FetchProgress, Installation, Instrumentation, Locations, Origin, Server, ServerOptions, Swept};
use workload::InitOptions;

use crate::arguments::QuickstartArguments;
use crate::bench::progress_style;
use crate::failure::Failure;
use crate::init::{self, Noise};
use crate::introspection;
use crate::job::{Job, Vacuum};
use crate::live::Live;
use crate::mix::{Mix, ScriptText};
use crate::reporting;
use crate::showing::{OwnShowing, Watching};
use crate::signals::Signals;
use crate::terminal::{Bar, Terminal, Unit};

/// What is run, in this order.
const WORKLOADS: [&str; 2] = ["tpcb-like", "select-only"];
/// Connections beside the clients: control sessions, and some for the user who looks on.
const CONNECTIONS_BESIDE_CLIENTS: u32 = 20;

pub(crate) fn run(
    arguments: &QuickstartArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    arguments.html.as_deref().map(reporting::check_place).transpose()?;
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    sweep(&locations, terminal);
    let programs = Programs {
        version: &arguments.pg_version,
        bin_dir: arguments.bin_dir.as_deref(),
        checksum: arguments.checksum.as_ref(),
    };
    let installation = signals.leave_at_once(|| obtain(programs, &locations, terminal))?;
    signals.check()?;

    let bar = terminal.bar(None, Unit::Nothing);
    bar.label(format!("starting PostgreSQL {} …", installation.version));
    let options = ServerOptions { stop: Some(signals.shared_stop()), ..options(arguments)? };
    let mut server = Server::start(&installation, &options, &locations)?;
    drop(bar);
    warn_without_statements(&server, arguments.no_instrumentation, terminal);
    let result = measure(arguments, &server, terminal, signals);
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

/// Loads and runs the workloads on a running server.
fn measure(
    arguments: &QuickstartArguments,
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
    let options = InitOptions { scale: arguments.scale, jobs: init::jobs(), ..InitOptions::default() };
    let loaded = init::load(&target, &mut session, &options, Noise::Bars, terminal, signals);
    // An interrupted load of a server that goes away needs no advice on how to load it again.
    signals.check()?;
    loaded?;
    drop(session);
    let mut shown = Vec::new();
    for name in WORKLOADS {
        signals.check()?;
        terminal.say(format_args!("\n{}", heading(name, arguments)));
        let live = Live::new(terminal, progress_style(None, terminal), None);
        let mut showing =
            OwnShowing::new(terminal, live, arguments.clients, arguments.places.clone(), Watching::default());
        job(arguments, &target, name)?.run(&mut showing, signals)?;
        shown.extend(showing.take_shown());
    }
    match &arguments.html {
        Some(path) => reporting::write_page(&shown, path, terminal),
        None => Ok(()),
    }
}

fn heading(name: &str, arguments: &QuickstartArguments) -> String {
    let QuickstartArguments { clients, duration, warmup, .. } = arguments;
    let noun = if *clients == 1 { "client" } else { "clients" };
    format!("running {name}: {clients} {noun}, {duration} s after a warm-up of {warmup} s")
}

fn job(arguments: &QuickstartArguments, target: &Target, name: &str) -> Result<Job, Failure> {
    Ok(Job {
        target: target.clone(),
        targets: Vec::new(),
        mix: Mix::parse(vec![ScriptText::builtin(name, 1)?])?,
        variables: Vec::new(),
        scale: None,
        clients: arguments.clients,
        workers: arguments.jobs,
        protocol: arguments.protocol.meaning(),
        limit: Limit::Duration(Duration::from_secs_f64(arguments.duration)),
        grace: arguments.grace.map_or(Grace::Automatic, Grace::Fixed),
        silence_limit: None,
        deadline: None,
        warmup_s: arguments.warmup,
        until: None,
        rate_per_s: None,
        seed: arguments.random_seed,
        latency_limit: None,
        reconnect: false,
        max_tries: Some(NonZeroU32::MIN),
        continue_on_error: false,
        exit_on_abort: false,
        manner: Compatibility::Pgmeter,
        event_loop: arguments.event_loop.event_loop.meaning(),
        calibrations: introspection::calibrations(),
        vacuum: Vacuum::SmallTables,
        asks_settings: true,
        observe: arguments.observe.observe.meaning(),
        relay_delay: None,
        is_whole_command: true,
    })
}

fn options(arguments: &QuickstartArguments) -> Result<ServerOptions, Failure> {
    let mut settings = settings(&arguments.settings)?;
    let connections = arguments.clients.saturating_add(CONNECTIONS_BESIDE_CLIENTS);
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

pub(crate) fn instrumentation(is_off: bool) -> Instrumentation {
    if is_off { Instrumentation::Off } else { Instrumentation::On }
}

/// Says so where a server cannot count statements although it should.
pub(crate) fn warn_without_statements(server: &Server, is_off: bool, terminal: &Terminal) {
    if !is_off && !server.counts_statements() {
        terminal.warn(format_args!(
            "this server does not load pg_stat_statements: its programs come without it, or shared_preload_libraries is \
             set to something else; statements are not counted"
        ));
    }
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

/// Removes what killed processes left behind.
pub(crate) fn sweep(locations: &Locations, terminal: &Terminal) {
    for Swept { name, failure, .. } in server::sweep(locations) {
        match failure {
            None => {
                terminal.say(format_args!("removed server {name}, left behind by a process that was killed"))
            }
            Some(reason) => terminal.warn(format_args!("server {name} was left behind and stays: {reason}")),
        }
    }
}

/// Which programs of PostgreSQL are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Programs<'a> {
    /// Of this version.
    pub(crate) version: &'a str,
    /// Or those in this directory.
    pub(crate) bin_dir: Option<&'a std::path::Path>,
    /// From the archive with this sum.
    pub(crate) checksum: Option<&'a server::Checksum>,
}

/// Finds or fetches the programs of PostgreSQL, with a bar.
pub(crate) fn obtain(
    programs: Programs<'_>,
    locations: &Locations,
    terminal: &Terminal,
) -> Result<Installation, Failure> {
    let mut bar: Option<Bar> = None;
    let mut fetched = false;
    let Programs { version, bin_dir, checksum } = programs;
    let mut told = |progress| match progress {
        FetchProgress::Downloading { version, bytes, total: Some(total) } => {
            let counting = bar.take().filter(Bar::counts);
            let counting = counting.unwrap_or_else(|| terminal.bar(Some(total), Unit::Bytes));
            counting.label(format!("fetching PostgreSQL {version}"));
            counting.reached(bytes, total);
            bar = Some(counting);
        }
        FetchProgress::Done { .. } => fetched = true,
        other => {
            bar = None;
            let waiting = terminal.bar(None, Unit::Nothing);
            waiting.label(fetch_label(&other));
            bar = Some(waiting);
        }
    };
    let installation = match checksum {
        Some(checksum) => server::obtain_verified(version, checksum, locations, &mut told),
        None => server::obtain(version, bin_dir, locations, &mut told),
    }?;
    drop(bar);
    let origin = match installation.origin {
        Origin::Named => "as asked for",
        Origin::Embedded if fetched => "embedded, fetched now",
        Origin::Embedded => "embedded, from the cache",
        Origin::Installed => "installed on this machine",
    };
    terminal.say(format_args!(
        "PostgreSQL {} ({origin}): {}",
        installation.version,
        installation.bin_dir.display()
    ));
    Ok(installation)
}

fn fetch_label(progress: &FetchProgress) -> String {
    match progress {
        FetchProgress::Waiting => "waiting for another pgmeter that is fetching".to_owned(),
        FetchProgress::Locating { wanted } => format!("looking for the newest PostgreSQL {wanted}"),
        FetchProgress::Unpacking { version } => format!("unpacking PostgreSQL {version}"),
        FetchProgress::Downloading { version, .. } => format!("fetching PostgreSQL {version}"),
        _ => "fetching PostgreSQL".to_owned(),
    }
}
