//! `pgmeter screen`: which of many settings matter for a script. The crate `lab` prepares and runs the experiment; this
//! module has the options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ::experiment::Typed;
use ::lab::{CampaignLimits, ExecutionContext, ScreenOptions};
use clap::Args;
use run::RunSpec;
use run::options::percent;

use crate::arguments::{AddressArguments, AnnotationArguments, StoreArguments};
use crate::failure::Failure;
use crate::lab_command::budget;
use crate::listener::listening;
use crate::options::{RunCommand, RunOptions};
use crate::output::OutputArguments;
use crate::run_output::circumstances;
use crate::signals::Signals;
use crate::terminal::{self, Terminal};
use crate::tracer;

#[derive(Clone, Copy, Debug)]
struct Screen;

impl RunCommand for Screen {
    const OPTIONS: &'static [&'static str] = &[
        "file",
        "builtin",
        "skip_some_updates",
        "select_only",
        "variables",
        "scale",
        "clients",
        "workers",
        "protocol",
    ];
    const HEADING: Option<Option<&'static str>> = Some(Some("Load"));
    const HELPS: &'static [(&'static str, &'static str)] =
        &[("scale", "Scale factor; one unit is 100,000 accounts [default: 1]")];

    fn base() -> RunSpec {
        ::experiment::default_load()
    }
}

#[derive(Debug, Args)]
pub(crate) struct ScreenArguments {
    #[command(flatten)]
    run: RunOptions<Screen>,
    /// File (TOML) with the settings to try, each NAME = [LOW, HIGH] [default: 12 settings that often matter]
    #[arg(long, value_name = "FILE", help_heading = "Screening")]
    settings: Option<PathBuf>,
    /// Time for all trials, such as 20min or 2h
    #[arg(long, value_name = "TIME", default_value = "20min", help_heading = "Screening", value_parser = budget)]
    budget: Duration,
    /// Effects within ± this share do not matter
    #[arg(long, value_name = "PERCENT", default_value = "5%", help_heading = "Screening", value_parser = percent)]
    tolerance: f64,
    /// Seed of the order and of all random numbers [default: random]
    #[arg(long, value_name = "SEED", alias = "random-seed", help_heading = "Screening")]
    seed: Option<u64>,
    /// PostgreSQL version: a major one (9.6 to 18) or an exact one (16.4) [default: 18]
    #[arg(long, visible_alias = "version", value_name = "VERSION", conflicts_with_all = ["bin_dir", "connection", "dbname", "host", "port", "username", "in_place"], help_heading = "Server")]
    pg_version: Option<String>,
    /// Directory with the programs of an installed PostgreSQL
    #[arg(long, value_name = "DIR", conflicts_with_all = ["connection", "dbname", "host", "port", "username", "in_place"], help_heading = "Server")]
    bin_dir: Option<PathBuf>,
    /// Database name, conninfo string or URI of a running server; without one, pgmeter starts servers of its own
    #[arg(value_name = "CONNECTION", conflicts_with = "dbname")]
    connection: Option<String>,
    #[command(flatten)]
    address: AddressArguments,
    /// Use the database of CONNECTION, or of PGHOST, PGDATABASE and the other PG* variables, as it is; try only settings
    /// that a session can set. Without it, pgmeter creates its own databases on a running server and drops them
    #[arg(long, help_heading = "Server")]
    in_place: bool,
    /// Server setting of all trials; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", help_heading = "Server")]
    set: Vec<String>,
    /// Operating system user that runs embedded servers if pgmeter runs as root [default: postgres if it exists, otherwise nobody]
    #[arg(long, value_name = "USER", help_heading = "Server")]
    server_user: Option<String>,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    places: StoreArguments,
    #[command(flatten)]
    annotation: AnnotationArguments,
}

impl ScreenArguments {
    fn options(&self, store: &Path) -> Result<ScreenOptions, Failure> {
        let keys = [
            ("version", self.pg_version.clone()),
            ("bin_dir", self.bin_dir.as_ref().map(|path| path.display().to_string())),
            ("dsn", self.address.text_with(self.connection.as_deref())?),
            ("in_place", self.in_place.then(|| "true".to_owned())),
        ];
        let keys = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        let mut typed = Typed { keys, ..Typed::default() };
        typed.add_options(self.run.values()?).map_err(Failure::Usage)?;
        typed.add_pairs("--set", "settings.", &self.set)?;
        Ok(ScreenOptions {
            typed,
            settings: self.settings.clone(),
            budget: self.budget,
            tolerance: self.tolerance,
            seed: self.seed.unwrap_or_else(|| run::fresh_seed() >> 11),
            directory: ::lab::directory_of_screenings(store),
        })
    }
}

pub(crate) fn run(
    arguments: &ScreenArguments,
    terminal: &Terminal,
    signals: &Signals,
) -> Result<(), Failure> {
    let annotation = arguments.annotation.annotation()?;
    let output = arguments.output.output(terminal)?;
    let places = arguments.places.announced(terminal)?;
    let options = arguments.options(places.store())?;
    listening(terminal, places.clone(), output, |listener| {
        let mut prepared = ::lab::prepare_screening(&options, signals, listener)?;
        for sentence in &prepared.left_out {
            listener.say(sentence);
        }
        prepared.subject.experiment.annotation.replace(annotation);
        terminal::mask(::experiment::secret_values(&prepared.subject.plan.cells));
        listener.say(::lab::screening_in_words(&prepared));
        let limits = CampaignLimits {
            budget: Some(arguments.budget),
            server_user: arguments.server_user.clone(),
            ..CampaignLimits::default()
        };
        let context = ExecutionContext {
            listener,
            control: signals,
            circumstances: circumstances(),
            tracers: &tracer::of_trial,
        };
        Ok(::lab::run_screening(prepared, places, &limits, &context)?)
    })
}
