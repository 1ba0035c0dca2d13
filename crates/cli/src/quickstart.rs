//! `pgmeter quickstart`: a workload on an embedded server that is removed afterwards. `lab` does the work; this module
//! parses options and shows the runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use engine::Limit;
use report::Subject;
use run::RunSpec;
use server::{Locations, ServerOptions};
use stats::Scale;

use crate::arguments::{AnnotationArguments, InstallationArguments, StoreArguments};
use crate::failure::Failure;
use crate::listener::listening;
use crate::options::{RunCommand, RunOptions};
use crate::output::Output;
use crate::progress;
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
    /// Scale factor; for tpcb one unit is 100,000 accounts (about 16 MB) [default: 10 for tpcb, otherwise 1]
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
    const HEADING: Option<Option<&'static str>> = Some(None);
    const HELPS: &'static [(&'static str, &'static str)] =
        &[("duration", "{help}, for each mix of scripts"), ("warmup", "{help}, for each mix of scripts")];

    fn base() -> RunSpec {
        RunSpec {
            clients: 8,
            limit: Limit::Duration(Duration::from_secs(10)),
            warmup: Duration::from_secs(2),
            ..RunSpec::default()
        }
    }
}

pub(crate) fn run(
    arguments: &QuickstartArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let annotation = arguments.annotation.annotation()?;
    let page = arguments.html.as_deref().map(Output::page).transpose()?;
    let locations = Locations::from_environment(&server::Environment::of_process())?;
    let places = arguments.places.places()?;
    let mut spec = arguments.run.spec()?;
    let host = || Ok(::lab::host_of_process());
    let relative = arguments.run.set_clients_per_core(&mut spec, host, terminal)?;
    let quickstart = ::lab::Quickstart {
        programs: arguments.installation.programs(),
        server: ServerOptions { tcp: arguments.tcp, ..arguments.installation.server_options()? },
        no_instrumentation: arguments.installation.no_instrumentation,
        spec,
        scale: arguments.scale,
        keeps: arguments.keep,
    };
    let mut measured = Vec::new();
    listening(terminal, places.clone(), Output::default(), |listener| {
        quickstart.run(&locations, listener, signals, &mut |runner| {
            let output = OutputOptions {
                progress: progress::style(None, terminal),
                metrics: None,
                logs: None,
                verbose_errors: false,
                commands: false,
                prints_summary: true,
                places: places.clone(),
                annotation: annotation.clone(),
                relative: relative.clone(),
            };
            run_output::run(runner, output, &mut measured, terminal, signals)
        })
    })?;
    page.map_or(Ok(()), |page| page.write(Subject::Runs(&measured), terminal))
}
