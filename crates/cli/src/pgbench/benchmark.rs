//! Runs a benchmark as pgbench does: from options to a runner, and from its error to an exit status. `output` shows
//! the progress and the result.

use dropin::{Level, Options, Stop, without_number};
use engine::{Compatibility, EngineError, Limit};
use run::{Circumstances, RunError, RunSpec, Runner};
use workload::{WorkloadError, tpcb};

use super::diagnostics::Diagnostics;
use super::output::Output;
use super::sessions;
use crate::failure::Failure;
use crate::password;
use crate::signals::Signals;

pub(super) fn run(mut options: Options, diagnostics: &Diagnostics) -> Result<(), Stop> {
    let target = sessions::target(&options)?;
    let database = target.database.clone();
    // Ctrl-C exits pgbench immediately. SIGALRM ends a timed run, because pgbench sets an alarm for this.
    let signals = match options.spec.limit {
        Limit::Duration(_) => Signals::catch_alarm().map_err(Stop::error)?,
        Limit::TransactionsPerClient(_) => Signals::uncaught(),
    };
    let event_loop = run::event_loop_of_environment().map_err(Stop::error)?;
    let spec = RunSpec { event_loop, ..options.spec.clone() };
    let circumstances = Circumstances {
        compatibility: Compatibility::Pgbench,
        calibrations: None,
        asks_settings: false,
        ask_password: Some(password::ask),
        ..Circumstances::default()
    };
    let scripts = std::mem::take(&mut options.scripts);
    let runner = Runner::with_scripts(target, spec, scripts).under(circumstances);
    Output::new(diagnostics, options).run(runner, &signals).map_err(|failure| stop(failure, &database))
}

/// The error of a failed or incomplete run, in pgbench's words.
fn stop(failure: Failure, database: &str) -> Stop {
    let tables_missing = |sentence: String| {
        Stop::error(sentence).and(
            Level::Hint,
            format_args!(
                "Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."
            ),
        )
    };
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
            tables_missing(format!("could not count number of branches: {words}"))
        }
        Failure::Run(RunError::Workload(WorkloadError::TablesMissing { source: None, table, .. })) => {
            tables_missing(format!("no {table} table found in \"search_path\""))
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
