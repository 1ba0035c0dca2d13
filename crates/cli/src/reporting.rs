//! `pgmeter report`: stored runs, experiments and comparisons in any format. `report` finds and formats them; `output`
//! writes the files.

use std::path::PathBuf;

use ::experiment::Profile;
use clap::Args;
use output::{ReportedStore, Selection};
use report::Subject;

use crate::arguments::{self, Word, words};
use crate::failure::Failure;
use crate::output::OutputArguments;
use crate::terminal::Terminal;

/// The versions of an experiment that can be run.
const PROFILES: [Word<Profile>; 2] = [
    ("full", "The whole experiment", Profile::Full),
    ("quick", "The small version (--quick)", Profile::Quick),
];

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Runs: a number from `pgmeter runs`, `last`, `last-1` for the run before, the path of a record, or a label, which means the
    /// newest run that has it; the first run is the baseline of the others. The same for query sets (s4). Alone, also the
    /// number or the label of a comparison (c3), an experiment (e2) or a search (h5), or an experiment file for the newest experiment of its name. Default: the experiment in the
    /// store if there is only one
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Report the newest experiment of this name, or with this number or label, instead of runs
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    experiment: Option<String>,
    /// Version of the experiment [default: the one started last]
    #[arg(long, value_name = "PROFILE", value_parser = words(&PROFILES))]
    profile: Option<Profile>,
    /// Report a comparison made by `pgmeter compare` instead of runs: its number, its label or `last`
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["runs", "experiment", "profile"])]
    comparison: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
    /// Database of all runs, or its directory; repeat it to show an experiment from several stores side by side [default:
    /// PGMETER_STORE; otherwise ./pgmeter-results if it exists; otherwise pgmeter in the user's data directory]
    #[arg(long = "store", value_name = "PATH")]
    stores: Vec<PathBuf>,
    /// Directory of the records, one JSON file per run [default: the directory of the store]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl ReportArguments {
    /// The places of the databases, at least one.
    fn stores(&self, terminal: &Terminal) -> Result<Vec<ReportedStore>, Failure> {
        let place = |store| {
            let places = arguments::places(store, self.results.as_deref())?;
            terminal.say(places.line());
            Ok(arguments::reported(&places))
        };
        match self.stores.as_slice() {
            [] => Ok(vec![place(None)?]),
            several => several.iter().map(|store| place(Some(store))).collect(),
        }
    }
}

pub(crate) fn run(arguments: &ReportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ReportArguments { runs, experiment, profile, comparison, output, .. } = arguments;
    let output = output.output(terminal)?;
    let stores = arguments.stores(terminal)?;
    let selection = Selection {
        runs,
        experiment: experiment.as_deref(),
        profile: *profile,
        comparison: comparison.as_deref(),
        stores: &stores,
    };
    let selected = output::select(&selection, output.format)?;
    output.write(Subject::from(&selected), terminal)
}
