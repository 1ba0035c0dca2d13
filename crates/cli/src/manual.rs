//! `pgmeter completions` and `pgmeter man`: shell completions and manual pages,
//! generated from the options.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::arguments::{Word, words};
use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Name of the shell
    #[arg(value_parser = words(&SHELLS))]
    shell: Shell,
}

const SHELLS: [Word<Shell>; 3] =
    [("bash", "", Shell::Bash), ("zsh", "", Shell::Zsh), ("fish", "", Shell::Fish)];

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Directory for the pages, such as ~/.local/share/man/man1; created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "pgmeter", &mut script);
    terminal.print_bytes(&script);
    Ok(())
}

pub(crate) fn man(arguments: &ManArguments, command: Command) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let written = output::file::fill_directory(directory, |draft| clap_mangen::generate_to(command, draft));
    let what = || format!("write manual pages into {}", directory.display());
    written.map_err(|error| Failure::System { what: what(), error })
}
