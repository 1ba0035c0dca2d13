//! `pgmeter bench`: builds the specification of a run, and executes it with `run_output`. The options of the run are
//! in `run::options`, those of output and storage here.

use std::path::PathBuf;

use ::lab::{host_of_session, managed_site};
use clap::Args;
use connect::Overrides;
use output::{LogOptions, ProgressStyle};
use report::Subject;
use run::options::whole_seconds;
use run::{RunRequest, RunSpec, Runner, Surface};

use crate::arguments::{AnnotationArguments, ConnectionArguments, StoreArguments};
use crate::failure::Failure;
use crate::options::{RunCommand, RunOptions};
use crate::output::{Output, OutputArguments};
use crate::password::connect_asking;
use crate::progress::{self, serve_metrics};
use crate::run_output::{self, OutputOptions};
use crate::signals::Signals;
use crate::terminal::{self, Terminal};

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    #[command(flatten)]
    run: RunOptions<Bench>,

    /// Progress display: live (redrawn each second), plain (a line each second), a line at this interval (10, 1min), or none
    /// [default: live on a terminal, otherwise 10]
    #[arg(short = 'P', long, value_name = "STYLE", value_parser = ProgressStyle::parse, help_heading = "Output")]
    progress: Option<ProgressStyle>,
    /// Serve live metrics during the run in OpenMetrics format, for Prometheus; port 0 selects a free port
    #[arg(long, value_name = "HOST:PORT", help_heading = "Output")]
    metrics: Option<String>,
    /// Report latency, failures and retries of each script command
    #[arg(short, long, help_heading = "Output")]
    report_per_command: bool,
    /// Print each error that leads to a retry or a failed transaction
    #[arg(long, help_heading = "Output")]
    verbose_errors: bool,
    /// Write each transaction to a log file, one file per thread
    #[arg(short, long, help_heading = "Output")]
    log: bool,
    /// Prefix of the names of log files
    #[arg(
        long,
        value_name = "PATH",
        default_value = "pgmeter_log",
        requires = "log",
        help_heading = "Output"
    )]
    log_prefix: PathBuf,
    /// Log one aggregated line per interval instead of each transaction
    #[arg(long, value_name = "TIME", requires = "log", conflicts_with = "sampling_rate", help_heading = "Output", value_parser = whole_seconds)]
    aggregate_interval: Option<u32>,
    /// Log only this fraction of the transactions, such as 0.01
    #[arg(long, value_name = "SHARE", requires = "log", help_heading = "Output", value_parser = share)]
    sampling_rate: Option<f64>,
    #[command(flatten, next_help_heading = "Output")]
    places: StoreArguments,
    #[command(flatten)]
    annotation: AnnotationArguments,
    /// Write the report as a self-contained HTML page with charts
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    html: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => Err("expected a number above 0 and up to 1, such as 0.01".to_owned()),
    }
}

/// The base specification: ten transactions of one client, as in pgbench.
#[derive(Clone, Copy, Debug)]
struct Bench;

impl RunCommand for Bench {
    fn base() -> RunSpec {
        RunSpec::default()
    }
}

pub(crate) fn run(arguments: &BenchArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let output = arguments.output.output(terminal)?;
    measure(arguments, &output, terminal, signals)
        .inspect_err(|failure| output.write_failure("bench", failure, terminal))
}

fn measure(
    arguments: &BenchArguments,
    output: &Output,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let annotation = arguments.annotation.annotation()?;
    let mut spec = arguments.run.spec()?;
    let page = arguments.html.as_deref().map(Output::page).transpose()?;
    terminal::mask(run::secret_values(&spec.variables).into_iter().cloned());
    // `-d` may be a complete connection string, so its database is not used for targets.
    let overrides = Overrides { dbname: None, ..arguments.connection.overrides() };
    let mut target = arguments.connection.target()?;
    let host = || {
        let session = connect_asking(&mut target, signals)?;
        host_of_session(&session).map_err(Failure::Usage)
    };
    let relative = arguments.run.set_clients_per_core(&mut spec, host, terminal)?;
    let site = managed_site(&target, &spec)?;
    let surface = Surface::Flags;
    let runner = Runner::new(RunRequest { surface, overrides, site, ..RunRequest::on(target, spec) })?;
    runner.provide_descriptors(signals)?;
    let metrics = arguments.metrics.as_deref().map(serve_metrics).transpose()?;
    if let Some(server) = &metrics {
        terminal.say(format_args!("metrics at http://{}/metrics while the run goes on", server.address()));
    }
    let options = OutputOptions {
        progress: progress::style(arguments.progress, terminal),
        metrics,
        logs: arguments.log.then(|| LogOptions {
            prefix: arguments.log_prefix.clone().into_os_string(),
            sampling_rate: arguments.sampling_rate,
            aggregate_interval_s: arguments.aggregate_interval,
            failures_detailed: true,
            compatibility: engine::Compatibility::Pgmeter,
        }),
        verbose_errors: arguments.verbose_errors,
        commands: arguments.report_per_command,
        prints_summary: output.leaves_stdout(),
        relative,
        annotation,
        places: arguments.places.places()?,
    };
    let mut measured = Vec::new();
    let result = run_output::run(runner, options, &mut measured, terminal, signals);
    // An interrupted run has a report too.
    let others = (!output.is_text_on_terminal()).then_some(output);
    for report in others.into_iter().chain(&page).filter(|_| !measured.is_empty()) {
        report.write(Subject::Runs(&measured), terminal).unwrap_or_else(|failure| terminal.lose(failure));
    }
    result
}
