//! The format and the file of a report, for all commands that make one. What the formats say is `report`'s affair; here
//! they are chosen, and files written.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use output::file;
use report::{Format, Subject};
use results::SafeText;
use run::ExitStatus;

use crate::arguments::words;
use crate::failure::Failure;
use crate::terminal::{self, Terminal};

/// The options of all commands that make a report.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OutputArguments {
    /// Format of the report [default: by the ending of FILE, otherwise text]
    #[arg(long, value_name = "FORMAT", help_heading = "Output", value_parser = words(&report::FORMATS))]
    format: Option<Format>,
    /// Write the report to this file, replacing it; `-` is standard output
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
}

/// Where a report goes, and in which format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    pub(crate) format: Format,
    path: Option<PathBuf>,
}

impl OutputArguments {
    /// Fails now if the report could not be written after a run that may take hours.
    pub(crate) fn output(&self, terminal: &Terminal) -> Result<Output, Failure> {
        let path = self.output.clone().filter(|path| !file::is_stdout(path));
        let format = self.format.or_else(|| path.as_deref().map(Format::of_file)).unwrap_or_default();
        match (&path, format.not_for_terminals()) {
            (Some(path), _) => file::check_place(path).map_err(unwritable(path, REPORT))?,
            (None, Some(example)) if terminal.prints_to_one() => {
                return Err(Failure::Usage(format!(
                    "this format cannot be shown on a terminal: give a file with -o, such as -o {example}"
                )));
            }
            (None, _) => {}
        }
        Ok(Output { format, path })
    }
}

impl Output {
    /// A page at this path.
    pub(crate) fn page(path: &Path) -> Result<Output, Failure> {
        if file::is_stdout(path) {
            return Err(Failure::Usage(
                "--html requires a file; --format html writes the page to standard output".to_owned(),
            ));
        }
        file::check_place(path).map_err(unwritable(path, REPORT))?;
        Ok(Output { format: Format::Html, path: Some(path.to_owned()) })
    }

    /// Whether standard output has the report as text.
    pub(crate) fn is_text_on_terminal(&self) -> bool {
        self.path.is_none() && self.format == Format::Text
    }

    /// Whether the summary may go to standard output: nothing else does.
    pub(crate) fn leaves_stdout(&self) -> bool {
        self.path.is_some() || self.format == Format::Text
    }

    /// Writes a JUnit file with the failure of a command that measured nothing. The old file stays if this one cannot
    /// be written either.
    pub(crate) fn write_failure(&self, command: &str, failure: &Failure, terminal: &Terminal) {
        let has_no_report = failure.exit_status(None) == ExitStatus::NotStarted;
        let Some(path) = self.path.as_ref().filter(|_| has_no_report && self.format == Format::Junit) else {
            return;
        };
        let failure = terminal::masked(&SafeText::from(failure.to_string()).to_string());
        let xml = report::junit_of_failure(command, &failure);
        if let Err(failure) = write(path, xml.as_bytes(), REPORT, terminal) {
            terminal.warn(failure);
        }
    }

    /// Writes the report; where a file has it, standard output has the text.
    pub(crate) fn show(&self, subject: Subject<'_>, terminal: &Terminal) -> Result<(), Failure> {
        if self.path.is_some() {
            Output::default().write(subject, terminal)?;
        }
        self.write(subject, terminal)
    }

    /// Writes the report.
    pub(crate) fn write(&self, subject: Subject<'_>, terminal: &Terminal) -> Result<(), Failure> {
        let mut style = *terminal.style();
        style.colour &= self.path.is_none();
        let report = report::formatted(subject, self.format, &style)?;
        match &self.path {
            Some(path) => write(path, &report, REPORT, terminal)?,
            None => terminal.print_bytes(&report),
        }
        Ok(())
    }
}

/// What is written in messages.
const REPORT: &str = "report";

pub(crate) fn unwritable(path: &Path, what: &str) -> impl Fn(io::Error) -> Failure {
    let what = format!("write the {what} to \"{}\"", path.display());
    move |error| Failure::System { what: what.clone(), error }
}

/// Writes a file whole, and says so.
pub(crate) fn write(path: &Path, content: &[u8], what: &str, terminal: &Terminal) -> Result<(), Failure> {
    file::replace(path, content).map_err(unwritable(path, what))?;
    terminal.say(format_args!("{what} written to {}", path.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_on_standard_output_needs_a_format() {
        for stdout in ["-", "/dev/stdout"] {
            assert!(Output::page(Path::new(stdout)).unwrap_err().to_string().contains("--format html"));
        }
        let place = Path::new("/dev/null/page.html");
        let sentence = Output::page(place).unwrap_err().to_string();
        assert!(sentence.starts_with("cannot write the report to"), "{sentence}");
    }

    #[test]
    fn the_ending_decides_on_the_format() {
        for (name, format) in [
            ("page.html", Format::Html),
            ("PAGE.HTM", Format::Html),
            ("run.json", Format::Json),
            ("notes.md", Format::Markdown),
            ("all.csv", Format::Csv),
            ("report", Format::Text),
            ("report.txt", Format::Text),
        ] {
            assert_eq!(Format::of_file(Path::new(name)), format, "{name}");
        }
    }
}
