//! `pgmeter lab`: plans, runs and continues experiments.
//! The crate `lab` does the work; this module has the options.

use std::path::PathBuf;
use std::time::Duration;

use ::experiment::{FindHost, Profile, Subject};
use ::lab::{Campaign, CampaignLimits, ExecutionContext, Listener};
use clap::{Args, Subcommand};
use report::experiment;
use results::SafeText;
use run::{RunError, StorePlaces};

use crate::arguments::{AddressArguments, AnnotationArguments, StoreArguments};
use crate::failure::Failure;
use crate::listener::listening;
use crate::output::OutputArguments;
use crate::run_output::circumstances;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};
use crate::tracer;

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    action: LabAction,
}

#[derive(Debug, Subcommand)]
enum LabAction {
    /// Show trials, their order, the required servers and data, and the expected time, without starting anything
    Plan {
        #[command(flatten)]
        which: Which,
    },
    /// Run all trials of an experiment
    Run {
        #[command(flatten)]
        annotation: AnnotationArguments,
        #[command(flatten)]
        trials: TrialsArguments,
    },
    /// Continue an interrupted experiment: run the missing trials
    Resume(TrialsArguments),
    /// Show the state of an experiment
    Status {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        places: StoreArguments,
    },
}

#[derive(Debug, Args)]
struct TrialsArguments {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    places: StoreArguments,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    output: OutputArguments,
}

/// An experiment in one profile.
#[derive(Debug, Args)]
struct Which {
    /// Experiment file (TOML)
    file: Option<PathBuf>,
    /// Run the small version of the experiment, described by its section [quick]
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    address: AddressArguments,
}

#[derive(Debug, Args)]
struct Limits {
    /// Time limit, such as 90s, 20min or 2h: start no trial that would end later
    #[arg(long, value_name = "TIME", value_parser = budget)]
    budget: Option<Duration>,
    /// Repeat failed trials once, after all others
    #[arg(long)]
    retry_failed: bool,
    /// Take over an experiment from a process on another host or in another container that has ended; pgmeter cannot check this
    /// itself
    #[arg(long)]
    take_over: bool,
    /// Operating system user that runs embedded servers if pgmeter runs as root [default: postgres if it exists, otherwise nobody]
    #[arg(long, value_name = "USER")]
    server_user: Option<String>,
}

pub(crate) fn budget(text: &str) -> Result<Duration, String> {
    let time = run::options::duration(text).map_err(|expected| format!("expected {expected}"))?;
    if time.is_zero() { Err("expected a time above zero".to_owned()) } else { Ok(time) }
}

impl From<&Limits> for CampaignLimits {
    fn from(limits: &Limits) -> Self {
        let Limits { budget, retry_failed, take_over, ref server_user } = *limits;
        Self { budget, retry_failed, take_over, server_user: server_user.clone() }
    }
}

fn read(
    Which { file, quick, address }: &Which,
    places: &StorePlaces,
    find_host: Option<FindHost<'_>>,
) -> Result<Subject, Failure> {
    let file = file.as_ref().ok_or_else(|| ::lab::file_missing(places))?;
    let profile = if *quick { Profile::Quick } else { Profile::Full };
    let subject = ::lab::read_experiment(file, profile, address.text_with(None)?.as_deref(), find_host)?;
    terminal::mask(::experiment::secret_values(&subject.plan.cells));
    Ok(subject)
}

pub(crate) fn run(arguments: &LabArguments, terminal: &Terminal, signals: &Signals) -> Result<(), Failure> {
    match &arguments.action {
        LabAction::Plan { which } => {
            let Subject { experiment, plan, .. } =
                read(which, &StorePlaces::default(), Some(&::lab::find_host))?;
            let outline = ::experiment::outline(&experiment, &plan);
            let outline = SafeText::from(::experiment::hide_values(&plan.cells, &outline));
            terminal.print(&results::escaped(outline.as_str()));
            Ok(::lab::preflight(&plan, signals)?)
        }
        LabAction::Run { annotation, trials } => {
            let annotation = annotation.annotation()?;
            run_trials(trials, terminal, signals, |mut subject, places, listener| {
                subject.experiment.annotation.replace(annotation);
                Campaign::begin(subject, places, listener)
            })
        }
        LabAction::Resume(arguments) => {
            run_trials(arguments, terminal, signals, |subject, places, _| Campaign::find(subject, places))
        }
        LabAction::Status { which, places } => {
            let places = places.announced(terminal)?;
            let campaign = Campaign::find(read(which, &places, None)?, places)?;
            let (subject, row) = (campaign.subject(), campaign.row());
            terminal.print(&(experiment::standing(subject, row) + &experiment::outlook(subject, row)));
            Ok(())
        }
    }
}

fn run_trials(
    TrialsArguments { which, places, limits, output }: &TrialsArguments,
    terminal: &Terminal,
    signals: &Signals,
    open: impl FnOnce(Subject, StorePlaces, Listener<'_>) -> Result<Campaign, RunError>,
) -> Result<(), Failure> {
    let output = output.output(terminal)?;
    let subject = read(which, &places.places()?, Some(&::lab::find_host))?;
    ::lab::preflight(&subject.plan, signals)?;
    let places = places.announced(terminal)?;
    listening(terminal, places.clone(), output, |listener| {
        let (circumstances, tracers) = (circumstances(), &tracer::of_trial);
        let context = ExecutionContext { listener, control: signals, circumstances, tracers };
        Ok(open(subject, places, listener)?.run(&limits.into(), &context)?)
    })
}
