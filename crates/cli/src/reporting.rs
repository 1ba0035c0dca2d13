//! `pgmeter report`: recorded runs, experiments and comparisons in another form, and the page that `bench` and
//! `quickstart` write. What the forms say is `report`'s affair; here records are found and files written.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ::lab::Profile;
use clap::{Args, ValueEnum};
use report::experiment::{self, Overview};
use report::{Run, TextStyle};
use results::{Record, Store};
use run::StorePlaces;

use crate::arguments::{Word, words};
use crate::experiment_report;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// The summary that a run prints
    Text,
    /// The record, or a list of records
    Json,
    /// Markdown tables, for issues and notes
    Markdown,
    /// One line per metric
    Csv,
    /// A self-contained page with charts
    Html,
    /// The main charts as a vector image
    Svg,
    /// The main charts as a bitmap image
    Png,
}

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
    /// Report a comparison made by `pgmeter compare` instead of runs: its number or `last`; as text or JSON
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["runs", "experiment", "profile"])]
    comparison: Option<String>,
    /// Output format; several runs are compared with the first
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: FormatName,
    /// Output file instead of standard output (`-`); an existing file is replaced
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Database of all runs, or its directory; several times: an experiment from several stores, side by side [default:
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

/// Runs that are shown at once; each takes some time and memory.
const RUNS_MAX: usize = 1_000;

pub(crate) fn run(arguments: &ReportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ReportArguments { runs, experiment, profile, comparison, format, output, .. } = arguments;
    // As everywhere, `-` is standard output.
    let output = &output.clone().filter(|path| path.as_os_str() != "-");
    if runs.len() > RUNS_MAX {
        return Err(Failure::Usage(format!("at most {RUNS_MAX} runs can be shown at once")));
    }
    let not_for_terminals = match format {
        FormatName::Html => Some("page.html"),
        FormatName::Png => Some("charts.png"),
        FormatName::Svg => Some("charts.svg"),
        _ => None,
    };
    if let (None, Some(example), true) = (output, not_for_terminals, terminal.prints_to_one()) {
        return Err(Failure::Usage(format!(
            "this is not for a terminal: name a file with -o, such as -o {example}"
        )));
    }
    let mut style = *terminal.style();
    style.colour &= output.is_none();
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
    let report = if let Some(which) = comparison {
        comparison_report(store, which, *format, &style)?.into_bytes()
    } else if let Some(name) = name {
        let mut overview = experiment_report::overview(&stores, &name, *profile)?;
        if matches!(format, FormatName::Html | FormatName::Svg | FormatName::Png) {
            experiment_report::add_curves(&mut overview, &stores);
        }
        form_of_experiment(&overview, *format, &style)?
    } else {
        form_of_runs(&find(runs, *format, store)?, *format, &style)?
    };
    match output {
        Some(path) => write(path, &report, terminal)?,
        None => terminal.print_bytes(&report),
    }
    Ok(())
}

/// The runs that are named, each with the name that the report has for it.
fn find(runs: &[String], format: FormatName, store: &Path) -> Result<Vec<(String, Record)>, Failure> {
    let named = runs.iter().map(|which| {
        let (number, record) = results::find_numbered(store, which)?;
        let name = match number {
            // A column of the table has the number alone, which programs can read.
            Some(number) if format == FormatName::Csv => number.to_string(),
            Some(number) => format!("run {number}"),
            None => Path::new(which).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        Ok((name, record))
    });
    named.collect()
}

fn form_of_runs(
    runs: &[(String, Record)],
    format: FormatName,
    style: &TextStyle,
) -> Result<Vec<u8>, Failure> {
    let runs = &borrowed(runs);
    let text = match (format, runs.as_slice()) {
        (FormatName::Text, [run]) => {
            report::text(run.record, style) + &report::command_table(run.record, style)
        }
        (FormatName::Text, several) => report::side_by_side(several, style),
        (FormatName::Json, runs) => report::json(runs),
        (FormatName::Markdown, runs) => report::markdown(runs),
        (FormatName::Csv, runs) => report::csv(runs),
        (FormatName::Html, runs) => report::html(runs),
        (FormatName::Svg, runs) => report::svg(runs),
        (FormatName::Png, runs) => return Ok(report::png(runs)?),
    };
    Ok(text.into_bytes())
}

fn borrowed(runs: &[(String, Record)]) -> Vec<Run<'_>> {
    runs.iter().map(|(name, record)| Run { name, record }).collect()
}

fn form_of_experiment(
    overview: &Overview,
    format: FormatName,
    style: &TextStyle,
) -> Result<Vec<u8>, Failure> {
    let text = match format {
        FormatName::Text => experiment::text(overview, style),
        FormatName::Markdown => experiment::markdown(overview),
        FormatName::Html => experiment::html(overview),
        FormatName::Csv => experiment::csv(overview),
        FormatName::Json => experiment::json(overview),
        FormatName::Svg => experiment::svg(overview),
        FormatName::Png => return Ok(experiment::png(overview)?),
    };
    Ok(text.into_bytes())
}

/// The newest comparison, as with runs.
const LAST: &str = "last";

/// The comparison of this number, or the newest.
fn comparison_report(
    store: &Path,
    which: &str,
    format: FormatName,
    style: &TextStyle,
) -> Result<String, Failure> {
    let opened = Store::open(store)?;
    let refuse =
        |what: String| Failure::Usage(format!("the store {} has no comparison{what}", store.display()));
    let Some(newest) = opened.newest_comparison()? else {
        return Err(refuse(": make one with pgmeter compare".to_owned()));
    };
    let number = if which == LAST { Some(newest) } else { which.parse().ok() };
    let Some(number) = number.filter(|number| (1..=newest).contains(number)) else {
        return Err(refuse(format!(" {which}: it has 1 to {newest}, of which the newest is \"{LAST}\"")));
    };
    let record = opened.comparison(number)?;
    match format {
        FormatName::Text => Ok(report::comparison(&record, style)),
        FormatName::Json => Ok(results::escaped_json(record.to_json())),
        _ => Err(Failure::Usage(
            "a comparison can be had as text or json: choose one with --format".to_owned(),
        )),
    }
}

/// Fails now if the page could not be written after a run that may take hours.
pub(crate) fn check_place(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(unwritable(path)(io::ErrorKind::IsADirectory.into()));
    }
    if path.as_os_str() == "-" {
        return Err(Failure::Usage(
            "--html needs a file, since the summary goes to standard output; afterwards `pgmeter report last --format \
             html -o -` writes the page there"
                .to_owned(),
        ));
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let draft = draft(path);
    fs::File::create_new(&draft).and_then(|_| fs::remove_file(&draft)).map_err(unwritable(path))
}

/// Writes the page of runs that have just been measured, if one is asked for and there are any.
pub(crate) fn write_page(
    measured: &[(String, Record)],
    path: Option<&Path>,
    terminal: &Terminal,
) -> Result<(), Failure> {
    match path {
        Some(path) if !measured.is_empty() => {
            write(path, report::html(&borrowed(measured)).as_bytes(), terminal)
        }
        _ => Ok(()),
    }
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> Failure {
    let what = format!("write the report to \"{}\"", path.display());
    move |error| Failure::System { what: what.clone(), error }
}

/// Writes beside the file and renames, so that nobody finds half a page.
fn write(path: &Path, content: &[u8], terminal: &Terminal) -> Result<(), Failure> {
    let failed = unwritable(path);
    if path.exists() && !path.is_file() {
        // A pipe or a device, such as /dev/stdout, cannot be replaced.
        fs::write(path, content).map_err(&failed)?;
    } else {
        let draft = draft(path);
        // Never through a link or into a file that somebody else put there.
        let mut file = fs::File::create_new(&draft).map_err(&failed)?;
        let written = file.write_all(content).and_then(|()| fs::rename(&draft, path));
        written.map_err(|error| {
            // If it cannot be removed either, the first error is the one to tell.
            let _ = fs::remove_file(&draft);
            failed(error)
        })?;
    }
    terminal.say(format_args!("report written to {}", path.display()));
    Ok(())
}

fn draft(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_for_the_page_is_tried_before_the_run() {
        let directory = std::env::temp_dir().join(format!("pgmeter-place-{}", std::process::id()));
        fs::create_dir(&directory).unwrap();
        let page = directory.join("page.html");
        assert!(check_place(&page).is_ok());
        assert!(fs::read_dir(&directory).unwrap().next().is_none(), "something was left behind");
        assert!(check_place(&directory).is_err(), "it is a directory");
        fs::remove_dir(&directory).unwrap();
        assert!(
            check_place(Path::new("-")).unwrap_err().to_string().contains("report last --format html -o -")
        );
        let sentence = check_place(&page).unwrap_err().to_string();
        assert!(sentence.starts_with("cannot write the report to"), "{sentence}");
        assert!(check_place(Path::new("/dev/null")).is_ok());
    }
}
