//! `pgmeter report`: stored runs, experiments and comparisons in any format. This module finds them; `output` has the
//! formats and writes the files.

use std::path::{Path, PathBuf};

use ::lab::Profile;
use clap::Args;
use report::Subject;
use results::{ComparisonRecord, Record, Store};
use run::StorePlaces;

use crate::arguments::{Word, words};
use crate::experiment_report;
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
    /// Runs: a number from `pgmeter runs`, `last`, `last-1` for the run before, or the path of a record; the first run is the
    /// baseline of the others. An experiment file selects the newest experiment of its name. Default: the experiment in the
    /// store if there is only one
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Report the newest experiment of this name instead of runs
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    experiment: Option<String>,
    /// Version of the experiment [default: the one started last]
    #[arg(long, value_name = "PROFILE", value_parser = words(&PROFILES))]
    profile: Option<Profile>,
    /// Report a comparison made by `pgmeter compare` instead of runs: its number or `last`
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["runs", "experiment", "profile"])]
    comparison: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
    /// Database of all runs, or its directory; repeat it to show an experiment from several stores side by side [default:
    /// results.sqlite in the directory of the records]
    #[arg(long = "store", value_name = "PATH")]
    stores: Vec<PathBuf>,
    /// Directory of the records, one JSON file per run [default: the directory of --store, otherwise pgmeter-results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
}

impl ReportArguments {
    /// The databases, at least one.
    fn stores(&self) -> Vec<PathBuf> {
        let place = |store| StorePlaces { store, records: self.results.clone() }.store();
        match self.stores.as_slice() {
            [] => vec![place(None)],
            several => several.iter().map(|store| place(Some(store.clone()))).collect(),
        }
    }
}

/// Maximum number of runs in a report; each takes time and memory.
const RUNS_MAX: usize = 1_000;

pub(crate) fn run(arguments: &ReportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ReportArguments { runs, experiment, profile, comparison, output, .. } = arguments;
    let output = output.output(terminal)?;
    if runs.len() > RUNS_MAX {
        return Err(Failure::Usage(format!("at most {RUNS_MAX} runs can be shown at once")));
    }
    let stores = arguments.stores();
    let store = &stores[0];
    let name = match comparison {
        Some(_) => None,
        None => experiment_report::asked_for(runs, experiment.as_deref(), *profile, store)?,
    };
    if let (None, [_, second, ..]) = (&name, stores.as_slice()) {
        return Err(Failure::Usage(format!(
            "--store {} is a second store: several stores are for an experiment, by --experiment NAME",
            second.display()
        )));
    }
    if let Some(which) = comparison {
        return output.write(Subject::Comparison(&find_comparison(store, which)?), terminal);
    }
    if let Some(name) = name {
        let overview = experiment_report::overview(&stores, &name, *profile, output.format)?;
        return output.write(Subject::Experiment(&overview), terminal);
    }
    output.write(Subject::Runs(&find(runs, store)?), terminal)
}

/// The runs that are named, each with the name that the report has for it.
fn find(runs: &[String], store: &Path) -> Result<Vec<(String, Record)>, Failure> {
    let named = runs.iter().map(|which| {
        let (number, record) = results::find_numbered(store, which)?;
        let name = match number {
            Some(number) => format!("run {number}"),
            None => Path::new(which).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        Ok((name, record))
    });
    named.collect()
}

/// The newest comparison, as with runs.
const LAST: &str = "last";

/// The comparison of this number, or the newest.
fn find_comparison(store: &Path, which: &str) -> Result<ComparisonRecord, Failure> {
    let opened = Store::open(store)?;
    let refuse =
        |what: String| Failure::Usage(format!("the store {} has no comparison{what}", store.display()));
    let Some(newest) = opened.newest_comparison()? else {
        return Err(refuse(": create one with pgmeter compare".to_owned()));
    };
    let number = if which == LAST { Some(newest) } else { which.parse().ok() };
    let Some(number) = number.filter(|number| (1..=newest).contains(number)) else {
        return Err(refuse(format!(" {which}: it has 1 to {newest}, of which the newest is \"{LAST}\"")));
    };
    Ok(opened.comparison(number)?)
}
