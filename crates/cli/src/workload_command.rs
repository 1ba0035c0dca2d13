//! `pgmeter workload`: lists, describes and prepares workloads, and writes a folder for a new one. `workload` makes the
//! texts; this module prints them.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::data::LearnSource;
use crate::failure::Failure;
use crate::init::named;
use crate::signals::Signals;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct WorkloadArguments {
    #[command(subcommand)]
    command: WorkloadCommand,
}

#[derive(Debug, Subcommand)]
enum WorkloadCommand {
    /// List the built-in workloads: title, size, and whether they are ready to load
    List,
    /// Describe a workload: tables, parameters, index sets, scripts, queries, checks
    Show {
        /// Name, a directory with a workload.toml or a schema.sql, or a file with a schema
        workload: String,
    },
    /// Download, verify and unpack the archives that a workload needs
    Prepare {
        /// Name, a directory with a workload.toml or a schema.sql, or a file with a schema
        workload: String,
    },
    /// Write a small complete workload to a directory, as a template for your own
    New {
        /// The directory; it must be empty or not exist
        directory: PathBuf,
    },
    /// Write a workload with the schema and statistics of live tables to a directory; see `pgmeter data learn`
    Learn {
        /// The directory; it must be empty or not exist
        directory: PathBuf,
        #[command(flatten)]
        source: LearnSource,
    },
}

pub(crate) fn run(
    arguments: &WorkloadArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    match &arguments.command {
        WorkloadCommand::List => terminal.print(&workload::listing::list()?),
        WorkloadCommand::Show { workload } => {
            let workload = named(Some(workload))?.open()?;
            terminal.print(&workload::listing::show(&*workload)?);
        }
        WorkloadCommand::Prepare { workload } => {
            let name = named(Some(workload))?;
            signals.leave_at_once(|| name.prepare(&mut |line| terminal.say(line)))??;
        }
        WorkloadCommand::New { directory } => terminal.say(workload::new_folder(directory, None)?),
        WorkloadCommand::Learn { directory, source } => {
            terminal.say(workload::new_folder(directory, Some(&source.learn(terminal, signals)?))?);
        }
    }
    Ok(())
}
