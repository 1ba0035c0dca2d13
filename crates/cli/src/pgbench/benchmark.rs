//! Runs a benchmark as pgbench does: from options to a runner, and from its error to an exit status. `output` shows
//! the progress and the result.

use connect::Environment;
use dropin::{Options, Stop};
use engine::{Compatibility, Limit};
use run::{Circumstances, RunRequest, Runner, Surface};

use super::diagnostics::Diagnostics;
use super::output::DropinOutput;
use crate::failure::Failure;
use crate::password;
use crate::signals::Signals;

pub(super) fn run(mut options: Options, diagnostics: &Diagnostics) -> Result<(), Stop> {
    let target = dropin::target(&options, &Environment::of_process())?;
    let database = target.database.clone();
    // Ctrl-C exits pgbench immediately. SIGALRM ends a timed run, because pgbench sets an alarm for this.
    let signals = match options.spec.limit {
        Limit::Duration(_) => Signals::catch_alarm().map_err(Stop::error)?,
        Limit::TransactionsPerClient(_) => Signals::uncaught(),
    };
    options.spec.event_loop = run::event_loop_of_environment().map_err(Stop::error)?;
    let scripts = Some(std::mem::take(&mut options.scripts));
    let surface = Surface::Flags;
    let runner = Runner::new(RunRequest { surface, scripts, ..RunRequest::on(target, options.spec.clone()) });
    let runner = runner.map_err(|error| dropin::run_failed(error, &database))?;
    let circumstances = Circumstances {
        command_line: Some(run::command_line(options.spec.seed)),
        compatibility: Compatibility::Pgbench,
        calibrations: None,
        asks_settings: false,
        ask_password: Some(password::ask),
        ..Circumstances::default()
    };
    let output = DropinOutput::new(diagnostics, options);
    output.run(runner.under(circumstances), &signals).map_err(|failure| stop(failure, &database))
}

/// The error in pgbench's words.
fn stop(failure: Failure, database: &str) -> Stop {
    match failure {
        Failure::Run(error) => dropin::run_failed(error, database),
        Failure::LogFile { path, reason } => {
            Stop::error(format_args!("could not open logfile \"{path}\": {reason}"))
        }
        Failure::Aborted(sentence) => Stop { code: 2, ..Stop::error(sentence) },
        other => Stop::error(other),
    }
}
