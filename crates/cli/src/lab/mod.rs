//! `pgmeter lab`: experiments from files, planned, run, gone on with. What a file means and in which order its trials run
//! is `lab`'s affair; here servers are started, data loaded, and each trial becomes a run.

mod campaign;
mod hidden;
mod leftovers;
mod network;
mod pace;
mod scene;
mod stage;
mod standing;
mod steps;
mod stopwatch;
mod trial;

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::lab::{Experiment, Memory, Plan, Profile};
use clap::{Args, Subcommand};
use results::SafeText;

use crate::failure::Failure;
use crate::signals::Signals;
use crate::storing::StoreArguments;
use crate::terminal::Terminal;
use campaign::Campaign;
pub(crate) use scene::{Comparable, Passed, Scene, job};

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    action: LabAction,
}

#[derive(Debug, Subcommand)]
enum LabAction {
    /// Show the trials, their order, the servers and data they need, and the time; start nothing
    Plan {
        #[command(flatten)]
        which: Which,
    },
    /// Run all trials, from the first
    Run {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        places: StoreArguments,
        #[command(flatten)]
        limits: Limits,
    },
    /// Go on with an experiment that was broken off: run what is missing
    Resume {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        places: StoreArguments,
        #[command(flatten)]
        limits: Limits,
    },
    /// Show how far an experiment has come
    Status {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        places: StoreArguments,
    },
}

/// An experiment in one of its sizes.
#[derive(Debug, Args)]
struct Which {
    /// Experiment file (TOML)
    file: PathBuf,
    /// The small size, which its section [quick] describes
    #[arg(long)]
    quick: bool,
}

#[derive(Debug, Args)]
struct Limits {
    /// Begin no trial that would end later than this from now: 90s, 20min, 2h
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Option<Duration>,
    /// Make trials that failed again, once, after all others
    #[arg(long)]
    retry_failed: bool,
    /// The process that was at work on it is gone, as you know and pgmeter cannot (another host or container): make its
    /// trials again
    #[arg(long)]
    take_over: bool,
    /// When run as root: the user who runs embedded servers [default: postgres, else nobody]
    #[arg(long, value_name = "USER")]
    server_user: Option<String>,
}

fn budget(text: &str) -> Result<Duration, String> {
    let time = ::lab::duration(text).map_err(|expected| format!("expected {expected}"))?;
    if time.is_zero() { Err("expected a time above zero".to_owned()) } else { Ok(time) }
}

/// What a file says, in one size.
struct Subject {
    experiment: Experiment,
    plan: Plan,
    profile: Profile,
    folder: PathBuf,
    file: PathBuf,
}

impl Subject {
    fn read(which: &Which) -> Result<Self, Failure> {
        let Which { file, quick } = which;
        let profile = if *quick { Profile::Quick } else { Profile::Full };
        let experiment = Experiment::read(file, profile)?;
        let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
        let memory = Memory {
            available_bytes: server::available_memory(),
            shared_buffers_bytes: server::default_shared_buffers(),
        };
        let mut plan = Plan::within(&experiment, &file.display().to_string(), &folder, &memory)?;
        hidden::hide_levels(&experiment, &mut plan.cells);
        steps::check(&plan.cells)?;
        trial::check(&plan.cells)?;
        Ok(Self { experiment, plan, profile, folder, file: file.clone() })
    }
}

pub(crate) fn run(arguments: &LabArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    match &arguments.action {
        LabAction::Plan { which } => {
            let Subject { experiment, plan, .. } = Subject::read(which)?;
            let outline = ::lab::outline(&experiment, &plan);
            let outline = SafeText::from(hidden::hide_values(&plan.cells, &outline));
            terminal.print(&results::escaped(outline.as_str()));
            Ok(())
        }
        LabAction::Run { which, places, limits } => {
            let mut campaign = Campaign::begin(Subject::read(which)?, places.clone(), terminal)?;
            campaign.run(limits, terminal, signals)
        }
        LabAction::Resume { which, places, limits } => {
            let mut campaign = Campaign::find(Subject::read(which)?, places.clone())?;
            campaign.run(limits, terminal, signals)
        }
        LabAction::Status { which, places } => {
            let campaign = Campaign::find(Subject::read(which)?, places.clone())?;
            terminal.print(&campaign.status());
            Ok(())
        }
    }
}
