//! `pgmeter check`: runs the checks of a workload on its loaded tables. `workload` has the checks; this module connects
//! and says how many there were.

use clap::Args;
use workload::Scale;

use crate::arguments::ConnectionArguments;
use crate::failure::Failure;
use crate::init::named;
use crate::password::connect_asking;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    connection: ConnectionArguments,
    /// Name of a built-in workload, a directory with a workload.toml or a schema.sql, or a file with a schema [default:
    /// tpcb]
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Set a parameter of the workload; may be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// Value of :scale, if the tables do not determine it
    #[arg(short, long, value_name = "N")]
    scale: Option<Scale>,
}

pub(crate) fn run(arguments: &CheckArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    let workload = named(arguments.workload.as_deref())?.open()?;
    let parameters = run::options::parameters(&arguments.parameters)?;
    let mut target = arguments.connection.target()?;
    let mut session = connect_asking(&mut target, signals)?;
    let checked =
        signals.guard(&mut session, |session| workload.check_data(session, &parameters, arguments.scale));
    signals.check()?;
    terminal.say(workload::listing::checks_passed(checked?, &*workload));
    Ok(())
}
