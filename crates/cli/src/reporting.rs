//! `pgmeter report`: recorded runs, experiments and comparisons in another form, and the page that `bench` and
//! `quickstart` write. What the forms say is `report`'s affair; here records are found and files written.

mod comparisons;
pub(crate) mod experiments;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use report::Run;
use results::Record;

use crate::arguments::{FormatName, ReportArguments};
use crate::failure::Failure;
use crate::showing::Shown;
use crate::terminal::Terminal;

/// Runs that are shown at once; each takes some time and memory.
const RUNS_MAX: usize = 1_000;

pub(crate) fn run(arguments: &ReportArguments, terminal: &Terminal) -> Result<(), Failure> {
    let ReportArguments { runs, experiment, profile, comparison, format, output, places } = arguments;
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
    if let Some(which) = comparison {
        let style = text_style(terminal, output.is_some());
        let report = comparisons::report(&places.store(), which, *format, &style)?;
        return put_out(report.as_bytes(), output.as_deref(), terminal);
    }
    if let Some(name) = experiments::asked_for(runs, experiment.as_deref(), *profile, &places.store())? {
        let overview =
            experiments::overview(&places.store(), &name, profile.map(crate::arguments::ProfileName::name))?;
        let report = experiments::report(&overview, *format, &text_style(terminal, output.is_some()))?;
        return put_out(&report, output.as_deref(), terminal);
    }
    let named = runs.iter().map(|which| {
        let (number, record) = results::find_numbered(&places.store(), which)?;
        let name = match number {
            // A column of the table has the number alone, which programs can read.
            Some(number) if *format == FormatName::Csv => number.to_string(),
            Some(number) => format!("run {number}"),
            None => Path::new(which).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        };
        Ok((name, record))
    });
    let named: Vec<(String, Record)> = named.collect::<Result<_, Failure>>()?;
    let runs: Vec<Run<'_>> = named.iter().map(|(name, record)| Run { name, record }).collect();
    let report = match format {
        FormatName::Text => text(&runs, terminal, output.is_some()),
        FormatName::Json => report::json(&runs),
        FormatName::Markdown => report::markdown(&runs),
        FormatName::Csv => report::csv(&runs),
        FormatName::Html => report::html(&runs),
        FormatName::Svg => report::svg(&runs),
        FormatName::Png => return put_out(&report::png(&runs)?, output.as_deref(), terminal),
    };
    put_out(report.as_bytes(), output.as_deref(), terminal)
}

/// Into the file, or to standard output.
fn put_out(report: &[u8], output: Option<&Path>, terminal: &Terminal) -> Result<(), Failure> {
    match output {
        Some(path) => write(path, report, terminal),
        None => {
            terminal.print_bytes(report);
            Ok(())
        }
    }
}

/// Fails now if the page could not be written after a run that may take hours.
pub(crate) fn check_place(path: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::Report { path: path.display().to_string(), error };
    if path.is_dir() {
        return Err(failed(std::io::ErrorKind::IsADirectory.into()));
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
    fs::File::create_new(&draft).and_then(|_| fs::remove_file(&draft)).map_err(failed)
}

/// Writes the page of runs that have just been measured; without any there is none.
pub(crate) fn write_page(shown: &[Shown], path: &Path, terminal: &Terminal) -> Result<(), Failure> {
    if shown.is_empty() {
        return Ok(());
    }
    let runs: Vec<Run<'_>> = shown.iter().map(|run| Run { name: &run.name, record: &run.record }).collect();
    write(path, report::html(&runs).as_bytes(), terminal)
}

/// The summary of a run, or several runs side by side; without colours in a file.
fn text(runs: &[Run<'_>], terminal: &Terminal, to_file: bool) -> String {
    let style = text_style(terminal, to_file);
    match runs {
        [run] => report::text(run.record, &style) + &report::command_table(run.record, &style),
        several => report::side_by_side(several, &style),
    }
}

fn text_style(terminal: &Terminal, to_file: bool) -> report::TextStyle {
    let mut style = *terminal.style();
    style.colour &= !to_file;
    style
}

/// Writes beside the file and renames, so that nobody finds half a page.
fn write(path: &Path, content: &[u8], terminal: &Terminal) -> Result<(), Failure> {
    let failed = |error| Failure::Report { path: path.display().to_string(), error };
    if path.exists() && !path.is_file() {
        // A pipe or a device, such as /dev/stdout, cannot be replaced.
        fs::write(path, content).map_err(failed)?;
    } else {
        let draft = draft(path);
        // Never through a link or into a file that somebody else put there.
        let mut file = fs::File::create_new(&draft).map_err(failed)?;
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
