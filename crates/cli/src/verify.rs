//! `pgmeter verify`: asks the server once more what became of the commits of a run. `run` does it.
//! With `--isolation`, the options and the work are those of `isolation`.

use std::time::Duration;

use clap::Args;
use run::ExitStatus;
use run::options::seconds;

use crate::arguments::{ServerArguments, StoreArguments};
use crate::failure::Failure;
use crate::isolation::{self, IsolationArguments};
use crate::password;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// A run with --verify: its number, `last`, its label, its record, or the name of its table; with --isolation, the
    /// connection
    #[arg(value_name = "RUN", required_unless_present_any = ["clean", "isolation"])]
    which: Option<String>,
    #[command(flatten)]
    server: ServerArguments,
    #[command(flatten)]
    places: StoreArguments,
    /// Maximum time to wait for the server
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "60")]
    verify_timeout: f64,
    /// Remove the table and the journal of the run; without RUN, those of all runs of the store
    #[arg(long, conflicts_with = "isolation")]
    clean: bool,
    #[command(flatten)]
    isolation: IsolationArguments,
}

pub(crate) fn run(
    arguments: &VerifyArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<ExitStatus, Failure> {
    let VerifyArguments { which, server, places, verify_timeout, clean, isolation: options, .. } = arguments;
    if let Some(level) = options.isolation {
        return isolation::run(options, level, server.target_or(which.as_deref())?, terminal, signals);
    }
    let places = places.announced(terminal)?;
    let (target, ask) = (server.target_or(None)?, Some(password::ask as _));
    let warn = &mut |warning| terminal.warn(warning);
    if *clean {
        for table in run::clean_verified(&places, which.as_deref(), target, ask, signals, warn)? {
            terminal.say(format_args!("removed {table}"));
        }
        return Ok(ExitStatus::Success);
    }
    let which = which.as_deref().unwrap_or_default();
    let limit = Duration::from_secs_f64(*verify_timeout);
    let found = run::verify_again(&places, which, target, limit, ask, signals, warn)?;
    terminal.print(&report::text(&report::verification(&found), terminal.style()));
    Ok(run::lost_work(&found).map_or(ExitStatus::Success, |error| ExitStatus::from(&error)))
}
