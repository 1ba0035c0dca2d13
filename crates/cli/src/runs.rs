//! `pgmeter runs`: lists the runs of a store, and imports records. `results` does the work; `report` formats the
//! list.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use results::{Imported, Store};

use crate::arguments::StoreArguments;
use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArguments {
    #[command(flatten)]
    places: StoreArguments,
    /// Number of runs to list, the newest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    newest: u32,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: ListFormat,
    #[command(subcommand)]
    action: Option<RunsAction>,
}

#[derive(Debug, Subcommand)]
enum RunsAction {
    /// Import records into the store; records that it already contains are left unchanged
    Import {
        #[command(flatten)]
        places: StoreArguments,
        /// Records to import [default: all in the directory of the records]
        files: Vec<PathBuf>,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ListFormat {
    Text,
    Json,
}

pub(crate) fn run(arguments: &RunsArguments, terminal: &Terminal) -> Result<(), Failure> {
    match &arguments.action {
        None => list(arguments, terminal),
        Some(RunsAction::Import { places, files }) => import(places, files, terminal),
    }
}

fn list(arguments: &RunsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let runs = Store::open(&arguments.places.store())?.runs(arguments.newest)?;
    terminal.print(&match arguments.format {
        ListFormat::Text => report::run_list(&runs, terminal.style()),
        ListFormat::Json => results::escaped_json(results::runs_json(&runs)),
    });
    Ok(())
}

/// An invalid file is reported, and the other files are still imported.
fn import(places: &StoreArguments, files: &[PathBuf], terminal: &Terminal) -> Result<(), Failure> {
    let mut store = Store::create(&places.store())?;
    let files =
        if files.is_empty() { results::records_in(&places.places().records())? } else { files.to_vec() };
    let (mut new, mut known, mut refused) = (0, 0, 0);
    for file in &files {
        match store.import(file) {
            Ok(Imported::New(run)) => {
                terminal.say(format_args!("run {run}: {}", file.display()));
                new += 1;
            }
            Ok(Imported::Known(_)) => known += 1,
            Err(error) => {
                terminal.complain(&error);
                refused += 1;
            }
        }
    }
    let store = store.path().display();
    let runs = if new == 1 { "run" } else { "runs" };
    terminal.say(format_args!("{store}: {new} {runs} imported, {known} already stored, {refused} rejected"));
    let files = files.len();
    Err(Failure::Usage(match (refused, files) {
        (0, _) => return Ok(()),
        (_, 1) => "the file was not imported".to_owned(),
        (refused, files) if refused == files => format!("none of the {files} files were imported"),
        (1, files) => format!("1 of {files} files was not imported; the others were"),
        (refused, files) => format!("{refused} of {files} files were not imported; the others were"),
    }))
}
