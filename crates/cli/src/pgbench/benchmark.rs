//! A run as pgbench makes it: from the options to a specification, and from its failure to an exit status.
//! What is shown while it goes on, and at the end, is in `appearance`.

use dropin::{DEFAULT_TRANSACTIONS, Level, Options, Stop, without_number};
use engine::{Compatibility, EngineError};
use report::pgbench::Presentation;
use run::{Circumstances, RunError, RunSpec, Runner};
use workload::{WorkloadError, tpcb};

use super::appearance::{Appearance, Debug, Wishes};
use super::diagnostics::Diagnostics;
use super::sessions;
use crate::failure::Failure;
use crate::logs::LogOptions;
use crate::password;
use crate::signals::Signals;

/// What names of log files begin with when nothing was asked for.
const LOG_PREFIX: &str = "pgbench_log";

pub(super) fn run(options: Options, diagnostics: &Diagnostics) -> Result<(), Stop> {
    let target = sessions::target(&options)?;
    let database = target.database.clone();
    let wishes = wishes(&options);
    let appearance = Appearance::new(diagnostics, wishes);
    // Ctrl-C ends pgbench at once. An alarm ends a timed run, since pgbench sets one for that itself.
    let signals = match options.duration {
        Some(_) => Signals::catch_alarm().map_err(Stop::error)?,
        None => Signals::uncaught(),
    };
    let event_loop = run::event_loop_of_environment().map_err(Stop::error)?;
    let spec = RunSpec { event_loop, ..RunSpec::from(&options) };
    let circumstances = Circumstances {
        compatibility: Compatibility::Pgbench,
        calibrations: None,
        asks_settings: false,
        ask_password: Some(password::ask),
        ..Circumstances::default()
    };
    let runner = Runner::with_scripts(target, spec, options.scripts).under(circumstances);
    appearance.run(runner, &signals).map_err(|failure| stop(failure, &database))
}

/// What is to be shown beyond the run itself.
fn wishes(options: &Options) -> Wishes {
    let logs = options.log.then(|| LogOptions {
        prefix: options.log_prefix.clone().unwrap_or_else(|| LOG_PREFIX.into()),
        sampling_rate: options.sampling_rate,
        aggregate_interval_s: options.aggregate_interval,
        failures_detailed: options.failures_detailed,
        writes_last_interval: false,
    });
    Wishes {
        presentation: Presentation {
            failures_detailed: options.failures_detailed,
            report_per_command: options.per_command,
            progress: options.progress.is_some(),
        },
        progress_s: options.progress,
        progress_timestamp: options.progress_timestamp,
        verbose_errors: options.verbose_errors,
        debug: options.debug.then(|| debug(options)),
        logs,
    }
}

fn debug(options: &Options) -> Debug {
    let limit = match options.duration {
        Some(seconds) => format!("duration: {seconds}"),
        None => format!("nxacts: {}", options.transactions.map_or(DEFAULT_TRANSACTIONS, u64::from)),
    };
    Debug { clients: options.clients, limit }
}

/// Why the run came to nothing, or was not whole, in pgbench's words.
fn stop(failure: Failure, database: &str) -> Stop {
    match failure {
        Failure::Run(RunError::Connect(error)) => sessions::could_not_connect(&error, sessions::SETUP),
        Failure::Run(RunError::Engine(EngineError::Connect { client, address, reason })) => {
            let reason = reason.to_string();
            let reason = without_number(&reason);
            Stop::error(format_args!("connection to {} failed: {reason}", address.as_libpq()))
                .and(Level::Error, format_args!("could not create connection for client {client}"))
        }
        Failure::Run(RunError::Workload(WorkloadError::TablesMissing { source: Some(error), .. })) => {
            let words = sessions::words(&error, Some(tpcb::COUNT_BRANCHES));
            Stop::error(format_args!("could not count number of branches: {words}")).and(
                Level::Hint,
                format_args!(
                    "Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."
                ),
            )
        }
        Failure::Run(RunError::Workload(WorkloadError::TablesMissing { source: None, table, .. })) => {
            Stop::error(format_args!("no {table} table found in \"search_path\"")).and(
                Level::Hint,
                format_args!(
                    "Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."
                ),
            )
        }
        Failure::Run(RunError::Workload(WorkloadError::UnknownPartitionMethod { strategy })) => {
            Stop::error(format_args!("unexpected partition method: \"{strategy}\""))
        }
        Failure::LogFile { path, reason } => {
            Stop::error(format_args!("could not open logfile \"{path}\": {reason}"))
        }
        Failure::Aborted(sentence) => Stop { code: 2, ..Stop::error(sentence) },
        other => Stop::error(other),
    }
}
