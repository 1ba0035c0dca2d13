//! The format and the file of a report, for all commands that make one. What the formats say is `report`'s affair; here
//! they are chosen, and files written.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
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
        let path = self.output.clone().filter(|path| !is_stdout(path));
        let format = self.format.or_else(|| path.as_deref().map(Format::of_file)).unwrap_or_default();
        match (&path, format.not_for_terminals()) {
            (Some(path), _) => check_place(path)?,
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
        if is_stdout(path) {
            return Err(Failure::Usage(
                "--html requires a file; --format html writes the page to standard output".to_owned(),
            ));
        }
        check_place(path)?;
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
        let has_no_report =
            matches!(failure.exit_status(None), ExitStatus::NotStarted | ExitStatus::NotCompared);
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

/// Not as a file: where a shell has redirected it, a file of that name would replace the link in `/dev`.
fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-" || path == Path::new("/dev/stdout")
}

/// Fails if a file could not be written there.
fn check_place(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(unwritable(path, REPORT)(io::ErrorKind::IsADirectory.into()));
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    let draft = draft(path);
    fs::File::create_new(&draft).and_then(|_| fs::remove_file(&draft)).map_err(unwritable(path, REPORT))
}

pub(crate) fn unwritable(path: &Path, what: &str) -> impl Fn(io::Error) -> Failure {
    let what = format!("write the {what} to \"{}\"", path.display());
    move |error| Failure::System { what: what.clone(), error }
}

/// Writes beside the file and renames, so that nobody finds half a page.
pub(crate) fn write(path: &Path, content: &[u8], what: &str, terminal: &Terminal) -> Result<(), Failure> {
    let failed = unwritable(path, what);
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
    terminal.say(format_args!("{what} written to {}", path.display()));
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
        for stdout in ["-", "/dev/stdout"] {
            assert!(Output::page(Path::new(stdout)).unwrap_err().to_string().contains("--format html"));
        }
        let sentence = check_place(&page).unwrap_err().to_string();
        assert!(sentence.starts_with("cannot write the report to"), "{sentence}");
        assert!(check_place(Path::new("/dev/null")).is_ok());
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
