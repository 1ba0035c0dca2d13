//! `pgmeter completions` and `pgmeter man`: the command line as a script for shells and as manual pages, both made from the
//! options themselves.

use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: ShellName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShellName {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Directory for the pages, such as ~/.local/share/man/man1; made if it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn completions(arguments: &CompletionsArguments, terminal: &Terminal) -> Result<(), Failure> {
    let shell = match arguments.shell {
        ShellName::Bash => Shell::Bash,
        ShellName::Zsh => Shell::Zsh,
        ShellName::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "pgmeter", &mut script);
    terminal.print(&String::from_utf8_lossy(&script));
    Ok(())
}

pub(crate) fn man(arguments: &ManArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory));
    let what = || format!("write manual pages into {}", directory.display());
    written.map_err(|error| Failure::System { what: what(), error })
}
